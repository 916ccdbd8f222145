//! The dialogue of `align` with an aligner: it reads the project, proposes the agreement and asks what it cannot settle.
//!
//! Invariant: what it proposes is a draft. The why is asked of the person, and nothing proposed runs here. Without a
//! proposal the questions go on with what was answered.

use std::path::Path;

use descent_core::{doc::Node, graph::validate::MissingPart};

use super::{
    super::{
        End,
        asking::{self, AskEnd},
        context::Context,
    },
    AlignArgs, proposals, questions,
    reading::DraftText,
};
use crate::{
    clock,
    config::Config,
    failure::Failure,
    ops::aligner::{Aligner, AlignerQuestion, AligningTask, ProposedAgreement},
};

const FIRST_PROPOSAL: &str =
    "its proposal from before your answers follows: `e` lets you mend it by them";

/// Has a dialogue if there is an aligner and something that it could propose. The draft comes into the flags; an end only
/// where this process is to end.
pub(super) fn hold(
    context: &Context,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
    top: &Path,
    config: &Config,
) -> Result<Option<End>, Failure> {
    let is_of_use = proposals::wants_checks(missing) || missing.contains(&MissingPart::Work);
    if flags.plan.is_some() || !is_of_use || !asking::is_seen(context) {
        return Ok(None);
    }
    let survey = proposals::survey_of(top);
    let Some(aligner) = Aligner::of(config, top, &survey, clock::now())? else {
        return Ok(None);
    };
    // A configuration that may be another's starts nobody unasked.
    super::gate(context, flags, top, config, None)?;
    questions::words(context.out, flags, missing)?;
    let ended = go(context, flags, &aligner);
    flags.aligner_used = Some((aligner.agent.name.clone(), aligner.used()));
    ended
}

fn go(
    context: &Context,
    flags: &mut AlignArgs,
    aligner: &Aligner<'_>,
) -> Result<Option<End>, Failure> {
    let (first, answer) = match turn(context, aligner, flags, None)? {
        ProposalTurn::Proposed(proposed, answer) => (proposed, answer),
        ProposalTurn::Nothing => return Ok(None),
        ProposalTurn::Ended(end) => return Ok(Some(end)),
    };
    let name = aligner.agent.name.clone();
    let asked = asking::answers(context.out, name.as_str(), &first.questions);
    flags.clarifications = asked.ok_or_else(questions::left)?;
    let last = if flags.clarifications.is_empty() {
        first
    } else {
        match turn(context, aligner, flags, Some(&answer))? {
            ProposalTurn::Proposed(proposed, _) => proposed,
            ProposalTurn::Nothing => {
                context.out.say(FIRST_PROPOSAL);
                first
            }
            ProposalTurn::Ended(end) => return Ok(Some(end)),
        }
    };
    flags.draft = Some(DraftText::Proposed(last.plan));
    flags.proposed_by = Some(name);
    Ok(None)
}

enum ProposalTurn {
    Proposed(ProposedAgreement, Node),
    Nothing,
    Ended(End),
}

/// One question to it: the first, or the last after the person's answers.
fn turn(
    context: &Context,
    aligner: &Aligner<'_>,
    flags: &AlignArgs,
    before: Option<&Node>,
) -> Result<ProposalTurn, Failure> {
    let may_ask = before.is_none();
    let given = given(flags);
    let question = AlignerQuestion {
        task: AligningTask::Agreement,
        words: flags.goal.as_deref().unwrap_or_default(),
        why: flags.why.as_deref().unwrap_or_default(),
        given: &given,
        answers: &flags.clarifications,
        before,
        may_ask,
    };
    let what = if may_ask { "an agreement" } else { "the agreement with your answers" };
    Ok(match asking::put(context, aligner, &question, what)? {
        AskEnd::Answer(node) => {
            let proposed = aligner.agreement(&node, may_ask).map_err(Failure::bug)?;
            ProposalTurn::Proposed(proposed, node)
        }
        AskEnd::Nothing => ProposalTurn::Nothing,
        AskEnd::Signal(signal) => ProposalTurn::Ended(End::Signal(signal)),
    })
}

/// The parts that were typed as flags.
fn given(flags: &AlignArgs) -> Vec<String> {
    let mut given = Vec::new();
    let mut put = |what: &str, texts: &[String]| {
        given.extend(texts.iter().map(|text| format!("{what}: {text}")));
    };
    put("a check of the base case", &flags.check);
    put("a step", &flags.step);
    put("protected", &flags.protect);
    put("shared by every working copy", &flags.link);
    put("a constraint", &flags.set);
    let one = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    put("planned by the agent", &one(&flags.plan_with));
    put("deliverables", &one(&flags.deliver));
    put("definition of done", &one(&flags.done));
    put("run in each new working copy", &one(&flags.setup));
    given
}

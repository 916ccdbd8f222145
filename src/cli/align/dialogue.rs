//! The dialogue of `align` with an aligner: it reads the project, proposes the agreement and asks what it cannot settle.
//!
//! Invariant: what it proposes is a draft. The why is asked of the person, and nothing proposed runs here. Without a
//! proposal the questions go on with what was answered.

use std::path::Path;

use descent_core::graph::validate::MissingPart;

use super::{
    super::{
        End,
        asking::{self, Dialogue, DialogueEnd},
        context::Context,
    },
    AlignArgs, proposals, questions,
    reading::DraftText,
};
use crate::{
    clock,
    config::Config,
    failure::Failure,
    ops::aligner::{Aligner, AligningTask},
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
    let Some(aligner) = Aligner::of(config, top, clock::now())? else {
        return Ok(None);
    };
    // A configuration that may be another's starts nobody unasked.
    super::gate(context, flags, top, config, None)?;
    questions::words(context.out, flags, missing)?;
    let dialogue = Dialogue {
        context,
        aligner: &aligner,
        task: AligningTask::Agreement,
        words: flags.goal.as_deref().unwrap_or_default(),
        why: flags.why.as_deref().unwrap_or_default(),
        given: &given(flags),
        what: ["an agreement", "the agreement"],
    };
    let ended = dialogue.hold(|node, may_ask| aligner.agreement(node, may_ask));
    flags.aligner_used = Some((aligner.agent.name.clone(), aligner.used()));
    let (plan, answers) = match ended? {
        DialogueEnd::Proposed(plan, answers) => (plan, answers),
        DialogueEnd::Unfinished(plan, answers) => {
            context.out.say(FIRST_PROPOSAL);
            (plan, answers)
        }
        DialogueEnd::Nothing => return Ok(None),
        DialogueEnd::Left => return Err(questions::left()),
        DialogueEnd::Signal(signal) => return Ok(Some(End::Signal(signal))),
    };
    flags.clarifications = answers;
    flags.draft = Some(DraftText::Proposed(plan));
    flags.proposed_by = Some(aligner.agent.name);
    Ok(None)
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

//! The agents that `align` asks: an aligner, which proposes the agreement and asks what it cannot settle, and one that
//! says what kind of task it is.
//!
//! Invariant: what it proposes is a draft. The why is asked of the person, and nothing proposed runs here. Without a
//! proposal the questions go on with what was answered.

use std::path::Path;

use descent_core::{
    graph::validate::MissingPart,
    profile as rule,
    state::{State, Usage, profile::ProfileRecord},
    world::World,
};

use super::{
    super::{
        End,
        asking::{self, Dialogue, DialogueEnd},
        context::{Context, SkippableOutcome},
    },
    AlignArgs, proposals, questions,
    reading::DraftText,
};
use crate::{
    clock,
    config::Config,
    failure::Failure,
    ops::{
        aligner::{Aligner, AlignerQuestion, AligningTask},
        profiler::Profiler,
    },
    render,
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
        question: AlignerQuestion {
            task: AligningTask::Agreement,
            words: flags.goal.as_deref().unwrap_or_default(),
            why: flags.why.as_deref().unwrap_or_default(),
            given: &given(flags),
        },
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

/// A profile that an agent gave, with what it used.
pub(super) struct GivenProfile {
    pub(super) record: ProfileRecord,
    pub(super) used: Usage,
}

/// The answer of whoever is asked; none where nobody is, or where a person said it.
pub(super) fn profile(
    context: &Context,
    flags: &AlignArgs,
    config: &Config,
    top: &Path,
    state: &State,
) -> Result<Result<Option<GivenProfile>, End>, Failure> {
    let profiler = Profiler::of(config, clock::now())?;
    let is_said = state.objective.constraints.profile.is_some();
    let Some(profiler) = profiler.filter(|_| !is_said) else {
        return Ok(Ok(None));
    };
    let name = profiler.agent.name.clone();
    if flags.dry_run {
        let said = format!("the agent `{name}` is asked what kind of task it is, but not with -n");
        context.out.say(&said);
        return Ok(Ok(None));
    }
    let world = World::new(state.clone());
    let who = format!("the agent `{name}`");
    let head = format!("asking `{name}` what kind of task it is");
    let work = |cancel| async move { profiler.ask(top, &world, &cancel).await };
    let ended = asking::skippable(context, &who, &head, work);
    let (record, used) = match ended? {
        SkippableOutcome::Signal(signal) => return Ok(Err(End::Signal(signal))),
        SkippableOutcome::Done(Some(answered)) => answered,
        SkippableOutcome::Stopped | SkippableOutcome::Done(None) => {
            let at = clock::now().rfc3339();
            let record = rule::record(name.clone(), at, Err("it was ended".to_owned()));
            (record, Usage::default())
        }
    };
    asking::used(context, &format!("`{name}`"), &used);
    if !record.fault.is_empty() {
        let why = render::visible(&render::line(&record.fault));
        context.out.say(&format!("no answer of `{name}`: {why}"));
    }
    Ok(Ok(Some(GivenProfile { record, used })))
}

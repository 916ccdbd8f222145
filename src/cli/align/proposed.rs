//! A proposal: of the agents that `align` asks, shown whole before anything of it runs, and decided on or edited by the
//! person.
//!
//! Invariant: every command, every setting that decides, and every word that an agent would be told, is shown whole. The
//! why is asked of the person. Typed text is in the draft, or in the copy, whose path is printed.

use std::path::Path;

use descent_core::{
    doc,
    graph::validate::MissingPart,
    plan, profile as rule,
    state::{FreeValue, State, Usage, profile::ProfileRecord},
    trust::TrustList,
    view,
    world::World,
};

use super::{
    super::{
        End, ask,
        asking::{self, Dialogue, DialogueEnd},
        context::{Context, SkippableOutcome, runtime, signals_are_given_back},
        edit::{EditedCopy, EditorOutcome, again, editor_here},
    },
    AlignArgs,
    preview::WIDTH,
    questions,
    reading::{AlignRefusal, DraftText, read},
};
use crate::render::{self, Bounds, Line, Meaning, Page};
use descent_agent::config::Config;
use descent_engine::{
    ops::{
        align::not_aligned,
        aligner::{Aligner, AlignerQuestion, AligningTask},
        outside::Profiler,
    },
    plan_file::{Notation, PlanFile},
};
use descent_system::{
    clock,
    failure::{Failure, exit, quoted},
    files, phrase,
};
use descent_workspace::cache_dir;

/// A person's decision about a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftDecision {
    Yes,
    No,
    /// It is edited first.
    Edit,
}

/// Shows a draft, and asks whether its checks may run.
pub(super) fn decide(
    context: &Context,
    flags: &AlignArgs,
    state: &State,
    config: &Config,
) -> Result<DraftDecision, Failure> {
    context.out.say("");
    context.out.page(&page(flags, state, config));
    let question = "run its checks now, to see how things stand?";
    Ok(runtime()?.block_on(asks(context, question)))
}

/// Asks for a decision; silence is a no.
pub(super) async fn asks(context: &Context, question: &str) -> DraftDecision {
    let question = format!("{question} y: yes, e: edit it first [y/e/N] ");
    let words: [&[&str]; 3] = [&["y", "yes"], &["e", "edit"], &["", "n", "no"]];
    let help = "y for yes, e to edit it, n for no";
    match ask::choice(context.out, &question, &words, help).await {
        Some(0) => DraftDecision::Yes,
        Some(1) => DraftDecision::Edit,
        _ => DraftDecision::No,
    }
}

fn page(flags: &AlignArgs, state: &State, config: &Config) -> Page {
    let world = World::new(state.clone());
    let objective = &state.objective;
    let (deliverables, done) = (&objective.deliverables, &objective.definition_of_done);
    let mut page = Page::new(WIDTH);
    page.push(Line::new().dim(match (&flags.draft, &flags.proposed_by) {
        (Some(super::reading::DraftText::Proposed(_)), Some(name)) => {
            format!("proposed by `{name}`; nothing of it ran:")
        }
        (Some(super::reading::DraftText::Proposed(file)), None) => {
            format!("the {}; nothing of it ran:", file.name.display())
        }
        (Some(_) | None, _) => "as you edited it; nothing of it ran:".to_owned(),
    }));
    page.gap();
    for (head, text) in [
        ("goal:  ", &objective.goal),
        ("why:   ", &objective.background_intent),
        ("gives: ", deliverables),
        ("done:  ", done),
    ] {
        let meaning = if head == "goal:  " { Meaning::Strong } else { Meaning::Plain };
        if !text.is_empty() {
            page.unabridged(Line::new().dim(head), meaning, &phrase::visible(text));
        }
    }
    for (question, resolution) in clarified(objective.clarifications.as_ref()) {
        let words = phrase::visible(&format!("{question} {resolution}"));
        page.unabridged(Line::new().dim("asked: "), Meaning::Plain, &words);
    }
    let protected = &objective.constraints.protected;
    if !protected.is_empty() {
        let globs = phrase::visible(&protected.join(", "));
        let head = Line::new().dim("no attempt may change: ");
        page.unabridged(head, Meaning::Plain, &globs);
    }
    page.gap();
    page.push(Line::new().dim("the work:"));
    page.extend(render::graph_lines(&view::graph::graph(&world)));
    page.gap();
    page.push(Line::new().dim("all that it sets, whole:"));
    let carried = TrustList::of_state(state);
    for line in render::carried(&carried, Bounds::WHOLE, "descent align") {
        page.whole(Line::indent(2).plain(line));
    }
    if let Some(worker) = config.worker_line() {
        let head = Line::new().dim("the worker: ");
        page.unabridged(head, Meaning::Plain, &phrase::visible(&worker));
    }
    page.gap();
    page
}

/// Questions with their answers.
fn clarified(all: Option<&FreeValue>) -> Vec<(String, String)> {
    let all = all.and_then(FreeValue::as_array).unwrap_or_default().iter();
    let text = |one: &FreeValue, key| Some(one.get(key)?.as_str()?.to_owned());
    all.filter_map(|one| Some((text(one, "question")?, text(one, "resolution")?))).collect()
}

/// The directory of the copies, below the cache.
const COPIES: &str = "drafts";
/// Copies that are kept.
const KEPT_MAX: usize = 20;
/// How often an invalid text is opened again.
const EDITED_MAX: usize = 1_000;

/// Opens the draft in the editor until it is an agreement; an unchanged text leaves it as it was.
pub(super) fn edit(
    context: &Context,
    flags: &mut AlignArgs,
    state: State,
) -> Result<State, Failure> {
    let copy = copy(&state)?;
    let command = editor_here();
    for _ in 0..EDITED_MAX {
        let ended = copy.open(context, &command)?;
        signals_are_given_back()?;
        let typed = match ended {
            EditorOutcome::Text(typed) => typed,
            EditorOutcome::Signal(..) => break,
            EditorOutcome::Nothing => {
                copy.remove();
                return Ok(state);
            }
            EditorOutcome::Failed(how, is_changed) => {
                let words = format!("the editor `{command}` {how}; the proposal is as it was");
                context.out.say(&words);
                copy.close(context, is_changed);
                return Ok(state);
            }
        };
        let file = PlanFile { name: copy.path.clone(), bytes: typed, notation: Notation::Json };
        let before = flags.draft.replace(DraftText::Edited(file));
        match read(&PlanFile::none(), flags, |line| context.out.say(line)) {
            Ok((state, _)) => {
                before.iter().for_each(forget);
                return Ok(state);
            }
            Err(refusal) => {
                flags.draft = before;
                context.out.failure(&failure_of(refusal));
                if !again(context)? {
                    break;
                }
            }
        }
    }
    Err(copy.kept(questions::left_with(flags)))
}

/// The refusal after a no. A proposal that an agent made is kept, and named.
pub(super) fn refused(flags: &AlignArgs, state: &State) -> Failure {
    let mut refusal = questions::left_with(flags);
    if let (Some(DraftText::Proposed(_)), Some(_)) = (&flags.draft, &flags.proposed_by)
        && let Ok(copy) = copy(state)
    {
        refusal.details.push(format!("the proposal is kept in {}", copy.path.display()));
        refusal.hint = format!("go on from there: descent align -f {}", quoted(&copy.path));
    }
    refusal
}

/// Removes the copy of a text that stands elsewhere now.
pub(super) fn forget(draft: &DraftText) {
    if let DraftText::Edited(file) = draft {
        // A leftover copy harms nobody.
        let _ = files::remove_file(&file.name);
    }
}

fn failure_of(refusal: AlignRefusal) -> Failure {
    match refusal {
        AlignRefusal::Failed(failure) => failure,
        AlignRefusal::Incomplete(missing) => lacking(&missing),
    }
}

fn lacking(missing: &[MissingPart]) -> Failure {
    let refusal = not_aligned(missing);
    let hint = "write them into the text";
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, &refusal.message, hint).with(refusal.details)
}

/// A copy of a draft, for the editor or to be kept; the oldest of earlier ones go.
fn copy(state: &State) -> Result<EditedCopy, Failure> {
    let unwritable = |error| Failure::io("the copy to edit cannot be made", &error);
    let no_place = || unwritable(std::io::ErrorKind::NotFound.into());
    let dir = cache_dir().ok_or_else(no_place)?.join(COPIES);
    files::make_dirs(&dir).map_err(unwritable)?;
    let mut kept = files::entries(&dir);
    kept.sort_unstable();
    let old = kept.len().saturating_sub(KEPT_MAX - 1);
    for path in kept.into_iter().take(old) {
        // The next edit tries again what cannot be removed now.
        let _ = files::remove(&path);
    }
    let text = doc::write(&plan::text_of(state));
    EditedCopy::create(&dir, &uuid::Uuid::now_v7().to_string(), text.as_bytes())
}

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
    let is_of_use = questions::wants_checks(missing) || missing.contains(&MissingPart::Work);
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
        let why = phrase::visible(&phrase::line(&record.fault));
        context.out.say(&format!("no answer of `{name}`: {why}"));
    }
    Ok(Ok(Some(GivenProfile { record, used })))
}

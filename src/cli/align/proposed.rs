//! A proposal: of the agents that `align` asks, shown whole before anything of it runs, and decided on or edited by the
//! person.
//!
//! Invariant: every command, every setting that decides, and every word that an agent would be told, is shown whole. The
//! why is asked of the person. Typed text is in the draft, or in the copy, whose path is printed.

use std::path::Path;

use descent_core::{
    doc,
    graph::validate::MissingPart,
    id::AgentName,
    plan, profile as rule,
    proposal::Clarification,
    state::{FreeValue, Question, Role, State, Usage, profile::ProfileRecord},
    trust::TrustList,
    view,
    world::World,
};

use super::{
    super::{
        End,
        ask::{self, ChoiceAnswer},
        asking::{self, DialogueEnd},
        context::{Context, SkippableOutcome, interruptible, signals_are_given_back},
        edit::{EditedCopy, EditorOutcome, editor_here},
    },
    AlignArgs,
    preview::WIDTH,
    questions,
    reading::{PlanOrigin, PlanText, read},
};
use crate::render::{self, Bounds, Line, Meaning, Page};
use descent_agent::config::Config;
use descent_engine::{
    ops::{
        align::not_aligned,
        aligner::{Aligner, AlignerQuestion, Given, Proposed},
        outside::OutsideAgent,
    },
    plan_file::{Notation, PlanFile},
};
use descent_system::{clock, failure::Failure, files, phrase, signal::Signal};
use descent_workspace::cache_dir;

/// A person's decision about a draft.
#[derive(Debug)]
pub(super) enum DraftDecision {
    Yes,
    No,
    /// It is edited first.
    Edit,
    /// The agent that proposed it gets these words.
    Words(String),
}

/// Shows a draft, and asks whether its checks may run; or the signal that came instead of an answer.
pub(super) fn decide(
    context: &Context,
    flags: &AlignArgs,
    state: &State,
    config: &Config,
) -> Result<Result<DraftDecision, Signal>, Failure> {
    context.out.say("");
    context.out.page(&page(flags, state, config));
    let question = match flags.errand {
        Some(_) => "agree, and run all of it?",
        None => "run its checks now?",
    };
    let decided = interruptible(|cancel| async move {
        Ok(tokio::select! {
            decision = asks(context, flags, question) => decision,
            () = cancel.cancelled() => DraftDecision::No,
        })
    });
    signals_are_given_back()?;
    decided
}

/// Asks for a decision; silence is a no. Only a draft can be edited, and only a proposal is answered in words.
pub(super) async fn asks(context: &Context, flags: &AlignArgs, question: &str) -> DraftDecision {
    if !flags.has_draft() {
        let is_yes = context.consents(question).await;
        return if is_yes { DraftDecision::Yes } else { DraftDecision::No };
    }
    let talks = flags.proposal.as_ref().is_some_and(|(_, rounds)| *rounds < ROUNDS_MAX);
    let [or_say, help] = match talks {
        true => [
            ", or say what to change",
            "y for yes, e to edit it, n for no, or more than one word for the agent that proposed it",
        ],
        false => ["", "y for yes, e to edit it, n for no"],
    };
    let question = format!("{question} y: yes, e: edit it{or_say} [y/e/N] ");
    let words: [&[&str]; 3] = [&["y", "yes"], &["e", "edit"], &["", "n", "no"]];
    match ask::choice(context.out, &question, &words, talks, help).await {
        Some(ChoiceAnswer::Chosen(0)) => DraftDecision::Yes,
        Some(ChoiceAnswer::Chosen(1)) => DraftDecision::Edit,
        Some(ChoiceAnswer::Words(words)) => DraftDecision::Words(words),
        Some(ChoiceAnswer::Chosen(_)) | None => DraftDecision::No,
    }
}

fn page(flags: &AlignArgs, state: &State, config: &Config) -> Page {
    let world = World::new(state.clone());
    let objective = &state.objective;
    let mut page = Page::new(WIDTH);
    let whose = match &flags.text {
        Some(PlanText { from: PlanOrigin::Proposed(name), .. }) => format!("proposed by `{name}`"),
        Some(PlanText { from: PlanOrigin::Pattern, file }) => {
            format!("the {}", file.name.display())
        }
        Some(_) | None => "as you edited it".to_owned(),
    };
    page.push(Line::new().dim(format!("{whose}; nothing of it ran:")));
    page.gap();
    for (head, text) in [
        ("goal:  ", &objective.goal),
        ("why:   ", &objective.background_intent),
        ("gives: ", &objective.deliverables),
        ("done:  ", &objective.definition_of_done),
    ] {
        let meaning = if head == "goal:  " { Meaning::Strong } else { Meaning::Plain };
        if !text.is_empty() {
            page.unabridged(Line::new().dim(head), meaning, &phrase::visible(text));
        }
    }
    let clarified = objective.clarifications.as_ref().and_then(FreeValue::as_array);
    for one in clarified.unwrap_or_default() {
        let text = |key| one.get(key).and_then(FreeValue::as_str);
        if let (Some(question), Some(resolution)) = (text("question"), text("resolution")) {
            let words = phrase::visible(&format!("{question} {resolution}"));
            page.unabridged(Line::new().dim("asked: "), Meaning::Plain, &words);
        }
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

/// The directory of the copies, below the cache.
const COPIES: &str = "drafts";
/// Copies that are kept.
const KEPT_MAX: usize = 20;

/// Opens the draft in the editor until it is an agreement; an unchanged text leaves it as it was.
pub(super) fn edit(
    context: &Context,
    flags: &mut AlignArgs,
    state: State,
) -> Result<State, Failure> {
    let copy = copy(&state)?;
    let command = editor_here();
    let ended = copy.until(context, &command, |typed| {
        signals_are_given_back()?;
        let file = PlanFile { name: copy.path.clone(), bytes: typed, notation: Notation::Json };
        let before = flags.text.replace(PlanText { file, from: PlanOrigin::Edited });
        let edited = read(flags).and_then(|edited| {
            edited.warnings.iter().for_each(|line| context.out.say(line));
            if edited.missing.is_empty() {
                return Ok(edited.state);
            }
            let mut refusal = not_aligned(&edited.missing);
            refusal.hint = "write them into the text".to_owned();
            Err(refusal)
        });
        match &edited {
            Ok(_) => {
                before.iter().for_each(forget);
                // The text is the person's own from here on.
                flags.proposal = None;
            }
            Err(refusal) => {
                flags.text = before;
                context.out.failure(refusal);
            }
        }
        Ok(edited.ok())
    })?;
    signals_are_given_back()?;
    match ended {
        EditorOutcome::Text(edited) => Ok(edited),
        EditorOutcome::Nothing => {
            copy.remove();
            Ok(state)
        }
        EditorOutcome::Failed(how, is_changed) => {
            let words = format!("the editor `{command}` {how}; the proposal is as it was");
            context.out.say(&words);
            copy.close(context, is_changed);
            Ok(state)
        }
        EditorOutcome::Signal(..) | EditorOutcome::Discarded => {
            Err(copy.kept(questions::left_with(flags)))
        }
    }
}

/// The refusal after a no. A proposal that an agent made is kept, and named.
pub(super) fn refused(flags: &AlignArgs, state: &State) -> Failure {
    let mut refusal = questions::left_with(flags);
    if let Some(PlanText { from: PlanOrigin::Proposed(_), .. }) = &flags.text
        && let Ok(copy) = copy(state)
    {
        refusal.details.push(format!("the proposal is kept in {}", copy.path.display()));
        refusal.hint = questions::from_there(flags, &copy.path);
    }
    refusal
}

/// Removes the copy of a text that stands elsewhere now.
pub(super) fn forget(text: &PlanText) {
    if text.from == PlanOrigin::Edited {
        // A leftover copy harms nobody.
        let _ = files::remove_file(&text.file.name);
    }
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

/// How often an agent is asked for another proposal.
const ROUNDS_MAX: usize = 5;
/// The question that a person's words about a proposal answer.
const TO_CHANGE: &str = "What is to change in the proposal?";
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
    if missing.contains(&MissingPart::Goal) {
        questions::words(context.out, flags, &[MissingPart::Goal])?;
    }
    let ended =
        with_question(flags, &aligner, |question| asking::hold(context, &aligner, question));
    let (proposed, answers) = match ended? {
        DialogueEnd::Proposed(proposed, answers) => (proposed, answers),
        DialogueEnd::Unfinished(proposed, answers) => {
            context.out.say(FIRST_PROPOSAL);
            (proposed, answers)
        }
        DialogueEnd::Nothing => return Ok(None),
        DialogueEnd::Left => return Err(questions::left()),
        DialogueEnd::Signal(signal) => return Ok(Some(End::Signal(signal))),
    };
    flags.clarifications = answers;
    flags.take(proposed, aligner.asked.agent.name, 0);
    Ok(None)
}

/// Asks the agent for another proposal by a person's words. Without one the draft stays; the words stay in any case.
pub(super) fn another(
    context: &Context,
    flags: &mut AlignArgs,
    top: &Path,
    config: &Config,
    words: String,
) -> Result<Option<End>, Failure> {
    let question = TO_CHANGE.to_owned();
    flags.clarifications.push(Clarification { question, resolution: words });
    let Some((before, rounds)) = flags.proposal.clone() else { return Ok(None) };
    let Some(aligner) = Aligner::of(config, top, clock::now())? else { return Ok(None) };
    let answers = flags.clarifications.clone();
    let given = Given { answers: &answers, before: Some(&before), is_alone: false };
    let ended = with_question(flags, &aligner, |question| {
        asking::propose(context, &aligner, question, &given)
    });
    let name = aligner.asked.agent.name;
    match ended? {
        SkippableOutcome::Done(proposed) => flags.take(proposed, name, rounds + 1),
        SkippableOutcome::Stopped => flags.proposal = Some((before, rounds + 1)),
        SkippableOutcome::Signal(signal) => return Ok(Some(End::Signal(signal))),
    }
    Ok(None)
}

/// Takes the work that an agent proposes where nobody can be asked, without any check of it.
pub(super) fn take_work(
    context: &Context,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
    top: &Path,
    config: &Config,
) -> Result<Option<End>, Failure> {
    let accepts = flags.errand.is_some_and(|errand| errand.accept_work);
    if !accepts || questions::wants_checks(missing) || !missing.contains(&MissingPart::Work) {
        return Ok(None);
    }
    let Some(aligner) = Aligner::of(config, top, clock::now())? else { return Ok(None) };
    super::gate(context, flags, top, config, None)?;
    let given = Given { is_alone: true, ..Given::default() };
    let ended = with_question(flags, &aligner, |question| {
        asking::propose(context, &aligner, question, &given)
    });
    signals_are_given_back()?;
    let name = aligner.asked.agent.name;
    match ended? {
        SkippableOutcome::Done(proposed) => {
            flags.take(proposed, name, 0);
            flags.errand.iter_mut().for_each(|errand| errand.is_unseen = true);
        }
        SkippableOutcome::Stopped => {}
        SkippableOutcome::Signal(signal) => return Ok(Some(End::Signal(signal))),
    }
    Ok(None)
}

/// Puts the question that the flags make, and keeps what it used, however it ends.
fn with_question<T>(
    flags: &mut AlignArgs,
    aligner: &Aligner<'_>,
    ask: impl FnOnce(&AlignerQuestion<'_, PlanFile>) -> T,
) -> T {
    let [words, why] = [&flags.goal, &flags.why].map(|text| text.clone().unwrap_or_default());
    let given = questions::given(flags);
    let answer = ask(&aligner.agreement(&words, &why, &given));
    flags.used.push((aligner.asked.agent.name.clone(), Role::Aligner.into(), aligner.used()));
    answer
}

impl AlignArgs {
    /// Takes a proposal as the draft.
    fn take(&mut self, proposed: Proposed<PlanFile>, by: AgentName, rounds: usize) {
        self.proposal = Some((proposed.answer, rounds));
        self.text = Some(PlanText { file: proposed.value, from: PlanOrigin::Proposed(by) });
    }
}

/// The kind of task by whoever is asked; none where nobody is, or where a person said it.
pub(super) fn profile(
    context: &Context,
    flags: &mut AlignArgs,
    config: &Config,
    top: &Path,
    state: &State,
) -> Result<Result<Option<ProfileRecord>, End>, Failure> {
    let profiler = OutsideAgent::of(config, Question::Profile, top, clock::now())?;
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
    let work = |cancel| async move { profiler.profile(&world, &cancel).await };
    let ended = asking::skippable(context, &who, &head, work);
    let (record, used) = match ended? {
        SkippableOutcome::Signal(signal) => return Ok(Err(End::Signal(signal))),
        SkippableOutcome::Done(answered) => answered,
        SkippableOutcome::Stopped => {
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
    flags.used.push((name, Question::Profile.into(), used));
    Ok(Ok(Some(record)))
}

//! The end of a run: one typed final result, whatever the reason. Not here: whether a run ends
//! (`advance`), and whether the base case holds (`base_case`).

use super::{
    account, base_case, final_words, law_point, question,
    remedies::{self, next_moves},
    transaction::Transaction,
};
use crate::doc::prelude::*;
use crate::{
    event::{Event, NotTaken},
    graph::Ix,
    id::{AtomId, CommitId, UnixMillis},
    search,
    state::{
        Extra, FailureClass, Reason, RunStatus, State, VerdictRecord,
        account::LastDirective,
        atom::TaskQuestion,
        final_result::{
            BASE_CASE, DoneAtom, EndedProcesses, EndingFacts, Expiry, FailedAtom,
            FinalResultRecord, JudgedLeaves, OpenStep, PersonQuestion, ResultVerdict,
            ResultWorkspace,
        },
        record::{EvidenceRecord, RefutedEntry},
    },
    verdict::Verdict,
    wording::{for_work, kept},
    world::{Session, Unavailable, World},
};

/// Atoms whose left files are named where the base case fails.
const LEFT_MAX: usize = 2;
/// Open steps at most in a result.
const OPEN_MAX: usize = 100;

/// `delivered`: the commit of the result, if it is not the head.
pub(super) fn finish(
    transaction: &mut Transaction,
    status: RunStatus,
    reason: Reason,
    delivered: Option<CommitId>,
) {
    transaction.write_verdicts();
    transaction.run().delivered = delivered;
    if status == RunStatus::Completed {
        law_point::reached(transaction);
    }
    let evidence = evidence(transaction);
    let cause = transaction.session.unavailable.clone();
    let cause = cause.filter(|_| reason == Reason::Unavailable);
    let ending = EndingFacts {
        reason: Some(reason),
        ended: Some(transaction.at.clone()),
        summary: summary(transaction, status, reason, &evidence),
        loss: account::loss(transaction, status == RunStatus::Completed),
        missing: super::phase::dropped(transaction),
        unsteady: core::mem::take(&mut transaction.session.unsteady),
        // The trouble of an agent or of the setup, where it ends the run.
        code: cause.as_ref().and_then(|cause| cause.trouble),
        moves: cause.map(|cause| cause.moves).unwrap_or_default(),
        ..EndingFacts::default()
    };
    let judged = JudgedLeaves { at: transaction.at.clone(), evidence, extra: Extra::default() };
    let summary = ending.summary.clone();
    question::close(transaction, None);
    let mut parked = transaction.state.run.in_flight.clone();
    // Nobody is asked any more where the run has completed.
    parked.retain(|intent| status != RunStatus::Completed && transaction.is_parked(intent));
    let run = transaction.run();
    run.status = status;
    // The next run takes them in as they are.
    run.in_flight = parked;
    run.waits.clear();
    run.ending = ending;
    run.judged = Some(judged);
    if status == RunStatus::Stopped {
        transaction.clear_requests();
    }
    transaction.session.base_target = None;
    transaction.announce(Event::Ended { result: status, reason, summary });
    final_words::ask(transaction);
}

/// The state has no room for the next commit. All attempts stay in flight, as after a kill of the loop.
pub(super) fn no_room(transaction: &mut Transaction, why: String) {
    if !transaction.state.run.status.is_active() {
        return;
    }
    let kept = transaction.state.run.in_flight.clone();
    transaction.session.unavailable = Some(Unavailable::no_room(why));
    finish(transaction, RunStatus::Stopped, Reason::Unavailable, None);
    transaction.run().in_flight = kept;
}

/// Completes the result of a stopped run by what the stop ended.
pub(super) fn all_ended(transaction: &mut Transaction, ended: EndedProcesses) {
    let run = &transaction.state.run;
    if run.ending.is_known() && run.status == RunStatus::Stopped {
        transaction.run().ending.stopped = Some(ended);
    }
}

/// Evidence for the delivered tree, of the verdict that decides if there is one.
fn evidence(transaction: &Transaction) -> Vec<EvidenceRecord> {
    match (&transaction.state.objective.base_case, base_case::result_basis(transaction)) {
        (Some(check), Some(basis)) => transaction.evaluator(&basis).evidence_of(check),
        _ => Vec::new(),
    }
}

/// The agreed steps that are open, each with its fate.
fn open(transaction: &Transaction) -> Vec<OpenStep> {
    let state = &transaction.state;
    let steps = base_case::open_steps(transaction).into_iter().take(OPEN_MAX);
    let steps = steps.map(|id| OpenStep {
        description: state.atom(&id).map_or("", |atom| atom.title(&id)).into(),
        reason: state.newest_failure(&id).map(|(_, failure)| failure.reason.clone()),
        atom: id,
        extra: Extra::default(),
    });
    steps.collect()
}

/// How much of the base case held on the delivered tree, and the selection that the tree was made under.
fn verdict(verdict: &VerdictRecord) -> ResultVerdict {
    ResultVerdict {
        held: verdict.held,
        of: verdict.of,
        pristine: verdict.is_pristine,
        choices: verdict.choices.clone(),
        extra: Extra::default(),
    }
}

/// The commands and edits that lead on after the last ending.
pub fn moves_of_last(world: &World) -> Vec<String> {
    let reason = world.state.run.last_ending().and_then(|ending| ending.reason);
    reason.map_or_else(Vec::new, |reason| moves(&looking(world), reason))
}

fn moves(transaction: &Transaction, reason: Reason) -> Vec<String> {
    let run = &transaction.state.run;
    if run.ending.moves.is_empty() {
        next_moves(transaction, run.status, reason)
    } else {
        run.ending.moves.clone()
    }
}

/// For what reads a world by the means of a step.
fn looking(world: &World) -> Transaction {
    Transaction::new(world, &Session::default(), UnixMillis(0), 0).go_on(world)
}

/// The result of the run that ended last; none while one is at work. Edits since then are in it.
pub fn last_result(world: &World) -> Option<FinalResultRecord> {
    let state = &world.state;
    let reason = state.run.last_ending()?.reason?;
    let transaction = looking(world);
    let mut result = result(&transaction, state.run.status, reason);
    result.output = Some(final_words::of(&transaction, &result));
    result.accountable = Some(account::accountable(&transaction, &result));
    Some(result)
}

fn result(transaction: &Transaction, status: RunStatus, reason: Reason) -> FinalResultRecord {
    let state = &transaction.state;
    let run = &state.run;
    let ending = run.ending.clone();
    let is_completed = status == RunStatus::Completed;
    let (loss, point) = (ending.loss, run.law.as_ref().and_then(|law| law.point.as_ref()));
    let given = point.and_then(|point| LastDirective::of_word(point.directive.word()));
    FinalResultRecord {
        result: Some(status),
        reason: Some(reason),
        lineage: Some(state.lineage.clone()),
        at: ending.ended,
        code: ending.code,
        summary: ending.summary,
        output: None,
        grad_l: loss.as_ref().map(|loss| account::change(loss, point)),
        directive: if is_completed { Some(LastDirective::Accept) } else { given },
        changes: law_point::changes_made(transaction),
        best: account::best(transaction, loss.as_ref()),
        accountable: None,
        metrics: Some(account::metrics(transaction)),
        loss,
        expired: expired(reason),
        iterations: run.iteration,
        evidence: run.judged.iter().flat_map(|judged| judged.evidence.clone()).collect(),
        verdict: run.verdict_on_result().map(verdict),
        unsteady: ending.unsteady,
        done: done(state),
        missing: ending.missing,
        open: if is_completed { open(transaction) } else { Vec::new() },
        questions: if is_completed { Vec::new() } else { questions(state) },
        failed: failed(state),
        next_moves: moves(transaction, reason),
        workspace: Some(workspace(state)),
        spent: Some(run.spent.clone()),
        spent_by_agent: run.spent_by_agent.to_vec(),
        ended: ending.stopped,
    }
}

fn expired(reason: Reason) -> Option<Expiry> {
    match reason {
        Reason::Passes => Some(Expiry::Boundary),
        Reason::Iterations | Reason::Time | Reason::Calls | Reason::Tokens | Reason::Cost => {
            Some(Expiry::MidPhase)
        }
        _ => None,
    }
}

fn workspace(state: &State) -> ResultWorkspace {
    let start = state.run.started_from.as_ref();
    ResultWorkspace {
        kind: state.objective.constraints.workspace().word().into(),
        base: start.map(|from| from.commit.clone()),
        commit: state.run.result().cloned(),
        extra: Extra::default(),
    }
}

fn summary(
    transaction: &Transaction,
    status: RunStatus,
    reason: Reason,
    evidence: &[EvidenceRecord],
) -> String {
    let run = &transaction.state.run;
    let solved = transaction.state.bindings.len() as u64;
    let count = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let (solved, attempts) = (count(solved, "atom"), count(run.spent.attempts, "attempt"));
    let repairs = match run.spent.repairs {
        0 => String::new(),
        n => format!(", {}", count(n, "repair")),
    };
    let open = match base_case::open_steps(transaction).len() as u64 {
        n if n > 0 && status == RunStatus::Completed => format!("; {} open", count(n, "step")),
        _ => String::new(),
    };
    let work = format!("{solved} solved, {attempts}{repairs}{open}");
    match (status, reason) {
        (RunStatus::Completed, Reason::AlreadyHeld) => {
            format!("the base case holds already; no agent was started{open}")
        }
        (RunStatus::Completed, _) => format!("the base case holds; {work}"),
        (_, Reason::Unavailable) => {
            let cause = transaction.session.unavailable.as_ref();
            let why = cause.map_or("", |cause| cause.why.as_str());
            format!("{why}; {work}")
        }
        (RunStatus::Stopped, _) => {
            let why = transaction.state.control.stop_reason.as_ref();
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            format!("stopped on request{why}; {work}")
        }
        (_, Reason::NoChoice) => no_choice(transaction, evidence, &work),
        (_, Reason::Passes) => {
            let passes = run.passes.as_ref().map_or(0, |count| count.allocated);
            format!("the passes are over ({passes} of {passes}); {work}")
        }
        (_, Reason::Abandoned) => {
            let law = run.law.as_ref().and_then(|law| law.point.as_ref());
            let why = law.map_or("", |point| &*point.rationale);
            format!("planning was given up: {why}; {work}")
        }
        (_, Reason::Iterations) => format!("the limit of iterations is reached; {work}"),
        (_, Reason::Time) => format!("the time budget is spent; {work}"),
        (_, Reason::Calls | Reason::Tokens | Reason::Cost) => {
            format!("{}; {work}", at_limit(transaction, reason))
        }
        (_, Reason::InDoubt) => format!("an effect outside is in doubt; {work}"),
        (_, Reason::Confirmation) => {
            format!("all that a machine can check holds; a person must confirm the rest; {work}")
        }
        (_, Reason::Guidance) => match &questions(&transaction.state)[..] {
            [] => format!("an atom needs guidance; {work}"),
            [one] => format!("{} asks: {}; {work}", one.atom, one.question),
            several => format!("{} atoms ask a person; {work}", several.len()),
        },
        (_, Reason::AlreadyHeld | Reason::BaseCase | Reason::Stopped | Reason::Bug) => work,
    }
}

/// The summary of a run in which nothing is left to try.
fn no_choice(transaction: &Transaction, evidence: &[EvidenceRecord], work: &str) -> String {
    if let Some((id, words)) = remedies::blocked(transaction).first() {
        return format!("{id} is blocked: {words}; {work}");
    }
    if let Some(id) = failed_whatever_is_chosen(transaction) {
        return format!("{id} failed, and no choice has to do with it; {work}");
    }
    let tried = match transaction.graph.groups().next() {
        Some(_) => "every choice was tried",
        None => "nothing is left to try",
    };
    let verdict = if has_failed(evidence) { "does not hold" } else { "could not be decided" };
    format!("{tried} and the base case {verdict}; {work}")
}

/// The limit of usage that ended the run, and how much of it was used.
fn at_limit(transaction: &Transaction, reason: Reason) -> String {
    let run = &transaction.state.run;
    let constraints = &transaction.state.objective.constraints;
    let limit = reason.usage_limit();
    let limit = limit.and_then(|limit| Some((limit, constraints.usage(limit)?)));
    let Some((limit, most)) = limit else {
        return String::new();
    };
    let used = run.spent.usage.of(limit);
    let (key, of) = (limit.key(), limit.text(most));
    let about = if run.spent.usage.is_estimated { "≈ " } else { "" };
    let kept = match kept(&transaction.state, limit) {
        0 => String::new(),
        kept => format!(", {} kept for the final answer", limit.text(kept)),
    };
    let for_work = for_work(&transaction.state, limit).unwrap_or(most);
    let needs = if used < for_work { ", and the next attempt needs more" } else { "" };
    let used = limit.text(used);
    format!("{key}: {about}{used} of {of} are used{kept}{needs}")
}

fn done(state: &State) -> Vec<DoneAtom> {
    let done = state.bindings.iter().map(|(id, binding)| DoneAtom {
        atom: id.clone(),
        summary: binding.summary.clone(),
        attempts: binding.attempts,
        commit: binding.commit.clone(),
        extra: Extra::default(),
    });
    done.collect()
}

fn questions(state: &State) -> Vec<PersonQuestion> {
    let asked = state.atoms.iter().filter_map(|(id, atom)| {
        let TaskQuestion { question, options, .. } = atom.task()?.open_question()?.clone();
        Some(PersonQuestion { atom: id.clone(), question, options, extra: Extra::default() })
    });
    asked.collect()
}

/// The newest failure of each unsolved atom that was tried, and asks nothing.
fn failed(state: &State) -> Vec<FailedAtom> {
    let tried = state.atoms.iter().filter_map(|(id, atom)| {
        let task = atom.task().filter(|task| task.open_question().is_none())?;
        let has_failed = task.tries.iter().any(|tried| tried.has_failed());
        // A question that was answered is no failure.
        let has_asked = !task.questions.is_empty() && state.newest_failure(id).is_none();
        (has_failed && !has_asked).then_some((id, &task.tries))
    });
    let failed = tried.map(|(id, tries)| {
        let newest = state.newest_failure(id).map(|(_, failure)| failure);
        FailedAtom {
            atom: id.to_string(),
            choices: None,
            attempts: Some(tries.iter().map(|tried| u64::from(tried.attempts)).sum()),
            class: newest.map_or(FailureClass::Logical, |failure| failure.class),
            reason: newest.map_or_else(String::new, |failure| failure.reason.clone()),
            evidence: None,
            extra: Extra::default(),
        }
    });
    let refuted = state.refutations().next();
    let refuted = refuted.map(|(_, refuted)| failed_base_case(refuted, state));
    failed.chain(refuted).collect()
}

fn failed_base_case(refuted: &RefutedEntry, state: &State) -> FailedAtom {
    // A check that could not be run did not fail.
    let mut reason = if has_failed(&refuted.evidence) {
        "it does not hold with every step done"
    } else {
        "it could not be decided with every step done"
    }
    .to_string();
    let left = state
        .bindings
        .iter()
        .filter_map(|(id, binding)| Some((id, NotTaken::in_summary(&binding.summary)?)));
    for (id, left) in left.take(LEFT_MAX) {
        reason += &format!("; {id} left {left}");
    }
    FailedAtom {
        atom: BASE_CASE.to_string(),
        choices: Some(refuted.conflict.clone()),
        attempts: None,
        class: FailureClass::Logical,
        reason,
        evidence: Some(refuted.evidence.clone()),
        extra: Extra::default(),
    }
}

fn has_failed(evidence: &[EvidenceRecord]) -> bool {
    let fail = Verdict::Fail.word();
    evidence.iter().any(|one| one.verdict.as_deref() == Some(fail))
}

/// If choices are left: an atom that failed in a context without choices, so that no choice would help.
fn failed_whatever_is_chosen(transaction: &Transaction) -> Option<&AtomId> {
    let graph = &transaction.graph;
    graph.groups().next()?;
    let is_alone = |x: Ix| {
        let choices = transaction.active.choices(graph, x);
        search::conflict(graph, x, &choices).is_empty()
    };
    let mut dirty_tasks = transaction.dirty_tasks(true).into_iter();
    let (x, _) = dirty_tasks.find(|(x, task)| transaction.has_failed(*x, task) && is_alone(*x))?;
    Some(graph.id(x))
}

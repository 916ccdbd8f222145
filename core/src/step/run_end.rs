//! The end of a run: one typed final result, whatever the reason.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{delivery, remedies::next_moves, transaction::Transaction};
use crate::{
    doc::{Member, Node, Value},
    event::{Event, Reason},
    graph::Ix,
    id::{AtomId, CommitId},
    search,
    state::{
        EntryKind, Extra, RunStatus, State,
        fields::{Writer, texts_node},
        record::choices_node,
    },
    verdict::{self, Basis},
};

/// Done atoms at most in the recorded result.
const DONE_MAX: usize = 100;
const DONE: &str = "done";
/// Open steps at most in the recorded result.
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
    let summary = summary(transaction, status, reason);
    let result = result(transaction, status, reason, &summary);
    let run = transaction.run();
    run.status = status;
    run.in_flight.clear();
    run.last_result = Some(result);
    if status == RunStatus::Stopped {
        transaction.clear_requests();
    }
    transaction.session.base_target = None;
    transaction.say(Event::Ended {
        result: status,
        reason,
        summary,
    });
}

/// Evidence for the delivered tree, of the verdict that decides if there is one.
fn evidence(transaction: &Transaction) -> Vec<Node> {
    let run = &transaction.state.run;
    let of_delivered = |commit: &CommitId| run.verdicts.iter().find(|one| one.commit == *commit);
    let basis = match &run.delivered {
        Some(commit) => of_delivered(commit).map(|one| Basis::Pristine(one.tree.clone())),
        None => transaction.basis(),
    };
    let (Some(check), Some(basis)) = (&transaction.state.objective.base_case, basis) else {
        return Vec::new();
    };
    let cache = &transaction.session.evidence;
    let deciding = basis.deciding();
    let mut leaves = check.leaves().into_iter();
    let is_judged = leaves.any(|leaf| cache.get(&leaf.key(), &deciding).is_some());
    let basis = if is_judged { deciding } else { basis };
    verdict::evidence_of(check, &basis, cache, &transaction.state.corrections)
}

/// The agreed steps that are open, each with its fate.
fn open(transaction: &Transaction) -> Vec<Node> {
    let steps = delivery::open_steps(transaction).into_iter().take(OPEN_MAX);
    let steps = steps.map(|id| {
        let atom = transaction.state.atom(&id);
        let newest = newest_failure(&transaction.state, &id);
        let mut to = Writer::default();
        to.text("atom", id.as_str());
        to.text("description", atom.map_or("", |atom| atom.title(&id)));
        to.some("reason", newest.map(|(_, reason)| Node::string(reason)));
        to.finish(&Extra::default())
    });
    steps.collect()
}

/// How much of the base case held on the delivered tree, and the selection that the tree was made under.
fn verdict_on_result(transaction: &Transaction) -> Option<Node> {
    let run = &transaction.state.run;
    let commit = run.result()?;
    let verdict = run
        .verdicts
        .iter()
        .rev()
        .find(|one| one.commit == *commit)?;
    let mut to = Writer::default();
    to.put("held", Node::uint(verdict.held))
        .put("of", Node::uint(verdict.of))
        .put("pristine", Node::bool(verdict.is_pristine));
    if !verdict.choices.is_empty() {
        to.put("choices", choices_node(&verdict.choices));
    }
    Some(to.finish(&Extra::default()))
}

fn result(transaction: &Transaction, status: RunStatus, reason: Reason, summary: &str) -> Node {
    let state = &transaction.state;
    let run = &state.run;
    let mut to = Writer::default();
    to.text("result", status.word())
        .text("reason", reason.word())
        .text("lineage", state.lineage.as_str())
        .text("at", transaction.at());
    to.text("summary", summary);
    to.put("iterations", Node::uint(run.iteration));
    to.put("evidence", Node::array(evidence(transaction)));
    to.some("verdict", verdict_on_result(transaction));
    if !transaction.session.unsteady.is_empty() {
        to.put("unsteady", texts_node(&transaction.session.unsteady));
    }
    // A long list is left out: the bindings in the same state tell it.
    if state.bindings.len() <= DONE_MAX {
        to.put(DONE, Node::array(done(state)));
    }
    let dropped = super::phase::dropped(transaction);
    if !dropped.is_empty() {
        to.put("missing", Node::array(dropped));
    }
    if status == RunStatus::Completed {
        let open = open(transaction);
        if !open.is_empty() {
            to.put("open", Node::array(open));
        }
    }
    to.put("failed", Node::array(failed(state)));
    to.put(
        "next_moves",
        texts_node(&next_moves(transaction, status, reason)),
    );
    to.put("workspace", workspace(state));
    let mut spent = run.spent.clone();
    spent.active_ms += transaction.session.unwritten_ms;
    to.put("spent", spent.node());
    to.finish(&Extra::default())
}

fn workspace(state: &State) -> Node {
    let mut to = Writer::default();
    to.text("kind", state.objective.constraints.workspace().word());
    to.some(
        "base",
        state
            .run
            .started_from
            .as_ref()
            .map(|from| Node::string(from.commit.as_str())),
    );
    to.some(
        "commit",
        state
            .run
            .result()
            .map(|commit| Node::string(commit.as_str())),
    );
    to.finish(&Extra::default())
}

fn summary(transaction: &Transaction, status: RunStatus, reason: Reason) -> String {
    let run = &transaction.state.run;
    let solved = transaction.state.bindings.len() as u64;
    let count = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let (solved, attempts) = (count(solved, "atom"), count(run.spent.attempts, "attempt"));
    let repairs = match run.spent.repairs {
        0 => String::new(),
        n => format!(", {}", count(n, "repair")),
    };
    let open = match delivery::open_steps(transaction).len() as u64 {
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
            let why = transaction.session.unavailable.as_deref().unwrap_or("");
            format!("{why}; {work}")
        }
        (RunStatus::Stopped, _) => {
            let why = transaction
                .state
                .control
                .stop_reason
                .as_ref()
                .map(|why| format!(" ({why})"))
                .unwrap_or_default();
            format!("stopped on request{why}; {work}")
        }
        (_, Reason::NoChoice) => match failed_whatever_is_chosen(transaction) {
            Some(id) => format!("{id} failed, and no choice has to do with it; {work}"),
            None => {
                let tried = match transaction.graph.groups().next() {
                    Some(_) => "every choice was tried",
                    None => "nothing is left to try",
                };
                let verdict = if has_failed(&evidence(transaction)) {
                    "does not hold"
                } else {
                    "could not be decided"
                };
                format!("{tried} and the base case {verdict}; {work}")
            }
        },
        (_, Reason::Iterations) => format!("the limit of iterations is reached; {work}"),
        (_, Reason::Time) => format!("the time budget is spent; {work}"),
        (_, Reason::InDoubt) => format!("an effect outside is in doubt; {work}"),
        (_, Reason::Confirmation) => {
            format!("all that a machine can check holds; a person must confirm the rest; {work}")
        }
        (_, Reason::Guidance) => format!("an atom needs guidance; {work}"),
        (_, Reason::AlreadyHeld | Reason::BaseCase | Reason::Stopped | Reason::Bug) => work,
    }
}

/// The final result of the last run, with all that is done.
pub fn last_result(state: &State) -> Option<Node> {
    let mut result = state.run.last_result.clone()?;
    let Value::Object(members) = &mut result.value else {
        return Some(result);
    };
    if members.iter().all(|member| member.key != DONE) {
        let place = members.iter().position(|member| member.key == "failed");
        let done = Member {
            key: DONE.to_string(),
            key_span: Default::default(),
            node: Node::array(done(state)),
        };
        members.insert(place.unwrap_or(members.len()), done);
    }
    Some(result)
}

fn done(state: &State) -> Vec<Node> {
    let placed = state.bindings.iter().map(|(id, binding)| {
        let mut to = Writer::default();
        to.text("atom", id.as_str())
            .text("summary", &binding.summary);
        to.put("attempts", Node::uint(u64::from(binding.attempts)));
        to.some(
            "commit",
            binding
                .commit
                .as_ref()
                .map(|commit| Node::string(commit.as_str())),
        );
        to.finish(&Extra::default())
    });
    placed.collect()
}

/// Class and reason of an atom's newest failure.
fn newest_failure<'s>(state: &'s State, id: &AtomId) -> Option<(&'static str, &'s str)> {
    let mut entries = state.trail.iter().rev();
    entries.find_map(|entry| match &entry.kind {
        EntryKind::Failure {
            atom,
            class,
            reason,
            ..
        } if atom == id => Some((class.word(), reason.as_str())),
        _ => None,
    })
}

/// The newest failure of each unsolved atom that was tried.
fn failed(state: &State) -> Vec<Node> {
    let mut failed = Vec::new();
    for (id, atom) in state.atoms.iter() {
        let Some(task) = atom
            .task()
            .filter(|task| task.tries.iter().any(|tried| tried.has_failed()))
        else {
            continue;
        };
        let (class, reason) = newest_failure(state, id).unwrap_or(("logical", ""));
        let attempts: u64 = task
            .tries
            .iter()
            .map(|tried| u64::from(tried.attempts))
            .sum();
        let mut to = Writer::default();
        to.text("atom", id.as_str())
            .put("attempts", Node::uint(attempts));
        to.text("class", class).text("reason", reason);
        failed.push(to.finish(&Extra::default()));
    }
    let refuted = state
        .trail
        .iter()
        .rev()
        .find(|entry| matches!(entry.kind, EntryKind::Refuted { .. }));
    if let Some(refuted) = refuted {
        let mut to = Writer::default();
        to.text("atom", "base case")
            .some("choices", refuted.node.get("conflict").cloned());
        to.text("class", "logical")
            .text("reason", why_refuted(&refuted.node));
        to.some("evidence", refuted.node.get("evidence").cloned());
        failed.push(to.finish(&Extra::default()));
    }
    failed
}

/// A check that could not be run did not fail.
fn why_refuted(entry: &Node) -> &'static str {
    let evidence = entry.get("evidence").and_then(Node::as_array);
    if has_failed(evidence.unwrap_or_default()) {
        "it does not hold with every step done"
    } else {
        "it could not be decided with every step done"
    }
}

fn has_failed(evidence: &[Node]) -> bool {
    let mut verdicts = evidence.iter();
    verdicts.any(|one| one.get("verdict").and_then(Node::as_str) == Some("fail"))
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

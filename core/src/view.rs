//! What people and programs are shown of a state: `status` and `why`, as data.
//!
//! Not here: how it looks in a terminal.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use crate::{
    doc::Node,
    graph::{Ix, Kind},
    id::{AtomId, AttemptId, CommitId, Digest},
    measure::Measure,
    state::{Check, Ended, EntryKind, Free, State, Status as AtomStatus},
    step::World,
    verdict::{Verdict, assertions},
};

#[derive(Debug, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub status: &'static str,
    /// Whether a loop holds the lease.
    pub live: bool,
    pub goal: String,
    pub lineage: String,
    pub iteration: u64,
    pub serial: u64,
    pub resolved: Vec<AtomId>,
    pub unresolved: Vec<AtomId>,
    pub bound: Bound,
    pub base_case: Vec<CheckView>,
    pub choices: Vec<ChoiceView>,
    pub spent: Free,
    pub started_from: Option<Free>,
    pub workspace: WorkspaceView,
    pub in_flight: Vec<FlightView>,
    pub last_result: Option<Free>,
    /// One command to type next.
    pub next: String,
}

#[derive(Debug, Serialize)]
pub struct Bound {
    pub attempts: Free,
    pub verdicts: Free,
}

#[derive(Debug, Serialize)]
pub struct CheckView {
    pub check: String,
    /// As the last result has it; absent while it was not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct ChoiceView {
    pub group: AtomId,
    pub selected: Option<AtomId>,
    pub failed: Vec<AtomId>,
    pub untried: Vec<AtomId>,
}

#[derive(Debug, Serialize)]
pub struct WorkspaceView {
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

#[derive(Debug, Serialize)]
pub struct FlightView {
    pub id: AttemptId,
    pub atom: AtomId,
    pub n: u32,
    pub since: String,
}

pub fn status(world: &World, live: bool) -> Status {
    let state = &world.state;
    let run = &state.run;
    let (resolved, unresolved) = world.split();
    let measure = world.measure();
    let flight = |intent: &crate::state::Intent| FlightView {
        id: intent.id.clone(),
        atom: intent.atom.clone(),
        n: intent.n,
        since: intent.at.clone(),
    };
    let record = state.run.node();
    Status {
        schema: "descent/status/1",
        status: run.status.word(),
        live,
        goal: state.objective.goal.clone(),
        lineage: state.lineage.to_string(),
        iteration: run.iteration,
        serial: state.serial.0,
        resolved,
        unresolved,
        bound: bound(measure),
        base_case: base_case(world),
        choices: choices(world),
        spent: run.spent.node(),
        started_from: record.get("started_from").cloned(),
        workspace: WorkspaceView {
            kind: state.objective.constraints.workspace().word(),
            path: None,
            branch: None,
            commit: run.head.clone(),
        },
        in_flight: run.in_flight.iter().map(flight).collect(),
        last_result: run.last_result.clone(),
        next: next(world, live),
    }
}

pub fn bound(measure: &Measure) -> Bound {
    let record = measure.record().node();
    let part = |key: &str| record.get(key).cloned().unwrap_or_else(Node::null);
    Bound {
        attempts: part("attempts"),
        verdicts: part("verdicts"),
    }
}

fn base_case(world: &World) -> Vec<CheckView> {
    let evidence = world
        .state
        .run
        .last_result
        .as_ref()
        .and_then(|result| result.get("evidence")?.as_array());
    let verdict = |title: &str| {
        let of_check = |node: &&Node| node.get("check").and_then(Node::as_str) == Some(title);
        let found = evidence.unwrap_or_default().iter().find(of_check)?;
        Some(found.get("verdict")?.as_str()?.to_owned())
    };
    let said = |leaf: &Check| {
        let verdict = assertions::as_it_stands(&world.state, leaf)?;
        Some(verdict.word().to_owned())
    };
    let leaves = world
        .state
        .objective
        .base_case
        .iter()
        .flat_map(|check| check.leaves());
    leaves
        .map(|leaf| CheckView {
            check: leaf.title(),
            verdict: said(leaf).or_else(|| verdict(&leaf.title())),
        })
        .collect()
}

fn choices(world: &World) -> Vec<ChoiceView> {
    world
        .graph
        .groups()
        .map(|group| choice_view(world, group))
        .collect()
}

fn choice_view(world: &World, group: Ix) -> ChoiceView {
    let graph = &world.graph;
    let mut view = ChoiceView {
        group: graph.id(group).clone(),
        selected: world
            .standing
            .selection
            .get(&group)
            .map(|choice| graph.id(*choice).clone()),
        failed: Vec::new(),
        untried: Vec::new(),
    };
    for kid in &graph.vertex(group).kids {
        let tasks: Vec<Ix> = graph
            .subtree(*kid)
            .into_iter()
            .filter(|x| graph.vertex(*x).kind == Kind::Task)
            .collect();
        let tries = |x: &Ix| crate::search::tries(&world.state, graph.id(*x));
        if tasks
            .iter()
            .any(|x| tries(x).iter().any(|tried| tried.has_failed()))
        {
            view.failed.push(graph.id(*kid).clone());
        } else if tasks
            .iter()
            .all(|x| tries(x).is_empty() && !world.state.bindings.contains_key(graph.id(*x)))
        {
            view.untried.push(graph.id(*kid).clone());
        }
    }
    view
}

/// One command to type next.
pub fn next(world: &World, live: bool) -> String {
    use crate::state::RunStatus;
    if live {
        return "descent stop".to_owned();
    }
    match world.state.run.status {
        RunStatus::Completed if world.state.run.line.is_empty() => "descent verify".to_owned(),
        RunStatus::Completed => "descent apply".to_owned(),
        RunStatus::NeedsGuidance if ended_by(world, "confirmation") => {
            let open = assertions::open(&world.state);
            open.first().map_or_else(
                || "descent run".to_owned(),
                |name| assertions::command(name),
            )
        }
        RunStatus::Exhausted | RunStatus::NeedsGuidance => {
            let failed = world.state.atoms.iter().find(|(_, atom)| {
                atom.task()
                    .is_some_and(|task| task.tries.iter().any(|tried| tried.has_failed()))
            });
            failed.map_or_else(
                || "descent run".to_owned(),
                |(id, _)| "descent why ".to_owned() + id.as_str(),
            )
        }
        RunStatus::Aligned | RunStatus::Running | RunStatus::Redirecting | RunStatus::Stopped => {
            "descent run".to_owned()
        }
    }
}

/// Whether the last result has this reason.
fn ended_by(world: &World, reason: &str) -> bool {
    let result = world.state.run.last_result.as_ref();
    result.and_then(|result| result.get("reason")?.as_str()) == Some(reason)
}

/// Everything that explains how one atom stands.
#[derive(Debug, Serialize)]
pub struct Why {
    pub schema: &'static str,
    pub atom: AtomId,
    pub kind: &'static str,
    pub description: String,
    pub status: String,
    pub live: bool,
    /// Why it is not live, or what it waits for.
    pub waits_for: Vec<AtomId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_branch: Option<BranchView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<Free>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceView>,
    pub tries: Vec<TryView>,
    /// The entries of the trail that speak of it, in order.
    pub trail: Vec<Free>,
    pub next: String,
}

#[derive(Debug, Serialize)]
pub struct BranchView {
    pub group: AtomId,
    pub choice: AtomId,
    pub selected: Option<AtomId>,
}

#[derive(Debug, Serialize)]
pub struct TryView {
    pub context: Digest,
    pub choices: BTreeMap<String, String>,
    pub attempts: u32,
    pub repairs: u32,
    pub ended: Option<&'static str>,
}

pub fn why(world: &World, id: &AtomId) -> Option<Why> {
    let x = world.graph.ix(id)?;
    let atom = world.state.atom(id)?;
    let solved = world.solved();
    let live = world.standing.is_live(x);
    let kind = world.graph.vertex(x).kind;
    let waits = world.graph.waits_for(x).filter(|dep| live && !solved[*dep]);
    let binding = world
        .state
        .bindings
        .get(id)
        .map(|binding| strip_atom(&binding.node()));
    Some(Why {
        schema: "descent/why/1",
        atom: id.clone(),
        kind: match kind {
            Kind::Task => "task",
            Kind::All => "all",
            Kind::Any => "any",
        },
        description: atom.description.clone(),
        status: status_word(world, x, solved[x]),
        live,
        waits_for: waits.map(|dep| world.graph.id(dep).clone()).collect(),
        in_branch: branch(world, x),
        binding,
        choice: (kind == Kind::Any).then(|| choice_view(world, x)),
        tries: crate::search::tries(&world.state, id)
            .iter()
            .map(try_view)
            .collect(),
        trail: trail_of(world, id),
        // It is being explained here already.
        next: Some(next(world, false))
            .filter(|next| *next != "descent why ".to_owned() + id.as_str())
            .unwrap_or_else(|| "descent status".to_owned()),
    })
}

fn strip_atom(binding: &Node) -> Node {
    let members = binding
        .as_object()
        .unwrap_or_default()
        .iter()
        .filter(|member| member.key != "of");
    Node::object(
        members
            .map(|member| (member.key.clone(), member.node.clone()))
            .collect(),
    )
}

fn try_view(tried: &crate::state::Try) -> TryView {
    TryView {
        context: tried.context.clone(),
        choices: tried
            .choices
            .iter()
            .map(|(group, choice)| (group.to_string(), choice.to_string()))
            .collect(),
        attempts: tried.attempts,
        repairs: tried.repairs,
        ended: tried.ended.as_ref().map(|ended| match ended {
            Ended::Failed(_) => "failed",
            Ended::Parked(_) => "parked",
        }),
    }
}

/// How an atom stands, in a word.
pub fn status_word(world: &World, x: Ix, is_solved: bool) -> String {
    let id = world.graph.id(x);
    if is_solved {
        return "resolved".to_owned();
    }
    if !world.standing.is_live(x) {
        return "not chosen".to_owned();
    }
    if world
        .state
        .run
        .in_flight
        .iter()
        .any(|intent| intent.atom == *id)
    {
        return "running".to_owned();
    }
    let Some(task) = world.state.atoms.get(id).and_then(|atom| atom.task()) else {
        return "open".to_owned();
    };
    match &task.status {
        AtomStatus::Pending => "pending".to_owned(),
        AtomStatus::Failed => "failed".to_owned(),
        AtomStatus::Invalid(_) => "invalid".to_owned(),
        AtomStatus::NeedsGuidance => "needs guidance".to_owned(),
        AtomStatus::InDoubt(_) => "in doubt".to_owned(),
    }
}

fn branch(world: &World, x: Ix) -> Option<BranchView> {
    let graph = &world.graph;
    let mut below = x;
    for above in graph.above(x) {
        if graph.vertex(above).kind == Kind::Any {
            return Some(BranchView {
                group: graph.id(above).clone(),
                choice: graph.id(below).clone(),
                selected: world
                    .standing
                    .selection
                    .get(&above)
                    .map(|choice| graph.id(*choice).clone()),
            });
        }
        below = above;
    }
    None
}

/// Entries that name the atom, or a group above it.
fn trail_of(world: &World, id: &AtomId) -> Vec<Free> {
    let above = world.graph.ix(id).map(|x| {
        world
            .graph
            .above(x)
            .map(|y| world.graph.id(y).clone())
            .collect::<Vec<_>>()
    });
    let above = above.unwrap_or_default();
    let speaks = |entry: &crate::state::Entry| match &entry.kind {
        EntryKind::Failure { atom, .. } => atom == id || is_inside(world, atom, id),
        EntryKind::Refuted { conflict, .. } => above
            .iter()
            .chain([id])
            .any(|group| conflict.contains_key(group)),
        EntryKind::Choice { group, .. } => group == id || above.contains(group),
        EntryKind::Backtrack => {
            let changes = entry.node.get("changes");
            above
                .iter()
                .chain([id])
                .any(|group| changes.is_some_and(|changes| changes.get(group.as_str()).is_some()))
        }
        EntryKind::Other => false,
    };
    world
        .state
        .trail
        .iter()
        .filter(|entry| speaks(entry))
        .map(|entry| entry.node.clone())
        .collect()
}

fn is_inside(world: &World, inner: &AtomId, outer: &AtomId) -> bool {
    let inner = world.graph.ix(inner);
    inner.is_some_and(|x| world.graph.above(x).any(|y| world.graph.id(y) == outer))
}

/// Every commit that a state names: what must not be pruned.
pub fn commits(state: &State) -> BTreeSet<CommitId> {
    let atoms = state.all_atoms().into_values();
    let tries = atoms
        .filter_map(|atom| atom.task())
        .flat_map(|task| &task.tries);
    let parked = tries.filter_map(|tried| match &tried.ended {
        Some(Ended::Parked(binding)) => binding.commit.clone(),
        Some(Ended::Failed(_)) | None => None,
    });
    let bound = state
        .bindings
        .values()
        .filter_map(|binding| binding.commit.clone());
    let run = &state.run;
    let line = run.line.iter().map(|placed| placed.commit.clone());
    let flying = run
        .in_flight
        .iter()
        .filter_map(|intent| intent.base.clone());
    let ends = run
        .head
        .clone()
        .into_iter()
        .chain(run.started_from.as_ref().map(|start| start.commit.clone()));
    parked
        .chain(bound)
        .chain(line)
        .chain(flying)
        .chain(ends)
        .collect()
}

/// A verdict and its check, for `align` and `verify`.
#[derive(Debug, Serialize)]
pub struct Judged {
    pub check: String,
    /// Nothing was measured: a person decides it.
    #[serde(skip)]
    pub by_person: bool,
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// The sum of what `number` found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

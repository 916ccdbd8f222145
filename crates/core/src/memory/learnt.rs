//! The lessons that an ending leaves: choices that stand in the result, and choices that failed for good.
//!
//! Invariant: only an outcome teaches. A failure of the environment teaches nothing: the next run tries that again too.

use super::book::{LESSON_CHARS_MAX, NAME_CHARS_MAX, clean};
use crate::doc::prelude::*;
use crate::{
    graph::{Ix, NodeKind, PlannedPhase},
    id::{AtomId, Digest, LessonId},
    law::{self, approach},
    search,
    state::{
        Extra, FailureClass, Lesson, LessonKind, LessonSource, Reason, RunStatus, Try, TryEnd,
        check::Thousandths,
        record::{Choices, RefutedEntry},
    },
    world::World,
};

/// The lessons of a run that has ended; none of one that was stopped, ran out of a budget, or did not have to begin.
pub fn of_ending(world: &World) -> Vec<Lesson> {
    let run = &world.state.run;
    let by = match (run.status, run.ending.reason) {
        (_, None | Some(Reason::AlreadyHeld)) => return Vec::new(),
        (RunStatus::Completed, Some(_)) => LessonSource::Completed,
        (RunStatus::Exhausted, Some(Reason::Passes | Reason::Abandoned | Reason::NoChoice)) => {
            LessonSource::Abandoned
        }
        _ => return Vec::new(),
    };
    let standing = (by == LessonSource::Completed).then(|| standing(world));
    let outcome = RunOutcome { world, by, standing };
    let mut lessons: Vec<Lesson> = outcome.preferred().chain(outcome.failed()).collect();
    let mut known: Vec<Option<Digest>> = Vec::new();
    // A choice that stands was not wrong, whatever failed before it.
    lessons.retain(|one| {
        let is_new = !known.contains(&one.choice);
        known.push(one.choice.clone());
        is_new
    });
    lessons
}

/// The choices of the delivered tree.
fn standing(world: &World) -> Choices {
    let verdict = world.state.run.verdict_on_result();
    let judged = verdict.map(|verdict| verdict.choices.clone());
    judged.filter(|choices| !choices.is_empty()).unwrap_or_else(|| world.active.whole(&world.graph))
}

struct RunOutcome<'w> {
    world: &'w World,
    by: LessonSource,
    /// The choices of the delivered tree, of a run that completed.
    standing: Option<Choices>,
}

/// A choice, and the group or planning step that it was taken in.
type TakenChoice = (Ix, Ix);

impl RunOutcome<'_> {
    fn preferred(&self) -> impl Iterator<Item = Lesson> {
        self.standing.iter().flatten().filter_map(|(group, choice)| {
            let (group, choice) = self.world.graph.pair(group, choice)?;
            // The base case may hold with the choice still open.
            let is_done = self.world.solved()[group];
            let because = "the base case held with it";
            let lesson = || self.lesson(LessonKind::Prefer, (group, choice), because);
            is_done.then(lesson).flatten()
        })
    }

    fn failed(&self) -> impl Iterator<Item = Lesson> {
        let refuted = self.world.refuted.iter().filter(|conflict| !self.came_nearer(conflict));
        let refuted = refuted.filter_map(|conflict| {
            let pair = self.blamed(conflict, None)?;
            self.lesson(LessonKind::MustNot, pair, &self.why_refuted(conflict))
        });
        self.failed_tasks().chain(refuted)
    }

    /// Whether the tree of such a selection was nearer to the base case than the one that the run started from: then it
    /// was not wrong, but not enough.
    fn came_nearer(&self, conflict: &Choices) -> bool {
        let run = &self.world.state.run;
        let start = run.started_from.as_ref().map(|from| &from.commit);
        let mut verdicts = run.verdicts.iter();
        let at_start = verdicts.clone().find(|one| Some(&one.commit) == start);
        let at_start = at_start.map_or(Thousandths(law::ONE), |one| one.d);
        verdicts.any(|one| {
            let is_its = one.choices == *conflict && Some(&one.commit) != start;
            is_its && one.d < at_start
        })
    }

    fn failed_tasks(&self) -> impl Iterator<Item = Lesson> {
        let (graph, state) = (&self.world.graph, &self.world.state);
        graph.tasks().filter(|x| !graph.is_dropped(*x)).flat_map(move |x| {
            let failed = search::tries(state, graph.id(x)).iter().filter(|tried| is_logical(tried));
            let valid = failed.filter(move |tried| {
                let context = (x, tried.context.clone());
                self.world.valid_contexts.contains(&context)
            });
            let blamed = valid.filter_map(move |tried| {
                self.blamed(&search::conflict(graph, x, &tried.choices), Some(x))
            });
            blamed.filter_map(move |pair| {
                let failure = state.newest_failure(graph.id(x));
                let why = failure.map_or("it failed for good", |(_, failure)| &failure.reason);
                self.lesson(LessonKind::MustNot, pair, why)
            })
        })
    }

    /// The choice that a conflict speaks against: the innermost one around what failed, the only one, or the only one
    /// that the result does not have. Otherwise nobody knows which it was.
    fn blamed(&self, conflict: &Choices, failed: Option<Ix>) -> Option<TakenChoice> {
        let stands = |group: &AtomId, choice: &AtomId| {
            let standing = self.standing.as_ref();
            standing.is_some_and(|standing| standing.get(group) == Some(choice))
        };
        let graph = &self.world.graph;
        let around = failed.and_then(|x| graph.choices_above(x).next());
        let around = around.filter(|(group, choice)| !stands(graph.id(*group), graph.id(*choice)));
        if around.is_some() {
            return around;
        }
        let mut others = conflict.iter().filter(|(group, choice)| !stands(group, choice));
        let (group, choice) = others.next().filter(|_| others.next().is_none())?;
        graph.pair(group, choice)
    }

    fn lesson(&self, kind: LessonKind, pair: TakenChoice, because: &str) -> Option<Lesson> {
        let (group, choice) = pair;
        let graph = &self.world.graph;
        let parts = match graph.vertex(group).kind {
            NodeKind::Any => Vec::from([choice]),
            NodeKind::Plan => graph.phase_of(group, choice).map(PlannedPhase::remaining)?,
            NodeKind::Task | NodeKind::All => return None,
        };
        let titles: Vec<String> = parts.iter().map(|x| self.title(*x)).collect();
        let (tool, target) = self.approach(&parts);
        Some(Lesson {
            // A number and the times are given where it is taken in.
            id: LessonId::new(""),
            kind,
            tool,
            target,
            choice: Some(graph.parts_digest(&parts)),
            group: Some(graph.group_digest(group)),
            lesson: clean(&titles.join("; "), LESSON_CHARS_MAX),
            because: clean(because, LESSON_CHARS_MAX),
            seen: 1,
            runs: Vec::new(),
            first: String::new(),
            last: String::new(),
            by: self.by,
            extra: Extra::default(),
        })
    }

    /// The words of an atom, else its command.
    fn title(&self, x: Ix) -> String {
        let id = self.world.graph.id(x);
        let Some(atom) = self.world.state.atom(id) else { return id.to_string() };
        let action = atom.task().and_then(|task| task.spec.action.as_ref());
        match action.filter(|_| atom.description.trim().is_empty()) {
            Some(action) => action.run.clone(),
            None => atom.title(id).to_string(),
        }
    }

    /// Tool and target of the first action, as the control law reads it.
    fn approach(&self, parts: &[Ix]) -> (String, String) {
        let (graph, state) = (&self.world.graph, &self.world.state);
        let action = parts.iter().flat_map(|x| graph.subtree(*x)).find_map(|x| {
            let action = state.atom(graph.id(x))?.task()?.spec.action.as_ref()?;
            approach::of_action(&action.run).into_iter().next()
        });
        let named = |text: &str| clean(text, NAME_CHARS_MAX);
        action.map_or_else(Default::default, |one| (named(&one.tool), named(&one.target)))
    }

    /// The leaves that failed under a refuted selection.
    fn why_refuted(&self, conflict: &Choices) -> String {
        let entry = self.world.state.refutations().find(|(_, entry)| entry.conflict == *conflict);
        let leaves = entry.map(|(_, entry)| failed_leaves(entry));
        match leaves.filter(|leaves| !leaves.is_empty()) {
            Some(leaves) => "the base case did not hold: ".to_string() + &leaves,
            None => "the base case did not hold".to_string(),
        }
    }
}

fn failed_leaves(entry: &RefutedEntry) -> String {
    let failed = entry.evidence.iter().filter(|one| one.verdict.as_deref() == Some("fail"));
    let checks: Vec<&str> = failed.filter_map(|one| one.check.as_deref()).collect();
    checks.join(", ")
}

/// Whether the work was wrong, and not the environment.
fn is_logical(tried: &Try) -> bool {
    matches!(tried.ended, Some(TryEnd::Failed(FailureClass::Logical)))
}

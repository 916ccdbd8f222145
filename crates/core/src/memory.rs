//! Memory between the runs of a project: the lessons that an ending leaves, and those that a later run is given.
//!
//! Invariant: a lesson orders choices, is told, and has planners look for another way; it decides nothing else. Code
//! chooses lessons, no model does. Not here: the file that keeps them (`ops::memory` of the shell), their order
//! (`search::ranking`), what they block (`law::blocks`), and when a run is given them (`step::run_start`).

mod book;
mod learnt;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use core::cmp::Reverse;

pub use book::{LESSON_CHARS_MAX, LESSONS_MAX, SCHEMA, counts, forget, learn, new, read, write};
pub use learnt::of_ending;

use crate::{
    doc::{self, Node},
    graph::Graph,
    id::Digest,
    law::{
        approach::{self, Approach},
        blocks,
    },
    state::{Lesson, LessonBook, LessonKind, MemoryUsed, RunStatus, State},
    world::World,
};

/// Lessons that a run is given at most, and their bytes.
pub const GIVEN_MAX: usize = 10;
pub const GIVEN_BYTES_MAX: usize = 4 << 10;

/// The lessons that a run on this state is given: those of its own choices first, then those with most words of the
/// goal, then the newest.
pub fn given(book: &LessonBook, world: &World) -> Vec<Lesson> {
    let known = KnownDigests::of(world);
    let goal = book::words(&world.state.objective.goal);
    let own = &world.state.lineage;
    // The state itself knows what its own lineage has tried.
    let is_new = |one: &&Lesson| one.runs.is_empty() || one.runs.iter().any(|run| run != own);
    let known_lessons = book.lessons.iter().filter(|one| counts(one));
    let mut lessons: Vec<&Lesson> = known_lessons.filter(is_new).collect();
    lessons.sort_by_cached_key(|one| {
        let text = [&*one.lesson, &one.tool, &one.target].join(" ");
        let common = book::words(&text).intersection(&goal).count();
        (known.distance(one), Reverse(common), Reverse(one.last.clone()))
    });
    let mut bytes = 0;
    let is_in = |one: &&Lesson| {
        bytes += doc::write_compact(&one.node()).len();
        bytes <= GIVEN_BYTES_MAX
    };
    lessons.into_iter().take(GIVEN_MAX).take_while(is_in).cloned().collect()
}

/// Whether a lesson is about a choice of this graph, so that it orders the choices of a group.
pub fn orders(world: &World, lesson: &Lesson) -> bool {
    KnownDigests::of(world).distance(lesson) == 0
}

/// Whether a run that starts on a state of this status is given lessons anew; any other goes on with those that it has.
pub fn begins(status: RunStatus) -> bool {
    matches!(status, RunStatus::Aligned | RunStatus::Completed | RunStatus::Exhausted)
}

/// The note of what a run was given; `None` of nothing.
pub fn used(lessons: Vec<Lesson>) -> Option<MemoryUsed> {
    if lessons.is_empty() {
        return None;
    }
    let nodes: Vec<Node> = lessons.iter().map(Lesson::node).collect();
    Some(MemoryUsed {
        digest: Digest::of(doc::canonical(&Node::array(nodes)).as_bytes()),
        lessons,
        extra: Default::default(),
    })
}

/// Given lessons that spoke against a choice which is solved; of a completed run also those whose approach is in the result.
pub fn refuted<'s>(state: &'s State, graph: &'s Graph) -> impl Iterator<Item = &'s Lesson> {
    let is_completed = state.run.status == RunStatus::Completed;
    state.lessons().iter().filter(|one| one.kind == LessonKind::MustNot).filter(move |one| {
        let choice = one.choice.as_ref();
        let is_in_result = || is_completed && is_an_approach_of_result(state, one);
        choice.is_some_and(|digest| is_solved(state, graph, digest)) || is_in_result()
    })
}

/// Whether a result in force was made with what a lesson blocks.
fn is_an_approach_of_result(state: &State, lesson: &Lesson) -> bool {
    let mut blocking = blocks::lessons(state);
    let is_it = |one: &Approach| one.tool == lesson.tool && one.target == lesson.target;
    let mut results = state.bindings.values();
    blocking.any(|one| one.id == lesson.id)
        && results.any(|one| approach::of_atom(&one.of).iter().any(is_it))
}

/// Whether every task of such a choice has a result.
fn is_solved(state: &State, graph: &Graph, digest: &Digest) -> bool {
    graph.groups().flat_map(|group| &graph.vertex(group).kids).any(|choice| {
        let is_it = graph.choice_digest(*choice) == *digest;
        let mut tasks = graph.subtree(*choice).into_iter();
        is_it
            && tasks.all(|x| {
                let id = graph.id(x);
                let is_task = state.atom(id).is_some_and(|atom| atom.task().is_some());
                !is_task || state.bindings.get(id).is_some()
            })
    })
}

/// The digests of the choices and groups of a graph.
struct KnownDigests {
    choices: BTreeSet<Digest>,
    groups: BTreeSet<Digest>,
}

impl KnownDigests {
    fn of(world: &World) -> Self {
        let graph = &world.graph;
        let choices = graph.groups().flat_map(|group| &graph.vertex(group).kids);
        let groups = graph.groups().chain(graph.plans());
        Self {
            choices: choices.map(|choice| graph.choice_digest(*choice)).collect(),
            groups: groups.map(|group| graph.group_digest(group)).collect(),
        }
    }

    /// How far a lesson is from this graph: of a choice in it, of a group in it, or of neither.
    fn distance(&self, lesson: &Lesson) -> u8 {
        let is_in = |one: &Option<Digest>, known: &BTreeSet<Digest>| {
            one.as_ref().is_some_and(|digest| known.contains(digest))
        };
        match () {
            () if is_in(&lesson.choice, &self.choices) => 0,
            () if is_in(&lesson.group, &self.groups) => 1,
            () => 2,
        }
    }
}

//! Tools and targets that planners may not propose: those that a directive blocks, and the faults of a proposal with one.
//!
//! Invariant: it refuses proposals of planners alone. Choices of a plan are ordered and none is excluded, and what a worker
//! does is not forbidden.

use super::approach::{self, Approach};
use crate::doc::prelude::*;
use crate::{
    id::AtomId,
    state::{
        Atom, Fragment, Lesson, LessonKind, State,
        law::{BLOCKED_MAX, BlockedRecord, Directive, Gradient, LawPoint, LawRecord},
    },
};

/// From this likeness on a plan is one that was tried, in thousandths.
const ALIKE: u32 = 800;
/// Characters of a lesson's reason that a fault tells.
const BECAUSE_CHARS_MAX: usize = 100;

/// Blocks what a directive says, by what failed in the pass. Tools are blocked until the next point, targets on and on.
pub fn block(law: &mut LawRecord, point: &LawPoint) {
    law.blocked.retain(|one| one.target.is_some());
    let failed = core::mem::take(&mut law.failed);
    let of_pass = failed.iter().filter(|one| one.pass == point.pass);
    let new: Vec<BlockedRecord> = match point.directive {
        Directive::ChangePath => of_pass.cloned().collect(),
        Directive::Refine if point.gradient == Gradient::Worsening => of_pass.cloned().collect(),
        Directive::ChangeApproach | Directive::BreakSymmetry => {
            of_pass.filter_map(whole_tool).collect()
        }
        Directive::Refine | Directive::Abandon => Vec::new(),
    };
    for one in new {
        if !law.blocked.iter().any(|known| known.is_about(&one)) {
            law.blocked.push(one);
        }
    }
    let old = law.blocked.len().saturating_sub(BLOCKED_MAX);
    law.blocked.drain(..old);
    law.failed = failed;
}

fn whole_tool(one: &BlockedRecord) -> Option<BlockedRecord> {
    approach::has_class(&one.tool).then(|| BlockedRecord { target: None, ..one.clone() })
}

/// How much the law speaks against a choice: the smaller is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LawRank {
    /// It has a tool that failed, with other targets.
    Akin,
    Free,
    /// It has something that is blocked.
    Blocked,
}

/// The order that a directive gives to work that is planned already.
#[derive(Debug, Clone, Copy)]
pub struct LawOrder<'s> {
    blocked: &'s [BlockedRecord],
    /// Whether a tool that failed comes first with other targets.
    keeps_tools: bool,
}

impl<'s> LawOrder<'s> {
    /// The order by the newest point; none where nothing is blocked, or the directive gives none.
    pub fn of(state: &'s State) -> Option<Self> {
        let (law, point) = in_force(state)?;
        let keeps_tools = match point.directive {
            Directive::ChangePath => true,
            Directive::ChangeApproach | Directive::BreakSymmetry => false,
            Directive::Refine | Directive::Abandon => return None,
        };
        let blocked = &law.blocked;
        (!blocked.is_empty()).then_some(Self { blocked, keeps_tools })
    }

    pub fn rank(&self, atom: &Atom) -> LawRank {
        if !self.may_have_one(atom) {
            return LawRank::Free;
        }
        let approaches = approach::of_atom(atom);
        let has = |one: &BlockedRecord| is_in(one, &approaches);
        let is_akin = |one: &Approach| {
            approach::has_class(&one.tool)
                && self.blocked.iter().any(|known| known.tool == one.tool)
        };
        match () {
            () if self.blocked.iter().any(has) => LawRank::Blocked,
            () if self.keeps_tools && approaches.iter().any(is_akin) => LawRank::Akin,
            () => LawRank::Free,
        }
    }

    /// Whether its words may have a blocked tool: most have none, and are not read closer.
    fn may_have_one(&self, atom: &Atom) -> bool {
        let Some(task) = atom.task() else { return false };
        self.blocked.iter().any(|one| match &task.spec.action {
            Some(action) => {
                let program = one.tool.split(' ').next().unwrap_or_default();
                program == approach::SHELL || action.run.contains(program)
            }
            None => one.tool == approach::WORKER,
        })
    }
}

/// The directive that planners have to obey, if one is in force.
pub fn in_force(state: &State) -> Option<(&LawRecord, &LawPoint)> {
    let law = state.run.law.as_ref()?;
    state.objective.constraints.law_acts().then_some((law, law.point.as_ref()?))
}

/// A part of a proposal that may not come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedProposal {
    /// The atom; none where it is the whole plan.
    pub atom: Option<AtomId>,
    pub message: String,
    pub hint: &'static str,
}

/// The blocked parts of a proposal.
pub fn refused(state: &State, atoms: &BTreeMap<AtomId, Atom>) -> Vec<BlockedProposal> {
    let Some((law, point)) = in_force(state) else { return Vec::new() };
    let mut found: Vec<BlockedProposal> =
        atoms.iter().filter_map(|(id, atom)| blocked_atom(law, id, atom)).collect();
    if point.directive == Directive::BreakSymmetry && found.is_empty() {
        found.extend(like_a_failed_plan(state, atoms));
    }
    found
}

/// The lessons of earlier runs that block a tool with its target for planners, as long as planners have to obey. A
/// program that says nothing of an approach blocks nothing.
pub fn lessons(state: &State) -> impl Iterator<Item = &Lesson> {
    let acts = state.objective.constraints.law_acts();
    state.lessons().iter().filter(move |_| acts).filter(|one| {
        let is_sign = approach::has_class(&one.tool) || one.tool == approach::SHELL;
        one.kind == LessonKind::MustNot && !one.tool.is_empty() && is_sign
    })
}

/// The parts of a proposal that earlier runs speak against, each with the lesson.
pub fn remembered<'s>(
    state: &'s State,
    atoms: &BTreeMap<AtomId, Atom>,
) -> Vec<(BlockedProposal, &'s Lesson)> {
    let lessons: Vec<&Lesson> = lessons(state).collect();
    if lessons.is_empty() {
        return Vec::new();
    }
    let one = |(id, atom): (&AtomId, &Atom)| {
        let approaches = approach::of_atom(atom);
        let is_it = |one: &&&Lesson| {
            approaches.iter().any(|known| known.tool == one.tool && known.target == one.target)
        };
        let lesson = *lessons.iter().find(is_it)?;
        Some((blocked_by(id, lesson), lesson))
    };
    atoms.iter().filter_map(one).collect()
}

fn blocked_by(id: &AtomId, lesson: &Lesson) -> BlockedProposal {
    let what = format!("{} {}", lesson.tool, lesson.target);
    let why: String = lesson.because.chars().take(BECAUSE_CHARS_MAX).collect();
    let why = if why.is_empty() { why } else { format!(": {why}") };
    BlockedProposal {
        atom: Some(id.clone()),
        message: format!("blocked: {} (lesson {}{why})", what.trim_end(), lesson.id),
        hint: "earlier runs failed with it; another tool or target",
    }
}

fn blocked_atom(law: &LawRecord, id: &AtomId, atom: &Atom) -> Option<BlockedProposal> {
    let approaches = approach::of_atom(atom);
    let blocked = law.blocked.iter().find(|one| is_in(one, &approaches))?;
    let failed = blocked.because.as_ref();
    let failed = failed.map_or_else(String::new, |id| format!(" failed in {id}"));
    Some(BlockedProposal {
        atom: Some(id.clone()),
        message: format!("blocked: {}{failed}", blocked.text()),
        hint: match blocked.target {
            Some(_) => "the same approach, another target",
            None => "another class of tool",
        },
    })
}

/// Whether a blocked tool or pair is among these.
fn is_in(blocked: &BlockedRecord, approaches: &[Approach]) -> bool {
    let target = blocked.target.as_ref();
    approaches
        .iter()
        .any(|one| one.tool == blocked.tool && target.is_none_or(|known| *known == one.target))
}

fn like_a_failed_plan(state: &State, atoms: &BTreeMap<AtomId, Atom>) -> Option<BlockedProposal> {
    let proposed: BTreeSet<Approach> = atoms.values().flat_map(approach::of_atom).collect();
    let failed = state.atoms.values().filter_map(|atom| atom.plan()).flat_map(|plan| {
        let in_force = plan.in_force().map(Fragment::first);
        plan.fragments().filter(move |one| Some(one.first()) != in_force)
    });
    let mut alike = failed
        .filter(|fragment| approach::likeness(&proposed, &approaches_of(state, fragment)) >= ALIKE);
    alike.next().map(|fragment| BlockedProposal {
        atom: None,
        message: format!("it goes about it like the plan of {}, which failed", fragment.attempt),
        hint: "nothing of what was tried: other tools, other targets",
    })
}

fn approaches_of(state: &State, fragment: &Fragment) -> BTreeSet<Approach> {
    let mut todo: Vec<&AtomId> = fragment.parts.iter().collect();
    let mut found = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if let Some(atom) = state.atom(id) {
            todo.extend(atom.kids());
            found.extend(approach::of_atom(atom));
        }
    }
    found
}

//! A person's instruction for single atoms: guidance, a skip, a retry. Nothing else that runs is touched.
//!
//! Invariant: an instruction is the same changes that an edit of the file makes, with the same consequences.

use super::{
    Adoption, Change, ChangeRefusal, Redirect,
    draft::Draft,
    drawn,
    edit::is_task,
    redirect::{check, in_doubt, no_such_atom, place},
};
use crate::doc::prelude::*;
use crate::{
    doc::Fault,
    graph::Ix,
    id::{AtomId, UnixMillis},
    state::{
        Atom, AtomStatus, State, Task,
        atom::{GUIDANCE_CHARS_MAX, GUIDANCE_MAX},
        binding::SKIPPED,
    },
    world::World,
};

/// An instruction for atoms.
#[derive(Debug, Clone, Copy)]
pub enum Steering<'a> {
    /// Words for those who work on them. Without atoms, for those that ask.
    Guide(&'a str),
    /// They count as done without being done.
    Skip,
    /// Their failures count no more.
    Retry,
}

/// The state with the instruction carried out, as one commit. A group means its live open tasks.
pub fn steer(
    before: &State,
    steering: Steering<'_>,
    atoms: &[AtomId],
    reason: Option<&str>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, ChangeRefusal> {
    let world = World::new(before.clone());
    let targets = match (steering, atoms) {
        (Steering::Guide(_), []) => asking(&world)?,
        _ => named(&world, atoms, steering).map_err(ChangeRefusal::Invalid)?,
    };
    let mut draft = Draft::new(before.clone(), by, now);
    let change = match steering {
        Steering::Guide(words) => guidance(before, words, &targets),
        Steering::Skip => {
            let text = reason.map_or_else(|| SKIPPED.to_owned(), |why| format!("{SKIPPED}: {why}"));
            let results = targets.into_iter().map(|atom| (atom, text.clone())).collect();
            Redirect { results, ..Redirect::default() }.change(before, &draft.at)
        }
        Steering::Retry => {
            Redirect { retried: targets, ..Redirect::default() }.change(before, &draft.at)
        }
    };
    let change = change.map_err(ChangeRefusal::Invalid)?;
    draft.reason = reason;
    drawn(draft, before, |draft| draft.make(change, check))
}

/// The atoms that ask for guidance; else the one that an agent could not do without an answer.
fn asking(world: &World) -> Result<Vec<AtomId>, ChangeRefusal> {
    let with = |wanted: fn(&Task) -> bool| {
        let all = world.graph.paired(&world.state.atoms);
        let live =
            all.filter(|(x, atom)| world.active.is_live(*x) && atom.task().is_some_and(wanted));
        live.map(|(x, _)| world.graph.id(x).clone()).collect::<Vec<AtomId>>()
    };
    let asking = with(|task| task.status == AtomStatus::NeedsGuidance);
    let blocked = with(|task| matches!(task.status, AtomStatus::Invalid(_)));
    match asking.is_empty() {
        true if blocked.len() == 1 => Ok(blocked),
        true => Err(ChangeRefusal::NobodyAsks(with(|task| {
            matches!(task.status, AtomStatus::Failed | AtomStatus::Invalid(_))
        }))),
        false => Ok(asking),
    }
}

/// The open tasks that are meant, each once, in their order.
fn named(
    world: &World,
    atoms: &[AtomId],
    steering: Steering<'_>,
) -> Result<Vec<AtomId>, Vec<Fault>> {
    let state = &world.state;
    let (mut targets, mut known, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
    for id in atoms {
        let Some(x) = world.graph.ix(id) else {
            faults.push(no_such_atom(state, id));
            continue;
        };
        let below = open_tasks(world, x);
        let is_skip = matches!(steering, Steering::Skip);
        let is_skipped = is_skip && state.bindings.get(id).is_some_and(|one| one.is_skip());
        if below.is_empty() && !is_skipped {
            faults.push(not_open(world, x));
        }
        faults.extend(below.iter().filter_map(|id| in_doubt(state, id)));
        let new = below.into_iter().filter(|id| known.insert(id.clone()));
        targets.extend(new);
    }
    if faults.is_empty() { Ok(targets) } else { Err(faults) }
}

/// The fault of an atom without an open task in force: it is solved, or nothing is chosen in it.
fn not_open(world: &World, x: Ix) -> Fault {
    let id = world.graph.id(x);
    let mut below = world.graph.subtree(x).into_iter();
    let (message, hint) = if !world.solved()[x] && below.any(|y| is_open_task(world, y)) {
        (
            format!("nothing below {id} is in force: no choice is made yet"),
            format!("name its tasks, or make the choice: descent redirect --select {id}=CHOICE"),
        )
    } else {
        (format!("{id} is solved"), format!("descent redirect --forget {id} makes it again"))
    };
    Fault::at("not-open", &place(id), message, Some(&hint))
}

/// The atom itself, or the live tasks below it.
fn open_tasks(world: &World, x: Ix) -> Vec<AtomId> {
    let id = |y: Ix| world.graph.id(y).clone();
    if is_open_task(world, x) {
        return Vec::from([id(x)]);
    }
    let below = world.graph.subtree(x).into_iter();
    let open = below.filter(|y| world.active.is_live(*y) && is_open_task(world, *y));
    open.map(id).collect()
}

fn is_open_task(world: &World, x: Ix) -> bool {
    is_task(&world.state, world.graph.id(x))
}

fn guidance(state: &State, words: &str, targets: &[AtomId]) -> Result<Change, Vec<Fault>> {
    let words = words.trim();
    let length = words.chars().count();
    if length > GUIDANCE_CHARS_MAX {
        let message = format!("guidance of {length} characters, the limit is {GUIDANCE_CHARS_MAX}");
        let hint = "put the rest into a file of the project, and name that file";
        return Err(Vec::from([Fault::at("too-large", "", message, Some(hint))]));
    }
    let (mut change, mut faults) = (Change::to(state.clone()), Vec::new());
    for id in targets {
        let atom = change.state.atoms.get_mut(id).map(Arc::make_mut);
        let Some(task) = atom.and_then(Atom::task_mut) else {
            continue;
        };
        if task.spec.guidance.iter().any(|known| known == words) {
            continue;
        }
        let all = &mut Arc::make_mut(&mut task.spec).guidance;
        all.push(words.to_owned());
        if all.len() > GUIDANCE_MAX {
            let message = format!("{id} has {GUIDANCE_MAX} pieces of guidance, the limit");
            let hint = "say in one what several say: descent edit";
            faults.push(Fault::at("too-many", &place(id), message, Some(hint)));
        }
    }
    if faults.is_empty() { Ok(change) } else { Err(faults) }
}

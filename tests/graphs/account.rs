//! Compares the remains of a run with the model: attempts by context, the tree, its history, the measure.
//!
//! Invariant: each function returns a sentence that names the fault, or nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    model::{Ids, Ix, Model, Selection},
    world::World,
};

pub type Held = Result<(), String>;

pub fn hold(is_so: bool, otherwise: impl FnOnce() -> String) -> Held {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

/// A line of the log.
struct Attempt {
    atom: Ix,
    n: u32,
    files: Ids,
}

fn attempts(model: &Model, log: &str) -> Result<Vec<Attempt>, String> {
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let (atom, n) = (model.ix(words.next()?)?, words.next()?.parse().ok()?);
        let files = words
            .filter(|word| *word != "made/*")
            .map(|word| model.ix(word.strip_prefix("made/")?));
        Some(Attempt { atom, n, files: files.collect::<Option<_>>()? })
    };
    log.lines()
        .map(|line| {
            read(line).ok_or_else(|| format!("an attempt that saw what is not there: {line}"))
        })
        .collect()
}

/// The attempts that were really made, by their files outside. At most `cut_off` of them do not count: a kill, or the
/// end of the run, came before their own end.
pub fn attempts_were_bounded(model: &Model, world: &World, cut_off: usize, bound: usize) -> Held {
    let attempts = attempts(model, &world.log())?;
    hold(attempts.len() <= bound + cut_off, || {
        format!("{} attempts, the bound was {bound}", attempts.len())
    })?;
    let mut counts: BTreeMap<(Ix, Ids, u32), usize> = BTreeMap::new();
    for attempt in &attempts {
        stood_in_one_selection(model, attempt)?;
        let known = attempt.files.intersection(&model.telling(attempt.atom)).copied().collect();
        *counts.entry((attempt.atom, known, attempt.n)).or_default() += 1;
    }
    for ((x, known, n), count) in counts {
        let may_be = contexts_with(model, x, &known) + cut_off;
        let what = || {
            format!(
                "{} with {:?}: attempt {n} was made {count} times",
                model.nodes[x].id,
                model.names(&known)
            )
        };
        hold(n <= model.attempts_max && count <= may_be, what)?;
    }
    Ok(())
}

fn stood_in_one_selection(model: &Model, attempt: &Attempt) -> Held {
    let (x, files) = (attempt.atom, &attempt.files);
    let is_seen = |s: &Selection| {
        model.seen(x, s).into_iter().filter(|y| model.is_task(*y)).all(|y| files.contains(&y))
    };
    let fits = |s: &Selection| files.is_subset(&model.live_tasks(s)) && is_seen(s);
    let name = &model.nodes[x].id;
    hold(model.selections_with(x).iter().any(fits), || {
        format!("{name} was tried in a tree of no selection: {:?}", model.names(files))
    })
}

/// The number of contexts in which an attempt sees exactly these of the telling files.
fn contexts_with(model: &Model, x: Ix, known: &Ids) -> usize {
    let telling = model.telling(x);
    let finds =
        |s: &Selection| &model.live(s).intersection(&telling).copied().collect::<Ids>() == known;
    let contexts = model.selections_with(x).into_iter().filter(finds).map(|s| model.context(x, &s));
    contexts.collect::<BTreeSet<_>>().len()
}

/// The atoms of a state, each with its place in the model. Planned atoms have names of the program's own, and appear
/// once for each context that they were planned in.
struct Names(BTreeMap<String, (Ix, Value)>);

impl Names {
    fn of(model: &Model, state: &Value) -> Self {
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let open = object(&state["work_graph"]["atoms"]).into_iter();
        let bound = object(&state["bindings"]).into_iter();
        let all = open.chain(bound.map(|(id, binding)| (id, binding["of"].clone())));
        let known = all.filter_map(|(id, atom)| {
            let proposed = atom["origin"]["proposed"].as_str();
            let x = model.ix(proposed.unwrap_or(&id))?;
            Some((id, (x, atom)))
        });
        Self(known.collect())
    }

    fn ix(&self, id: &str) -> Option<Ix> {
        self.0.get(id).map(|(x, _)| *x)
    }
}

/// Compares the counts in the state file with the log.
pub fn state_counts_every_attempt(model: &Model, world: &World, cut_off: usize) -> Held {
    let (state, attempts) = (world.state(), attempts(model, &world.log())?);
    let names = Names::of(model, &state);
    for x in model.tasks() {
        let id = &model.nodes[x].id;
        let own = names.0.values().filter(|(y, _)| *y == x);
        let tries = own.flat_map(|(_, atom)| atom["tries"].as_array().cloned().unwrap_or_default());
        let made = attempts.iter().filter(|attempt| attempt.atom == x).count();
        let counted = count_tries(model, &names, x, &tries.collect::<Vec<_>>())?;
        hold((counted..=counted + cut_off).contains(&made), || {
            format!("{id}: {made} attempts were made, the state counts {counted}")
        })?;
    }
    Ok(())
}

fn count_tries(model: &Model, names: &Names, x: Ix, tries: &[Value]) -> Result<usize, String> {
    let (mut contexts, mut total) = (BTreeSet::new(), 0);
    let possible: BTreeSet<Selection> =
        model.selections_with(x).iter().map(|s| model.context(x, s)).collect();
    let name = &model.nodes[x].id;
    for tried in tries {
        let choices = tried["choices"].as_object().cloned().unwrap_or_default();
        let pair =
            |(group, kid): (&String, &Value)| Some((names.ix(group)?, names.ix(kid.as_str()?)?));
        let context = choices.iter().map(pair).collect::<Option<Selection>>();
        let context = context.filter(|context| possible.contains(context));
        let context = context
            .ok_or_else(|| format!("{name} has a try in a context that it cannot see: {tried}"))?;
        hold(contexts.insert(context), || format!("{name} has two tries in one context: {tried}"))?;
        let attempts = tried["attempts"].as_u64().unwrap_or(u64::MAX);
        hold(attempts <= u64::from(model.attempts_max), || {
            format!("{name} was tried too often: {tried}")
        })?;
        total += usize::try_from(attempts).expect("small");
    }
    Ok(total)
}

/// The delivered files, each made once, each by a commit of its own, and nothing else in the history.
pub fn delivered(model: &Model, world: &World, result: &Value) -> Result<Ids, String> {
    let state = world.state();
    let Some(start) = state["run"]["started_from"]["commit"].as_str() else {
        return Err("it began from nothing".to_owned());
    };
    let commit = result["workspace"]["commit"].as_str().unwrap_or(start);
    let mut files = Ids::new();
    for line in world.git_on_results(&["grep", "-c", "", commit, "--", "made"]).lines() {
        let x = line.split_once(":made/").and_then(|(_, file)| model.ix(file.strip_suffix(":1")?));
        files.insert(x.ok_or_else(|| format!("in the tree: {line}"))?);
    }
    let format = "--format=%(trailers:key=Descent-Atom,valueonly,separator=%x2C)";
    let known = Names::of(model, &state);
    let own = |id: &str| known.ix(id).map_or("?", |x| model.nodes[x].id.as_str());
    let log = world.git_on_results(&["log", format, &format!("{start}..{commit}")]);
    let mut history: Vec<&str> = log.lines().map(own).collect();
    let in_order: Vec<Ix> = history.iter().rev().filter_map(|id| model.ix(id)).collect();
    hold(is_in_order(model, &in_order), || {
        format!("something stands before what it was made from: {history:?}, the newest first")
    })?;
    let done = result["done"].as_array().into_iter().flatten();
    let mut done: Vec<&str> = done.filter_map(|x| x["atom"].as_str()).map(own).collect();
    let mut names = model.names(&files);
    history.sort_unstable();
    done.sort_unstable();
    names.sort_unstable();
    hold(history == names, || format!("the tree holds {names:?}, its history {history:?}"))?;
    // If another selection's tree is delivered, its atoms are named beside those that are solved.
    let is_of_another = state["run"]["delivered"].is_string();
    hold(is_of_another || done == names, || {
        format!("the tree holds {names:?}, the result names {done:?}")
    })?;
    Ok(files)
}

/// Whether under some selection each comes after all that it depends on.
fn is_in_order(model: &Model, history: &[Ix]) -> bool {
    let made: Ids = history.iter().copied().collect();
    let fits = |s: &Selection| {
        let is_last = |(n, x): (usize, &Ix)| {
            let seen = model.seen(*x, s);
            history.iter().skip(n).all(|later| !seen.contains(later))
        };
        made.is_subset(&model.live_tasks(s)) && history.iter().enumerate().all(is_last)
    };
    model.selections().iter().any(fits)
}

/// Checks that the result is possible: each atom was made in a tree with its prerequisites, all under one selection.
pub fn could_be_made(model: &Model, files: &Ids) -> Held {
    let fits = |s: &Selection| {
        files.is_subset(&model.live_tasks(s)) && files.iter().all(|x| model.succeeds(*x, s))
    };
    hold(model.selections().iter().any(fits), || {
        format!("under no selection can this be made: {:?}", model.names(files))
    })
}

/// One attempt more than run side by side cannot start before one has ended. So the last of them sees a smaller measure
/// than the first, unless one was cut off. At the end the measure has fallen once more, or was it the last that was.
pub fn measure_fell(world: &World, slots: usize, cut_off: usize) -> Held {
    let mut states = world.states_seen();
    states.sort_by_key(|state| state["serial"].as_u64());
    let mut measures: Vec<(u64, u64)> = states.iter().filter_map(measure).collect();
    hold(measures.len() == states.len(), || "a state without its measure".to_owned())?;
    let last = measure(&world.state()).ok_or("no measure at the end")?;
    hold(cut_off > 0 || measures.last().is_none_or(|before| *before > last), || {
        format!("it did not fall to {last:?}: {measures:?}")
    })?;
    measures.push(last);
    let fell = measures
        .iter()
        .zip(measures.iter().skip(slots + cut_off))
        .all(|(before, after)| before > after);
    hold(fell && measures.is_sorted_by(|before, after| before >= after), || {
        format!("the measure did not fall: {measures:?}")
    })
}

fn measure(state: &Value) -> Option<(u64, u64)> {
    let measure = &state["run"]["measure"];
    Some((measure["attempts"].as_u64()?, measure["verdicts"].as_u64()?))
}

//! How a graph stands under a selection: what is live, and in which context.
//!
//! A context is the specification of a task, the specifications upstream and the choices in force there, digested
//! along the dependencies. It never holds a digest of a result.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use super::{Graph, Ix, Kind};
use crate::{
    id::{AtomId, Digest},
    state::{State, record::Choices},
};

/// Which choice each group has made.
pub type Selection = BTreeMap<Ix, Ix>;

/// What the groups of a state have selected; a choice that a group does not have is none.
pub fn selection_of(graph: &Graph, state: &State) -> Selection {
    let chosen = graph.groups().filter_map(|group| {
        let choice = graph.ix(state.atom(graph.id(group))?.selected()?)?;
        graph
            .vertex(group)
            .kids
            .contains(&choice)
            .then_some((group, choice))
    });
    chosen.collect()
}

#[derive(Debug, Default)]
pub struct Standing {
    pub selection: Selection,
    live: Vec<bool>,
    contexts: Vec<Option<Digest>>,
}

impl Standing {
    pub fn of(graph: &Graph, selection: Selection) -> Self {
        let live = live(graph, &selection);
        let mut contexts: Vec<Option<Digest>> = alloc::vec![None; graph.len()];
        for x in graph.order().iter().copied().filter(|x| live[*x]) {
            contexts[x] = Some(context(graph, x, &selection, |y| contexts[y].as_ref()));
        }
        Self {
            selection,
            live,
            contexts,
        }
    }

    pub fn is_live(&self, x: Ix) -> bool {
        self.live[x]
    }

    /// The context of a live atom.
    pub fn context(&self, x: Ix) -> Option<&Digest> {
        self.contexts[x].as_ref()
    }

    /// The choices in force in what a live task waits for, and in what that was made from: exactly those that its
    /// context is made of. A group inside an alternative that is not selected is not among them.
    pub fn choices(&self, graph: &Graph, x: Ix) -> Choices {
        let mut seen: BTreeSet<Ix> = BTreeSet::new();
        let mut todo: Vec<Ix> = graph.waits_for(x).collect();
        while let Some(y) = todo.pop() {
            if graph.vertex(y).is_branching && seen.insert(y) {
                todo.extend(made_of(graph, y, &self.selection));
            }
        }
        self.pairs(
            graph,
            seen.into_iter()
                .filter(|y| graph.vertex(*y).kind == Kind::Any),
        )
    }

    /// The choices in force of these groups, where they are live.
    pub fn pairs(&self, graph: &Graph, groups: impl Iterator<Item = Ix>) -> Choices {
        let in_force = groups.filter(|group| self.live[*group]);
        let pairs = in_force.filter_map(|group| Some((group, *self.selection.get(&group)?)));
        pairs
            .map(|(group, choice)| (graph.id(group).clone(), graph.id(choice).clone()))
            .collect()
    }
}

/// What every `any` above has selected.
pub fn live(graph: &Graph, selection: &Selection) -> Vec<bool> {
    let mut live = alloc::vec![false; graph.len()];
    let mut todo = graph.roots().to_vec();
    while let Some(x) = todo.pop() {
        live[x] = true;
        match graph.vertex(x).kind {
            Kind::Any => todo.extend(selection.get(&x)),
            Kind::Task | Kind::All => todo.extend(&graph.vertex(x).kids),
        }
    }
    live
}

/// The context that a task had under `choices`, made of today's specifications: whether what was tried then still
/// counts. `None` where the choices name what is not there.
pub fn context_under(graph: &Graph, x: Ix, choices: &Choices) -> Option<Digest> {
    let named = |id: &AtomId| graph.ix(id);
    let mut selection = Selection::new();
    for (group, choice) in choices {
        let (group, choice) = (named(group)?, named(choice)?);
        if !graph.vertex(group).kids.contains(&choice) {
            return None;
        }
        selection.insert(group, choice);
    }
    let mut contexts: BTreeMap<Ix, Digest> = BTreeMap::new();
    for y in upstream_first(graph, x, &selection) {
        let digest = context(graph, y, &selection, |z| contexts.get(&z));
        contexts.insert(y, digest);
    }
    contexts.remove(&x)
}

/// `x` and all that its context is made of, in an order in which each comes after what it is made of.
fn upstream_first(graph: &Graph, x: Ix, selection: &Selection) -> Vec<Ix> {
    let mut done: BTreeMap<Ix, bool> = BTreeMap::new();
    let mut order = Vec::new();
    let mut todo = Vec::from([(x, false)]);
    while let Some((y, is_closed)) = todo.pop() {
        if is_closed {
            if done.insert(y, true) != Some(true) {
                order.push(y);
            }
            continue;
        }
        if done.contains_key(&y) {
            continue;
        }
        done.insert(y, false);
        todo.push((y, true));
        todo.extend(made_of(graph, y, selection).into_iter().map(|z| (z, false)));
    }
    order
}

fn made_of(graph: &Graph, x: Ix, selection: &Selection) -> Vec<Ix> {
    let vertex = graph.vertex(x);
    match vertex.kind {
        Kind::Task => graph.waits_for(x).collect(),
        Kind::All => vertex.kids.clone(),
        Kind::Any => selection.get(&x).copied().into_iter().collect(),
    }
}

fn context<'c>(
    graph: &Graph,
    x: Ix,
    selection: &Selection,
    of: impl Fn(Ix) -> Option<&'c Digest>,
) -> Digest {
    let vertex = graph.vertex(x);
    let mut text = match vertex.kind {
        Kind::Task => "task ".to_owned() + vertex.spec.as_str(),
        Kind::All => "all".to_owned(),
        Kind::Any => {
            let choice = selection
                .get(&x)
                .map_or("", |choice| graph.id(*choice).as_str());
            "any ".to_owned() + graph.id(x).as_str() + " " + choice
        }
    };
    let mut parts: Vec<Ix> = made_of(graph, x, selection);
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        text.push('\n');
        text.push_str(graph.id(part).as_str());
        text.push(' ');
        text.push_str(of(part).map_or("", Digest::as_str));
    }
    Digest::of(text.as_bytes())
}

/// A context in a few letters, for showing.
pub fn short(context: &Digest) -> String {
    context
        .as_str()
        .trim_start_matches("sha256:")
        .chars()
        .take(8)
        .collect()
}

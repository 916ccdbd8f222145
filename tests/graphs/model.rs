//! The meaning of a graph, by enumeration: its whole selections, and under which of them everything can be done. Also
//! the contexts in which each task can be tried.
//!
//! Invariant: definitions only, each as plain as it can be; graphs are small enough for that.

use std::collections::{BTreeMap, BTreeSet};

/// An atom, by its place in `Model::nodes`.
pub type Ix = usize;
pub type Ids = BTreeSet<Ix>;
/// Group → choice, of live groups.
pub type Selection = BTreeMap<Ix, Ix>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Task,
    All,
    Any,
}

#[derive(Debug, Clone, Default)]
pub struct Node {
    pub id: String,
    pub kind: Kind,
    pub kids: Vec<Ix>,
    pub deps: Vec<Ix>,
    pub parent: Option<Ix>,
    /// The attempt in a context from which on it succeeds; `None`: never.
    pub succeeds_at: Option<u32>,
    /// Tasks without whose files it fails.
    pub needs: Vec<Ix>,
    /// A failure shows in its own check, not in its exit code.
    pub is_checked: bool,
    /// Its choices are tried side by side.
    pub is_speculative: bool,
    /// In the plan it is a planning step: time after time it prints one of its choices after another.
    pub is_planned: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub nodes: Vec<Node>,
    pub attempts_max: u32,
    /// Attempts at the same time.
    pub slots: usize,
    /// Tasks whose files the base case asks for.
    pub wanted: Vec<Ix>,
    /// Tasks whose files it refuses.
    pub unwanted: Vec<Ix>,
    /// The base case also needs the files of everything live. So it holds on no half of the work, and the run completes
    /// exactly if some selection works.
    pub wants_whole: bool,
}

impl Model {
    pub fn is_task(&self, x: Ix) -> bool {
        self.nodes[x].kind == Kind::Task
    }

    pub fn tasks(&self) -> impl Iterator<Item = Ix> {
        (0..self.nodes.len()).filter(|x| self.is_task(*x))
    }

    pub fn ix(&self, id: &str) -> Option<Ix> {
        self.nodes.iter().position(|node| node.id == id)
    }

    pub fn names<'m>(&'m self, ids: impl IntoIterator<Item = &'m Ix>) -> Vec<&'m str> {
        ids.into_iter().map(|x| self.nodes[*x].id.as_str()).collect()
    }

    fn roots(&self) -> impl Iterator<Item = Ix> {
        (0..self.nodes.len()).filter(|x| self.nodes[*x].parent.is_none())
    }

    pub fn above(&self, x: Ix) -> impl Iterator<Item = Ix> {
        std::iter::successors(self.nodes[x].parent, |x| self.nodes[*x].parent)
    }

    pub fn is_conditional(&self, x: Ix) -> bool {
        self.above(x).any(|y| self.nodes[y].kind == Kind::Any)
    }

    /// Whether it is in no plan of a person: a planner proposes it.
    pub fn is_proposed(&self, x: Ix) -> bool {
        self.above(x).any(|y| self.nodes[y].is_planned)
    }

    pub fn subtree(&self, x: Ix) -> Vec<Ix> {
        let kids = self.nodes[x].kids.iter().flat_map(|kid| self.subtree(*kid));
        std::iter::once(x).chain(kids).collect()
    }

    /// Its own dependencies and those of its ancestors.
    fn waits_for(&self, x: Ix) -> Vec<Ix> {
        std::iter::once(x).chain(self.above(x)).flat_map(|y| self.nodes[y].deps.clone()).collect()
    }

    /// All atoms that its result may depend on, whatever is chosen.
    pub fn upstream(&self, x: Ix) -> Ids {
        let (mut seen, mut todo) = (Ids::new(), self.waits_for(x));
        while let Some(d) = todo.pop() {
            for y in self.subtree(d) {
                if seen.insert(y) {
                    todo.extend(&self.nodes[y].deps);
                }
            }
        }
        seen
    }

    /// The atoms that must be resolved before it is tried, under a selection.
    pub fn seen(&self, x: Ix, selection: &Selection) -> Ids {
        let (mut seen, mut todo) = (Ids::new(), self.waits_for(x));
        while let Some(y) = todo.pop() {
            if seen.insert(y) {
                todo.extend(self.waits_for(y));
                match self.nodes[y].kind {
                    Kind::Any => todo.extend(selection.get(&y)),
                    Kind::Task | Kind::All => todo.extend(&self.nodes[y].kids),
                }
            }
        }
        seen
    }

    pub fn live(&self, selection: &Selection) -> Ids {
        let (mut live, mut todo) = (Ids::new(), self.roots().collect::<Vec<_>>());
        while let Some(x) = todo.pop() {
            live.insert(x);
            match self.nodes[x].kind {
                Kind::Any => todo.extend(selection.get(&x)),
                Kind::Task | Kind::All => todo.extend(&self.nodes[x].kids),
            }
        }
        live
    }

    /// The files of the whole result under a selection.
    pub fn live_tasks(&self, selection: &Selection) -> Ids {
        self.live(selection).into_iter().filter(|x| self.is_task(*x)).collect()
    }

    /// Every whole selection.
    pub fn selections(&self) -> Vec<Selection> {
        let (mut whole, mut todo) = (Vec::new(), vec![Selection::new()]);
        while let Some(selection) = todo.pop() {
            let live = self.live(&selection);
            let is_open = |x: &&Ix| self.nodes[**x].kind == Kind::Any && !selection.contains_key(x);
            match live.iter().find(is_open) {
                None => whole.push(selection),
                Some(group) => todo.extend(self.nodes[*group].kids.iter().map(|kid| {
                    let mut next = selection.clone();
                    next.insert(*group, *kid);
                    next
                })),
            }
        }
        whole
    }

    pub fn selections_with(&self, x: Ix) -> Vec<Selection> {
        self.selections()
            .into_iter()
            .filter(|selection| self.live(selection).contains(&x))
            .collect()
    }

    /// The choices in force in its prerequisites.
    pub fn context(&self, x: Ix, selection: &Selection) -> Selection {
        let seen = self.seen(x, selection);
        selection
            .iter()
            .filter(|(group, _)| seen.contains(group))
            .map(|(group, kid)| (*group, *kid))
            .collect()
    }

    pub fn succeeds(&self, x: Ix, selection: &Selection) -> bool {
        let (node, seen) = (&self.nodes[x], self.seen(x, selection));
        let can = node.succeeds_at.is_some_and(|n| n <= self.attempts_max);
        can && node.needs.iter().all(|z| seen.contains(z))
    }

    /// Whether the base case accepts a tree with these files, whatever else it needs.
    pub fn is_taken(&self, files: &Ids) -> bool {
        self.wanted.iter().all(|x| files.contains(x))
            && !self.unwanted.iter().any(|x| files.contains(x))
    }

    /// The files of each selection under which everything can be done and the base case then holds.
    pub fn solutions(&self) -> BTreeSet<Ids> {
        let works = |selection: &Selection| {
            let tasks = self.live_tasks(selection);
            tasks.iter().all(|x| self.succeeds(*x, selection)) && self.is_taken(&tasks)
        };
        self.selections().iter().filter(|s| works(s)).map(|s| self.live_tasks(s)).collect()
    }

    /// Tasks upstream whose files are in the tree of an attempt of `x` exactly if they are live: those that it waits
    /// for whenever they are.
    pub fn telling(&self, x: Ix) -> Ids {
        let selections = self.selections_with(x);
        let tells = |z: &Ix| {
            selections.iter().all(|s| self.live(s).contains(z) == self.seen(x, s).contains(z))
        };
        self.upstream(x).into_iter().filter(|z| self.is_task(*z)).filter(tells).collect()
    }
}

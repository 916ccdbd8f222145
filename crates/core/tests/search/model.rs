//! Graphs with outcomes instead of processes, and their solutions by brute force.
//!
//! An atom succeeds from its k-th attempt in a context on, if the alternatives that it needs upstream are in force. A
//! base case holds when every root is resolved and the wanted atoms are live.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Task,
    All,
    Any,
    /// A planning step: its kids are the fragments of its rounds, each an `All` that is not in the plan.
    Plan,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) kids: Vec<usize>,
    pub(crate) deps: Vec<usize>,
    pub(crate) parent: Option<usize>,
    /// The attempt in a context from which on it succeeds.
    pub(crate) outcome: u32,
    pub(crate) needs: Vec<usize>,
    /// A failure shows in its own check, not in its exit code.
    pub(crate) has_check: bool,
    /// It succeeds without a change to the tree.
    pub(crate) is_silent: bool,
    /// Its effect is outside of the tree: nothing undoes it.
    pub(crate) is_external: bool,
    /// Its choices are tried side by side.
    pub(crate) is_speculative: bool,
    /// For a fragment: how often its planner fails before, in its round.
    pub(crate) fails_before: u32,
    /// It fails by printing an invalid fragment.
    pub(crate) fails_by_faults: bool,
    /// For a planning step: the budget of each of its fragments, in attempts and in milliseconds.
    pub(crate) budget: (Option<u32>, Option<u64>),
    /// For a planning step: its target.
    pub(crate) target: Option<usize>,
    /// It can begin with a partial result of its fragment.
    pub(crate) accepts_partial: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<Node>,
    pub(crate) wanted: Vec<usize>,
    /// If there are any, the base case holds as soon as these tasks are done, whatever else is.
    pub(crate) enough: Vec<usize>,
    /// Its planners print something new whenever they are asked.
    pub(crate) plans_for_ever: bool,
    pub(crate) max_attempts: u32,
    /// Tasks without a check have an action, which is tried on build state first.
    pub(crate) acts: bool,
    /// Further constraints, as JSON members.
    pub(crate) constraints: String,
}

pub(crate) type Selection = BTreeMap<usize, usize>;

impl Model {
    pub(crate) fn add(&mut self, id: &str, kind: Kind, kids: &[usize], deps: &[usize]) -> usize {
        let x = self.nodes.len();
        for kid in kids {
            self.nodes[*kid].parent = Some(x);
        }
        self.nodes.push(Node {
            id: id.to_owned(),
            kind,
            kids: kids.to_vec(),
            deps: deps.to_vec(),
            parent: None,
            outcome: 1,
            needs: Vec::new(),
            has_check: false,
            is_silent: false,
            is_external: false,
            is_speculative: false,
            fails_before: 0,
            fails_by_faults: false,
            budget: (None, None),
            target: None,
            accepts_partial: false,
        });
        x
    }

    pub(crate) fn task(&mut self, id: &str, deps: &[usize]) -> usize {
        self.add(id, Kind::Task, &[], deps)
    }

    pub(crate) fn never(&mut self, x: usize) {
        self.nodes[x].outcome = u32::MAX;
    }

    pub(crate) fn ix(&self, id: &str) -> usize {
        self.nodes.iter().position(|node| node.id == id).expect("an atom of the model")
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|x| self.nodes[*x].parent.is_none())
    }

    /// The fragments that its planner can print within its attempts. A step inside a fragment has half the rounds.
    pub(crate) fn fragments(&self, plan: usize) -> Vec<usize> {
        let above = self.above(plan);
        let depth = above.filter(|x| self.nodes[*x].kind == Kind::Plan).count();
        let rounds = [4, 2, 1].get(depth).copied().unwrap_or(1);
        let kids = self.nodes[plan].kids.iter().copied().take(rounds);
        kids.take_while(|kid| self.nodes[*kid].fails_before < self.max_attempts).collect()
    }

    /// The choices there.
    fn options(&self, x: usize) -> Vec<usize> {
        match self.nodes[x].kind {
            Kind::Any => self.nodes[x].kids.clone(),
            Kind::Plan => self.fragments(x),
            Kind::Task | Kind::All => Vec::new(),
        }
    }

    pub(crate) fn is_choice(&self, x: usize) -> bool {
        let parent = self.nodes[x].parent;
        parent.is_some_and(|p| matches!(self.nodes[p].kind, Kind::Any | Kind::Plan))
    }

    /// Whether a planner makes it: it is not in a person's plan.
    pub(crate) fn is_planned(&self, x: usize) -> bool {
        self.above(x).any(|y| self.nodes[y].kind == Kind::Plan)
    }

    pub(crate) fn above(&self, x: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.nodes[x].parent, |x| self.nodes[*x].parent)
    }

    fn subtree(&self, x: usize) -> Vec<usize> {
        let kids = self.nodes[x].kids.iter().flat_map(|kid| self.subtree(*kid));
        std::iter::once(x).chain(kids).collect()
    }

    /// All that the result of `x` may depend on, insides included.
    pub(crate) fn upstream(&self, x: usize) -> BTreeSet<usize> {
        let direct = |x: usize| self.nodes[x].deps.clone();
        let mut todo: Vec<usize> =
            std::iter::once(x).chain(self.above(x)).flat_map(direct).collect();
        let mut seen = BTreeSet::new();
        while let Some(d) = todo.pop() {
            for y in self.subtree(d) {
                if seen.insert(y) {
                    todo.extend(direct(y));
                }
            }
        }
        seen
    }

    pub(crate) fn live(&self, selection: &Selection) -> BTreeSet<usize> {
        let mut live = BTreeSet::new();
        let mut todo: Vec<usize> = self.roots().collect();
        while let Some(x) = todo.pop() {
            live.insert(x);
            match self.nodes[x].kind {
                Kind::Any | Kind::Plan => todo.extend(selection.get(&x)),
                Kind::Task | Kind::All => todo.extend(&self.nodes[x].kids),
            }
        }
        live
    }

    /// Every whole selection, of live groups alone.
    pub(crate) fn selections(&self) -> Vec<Selection> {
        let (mut whole, mut todo) = (Vec::new(), vec![Selection::new()]);
        while let Some(selection) = todo.pop() {
            let live = self.live(&selection);
            let is_group = |x: usize| matches!(self.nodes[x].kind, Kind::Any | Kind::Plan);
            let open = live.iter().find(|x| is_group(**x) && !selection.contains_key(x));
            match open {
                None => whole.push(selection),
                Some(group) => todo.extend(self.options(*group).into_iter().map(|kid| {
                    let mut next = selection.clone();
                    next.insert(*group, kid);
                    next
                })),
            }
        }
        whole
    }

    pub(crate) fn holds_under(&self, selection: &Selection) -> bool {
        let live = self.live(selection);
        self.wanted.iter().all(|x| live.contains(x))
    }

    /// Whether every root can be resolved and the base case holds under some selection.
    pub(crate) fn is_solvable(&self) -> bool {
        self.selections().iter().any(|selection| {
            let live = self.live(selection);
            let can = |x: &usize| {
                self.nodes[*x].kind != Kind::Task
                    || self.succeeds(*x, self.max_attempts, |group| selection.get(&group).copied())
            };
            live.iter().all(can) && self.holds_under(selection)
        })
    }

    /// The trees on which the base case holds, as sets of the tasks that changed them.
    pub(crate) fn good_trees(&self) -> BTreeSet<BTreeSet<String>> {
        let good = self.selections().into_iter().filter(|selection| self.holds_under(selection));
        let visible = |x: &usize| self.nodes[*x].kind == Kind::Task && !self.nodes[*x].is_silent;
        let names = |live: BTreeSet<usize>| {
            live.into_iter().filter(visible).map(|x| self.nodes[x].id.clone()).collect()
        };
        good.map(|selection| names(self.live(&selection))).collect()
    }

    /// Whether the attempt `n` of `x` succeeds under these choices. It sees its prerequisites, and theirs.
    pub(crate) fn succeeds(
        &self,
        x: usize,
        n: u32,
        choice: impl Fn(usize) -> Option<usize>,
    ) -> bool {
        let waits = |x: usize| {
            std::iter::once(x).chain(self.above(x)).flat_map(|y| self.nodes[y].deps.clone())
        };
        let mut seen = BTreeSet::new();
        let mut todo: Vec<usize> = waits(x).collect();
        while let Some(y) = todo.pop() {
            if seen.insert(y) {
                match self.nodes[y].kind {
                    Kind::Task => todo.extend(waits(y)),
                    Kind::All => todo.extend(&self.nodes[y].kids),
                    Kind::Any => todo.extend(choice(y)),
                    Kind::Plan => {
                        todo.extend(waits(y));
                        todo.extend(choice(y));
                    }
                }
            }
        }
        let node = &self.nodes[x];
        n >= node.outcome && node.needs.iter().all(|z| seen.contains(z))
    }

    /// The graph as a plan.
    pub(crate) fn plan(&self) -> String {
        let own = (0..self.nodes.len()).filter(|x| !self.is_planned(*x));
        let atoms = self.atoms(own);
        // The search alone is compared with brute force: the control law refuses proposals of planners.
        let law = if self.constraints.contains("\"law\"") { "" } else { r#", "law": "show""# };
        let constraints =
            format!("\"max_attempts\": {}{}{law}", self.max_attempts, self.constraints);
        format!(
            r#"{{"objective": {{"goal": "g", "background_intent": "w", "base_case": {{"command": "base"}},
            "constraints": {{{constraints}}}}}, "work_graph": {{"atoms": {{{}}}}}}}"#,
            atoms
        )
    }

    fn atoms(&self, which: impl Iterator<Item = usize>) -> String {
        let mut nodes: Vec<&Node> = which.map(|x| &self.nodes[x]).collect();
        // Written order is id order.
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        let nodes = nodes.into_iter();
        let atoms = nodes.map(|node| format!("\"{}\": {}", node.id, self.atom(node)));
        atoms.collect::<Vec<_>>().join(", ")
    }

    /// The output of the planner for that fragment.
    pub(crate) fn fragment(&self, fragment: usize) -> String {
        let plan = self.nodes[fragment].parent;
        let innermost = |x: usize| self.above(x).find(|y| self.nodes[*y].kind == Kind::Plan);
        let mut inside = self.subtree(fragment);
        inside.retain(|x| *x != fragment && innermost(*x) == plan);
        format!("{{\"atoms\": {{{}}}}}", self.atoms(inside.into_iter()))
    }

    fn atom(&self, node: &Node) -> String {
        let ids = |list: &[usize]| {
            let ids: Vec<String> =
                list.iter().map(|x| format!("\"{}\"", self.nodes[*x].id)).collect();
            format!("[{}]", ids.join(", "))
        };
        let (mut deps, kids) = (ids(&node.deps), ids(&node.kids));
        if node.accepts_partial {
            deps.push_str(r#", "accepts_partial": true"#);
        }
        match node.kind {
            Kind::All => format!(r#"{{"kind": "all", "parts": {kids}, "depends_on": {deps}}}"#),
            Kind::Any => {
                let speculative = node.is_speculative;
                format!(
                    r#"{{"kind": "any", "choices": {kids}, "depends_on": {deps}, "speculative": {speculative}}}"#
                )
            }
            Kind::Plan => {
                // A person's grant: wide enough for whatever chance makes.
                let x = self.ix(&node.id);
                let grant = if self.is_planned(x) { String::new() } else { format!(", {GRANT}") };
                let (id, own) = (&node.id, self.planning(node));
                format!(
                    r#"{{"kind": "plan", "description": "plan {id}", "depends_on": {deps}{grant}{own}}}"#
                )
            }
            Kind::Task if node.has_check => {
                let id = &node.id;
                format!(
                    r#"{{"kind": "task", "description": "do {id}", "depends_on": {deps}, "checks": {{"all": [{{"command": "check {id}"}}]}}}}"#
                )
            }
            Kind::Task if node.is_external => {
                let id = &node.id;
                format!(
                    r#"{{"kind": "task", "description": "do {id}", "depends_on": {deps}, "effect": "external"}}"#
                )
            }
            Kind::Task => {
                let id = &node.id;
                let action = if self.acts { r#", "action": {"run": "act"}"# } else { "" };
                format!(
                    r#"{{"kind": "task", "description": "do {id}", "depends_on": {deps}{action}}}"#
                )
            }
        }
    }

    /// The keys that only a planning step has.
    fn planning(&self, node: &Node) -> String {
        let mut own = String::new();
        if let Some(target) = node.target {
            own += &format!(r#", "convergence_target": "{}""#, self.nodes[target].id);
        }
        let limits = [
            node.budget.0.map(|count| format!(r#""attempts": {count}"#)),
            node.budget.1.map(|ms| format!(r#""time": "{ms}ms""#)),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        if !limits.is_empty() {
            own += &format!(r#", "budget": {{{}}}"#, limits.join(", "));
        }
        own
    }
}

const GRANT: &str = r#""grant": {"atoms": 100000, "alternatives": 4096, "rounds": 4}"#;

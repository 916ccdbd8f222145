//! Small graphs by chance.

use super::{
    model::{Kind, Model, Node},
    rng::Rng,
};

impl Model {
    /// A small graph by chance.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        Self::random_with(rng, 0)
    }

    /// The same, with so many planning steps in a hundred groups.
    pub(crate) fn random_with(rng: &mut Rng, plans: usize) -> Self {
        loop {
            let model = Grow::model(rng, plans);
            if plans > 0 {
                let is_plan = |node: &Node| node.kind == Kind::Plan;
                let ways = model.selections().len();
                if model.nodes.iter().any(is_plan) && ways <= 64 && model.nodes.len() <= 26 {
                    return model;
                }
                continue;
            }
            if model.selections().len() <= 64 && model.nodes.len() <= 16 {
                return model;
            }
        }
    }

    /// Gives planning steps budgets, and those with dependents a target.
    pub(crate) fn budgets(&mut self, rng: &mut Rng) {
        for x in 0..self.nodes.len() {
            if self.nodes[x].kind != Kind::Plan {
                continue;
            }
            let attempts = rng.percent(60).then(|| 1 + u32::try_from(rng.below(4)).expect("small"));
            // Simulated time passes by a millisecond per event.
            let ms = rng.percent(30).then(|| 1 + rng.below(40) as u64);
            self.nodes[x].budget = (attempts, ms);
            let waits = |y: &usize| self.nodes[*y].deps.contains(&x);
            if let Some(target) = (0..self.nodes.len()).find(waits) {
                self.nodes[x].target = Some(target);
                self.nodes[target].accepts_partial = rng.percent(70);
            }
        }
    }
}

struct Grow<'r> {
    rng: &'r mut Rng,
    plans: usize,
    model: Model,
}

impl Grow<'_> {
    fn model(rng: &mut Rng, plans: usize) -> Model {
        let max_attempts = 1 + u32::from(rng.percent(50));
        let mut grow = Grow { rng, plans, model: Model { max_attempts, ..Model::default() } };
        let mut roots: Vec<usize> = Vec::new();
        for _ in 0..1 + grow.rng.below(4) {
            let root = grow.node(0, &[roots.clone()], true);
            roots.push(root);
        }
        grow.outcomes();
        grow.names();
        grow.model
    }

    /// `before`: the nodes before it and before each of its ancestors, as far as it may depend on them.
    fn node(&mut self, depth: usize, before: &[Vec<usize>], may_wait: bool) -> usize {
        let is_leaf = depth == 3 || self.model.nodes.len() > 12 || self.rng.percent(35);
        let kind = if is_leaf {
            Kind::Task
        } else if self.plans > 0 && self.rng.percent(self.plans) {
            Kind::Plan
        } else if self.rng.percent(60) {
            Kind::Any
        } else {
            Kind::All
        };
        let reach: Vec<usize> = before.concat();
        let deps: Vec<usize> = reach
            .into_iter()
            .filter(|_| self.rng.percent(if may_wait { 35 } else { 12 }))
            .collect();
        let mut kids: Vec<usize> = Vec::new();
        if kind == Kind::Plan {
            for _ in 0..1 + self.rng.below(3) {
                kids.push(self.fragment(depth));
            }
        } else if kind != Kind::Task {
            for _ in 0..1 + self.rng.below(3) {
                let mut inner = before.to_vec();
                if kind == Kind::All {
                    inner.push(kids.clone());
                }
                let kid = self.node(depth + 1, &inner, kind == Kind::All);
                kids.push(kid);
            }
        }
        let x = self.model.add("", kind, &kids, &deps);
        self.model.nodes[x].is_speculative = kind == Kind::Any && self.rng.percent(40);
        x
    }

    /// Its atoms name only one another.
    fn fragment(&mut self, depth: usize) -> usize {
        let mut parts = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            parts.push(self.node(depth + 1, &[parts.clone()], true));
        }
        let x = self.model.add("", Kind::All, &parts, &[]);
        let node = &mut self.model.nodes[x];
        node.fails_before = match self.rng.below(10) {
            0..7 => 0,
            7 | 8 => 1,
            _ => u32::MAX,
        };
        node.fails_by_faults = self.rng.percent(50);
        x
    }

    fn outcomes(&mut self) {
        for x in 0..self.model.nodes.len() {
            if self.model.nodes[x].kind != Kind::Task {
                continue;
            }
            let is_group = |y: usize| matches!(self.model.nodes[y].kind, Kind::Any | Kind::Plan);
            let is_in_group = self.model.above(x).any(is_group);
            let upstream: Vec<usize> = self.model.upstream(x).into_iter().collect();
            let alternatives: Vec<usize> =
                upstream.into_iter().filter(|y| self.model.is_choice(*y)).collect();
            if !is_in_group && self.rng.percent(15) {
                self.model.nodes[x].is_silent = true;
                continue;
            }
            self.model.nodes[x].has_check = self.rng.percent(20);
            self.model.nodes[x].outcome = match self.rng.below(10) {
                0 | 1 => u32::MAX,
                2 | 3 => 2,
                _ => 1,
            };
            if !alternatives.is_empty() && self.rng.percent(60) {
                let z = alternatives[self.rng.below(alternatives.len())];
                self.model.nodes[x].needs.push(z);
            }
        }
        let choices: Vec<usize> =
            (0..self.model.nodes.len()).filter(|x| self.model.is_choice(*x)).collect();
        for x in choices {
            if self.rng.percent(12) {
                self.model.wanted.push(x);
            }
        }
    }

    fn names(&mut self) {
        let mut numbers: Vec<usize> = (0..self.model.nodes.len()).collect();
        self.rng.shuffle(&mut numbers);
        for (node, number) in self.model.nodes.iter_mut().zip(numbers) {
            let letter = match node.kind {
                Kind::Task => 't',
                Kind::All => 'p',
                Kind::Any => 'g',
                Kind::Plan => 'n',
            };
            node.id = format!("A{number:02}{letter}");
        }
    }
}

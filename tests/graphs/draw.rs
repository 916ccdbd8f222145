//! A small random graph.

use super::{
    model::{Ix, Kind, Model, Node},
    rng::Rng,
};

const TASKS_MAX: usize = 8;
const GROUPS_MAX: usize = 3;
const DEPTH_MAX: usize = 3;

pub fn graph(seed: u64) -> Model {
    let mut rng = Rng::new(seed);
    loop {
        let mut draw = Draw { rng: &mut rng, model: Model::default() };
        draw.shape();
        if is_small(&draw.model) {
            draw.outcomes();
            draw.base_case();
            draw.ids();
            return draw.model;
        }
    }
}

fn is_small(model: &Model) -> bool {
    let is_group = |node: &&Node| node.kind == Kind::Any;
    let groups = model.nodes.iter().filter(is_group).count();
    (2..=TASKS_MAX).contains(&model.tasks().count()) && (1..=GROUPS_MAX).contains(&groups)
}

struct Draw<'r> {
    rng: &'r mut Rng,
    model: Model,
}

impl Draw<'_> {
    /// Draws its atoms and dependencies.
    fn shape(&mut self) {
        self.model.attempts_max = if self.rng.percent(40) { 1 } else { 2 };
        self.model.slots = 1 + self.rng.below(3);
        let mut roots = Vec::new();
        for _ in 0..1 + self.rng.below(4) {
            let root = self.node(0, &[roots.clone()]);
            roots.push(root);
        }
        // Groups come after their members.
        for x in (0..self.model.nodes.len()).rev() {
            if self.model.nodes[x].kind == Kind::Any && self.rng.percent(35) {
                self.plan(x);
            }
        }
    }

    /// `before`: the atoms before it and before each of its ancestors, as far as it may depend on them.
    fn node(&mut self, depth: usize, before: &[Vec<Ix>]) -> Ix {
        let kind = match self.rng.below(100) {
            _ if depth == DEPTH_MAX => Kind::Task,
            0..40 => Kind::Task,
            40..80 => Kind::Any,
            _ => Kind::All,
        };
        let deps = before.concat().into_iter().filter(|_| self.rng.percent(35)).collect();
        let mut kids = Vec::new();
        if kind != Kind::Task {
            for _ in 0..1 + self.rng.below(3) {
                let beside = if kind == Kind::All { kids.clone() } else { Vec::new() };
                let inner = [before, &[beside]].concat();
                kids.push(self.node(depth + 1, &inner));
            }
        }
        let x = self.model.nodes.len();
        kids.iter().for_each(|kid| self.model.nodes[*kid].parent = Some(x));
        self.model.nodes.push(Node {
            kind,
            kids,
            deps,
            is_speculative: kind == Kind::Any && self.rng.percent(40),
            succeeds_at: Some(1),
            ..Node::default()
        });
        x
    }

    /// Makes a group a planning step: as many choices as it has rounds, which depend on nothing outside of themselves.
    fn plan(&mut self, x: Ix) {
        let planned = self.model.above(x).filter(|y| self.model.nodes[*y].is_planned);
        let rounds = [4, 2, 1, 1][planned.count()];
        if self.model.nodes[x].kids.len() > rounds {
            return;
        }
        let node = &mut self.model.nodes[x];
        (node.is_planned, node.is_speculative) = (true, false);
        for kid in node.kids.clone() {
            let inside = self.model.subtree(kid);
            for y in &inside {
                let deps = &mut self.model.nodes[*y].deps;
                deps.retain(|dep| inside.contains(dep) && *y != kid);
            }
        }
    }

    fn outcomes(&mut self) {
        for x in self.model.tasks().collect::<Vec<_>>() {
            let telling: Vec<Ix> = self
                .model
                .telling(x)
                .into_iter()
                .filter(|z| self.model.is_conditional(*z))
                .collect();
            let node = &mut self.model.nodes[x];
            node.is_checked = self.rng.percent(20);
            node.succeeds_at = match self.rng.below(100) {
                0..12 => None,
                12..30 => Some(2),
                _ => Some(1),
            };
            if self.rng.percent(60) {
                node.needs.extend(self.rng.pick(&telling));
            }
        }
    }

    fn base_case(&mut self) {
        let model = &mut self.model;
        let conditional: Vec<Ix> = model.tasks().filter(|x| model.is_conditional(*x)).collect();
        model.wants_whole = self.rng.percent(75);
        if self.rng.percent(40) || !model.wants_whole {
            model.wanted.extend(self.rng.pick(&conditional));
        }
        if self.rng.percent(25) {
            model
                .unwanted
                .extend(self.rng.pick(&conditional).filter(|x| !model.wanted.contains(x)));
        }
    }

    /// Gives ids whose order has no meaning.
    fn ids(&mut self) {
        let mut numbers: Vec<usize> = (10..10 + self.model.nodes.len()).collect();
        self.rng.shuffle(&mut numbers);
        for (node, number) in self.model.nodes.iter_mut().zip(numbers) {
            let letter = match node.kind {
                Kind::Task => 't',
                Kind::All => 'p',
                Kind::Any => 'g',
            };
            node.id = format!("{letter}{number}");
        }
    }
}

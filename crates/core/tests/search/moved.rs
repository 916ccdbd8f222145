//! The start of a run moves on while it works: what was solved is carried along, and the outcome is the same.

use std::{collections::BTreeMap, fmt::Write as _};

use descent_core::{
    change::{self, Redirect},
    desired::{self, WorkKey},
    event::{Event, Input},
    id::CommitId,
    state::{StartedFrom, encode::StateText, fields::Extra},
    world::World,
};

use super::{
    model::{Kind, Model},
    random::ROOMY,
    sim::{Faults, Sim},
};

impl Sim<'_> {
    pub(crate) fn start(&self, name: &str) -> StartedFrom {
        StartedFrom {
            commit: CommitId::new(name),
            tree: self.tree_of(name),
            head: CommitId::new(name),
            branch: None,
            dirty: false,
            extra: Extra::default(),
        }
    }

    /// A redirect takes in another start. A rebuild that was under way may come to its end only afterwards.
    pub(crate) fn move_start(&mut self) {
        if self.world.state.run.head.is_none() {
            return;
        }
        let mut in_flight = self.world.state.run.in_flight.iter();
        if in_flight.any(|intent| intent.effect.is_once_only()) {
            return;
        }
        let late = self.late();
        self.moves += 1;
        let name = format!("start{}", self.moves);
        self.commits.insert(name.clone(), Vec::new());
        self.roots.insert(name.clone(), name.clone());
        let redirect = Redirect { start: Some(self.start(&name)), ..Redirect::default() };
        let now = self.wall();
        let made = change::redirect(&self.world.state, &redirect, None, "person", now);
        let made = made.expect("another start");
        let _ = writeln!(self.story, "  moved to {name}");
        assert_eq!(made.state.run.head, Some(CommitId::new(name)));
        let refuted = made.state.trail.iter().filter(|one| one.refuted().is_some());
        assert_eq!(refuted.count(), 0, "no refutation is of this start");
        self.is_anew(StateText::of(&made.state));
        self.world = World::new(made.state);
        if let Some(late) = late {
            let head = self.world.state.run.head.clone();
            self.observe(late);
            let is_of = |commit: &CommitId| self.roots[commit.as_str()].clone();
            let start = self.world.state.run.started_from.clone().expect("a start");
            assert_eq!(
                self.world.state.run.head.as_ref().map(is_of),
                Some(is_of(&start.commit)),
                "a tree of the earlier start came after {head:?}\n{}",
                self.story
            );
        }
        // A loop looks around after every commit of another process.
        self.observe(Input::Tick);
    }

    /// The end of a rebuild that is desired now.
    fn late(&mut self) -> Option<Input> {
        let desired = desired::desired_work(&self.world, &self.session, 0);
        let mut effects = desired.effects.into_iter();
        let (key, effect) =
            effects.find(|(key, _)| matches!(key, WorkKey::Rebuild(..) | WorkKey::Stage(..)))?;
        Some(self.answer(&key, effect))
    }
}

/// How often each atom was solved.
fn solved(sim: &Sim<'_>) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for event in &sim.events {
        if let Event::Solved { atom, .. } = event {
            *count.entry(atom.to_string()).or_default() += 1;
        }
    }
    count
}

#[test]
fn an_effect_outside_is_made_once_though_the_start_moves_and_its_change_no_longer_applies() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let a = model.task("a", &[]);
    let b = model.task("b", &[a]);
    let c = model.task("c", &[b]);
    model.task("d", &[c]);
    model.nodes[b].is_external = true;
    model.constraints = ROOMY.to_owned();
    let (mut moved, mut again) = (0, 0);
    for seed in 0..200 {
        let faults = Faults { moved: 10, dropped: 40, reads_back: true, ..Faults::default() };
        let mut sim = Sim::new(&model, seed, 2, faults);
        // The change of b may be lost, for it is not made again.
        sim.good_trees =
            ["abcd", "acd"].iter().map(|tree| tree.chars().map(String::from).collect()).collect();
        let word = sim.run();
        assert_eq!(word, "completed", "seed {seed}\n{}", sim.story);
        let solved = solved(&sim);
        assert_eq!(solved["b"], 1, "seed {seed}\n{}", sim.story);
        moved += usize::from(sim.moves > 0);
        again += usize::from(solved["a"] > 1);
    }
    assert!(moved > 100 && again > 20, "{moved}, {again}: too few to tell");
}

#[test]
fn a_choice_that_was_refuted_is_judged_again_from_the_new_start() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.add("G", Kind::Any, &[a, b], &[]);
    let mut sim = Sim::new(&model, 1, 1, Faults::default());
    sim.good_trees.clear();
    assert_eq!(sim.run(), "exhausted", "{}", sim.story);
    assert!(sim.story.contains("refuted"), "{}", sim.story);
    sim.move_start();
    // On the new start the first choice is right.
    sim.good_trees = [std::iter::once("a".to_owned()).collect()].into();
    assert_eq!(sim.run(), "completed", "{}", sim.story);
    assert_eq!(solved(&sim)["a"], 1, "its result was carried over\n{}", sim.story);
}

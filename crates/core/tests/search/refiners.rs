//! Refiners: what they answer where nothing is left to try, and what may come of any answer.

use descent_core::{
    doc::{self, Node},
    event::{ConsultAnswer, Event, Input},
    fragment::delta::{self, AcceptedDelta, DeltaRequest},
    graph::{Ix, NodeKind},
    id::{AgentName, AtomId, ConsultId},
    state::{Atom, AtomStatus, Body, Consult, Question, TryEnd},
    world::{AgentTable, Session},
};

use super::{
    answers::consulted,
    model::{Kind, Model},
    planners::{ADVERSARIES, Planner, STUCK},
    random::seeds,
    rng::Rng,
    sim::{Faults, Sim, session},
};

/// Who is asked for a change of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refiner {
    Silent,
    Nonsense,
    /// The same at each question.
    Same,
    /// One task more at each question: it succeeds and changes nothing.
    Endless,
    /// As many tasks as a change may add, after all others.
    Most,
    /// One more choice of each group.
    Choices,
    /// Other words for whatever stands in the plan.
    Words,
    /// Takes one out and puts another in its place.
    Replace,
    /// A planning step at each question.
    Steps,
    Random,
}

const REFINERS: [Refiner; 10] = [
    Refiner::Silent,
    Refiner::Nonsense,
    Refiner::Same,
    Refiner::Endless,
    Refiner::Most,
    Refiner::Choices,
    Refiner::Words,
    Refiner::Replace,
    Refiner::Steps,
    Refiner::Random,
];

impl Sim<'_> {
    /// Has that planner change the plan.
    pub(crate) fn with_planner(mut self, planner: Planner) -> Self {
        self.planner = Some(planner);
        self.session = self.new_session();
        self
    }

    /// Has an agent look at each plan, where the constraints ask for it.
    pub(crate) fn with_judge(mut self) -> Self {
        self.judges = true;
        self.session = self.new_session();
        self
    }

    /// Has that refiner change the plan.
    pub(crate) fn with_refiner(mut self, refiner: Refiner) -> Self {
        self.refiner = Some(refiner);
        self.session = self.new_session();
        self
    }

    pub(crate) fn new_session(&self) -> Session {
        let mut session = session(self.slots, self.faults);
        let mut agents = AgentTable::default();
        if self.planner.is_some() {
            agents.set_planner(AgentName::from("planner"));
        }
        if self.judges {
            agents.set(Question::Plan, AgentName::from("judge"));
        }
        if self.refiner.is_some() {
            agents.set(Question::Refine, AgentName::from("refiner"));
            agents.set(Question::Pass, AgentName::from("judge"));
        }
        session.agents = std::sync::Arc::new(agents);
        session.remembered.clone_from(&self.remembered);
        session
    }

    /// The answer of a refiner.
    pub(crate) fn refinement(&mut self, consult: &Consult) -> Input {
        let refiner = self.refiner.expect("a refiner");
        if consult.question == Question::Refine {
            self.check_what_may_change();
        }
        let said = match consult.question {
            Question::Pass => self.opinion_of_pass(),
            _ => self.delta(refiner),
        };
        let answer = match said {
            Some(text) => ConsultAnswer::Value(node(&text)),
            None if self.rng.percent(50) => ConsultAnswer::Faulty("prose".to_owned()),
            None => ConsultAnswer::Silent("nobody is there".to_owned()),
        };
        consulted(consult, answer)
    }

    /// In force, a refiner may change blocked tasks and what waits for something open alone: all else is solved or failed.
    fn check_what_may_change(&self) {
        let (graph, state) = (&self.world.graph, &self.world.state);
        let is_open = |y: &Ix| {
            let mut inside = graph.subtree(*y).into_iter();
            inside.any(|y| {
                graph.vertex(y).kind == NodeKind::Task && !state.bindings.contains_key(graph.id(y))
            })
        };
        let live = graph.tasks().filter(|x| self.world.active.is_live(*x));
        for x in live.filter(|x| delta::may_change(state, graph, *x).is_ok()) {
            let task = state.atom(graph.id(x)).and_then(|atom| atom.task());
            let is_blocked = task.is_some_and(|task| matches!(task.status, AtomStatus::Invalid(_)));
            let mut around = std::iter::once(x).chain(graph.above(x));
            let waits = around.any(|y| graph.vertex(y).deps.iter().any(is_open));
            assert!(is_blocked || waits, "{} is ready\n{}", graph.id(x), self.story);
        }
    }

    fn opinion_of_pass(&mut self) -> Option<String> {
        let share = ["0", "0.5", "1", "7"][self.rng.below(4)];
        self.rng.percent(80).then(|| {
            format!(
                r#"{{"completeness": {share}, "coherence": 1, "missing": ["m"], "aligned":
                {{"plan": true, "step": true, "answer": true, "memory": true}}}}"#
            )
        })
    }

    fn delta(&mut self, refiner: Refiner) -> Option<String> {
        let n = self.world.state.run.spent.consults;
        let roots: Vec<String> =
            ids(self.world.graph.roots().iter().map(|x| self.world.graph.id(*x)));
        let add = |id: &str, deps: &[String], target: Option<&str>| {
            let deps: Vec<String> = deps.iter().map(|id| format!("\"{id}\"")).collect();
            let target = target.map(|id| format!(r#", "target": "{id}""#));
            format!(
                r#"{{"type": "step_add", "atoms": {{"{id}": {{"description": "{id} {n}", "depends_on": [{}]}}}}{}}}"#,
                deps.join(", "),
                target.unwrap_or_default()
            )
        };
        let actions = match refiner {
            Refiner::Silent => return None,
            Refiner::Nonsense => vec![r#"{"type": "step_solve", "target": "A"}"#.to_owned()],
            Refiner::Same => {
                vec![r#"{"type": "step_add", "atoms": {"no_a": {"description": "a"}}}"#.to_owned()]
            }
            Refiner::Endless => vec![add(if n % 3 == 1 { STUCK } else { "ok" }, &roots, None)],
            Refiner::Most => {
                let most = self.world.state.objective.constraints.planning.atoms().min(20);
                let all = 0..most;
                all.map(|k| {
                    add(&format!("{}_{k}", if k + 1 < most { "ok" } else { "no" }), &roots, None)
                })
                .collect()
            }
            Refiner::Choices => {
                let graph = &self.world.graph;
                let groups = graph.groups().filter(|x| delta::may_grow(graph, *x));
                let groups: Vec<String> = groups.map(|x| graph.id(x).to_string()).collect();
                let all = groups.iter().enumerate().take(20);
                all.map(|(k, id)| add(&format!("no_{k}"), &[], Some(id))).collect()
            }
            Refiner::Words => {
                let all = self.world.state.all_atoms();
                let all: Vec<String> = all.keys().map(ToString::to_string).collect();
                let target = &all[self.rng.below(all.len())];
                vec![format!(
                    r#"{{"type": "step_modify", "target": "{target}", "changes": {{"description": "{n}"}}}}"#
                )]
            }
            Refiner::Replace => {
                let all = self.world.state.all_atoms();
                let open = all.iter().filter(|(_, atom)| atom.origin.is_some() && is_open(atom));
                let open: Vec<String> = open.map(|(id, _)| id.to_string()).collect();
                let name = if self.rng.percent(50) { STUCK } else { "ok" };
                let mut actions = vec![add(name, &roots, None)];
                if !open.is_empty() {
                    let target = &open[self.rng.below(open.len())];
                    actions.push(format!(r#"{{"type": "step_remove", "target": "{target}"}}"#));
                }
                actions
            }
            Refiner::Steps => {
                let deps: Vec<String> = roots.iter().map(|id| format!("\"{id}\"")).collect();
                vec![format!(
                    r#"{{"type": "subplan_create", "atoms": {{"more": {{"kind": "plan", "description": "{n}", "depends_on": [{}]}}}}}}"#,
                    deps.join(", ")
                )]
            }
            Refiner::Random => {
                let other = REFINERS[self.rng.below(REFINERS.len() - 1)];
                return self.delta(other);
            }
        };
        Some(format!(r#"{{"actions": [{}]}}"#, actions.join(", ")))
    }

    /// Judges a delta by chance against the state as it is, whatever goes on. Gives whether it was accepted.
    pub(crate) fn try_delta(&mut self) -> bool {
        let text = self.random_delta();
        let consult = ConsultId::new("consult-1");
        let request =
            DeltaRequest { state: &self.world.state, graph: &self.world.graph, consult: &consult };
        let Ok(accepted) = delta::judge(request, &node(&text), &Default::default()) else {
            return false;
        };
        self.look_at(&accepted, &text);
        true
    }

    /// Looks at what a delta touches, by other words than the program has.
    fn look_at(&self, accepted: &AcceptedDelta, text: &str) {
        let state = &self.world.state;
        for id in &accepted.removed {
            assert!(!accepted.atoms.contains_key(id), "{text}");
            self.look_at_changed(id, text);
        }
        for (id, atom) in &accepted.atoms {
            let Some(was) = state.atom(id) else {
                assert!(accepted.added.contains(id), "{text}");
                assert!(
                    atom.origin.is_some() && matches!(atom.body, Body::Task(_) | Body::Plan(_))
                );
                continue;
            };
            let gone: Vec<&AtomId> =
                was.kids().iter().filter(|kid| !atom.kids().contains(kid)).collect();
            assert!(gone.iter().all(|kid| accepted.removed.contains(kid)), "{text}");
            if matches!(was.body, Body::All { .. } | Body::Plan(_)) {
                assert!(!gone.is_empty() && !atom.kids().is_empty(), "{text}");
                continue;
            }
            if let (
                Body::Any { choices, selected, .. },
                Body::Any { choices: known, selected: chosen, .. },
            ) = (&atom.body, &was.body)
            {
                let stays = |id: &&AtomId| !accepted.removed.contains(id);
                let kept: Vec<AtomId> = known.iter().filter(stays).cloned().collect();
                assert!(choices.starts_with(&kept) && !choices.is_empty(), "{text}");
                assert!(*selected == chosen.clone().filter(|id| stays(&id)), "{text}");
                continue;
            }
            self.look_at_changed(id, text);
        }
    }

    fn look_at_changed(&self, id: &AtomId, text: &str) {
        let state = &self.world.state;
        let was = state.atom(id).expect("an atom");
        assert!(!state.bindings.contains_key(id), "{id} is solved: {text}");
        let mut in_flight = state.run.in_flight.iter();
        assert!(!in_flight.any(|intent| intent.atom == *id), "{id} is in flight: {text}");
        assert!(was.origin.is_some(), "{id} is a person's: {text}");
        assert!(is_open(was), "{id} is over: {text}");
    }

    fn random_delta(&mut self) -> String {
        let all = self.world.state.all_atoms();
        let all: Vec<String> = all.keys().map(ToString::to_string).collect();
        let count = 1 + self.rng.below(2);
        let mut actions = Vec::new();
        for k in 0..count {
            // A wrong one spoils all.
            if self.rng.percent(40) {
                actions.push(format!(
                    r#"{{"type": "step_add", "atoms": {{"n{k}": {{"description": "n"}}}}}}"#
                ));
                continue;
            }
            let target = all[self.rng.below(all.len())].clone();
            let dep = all[self.rng.below(all.len())].clone();
            actions.push(match self.rng.below(6) {
                4 => format!(r#"{{"type": "step_remove", "target": "{target}"}}"#),
                5 => format!(r#"{{"type": "subplan_create", "target": "{target}", "atoms": {{"n{k}": {{"kind": "plan", "description": "n"}}}}}}"#),
                0 => format!(r#"{{"type": "step_add", "atoms": {{"n{k}": {{"description": "n", "depends_on": ["{dep}"]}}}}}}"#),
                1 => format!(r#"{{"type": "step_add", "target": "{target}", "atoms": {{"n{k}": {{"description": "n"}}}}}}"#),
                2 => format!(r#"{{"type": "step_modify", "target": "{target}", "changes": {{"description": "other", "depends_on": ["{dep}"]}}}}"#),
                _ => format!(r#"{{"type": "step_modify", "target": "{target}", "changes": {{"description": "other"}}}}"#),
            });
        }
        let about = &all[self.rng.below(all.len())];
        let questions = if self.rng.percent(20) {
            format!(r#", "questions": [{{"about": "{about}", "question": "q", "assume": "a"}}]"#)
        } else {
            String::new()
        };
        format!(r#"{{"actions": [{}]{questions}}}"#, actions.join(", "))
    }
}

fn ids<'a>(all: impl Iterator<Item = &'a AtomId>) -> Vec<String> {
    all.map(ToString::to_string).collect()
}

fn node(text: &str) -> Node {
    let parsed = doc::parse(text, &doc::Limits::default());
    parsed.node.unwrap_or_else(|| panic!("JSON: {text}"))
}

fn is_open(atom: &Atom) -> bool {
    let Body::Task(task) = &atom.body else {
        return false;
    };
    let is_parked = |end: &TryEnd| matches!(end, TryEnd::Parked(_));
    let mut ends = task.tries.iter().filter_map(|tried| tried.ended.as_ref());
    matches!(task.status, AtomStatus::Pending | AtomStatus::Invalid(_)) && !ends.any(is_parked)
}

/// A model with planning steps in most graphs, so that there is something that a delta may change.
fn model(rng: &mut Rng, changes: usize) -> Model {
    let plans = if rng.percent(60) { 60 } else { 0 };
    let mut model = Model::random_with(rng, plans);
    // No task that is added helps a person's that failed for good.
    let outcomes = if rng.percent(60) { 1 } else { 3 };
    for x in 0..model.nodes.len() {
        if model.nodes[x].kind == Kind::Task {
            model.nodes[x].outcome = [1, 2, u32::MAX][rng.below(outcomes)];
        }
    }
    // A base case that fails with all done is what a refiner is asked about most.
    if rng.percent(85) {
        let share = if rng.percent(50) { 100 } else { 20 };
        let all = 0..model.nodes.len();
        model.wanted = all.filter(|_| rng.percent(share)).collect();
    }
    model.constraints = format!(
        r#", "planning": {{"depth": 20, "atoms": 10000, "phases": 100, "changes": {changes}}}"#
    );
    model
}

#[test]
fn no_refiner_makes_a_run_start_more_than_its_bound() {
    refine_adversely(seeds(0, 100));
}

#[test]
fn no_other_refiner_makes_a_run_start_more_than_its_bound() {
    refine_adversely(seeds(300, 100));
}

fn refine_adversely(seeds: std::ops::Range<u64>) {
    let (mut taken, mut refused, mut gone) = (0, 0, 0);
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed);
        let changes = 1 + rng.below(10);
        let mut model = model(&mut rng, changes);
        if rng.percent(30) {
            model.constraints.push_str(r#", "judging": "model""#);
        }
        let acts = seed % 2 == 1;
        let law = format!(r#", "law": "{}""#, if acts { "act" } else { "show" });
        model.constraints.push_str(&law);
        let faults = super::replan::faults(&mut rng);
        let refiner = REFINERS[rng.below(REFINERS.len())];
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let mut sim = Sim::new(&model, seed, slots, faults).with_refiner(refiner);
        if rng.percent(40) || refiner == Refiner::Steps {
            sim = sim.with_planner(ADVERSARIES[rng.below(ADVERSARIES.len())]);
        }
        let ending = sim.run();
        let (ended, attempts, begun, starts) = super::replan::told(&sim.events);
        assert!(
            begun <= starts && (sim.repairs > 0 || ended <= attempts),
            "seed {seed}, {refiner:?}: {ended} of {attempts} attempts, {begun} of {starts} starts\n{}",
            sim.story
        );
        let reason = super::replan::reason(&sim);
        assert!(
            ending == "completed" || super::replan::is_end(reason, acts),
            "seed {seed}, {refiner:?}: {ending}, {reason:?}"
        );
        for event in &sim.events {
            if let Event::Replanned { by: Some(_), atoms, removed, .. } = event {
                gone += removed.len();
                taken += usize::from(!atoms.is_empty());
                refused += usize::from(atoms.is_empty());
            }
        }
    }
    println!("{taken} taken with {gone} taken out, {refused} refused");
    let few = seeds.count() / 7;
    assert!(taken > few && refused > few, "{taken} taken, {refused} refused: too few to tell");
}

#[test]
fn no_delta_changes_what_is_solved_in_flight_or_a_persons() {
    let (mut tried, mut accepted) = (0, 0);
    for seed in 1_000.. {
        let mut rng = Rng::new(seed);
        let model = model(&mut rng, 10);
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let mut sim = Sim::new(&model, seed, slots, Faults::default())
            .with_refiner(Refiner::Random)
            .with_planner(Planner::Endless);
        sim.begin();
        while sim.turn() {
            tried += 1;
            accepted += usize::from(sim.try_delta());
        }
        if tried >= 4_000 {
            break;
        }
    }
    println!("{accepted} of {tried} deltas accepted");
    assert!(accepted > 400, "{accepted} of {tried}: too few to tell");
}

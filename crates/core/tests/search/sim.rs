//! A driver in memory: does the desired work by a model, in random order, with random faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use descent_core::{
    desired,
    event::{Event, Input, Leftovers, Merge, Observation, Outcome},
    graph::validate,
    id::{AtomId, Lineage, RequestId, RunId, UnixMillis},
    plan, search,
    state::{
        Lesson, Request, RunStatus, Workspace, decode, encode::StateText, fields::Extra,
        objective::RequestKind, run::DecimalText,
    },
    step::{self, Transition},
    verdict::CommandEnd,
    world::{Session, World, session::TrailLimits},
};

use super::{
    account, chance::Chance, model::Model, planners::Planner, refiners::Refiner, rng::Rng,
};

/// Chances in a hundred, at each event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) transient: usize,
    pub(crate) crash: usize,
    pub(crate) stop: usize,
    pub(crate) dropped: usize,
    pub(crate) conflict: usize,
    pub(crate) unknown: usize,
    /// A warm verdict on the base case is the wrong one.
    pub(crate) left_over: usize,
    /// An action fails for build state of an earlier tree alone.
    pub(crate) stale: usize,
    /// The output of an attempt cannot be checked out.
    pub(crate) broken: usize,
    /// The person's tree moves on, and a redirect takes it in; a few times at most.
    pub(crate) moved: usize,
    /// Every commit is read back.
    pub(crate) reads_back: bool,
}

/// Nothing goes wrong.
pub(crate) const CALM: Faults = Faults {
    moved: 0,
    transient: 0,
    crash: 0,
    stop: 0,
    dropped: 0,
    conflict: 0,
    unknown: 0,
    left_over: 0,
    stale: 0,
    broken: 0,
    reads_back: false,
};

/// One change to the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) atom: String,
    pub(crate) content: String,
    pub(crate) is_good: bool,
}

pub(crate) struct Sim<'m> {
    pub(crate) model: &'m Model,
    pub(crate) rng: Rng,
    pub(crate) faults: Faults,
    pub(crate) world: World,
    pub(crate) session: Session,
    pub(crate) slots: u32,
    /// Whether plans are judged by an agent that answers by chance.
    pub(crate) judges: bool,
    /// Who plans where nothing is left to try; without one no planner is configured.
    pub(crate) planner: Option<Planner>,
    /// Attempts by chance, in the place of what the model says.
    pub(crate) chance: Option<Chance>,
    /// Who is asked for a change of the plan before.
    pub(crate) refiner: Option<Refiner>,
    /// The lessons of earlier runs; without memory none.
    pub(crate) remembered: Option<Vec<Lesson>>,
    pub(crate) now: u64,
    /// Active time of a wait that is not reported yet.
    passed_ms: u64,
    /// Between any two inputs the wall clock is set by ten years, back and forth.
    pub(crate) is_clock_set: bool,
    inputs: u64,
    pub(crate) story: String,
    pub(crate) events: Vec<Event>,
    rendered: StateText,
    pub(crate) commits: BTreeMap<String, Vec<Piece>>,
    /// The start that each commit stands on.
    pub(crate) roots: BTreeMap<String, String>,
    /// How often the start moved.
    pub(crate) moves: usize,
    pub(crate) good_trees: BTreeSet<BTreeSet<String>>,
    /// Attempts that ended, by atom and context.
    pub(crate) ended: BTreeMap<(String, String), u32>,
    pub(crate) started: u64,
    pub(crate) repairs: u32,
    crashes: u32,
    bound: Option<u64>,
    pub(crate) asked: BTreeSet<(String, String)>,
    last_measure: Option<(u64, u64)>,
}

const EVENTS_MAX: usize = 5_000;
const MOVES_MAX: usize = 3;
const TEN_YEARS_MS: u64 = 10 * 365 * 86_400_000;

impl<'m> Sim<'m> {
    pub(crate) fn new(model: &'m Model, seed: u64, slots: u32, faults: Faults) -> Self {
        let plan = plan::read(model.plan().as_bytes());
        assert!(plan.faults.is_empty(), "{:?}\n{}", plan.faults, model.plan());
        let state = plan.into_state(Lineage::new("lineage"));
        let rendered = StateText::of(&state);
        Self {
            model,
            rng: Rng::new(seed),
            faults,
            world: World::new(state),
            session: session(slots, faults),
            slots,
            judges: false,
            planner: None,
            chance: None,
            refiner: None,
            remembered: None,
            now: 1_700_000_000_000,
            passed_ms: 0,
            is_clock_set: false,
            inputs: 0,
            story: String::new(),
            events: Vec::new(),
            rendered,
            commits: BTreeMap::from([("start".to_owned(), Vec::new())]),
            roots: BTreeMap::from([("start".to_owned(), "start".to_owned())]),
            moves: 0,
            good_trees: model.good_trees(),
            ended: BTreeMap::new(),
            started: 0,
            repairs: 0,
            crashes: 0,
            bound: None,
            asked: BTreeSet::new(),
            last_measure: None,
        }
    }

    /// Writes the atoms in an order by chance: what can be tried does not depend on it.
    pub(crate) fn written_anyhow(&mut self) {
        let mut state = self.world.state.clone();
        let mut order = state.settled_order().to_vec();
        self.rng.shuffle(&mut order);
        state.order = Arc::new(order);
        let before = std::mem::replace(&mut self.world, World::new(state));
        assert_eq!(before.measure(), self.world.measure());
        let contexts = |world: &World| {
            let all = world.graph.atoms();
            all.map(|x| world.active.context(x).cloned()).collect::<Vec<_>>()
        };
        assert_eq!(contexts(&before), contexts(&self.world));
        let whole =
            |world: &World| search::whole_context(&world.graph, &world.state, &BTreeMap::new());
        assert_eq!(whole(&before), whole(&self.world));
        self.rendered = StateText::of(&self.world.state);
    }

    /// Runs from the start to the end of a run; gives the word of its ending.
    pub(crate) fn run(&mut self) -> &'static str {
        self.begin();
        for _ in 0..EVENTS_MAX {
            if self.faults.crash > 0 && self.crashes < 6 && self.rng.percent(self.faults.crash) {
                self.crash();
            }
            if !self.turn() {
                if self.world.state.run.status == RunStatus::Stopped {
                    self.session = self.new_session();
                    self.begin();
                    continue;
                }
                account::assert_account(self);
                return self.world.state.run.status.word();
            }
        }
        panic!("it does not end");
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.world.state.objective.constraints.workspace() == Workspace::Shared
    }

    pub(crate) fn begin(&mut self) {
        self.begin_with(Leftovers { is_warm: self.model.acts, ..Leftovers::default() });
    }

    pub(crate) fn begin_with(&mut self, left: Leftovers) {
        let is_first = self.world.state.run.started_from.is_none();
        let from = (is_first && !self.is_shared()).then(|| self.start("start"));
        self.started += 1;
        let run = RunId::new(format!("run{}", self.started));
        self.last_measure = None;
        self.observe(Input::Started { run, from, left });
        if self.bound.is_none() {
            self.bound = self.world.state.run.measure.as_ref().map(|m| number(&m.attempts));
        }
    }

    /// The loop dies: only the file remains.
    pub(crate) fn crash(&mut self) {
        self.crashes += 1;
        let _ = writeln!(self.story, "  crash");
        self.read_back();
        let state = decode::decode(self.text().as_bytes()).state.expect("a state");
        self.world = World::new(state);
        self.session = self.new_session();
        self.begin();
    }

    fn text(&self) -> String {
        self.rendered.text(&self.world.state)
    }

    /// Reads the written text back, and compares it with the known state.
    pub(crate) fn read_back(&self) {
        let text = self.text();
        let whole = StateText::of(&self.world.state);
        assert_eq!(whole.text(&self.world.state), text, "only what was touched was written");
        let decoded = decode::decode(text.as_bytes());
        let state = decoded.state.expect("a state");
        let root = decoded.root.as_ref().expect("a tree");
        assert_eq!(self.rendered.values(&state), root.count());
        let faults =
            [decoded.faults, validate::check(&state, decoded.root.as_ref().expect("a tree"))]
                .concat();
        assert!(faults.is_empty(), "{faults:?}\n{text}");
        assert_eq!(StateText::of(&state).text(&state), text, "what is read is what was written");
        let fresh = World::new(state);
        assert_eq!(
            fresh.valid_contexts, self.world.valid_contexts,
            "the counts of contexts come back"
        );
        let measure = fresh.measure().record();
        assert!(self.world.state.run.measure.is_none_or_eq(&measure), "the measure comes back");
    }

    /// Another process committed: the measure counts anew.
    pub(crate) fn is_anew(&mut self, rendered: StateText) {
        self.rendered = rendered;
        self.last_measure = None;
    }

    pub(crate) fn wall(&self) -> UnixMillis {
        let way = if self.is_clock_set { self.inputs % 3 } else { 1 };
        UnixMillis(self.now - TEN_YEARS_MS + way * TEN_YEARS_MS)
    }

    pub(crate) fn observe(&mut self, event: Input) {
        self.inputs += 1;
        let seen = Observation {
            now: self.wall(),
            active_ms: 1 + std::mem::take(&mut self.passed_ms),
            event,
        };
        let is_start = matches!(seen.event, Input::Started { .. });
        let broken = match &seen.event {
            Input::Tried { attempt, merge: Merge::Broken(_), .. } => Some(attempt.clone()),
            _ => None,
        };
        let falls = matches!(&seen.event, Input::Ended { outcome, .. } if outcome.how == CommandEnd::Exit(1) || outcome.stdout.is_some());
        let next = step::step(&self.world, &self.session, seen.clone()).expect("it is taken");
        if self.faults.reads_back {
            let twin = step::step(&self.world, &self.session, seen).expect("it is taken");
            assert_eq!(whole_text(&next), whole_text(&twin), "the same comes of the same");
        }
        for event in &next.events {
            let _ = writeln!(self.story, "  {}", serde_json::to_string(event).expect("JSON"));
            self.repairs += u32::from(matches!(event, Event::Repair { .. }));
            if let Event::Solved { attempt: Some(attempt), .. }
            | Event::Planned { attempt, .. }
            | Event::AttemptFailed { attempt, .. } = event
            {
                let intent =
                    self.world.state.run.in_flight.iter().find(|intent| intent.id == *attempt);
                let intent = intent.expect("it was in flight");
                *self
                    .ended
                    .entry((intent.atom.to_string(), intent.context.to_string()))
                    .or_default() += 1;
            }
        }
        let refutes = next
            .events
            .iter()
            .any(|event| matches!(event, Event::Refuted { .. } | Event::Replanned { .. }));
        self.events.extend(next.events.iter().cloned());
        if !next.is_quiet {
            let state = &next.world.state;
            self.rendered.update(state, &next.touched);
            self.rendered.write(state, &self.rendered.seal(state));
        }
        let is_quiet = next.is_quiet;
        self.world = next.world;
        self.session = next.session;
        if let Some(broken) = broken {
            let mut in_flight = self.world.state.run.in_flight.iter();
            assert!(
                !in_flight.any(|intent| intent.id == broken),
                "{broken} is looked at again and again"
            );
        }
        for intent in &self.world.state.run.in_flight {
            let x = self.world.graph.ix(&intent.atom);
            assert!(
                x.is_none_or(|x| !self.world.graph.is_behind_gate(x)),
                "{} began before its plan was judged\n{}",
                intent.id,
                self.story
            );
        }
        if !is_quiet {
            if self.faults.reads_back {
                self.read_back();
            }
            self.measure(is_start, falls || refutes);
        }
    }

    fn measure(&mut self, counts_anew: bool, falls: bool) {
        let record = self.world.state.run.measure.clone().expect("a measure");
        let now = (number(&record.attempts), number(&record.verdicts));
        if let Some(before) = self.last_measure.filter(|_| !counts_anew) {
            assert!(now <= before, "the measure rose from {before:?} to {now:?}");
            // A repair does not count in the measure: it has a cap of its own.
            if falls && self.repairs == 0 {
                assert!(now < before, "the measure did not fall from {before:?}\n{}", self.story);
            }
        }
        self.last_measure = Some(now);
    }

    /// One event; false when the run is over.
    pub(crate) fn turn(&mut self) -> bool {
        let desired = desired::desired_work(&self.world, &self.session, 0);
        if desired.is_over {
            assert!(self.world.state.run.in_flight.is_empty());
            return false;
        }
        if self.faults.moved > 0 && self.moves < MOVES_MAX && self.rng.percent(self.faults.moved) {
            self.move_start();
            return true;
        }
        // A stop waits for an attempt that has ended and is about to land.
        let is_asked = self.world.state.control.stop_requested;
        if self.faults.stop > 0
            && !is_asked
            && self.crashes < 6
            && self.rng.percent(self.faults.stop)
        {
            self.crashes += 1;
            self.ask(RequestKind::Stop);
            self.observe(Input::Tick);
            return true;
        }
        if desired.effects.is_empty() || self.rng.percent(3) {
            match desired.wake_in_ms {
                Some(in_ms) => self.passed_ms = in_ms,
                None => assert!(
                    !desired.effects.is_empty(),
                    "nothing is desired, and the run waits for nothing"
                ),
            }
            self.observe(Input::Tick);
            return true;
        }
        self.now += 1;
        let index = self.rng.below(desired.effects.len());
        let (key, effect) = desired.effects.into_iter().nth(index).expect("below the length");
        let event = self.answer(&key, effect);
        self.observe(event);
        true
    }

    pub(crate) fn ask(&mut self, kind: RequestKind) {
        let request = Request {
            id: RequestId::new("q"),
            run: self.world.state.run.id.clone(),
            by: "person".to_owned(),
            at: String::new(),
            kind,
            extra: Extra::default(),
        };
        self.observe(Input::Asked { request, reason: None });
    }

    /// No context saw more attempts than allowed, and the sum is within the bound of the start.
    pub(crate) fn check_counts(&self) {
        // With another start all failures are forgotten.
        if self.repairs > 0 || self.moves > 0 {
            return;
        }
        for (context, count) in &self.ended {
            let atom = self.world.state.atom(&AtomId::new(context.0.as_str()));
            // A planning step has that many in each of its rounds.
            let plan = atom.and_then(|atom| atom.plan());
            // A placed one may be asked once more, and a person's may get a round more.
            if self.planner.is_some() && plan.is_some() {
                continue;
            }
            let rounds = plan.and_then(|plan| plan.grant.as_ref()?.rounds);
            assert!(
                *count
                    <= (self.model.max_attempts + u32::from(self.model.acts)) * rounds.unwrap_or(1),
                "{count} attempts of {context:?}"
            );
        }
        let total: u64 = self.ended.values().map(|count| u64::from(*count)).sum();
        assert!(
            total <= self.bound.expect("a bound"),
            "{total} attempts, the bound was {:?}",
            self.bound
        );
    }
}

/// If every commit is read back, the trail is shortened at once.
pub(crate) fn session(slots: u32, faults: Faults) -> Session {
    let mut session = Session::new(slots);
    if faults.reads_back {
        session.trail_limits = TrailLimits {
            failures: 1,
            failure_lines: 1,
            steps: 2,
            failures_long: 2,
            refuted_long: 1,
            surplus: 1,
        };
    }
    session
}

pub(crate) fn outcome(code: i32) -> Outcome {
    Outcome::ended(CommandEnd::Exit(code), 1)
}

fn whole_text(next: &Transition) -> String {
    StateText::of(&next.world.state).text(&next.world.state)
}

trait NoneOrEq<T> {
    fn is_none_or_eq(&self, other: &T) -> bool;
}

impl<T: PartialEq> NoneOrEq<T> for Option<T> {
    fn is_none_or_eq(&self, other: &T) -> bool {
        self.as_ref().is_none_or(|this| this == other)
    }
}

fn number<T: std::str::FromStr>(count: &Option<DecimalText>) -> T {
    let number = count.as_ref().and_then(|count| count.as_str().parse().ok());
    number.expect("a number")
}

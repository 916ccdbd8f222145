//! Ends of agents that their protocols tell: what each costs, what is waited for, and what ends the run.

mod asked;
mod corrected;
mod doubted;
mod outages;
mod rated;
mod situations;
mod spent;
mod steered;

use std::sync::Arc;

use descent_core::{
    desired::{Work, desired_work},
    event::{AgentEnd, AgentLack, Event, Input, Leftovers, Observation, Outcome},
    id::{AgentName, Lineage, RequestId, RunId, UnixMillis},
    plan,
    state::{
        FailureClass, Intent, Reason, Request, Role, RunStatus, State, objective::RequestKind,
    },
    step::{self, Transition},
    verdict::{CommandEnd, Measurement, MeasurementKind},
    world::{AgentTable, Session, World},
};
use serde_json::{Value, json};

/// A loop in one directory, with a worker of the name `claude`; the base case never holds.
struct Loop {
    world: World,
    session: Session,
    events: Vec<Event>,
    now_ms: u64,
}

/// The object with further keys.
fn with(mut object: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

fn task(effect: Value) -> Value {
    with(json!({"description": "do it"}), &effect)
}

impl Loop {
    fn new(constraints: &Value, atoms: &Value) -> Self {
        let mut agents = AgentTable::default();
        agents.set(Role::Worker, AgentName::new("claude"));
        Self::with_agents(constraints, atoms, agents)
    }

    fn with_agents(constraints: &Value, atoms: &Value, agents: AgentTable) -> Self {
        let all = with(json!({"workspace": "shared"}), constraints);
        let text = json!({"objective": {
            "goal": "g", "background_intent": "w", "base_case": {"command": "false"}, "constraints": all
        }, "work_graph": {"atoms": atoms}});
        let plan = plan::read(text.to_string().as_bytes());
        assert!(plan.faults.is_empty(), "{:?}", plan.faults);
        let mut session = Session::new(8);
        session.agents = Arc::new(agents);
        let mut this = Self {
            world: World::new(plan.into_state(Lineage::new("l"))),
            session,
            events: Vec::new(),
            now_ms: 1_000_000,
        };
        this.begin(Vec::new());
        this
    }

    fn begin(&mut self, finished: Vec<(descent_core::id::AttemptId, Outcome)>) {
        self.observe(Input::Started {
            run: RunId::new(format!("r{}", self.now_ms)),
            from: self.start(),
            left: Leftovers { finished, ..Leftovers::default() },
        });
        self.judge();
    }

    /// A loop after a kill: the session is lost.
    fn again(&mut self, finished: Vec<(descent_core::id::AttemptId, Outcome)>) {
        let agents = Arc::clone(&self.session.agents);
        self.session = Session::new(8);
        self.session.agents = agents;
        self.begin(finished);
    }

    fn observe(&mut self, event: Input) -> Transition {
        let seen = Observation { now: UnixMillis(self.now_ms), active_ms: 0, event };
        self.take(seen)
    }

    fn take(&mut self, seen: Observation) -> Transition {
        let next = step::step(&self.world, &self.session, seen).expect("a step");
        self.world = next.world.clone();
        self.session = next.session.clone();
        self.events.extend(next.events.clone());
        next
    }

    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        let seen = Observation { now: UnixMillis(self.now_ms), active_ms: ms, event: Input::Tick };
        self.take(seen);
        self.judge();
    }

    /// Measures the base case as often as it is asked for: it fails.
    fn judge(&mut self) {
        for _ in 0..5 {
            let desired = desired_work(&self.world, &self.session, 0).effects;
            let judges = desired.into_iter().find_map(|(_, work)| match work {
                Work::Judge { scope, basis, check, .. } => Some((scope, basis, check)),
                _ => None,
            });
            let Some((scope, basis, check)) = judges else {
                return;
            };
            let how = CommandEnd::Exit(1);
            let what = MeasurementKind::Command { how, matched: None, number: None };
            let measured =
                Measurement { what, duration_ms: 1, excerpt: String::new(), whole: None };
            let leaves = check.leaves().into_iter();
            let seen = leaves.map(|leaf| (leaf.key(), measured.clone()));
            let seen = seen.collect();
            self.observe(Input::Judged { scope, basis, seen });
        }
    }

    fn flying(&self) -> Vec<Intent> {
        self.world.state.run.in_flight.clone()
    }

    fn outcome(end: AgentEnd) -> Outcome {
        let mut outcome = Outcome::ended(CommandEnd::Signal(9), 20_000);
        outcome.agent_end = Some(end);
        outcome
    }

    fn end(&mut self, intent: &Intent, outcome: Outcome) {
        self.observe(Input::Ended {
            attempt: intent.id.clone(),
            epoch: intent.epoch,
            outcome: Box::new(outcome),
        });
        self.judge();
    }

    /// The only attempt in flight ends so.
    fn end_one(&mut self, end: AgentEnd) {
        let flying = self.flying();
        assert_eq!(flying.len(), 1);
        self.end(&flying[0], Self::outcome(end));
    }

    fn attempts(&self, atom: &str) -> u32 {
        let atom = self.world.state.atoms.get(atom).expect("it is open");
        let tries = &atom.task().expect("a task").tries;
        tries.iter().map(|tried| tried.attempts).sum()
    }

    fn reason(&self) -> Option<Reason> {
        self.world.state.run.ending.reason
    }

    fn summary(&self) -> String {
        self.world.state.run.ending.summary.clone()
    }
}

fn alone() -> Loop {
    Loop::new(&json!({}), &json!({"A": task(json!({}))}))
}

#[test]
fn a_refusal_and_the_end_of_turns_are_failures_of_the_attempt() {
    for end in [AgentEnd::Refused("I will not".into()), AgentEnd::OutOfTurns("200".into())] {
        let mut run = alone();
        run.end_one(end.clone());
        assert_eq!(run.attempts("A"), 1);
        let failure = run.world.state.failures().next().expect("a failure").1;
        assert_eq!((failure.class, &failure.reason), (FailureClass::Logical, &end.text()));
    }
}

#[test]
fn an_agent_that_is_done_is_done_whatever_became_of_its_process() {
    let mut run = alone();
    let intent = run.flying()[0].clone();
    run.end(&intent, Loop::outcome(AgentEnd::Done));
    assert!(run.world.state.failures().next().is_none());
    assert!(run.world.state.bindings.contains_key("A"));
}

#[test]
fn silence_and_a_broken_protocol_are_passing_at_first() {
    for end in [AgentEnd::Silent { ms: 600_000 }, AgentEnd::Protocol("?".into())] {
        let mut run = Loop::new(&json!({"max_transient": 2}), &json!({"A": task(json!({}))}));
        for retry in 1..=2 {
            run.end_one(end.clone());
            assert_eq!((run.attempts("A"), run.world.state.run.spent.transient), (0, retry));
            run.pass(3_600_000);
        }
        run.end_one(end.clone());
        let failure = run.world.state.failures().next().expect("a failure").1;
        assert_eq!(failure.class, FailureClass::Environmental);
        assert!(failure.reason.contains(&end.text()), "{}", failure.reason);
    }
}

#[test]
fn an_effect_that_may_have_happened_once_is_in_doubt_when_its_agent_falls_silent() {
    let atoms = json!({"A": task(json!({"effect": "external"}))});
    let mut run = Loop::new(&json!({}), &atoms);
    run.end_one(AgentEnd::Silent { ms: 1 });
    assert_eq!(run.reason(), Some(Reason::InDoubt));
}

#[test]
fn an_effect_that_may_have_happened_once_is_in_doubt_when_a_shell_tells_of_a_signal() {
    for (code, is_in_doubt) in [(128, false), (137, true), (160, false)] {
        let atoms = json!({"A": task(json!({"effect": "external"}))});
        let mut run = Loop::new(&json!({}), &atoms);
        let flying = run.flying();
        run.end(&flying[0], Outcome::ended(CommandEnd::Exit(code), 20_000));
        let reason = run.reason();
        assert_eq!(reason == Some(Reason::InDoubt), is_in_doubt, "{code}");
    }
}

#[test]
fn a_limit_of_the_provider_is_waited_for_at_no_cost_and_without_active_time() {
    let mut run = alone();
    let until = UnixMillis(run.now_ms + 7_200_000);
    run.end_one(AgentEnd::Limited { until: Some(until) });
    let waits = &run.world.state.run.waits;
    assert_eq!((waits[0].atom.clone(), waits[0].agent.as_str()), (Some("A".into()), "claude"));
    assert_eq!(waits[0].until, until.rfc3339());
    run.pass(7_199_000);
    assert!(run.flying().is_empty());
    let wake = desired_work(&run.world, &run.session, 0).wake_in_ms;
    assert_eq!(wake, Some(1_000));
    run.pass(1_000);
    assert_eq!(run.flying().len(), 1);
    assert!(run.world.state.run.waits.is_empty());
    assert_eq!(run.world.state.run.spent.active.ms, 0);
    assert_eq!(run.attempts("A"), 0);
}

fn request(state: &State, kind: RequestKind) -> Request {
    Request {
        id: RequestId::new("q"),
        run: state.run.id.clone(),
        by: "ada".into(),
        at: "then".into(),
        kind,
        extra: Default::default(),
    }
}

#[test]
fn while_a_person_thinks_about_a_change_no_active_time_passes() {
    let mut run = Loop::new(&json!({"budget": {"time": "10s"}}), &json!({"A": task(json!({}))}));
    let mut state = run.world.state.clone();
    let asks = request(&state, RequestKind::Redirect);
    let control = Arc::make_mut(&mut state.control);
    (control.redirect_requested, control.request) = (true, Some(asks));
    run.world = World::new(state);
    run.pass(0);
    assert_eq!(run.world.state.run.status, RunStatus::Redirecting);
    assert!(run.flying().is_empty());
    run.pass(60_000);
    assert_eq!(run.world.state.run.status, RunStatus::Redirecting);
    // The next commit would write it.
    run.observe(Input::AskerGone);
    assert_eq!(run.world.state.run.status, RunStatus::Running);
    assert_eq!(run.world.state.run.spent.active.ms, 0);
}

#[test]
fn while_an_agent_is_limited_no_other_atom_of_it_starts() {
    let constraints = json!({"max_parallel_agents": 1});
    let atoms = json!({"A": task(json!({})), "B": task(json!({}))});
    let mut run = Loop::new(&constraints, &atoms);
    run.end_one(AgentEnd::Limited { until: None });
    assert!(run.flying().is_empty());
    run.pass(300_000);
    assert_eq!(run.flying().len(), 1);
}

#[test]
fn a_time_that_has_passed_is_waited_for_twice_as_long_each_time() {
    let mut run = alone();
    for wait in 0..10 {
        let past = Some(UnixMillis(1));
        run.end_one(AgentEnd::Limited { until: past });
        let wake = desired_work(&run.world, &run.session, 0).wake_in_ms;
        assert_eq!(wake, Some((1_000 << wait).min(300_000)));
        run.pass(300_000);
    }
}

#[test]
fn a_limit_without_a_told_end_is_waited_for_twice_as_long_each_time_up_to_an_hour() {
    let mut run = alone();
    for wait_ms in [300_000, 600_000, 1_200_000, 2_400_000, 3_600_000, 3_600_000] {
        run.end_one(AgentEnd::Limited { until: None });
        let wake = desired_work(&run.world, &run.session, 0).wake_in_ms;
        assert_eq!(wake, Some(wait_ms));
        run.pass(wait_ms);
    }
}

#[test]
fn of_two_waits_of_one_agent_the_later_end_holds_for_both_atoms() {
    let atoms = json!({"A": task(json!({})), "B": task(json!({}))});
    for [first, second] in [[7_200_000, 60_000], [60_000, 7_200_000]] {
        let mut run = Loop::new(&json!({}), &atoms);
        let flying = run.flying();
        let begun_ms = run.now_ms;
        for (intent, ms) in flying.iter().zip([first, second]) {
            let until = Some(UnixMillis(begun_ms + ms));
            run.end(intent, Loop::outcome(AgentEnd::Limited { until }));
        }
        let later = UnixMillis(begun_ms + 7_200_000).rfc3339();
        let waits = &run.world.state.run.waits;
        assert_eq!(waits.len(), 2);
        assert!(waits.iter().all(|wait| wait.until == later));
        run.pass(7_199_000);
        assert!(run.flying().is_empty());
        run.pass(1_000);
        assert_eq!(run.flying().len(), 2);
    }
}

#[test]
fn a_stop_now_is_obeyed_while_an_attempt_has_to_finish_and_an_agent_cannot_be_used() {
    let atoms = json!({"A": task(json!({})), "B": task(json!({"interruptible": false}))});
    let mut run = Loop::new(&json!({}), &atoms);
    let [a, _] = run.flying().try_into().expect("two");
    let end =
        AgentEnd::Unavailable { kind: AgentLack::Login, words: String::new(), variable: None };
    run.end(&a, Loop::outcome(end));
    assert_eq!((run.flying().len(), run.reason()), (1, None));
    let mut asked = State::clone(&run.world.state);
    let asks = request(&asked, RequestKind::StopNow);
    let control = Arc::make_mut(&mut asked.control);
    (control.stop_requested, control.request) = (true, Some(asks));
    run.world = World::new(asked);
    run.observe(Input::Tick);
    assert_eq!((run.flying().len(), run.reason()), (0, Some(Reason::Stopped)));
}

#[test]
fn after_24_waits_without_an_answer_a_limit_ends_the_run_at_no_cost() {
    let mut run = alone();
    let limited_for_long = |run: &mut Loop| {
        for _ in 0..24 {
            run.end_one(AgentEnd::Limited { until: None });
            run.pass(3_600_000);
        }
    };
    limited_for_long(&mut run);
    run.end_one(AgentEnd::Protocol("?".into()));
    run.pass(60_000);
    limited_for_long(&mut run);
    run.end_one(AgentEnd::Limited { until: None });
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    let words = "takes no more for now, asked again 24 times";
    assert!(run.summary().contains(words), "{}", run.summary());
    assert_eq!(run.attempts("A"), 0);
    assert!(run.world.state.failures().next().is_none());
}

#[test]
fn an_agent_that_cannot_be_used_stops_the_run_and_costs_nothing() {
    for (kind, words) in [
        (AgentLack::Login, "is not logged in"),
        (AgentLack::Credit, "has no credit left"),
        (AgentLack::Key, "(API_KEY is withheld"),
        (AgentLack::Missing, "is not installed"),
        (AgentLack::NoKey, "has no key"),
        (AgentLack::Model, "a model that is not there"),
        (AgentLack::Provider, "refuses"),
        (AgentLack::Context, "is too small"),
        (AgentLack::Unreachable, "is not there"),
        (AgentLack::Down, "does not answer"),
    ] {
        let atoms = json!({"A": task(json!({})), "B": task(json!({}))});
        let mut run = Loop::new(&json!({}), &atoms);
        let first = run.flying()[0].clone();
        let end = AgentEnd::Unavailable {
            kind,
            words: "said so".into(),
            variable: (kind == AgentLack::Key).then(|| "API_KEY".into()),
        };
        run.end(&first, Loop::outcome(end));
        assert_eq!(run.reason(), Some(Reason::Unavailable));
        assert_eq!(run.world.state.run.status, RunStatus::Stopped);
        assert!(run.summary().contains(words), "{}", run.summary());
        assert!(run.summary().contains("said so"), "{}", run.summary());
        assert_eq!((run.attempts("A"), run.attempts("B")), (0, 0));
        run.again(Vec::new());
        assert_eq!(run.flying().len(), 2, "the next run tries again");
    }
}

#[test]
fn a_loop_after_a_kill_asks_an_agent_again_that_could_not_be_used() {
    let mut run = alone();
    let intent = run.flying()[0].clone();
    let end =
        AgentEnd::Unavailable { kind: AgentLack::Login, words: String::new(), variable: None };
    run.again(vec![(intent.id, Loop::outcome(end))]);
    assert_eq!((run.flying().len(), run.reason()), (1, None));
}

#[test]
fn three_atoms_in_which_the_worker_ends_at_once_and_alike_end_the_run_at_no_cost() {
    let atoms = json!({"A": task(json!({})), "B": task(json!({})), "C": task(json!({}))});
    let limits = json!({"max_attempts": 1});
    let mut run = Loop::new(&limits, &atoms);
    let mut failed = Outcome::ended(CommandEnd::Exit(1), 300);
    failed.excerpt = "please run login\n".into();
    for intent in run.flying() {
        assert_eq!(run.reason(), None);
        run.end(&intent, failed.clone());
    }
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    for atom in ["A", "B", "C"] {
        assert_eq!(run.attempts(atom), 0);
    }
    assert_eq!(run.world.state.run.spent.attempts, 0);
    run.again(Vec::new());
    assert_eq!(run.flying().len(), 3);
}

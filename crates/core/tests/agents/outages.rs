//! A provider that is down: it is waited for at no cost, and not for ever.

use super::*;

fn down() -> AgentEnd {
    AgentEnd::Down("API Error: 529 Overloaded".into())
}

fn wake(run: &Loop) -> u64 {
    let desired = desired_work(&run.world, &run.session, 0);
    desired.wake_in_ms.expect("it waits")
}

/// The only attempt in flight ends so, after that many calls of its model.
fn end_after_calls(run: &mut Loop, calls: u64, end: AgentEnd) {
    let mut outcome = Loop::outcome(end);
    outcome.usage.calls = calls;
    let intent = run.flying()[0].clone();
    run.end(&intent, outcome);
}

/// The pauses until the run ends, of a provider that is down for ever.
fn pauses_of_outage(run: &mut Loop) -> Vec<u64> {
    let mut pauses = Vec::new();
    for _ in 0..100 {
        run.end_one(down());
        if run.reason().is_some() {
            return pauses;
        }
        let pause_ms = wake(run);
        run.pass(pause_ms);
        pauses.push(pause_ms);
    }
    unreachable!("it waits for ever")
}

#[test]
fn a_provider_that_is_down_is_asked_again_for_an_hour_after_growing_pauses_at_no_cost() {
    let mut run = Loop::new(&json!({"max_transient": 0}), &json!({"A": task(json!({}))}));
    let pauses = pauses_of_outage(&mut run);
    assert_eq!(pauses.iter().sum::<u64>(), 3_600_000);
    assert!((1_500..=2_000).contains(&pauses[0]), "{pauses:?}");
    assert!(pauses[..8].is_sorted(), "{pauses:?}");
    assert!(pauses.iter().all(|ms| *ms <= 300_000), "{pauses:?}");
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    let summary = run.summary();
    let waited = format!("down for 60 min, asked again {} times: API Error: 529", pauses.len());
    assert!(summary.contains(&waited), "{summary}");
    let spent = &run.world.state.run.spent;
    assert_eq!((spent.attempts, spent.transient, spent.active.ms), (0, 0, 0));
    assert!(run.world.state.failures().next().is_none());
    assert!(run.world.state.run.waits.is_empty());
    run.again(Vec::new());
    assert_eq!(run.flying().len(), 1, "the next run asks again");
}

#[test]
fn meanwhile_the_wait_is_told_and_no_other_choice_is_taken() {
    let atoms = json!({
        "G": {"kind": "any", "choices": ["A", "B"]},
        "A": task(json!({})), "B": task(json!({"action": {"run": "true"}})),
    });
    let mut run = Loop::new(&json!({"max_attempts": 1}), &atoms);
    for _ in 0..5 {
        run.end_one(down());
        let waits = &run.world.state.run.waits;
        assert_eq!((waits.len(), waits[0].agent.as_str()), (1, "claude"));
        assert!(waits[0].because.contains("is down: API Error: 529"));
        let ms = wake(&run);
        run.pass(ms - 1);
        assert!(run.flying().is_empty());
        run.pass(1);
        assert_eq!(run.flying()[0].atom.as_str(), "A");
    }
    assert_eq!(run.attempts("A"), 0);
}

#[test]
fn attempts_side_by_side_wait_together_and_other_agents_go_on() {
    let atoms = json!({
        "A": task(json!({})), "B": task(json!({})),
        "C": task(json!({"agent": "other"})), "D": task(json!({"agent": "other", "depends_on": ["C"]})),
    });
    let mut run = Loop::new(&json!({"max_parallel_agents": 4}), &atoms);
    let [a, b, c] = run.flying().try_into().expect("three");
    run.end(&a, Loop::outcome(down()));
    let first_ms = wake(&run);
    run.pass(500);
    run.end(&b, Loop::outcome(down()));
    assert_eq!(wake(&run), first_ms - 500);
    run.end(&c, Loop::outcome(AgentEnd::Done));
    assert_eq!(run.flying()[0].atom.as_str(), "D");
    run.pass(first_ms - 500);
    assert_eq!(run.flying().len(), 3);
}

#[test]
fn an_answer_and_work_begin_the_hour_anew_but_no_more_than_24_waits_follow_on_work() {
    let mut run = alone();
    let most_of_an_hour = |run: &mut Loop| {
        run.end_one(down());
        run.pass(3_500_000);
    };
    most_of_an_hour(&mut run);
    run.end_one(AgentEnd::Protocol("?".into()));
    run.pass(60_000);
    most_of_an_hour(&mut run);
    for waits in 2..=24 {
        end_after_calls(&mut run, 1, down());
        assert_eq!(run.reason(), None, "{waits}");
        run.pass(3_500_000);
    }
    end_after_calls(&mut run, 1, down());
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    assert_eq!(run.attempts("A"), 0);
}

#[test]
fn a_stop_is_obeyed_during_an_outage_and_a_loop_after_a_kill_asks_at_once() {
    let mut run = alone();
    let intent = run.flying()[0].clone();
    run.again(vec![(intent.id, Loop::outcome(down()))]);
    assert_eq!(run.flying().len(), 1);
    run.end_one(down());
    run.again(Vec::new());
    assert_eq!(run.flying().len(), 1);
    run.end_one(down());
    run.is_stopped();
    assert_eq!(run.reason(), Some(Reason::Stopped));
}

impl Loop {
    /// A person stops it.
    pub(super) fn is_stopped(&mut self) {
        let mut state = State::clone(&self.world.state);
        let asks = request(&state, RequestKind::Stop);
        let control = Arc::make_mut(&mut state.control);
        (control.stop_requested, control.request) = (true, Some(asks));
        self.world = World::new(state);
        self.observe(Input::Tick);
    }
}

#[test]
fn a_prompt_that_is_too_long_is_not_tried_again_and_one_that_grew_too_long_costs_an_attempt() {
    for (calls, class, attempts_left) in
        [(0, FailureClass::Environmental, false), (7, FailureClass::Logical, true)]
    {
        let mut run = Loop::new(&json!({"max_attempts": 2}), &json!({"A": task(json!({}))}));
        let end = AgentEnd::TooLong("Prompt is too long".into());
        end_after_calls(&mut run, calls, end);
        let failure = run.world.state.failures().next().expect("a failure").1;
        assert_eq!(failure.class, class);
        assert!(failure.reason.contains("Prompt is too long"));
        assert_eq!(run.world.state.run.spent.transient, 0);
        assert_eq!((run.attempts("A"), !run.flying().is_empty()), (1, attempts_left));
    }
}

#[test]
fn an_end_that_may_pass_is_tried_again_unless_its_effect_may_happen_once_only() {
    for (effect, transient) in [("tree", 1), ("external", 0)] {
        let atom =
            task(json!({"effect": effect, "action": {"run": "curl -d x https://example.org"}}));
        let mut run = Loop::new(&json!({"max_attempts": 2}), &json!({"A": atom}));
        let intent = run.flying()[0].clone();
        run.end(&intent, Outcome::ended(CommandEnd::Exit(28), 1));
        assert_eq!(run.world.state.run.spent.transient, transient, "{effect}");
        assert_eq!(run.attempts("A"), 1 - u32::try_from(transient).expect("few"), "{effect}");
    }
}

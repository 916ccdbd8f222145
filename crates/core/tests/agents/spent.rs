//! The usage of attempts that are cut off, that tell less later, or that tell no cost.

use descent_core::state::{Micros, Tokens, Usage};

use super::*;

fn used(calls: u64, input: u64, micros: Option<u64>) -> Usage {
    Usage { calls, tokens: Tokens::new(input, 0, 0), cost: micros.map(Micros), ..Usage::default() }
}

impl Loop {
    fn report(&mut self, intent: &Intent, usage: Usage) {
        self.observe(Input::Used { attempt: intent.id.clone(), epoch: intent.epoch, usage });
    }

    /// The only attempt in flight fails, after it told that usage.
    fn fail_with(&mut self, usage: Usage) {
        let intent = self.flying()[0].clone();
        let mut outcome = Loop::outcome(AgentEnd::Refused("no".into()));
        outcome.how = CommandEnd::Exit(1);
        outcome.usage = usage;
        self.end(&intent, outcome);
    }

    fn spent(&self) -> Usage {
        self.world.state.run.spent.usage.clone()
    }
}

#[test]
fn a_later_report_that_says_less_takes_nothing_back() {
    let mut run = alone();
    let intent = run.flying()[0].clone();
    run.report(&intent, used(3, 1_000, Some(70)));
    run.report(&intent, used(1, 2, None));
    run.fail_with(used(2, 500, Some(9)));
    assert_eq!(run.spent(), used(3, 1_000, Some(70)));
}

#[test]
fn what_an_attempt_did_not_tell_before_it_was_cut_off_counts_as_was_reserved() {
    let mut run = alone();
    run.fail_with(used(2, 100, Some(50)));
    let intent = run.flying()[0].clone();
    run.report(&intent, used(1, 0, None));
    run.end(&intent, Outcome::ended(CommandEnd::TimedOut, 20_000));
    let mut wanted = used(3, 200, Some(100));
    wanted.is_estimated = true;
    assert_eq!(run.spent(), wanted);
}

#[test]
fn an_agent_that_broke_its_protocol_before_it_called_a_model_used_nothing() {
    let mut run = alone();
    run.fail_with(used(2, 100, Some(50)));
    run.end_one(AgentEnd::Protocol("no".into()));
    assert_eq!(run.spent(), used(2, 100, Some(50)));
}

#[test]
fn usage_that_was_told_before_a_kill_of_the_loop_is_spent() {
    let mut run = alone();
    let intent = run.flying()[0].clone();
    run.session = Session::new(8);
    run.observe(Input::Started {
        run: RunId::new("next"),
        from: None,
        left: Leftovers { used: vec![(intent.id, used(4, 700, None))], ..Leftovers::default() },
    });
    assert_eq!(run.spent(), used(4, 700, None));
}

#[test]
fn one_attempt_that_told_a_cost_does_not_excuse_a_later_one_that_tells_none() {
    let mut run = Loop::new(
        &json!({"budget": {"cost_usd": "1"}, "max_attempts": 9}),
        &json!({"A": task(json!({}))}),
    );
    run.fail_with(used(1, 10, Some(0)));
    assert_eq!(run.flying().len(), 1);
    run.fail_with(used(1, 1_000_000, None));
    assert_eq!((run.flying().len(), run.reason()), (0, Some(Reason::Unavailable)));
}

#[test]
fn failures_that_took_long_changed_a_file_or_called_a_model_are_of_the_work() {
    let slow = Outcome::ended(CommandEnd::Exit(1), 10_000);
    let mut changed = Outcome::ended(CommandEnd::Exit(1), 300);
    changed.changed = Arc::new(vec!["a".into()]);
    let mut called = Outcome::ended(CommandEnd::Exit(1), 300);
    called.usage.calls = 1;
    for failed in [slow, changed, called] {
        let atoms = json!({"A": task(json!({})), "B": task(json!({})), "C": task(json!({}))});
        let mut run = Loop::new(&json!({}), &atoms);
        for intent in run.flying() {
            run.end(&intent, failed.clone());
        }
        assert_eq!(run.reason(), None);
        assert_eq!(run.attempts("A"), 1);
    }
}

//! Attempts whose agents go on: told why their checks do not hold, and with a question that a person answers.

use descent_core::{
    change::{Steering, steer},
    event::{AgentReport, Clarity},
    id::AtomId,
    state::{AtomStatus, CorrectingTurn, Usage},
};

use super::{doubted::*, *};

fn goes_on(ms: u64, calls: u64) -> Outcome {
    let usage = Usage { calls, ..Usage::default() };
    Outcome { goes_on: true, duration_ms: ms, usage, ..done() }
}

fn corrected(constraints: Value, atom: Value) -> Loop {
    let all = with(json!({"workspace": "git", "max_attempts": 1}), &constraints);
    Loop::new(&all, &json!({"A": checked(atom)}))
}

impl Loop {
    /// The one attempt ends its turn, and its checks hold on these trees.
    fn end_turn(&mut self, outcome: Outcome, commit: &str, holding: &[&str]) {
        let id = self.flying()[0].id.clone();
        self.ended(&id, outcome);
        self.settle(&merged(commit), holding);
    }

    fn turn(&self) -> Option<CorrectingTurn> {
        self.flying().first()?.turn.clone()
    }

    fn wants_attempt(&self) -> bool {
        let wanted = desired_work(&self.world, &self.session, 0).effects;
        wanted.iter().any(|(_, work)| matches!(work, Work::Attempt(_)))
    }
}

#[test]
fn an_agent_that_goes_on_corrects_its_work_within_one_attempt() {
    let mut run = corrected(json!({}), json!({}));
    let first = run.flying()[0].clone();
    run.end_turn(goes_on(1_000, 2), "c1", &[]);
    let turn = run.turn().expect("a turn");
    assert_eq!((turn.n, turn.ms, turn.usage.calls), (1, 1_000, 2));
    assert_eq!(turn.reason, format!("its check does not hold: {CHECK}"));
    assert!(run.wants_attempt() && run.attempts("A") == 0);
    let now = run.flying()[0].clone();
    assert_eq!((&now.id, now.identity()), (&first.id, first.identity()));
    assert_ne!(now.digest(), first.digest(), "an outcome of another turn is not adopted");

    run.end_turn(goes_on(2_000, 3), "c2", &["tree of c2"]);
    assert!(run.binding("A").is_some());
    assert_eq!(run.world.state.run.spent.attempts, 1);
    assert_eq!(run.world.state.run.spent.usage.calls, 3);
    let told = run.events.iter().filter(|one| matches!(one, Event::Correcting { .. })).count();
    assert_eq!((told, run.world.state.failures().count()), (1, 0));
}

#[test]
fn turns_end_at_their_limit_and_the_attempt_fails() {
    for most in 0..3 {
        let mut run = corrected(json!({"corrections": most}), json!({}));
        for turn in 0..most {
            run.end_turn(goes_on(1, 1), &format!("c{turn}"), &[]);
            assert_eq!(run.turn().map(|turn| turn.n), Some(turn + 1));
        }
        run.end_turn(goes_on(1, 1), "last", &[]);
        assert_eq!((run.flying().len(), run.attempts("A")), (0, 1));
    }
}

#[test]
fn no_turn_follows_where_none_may() {
    for (constraints, atom, outcome) in [
        (json!({}), json!({}), done()),
        (json!({}), json!({}), goes_on(30 * 60_000, 1)),
        (json!({"budget": {"calls": 4}}), json!({}), goes_on(1, 4)),
        (json!({}), json!({"effect": "external"}), goes_on(1, 1)),
        (json!({}), json!({"timeout": "1s"}), goes_on(1_000, 1)),
    ] {
        let mut run = corrected(constraints.clone(), atom.clone());
        run.end_turn(outcome, "c", &[]);
        assert!(run.turn().is_none(), "{constraints} {atom}");
    }
}

#[test]
fn a_turn_outlives_a_kill_and_the_usage_before_it_counts() {
    let mut run = corrected(json!({}), json!({}));
    run.end_turn(goes_on(1_000, 2), "c1", &[]);
    let intent = run.flying()[0].clone();
    let agents = Arc::clone(&run.session.agents);
    run.session = Session::new(8);
    run.session.agents = agents;
    run.observe(Input::Started {
        run: RunId::new("again"),
        from: None,
        left: Leftovers { continued: [intent.id.clone()].into(), ..Leftovers::default() },
    });
    assert_eq!(run.turn(), intent.turn);
    assert!(run.wants_attempt());
    // It is cut off before it tells anything more.
    run.again(Vec::new());
    assert_eq!(run.world.state.run.spent.usage.calls, 2);
}

#[test]
fn the_workspace_is_brought_to_a_candidate_on_a_head_that_moved() {
    let constraints = json!({"workspace": "git", "max_attempts": 1});
    let atoms = json!({"A": checked(json!({})), "B": task(json!({}))});
    let mut run = Loop::new(&constraints, &atoms);
    let (a, b) = (run.flying()[0].id.clone(), run.flying()[1].id.clone());
    run.ended(&b, goes_on(1, 0));
    run.settle(&merged("of b"), &[]);
    run.ended(&a, goes_on(1, 0));
    run.settle(&merged("of a"), &[]);
    let turn = run.turn().expect("a turn");
    assert_eq!(turn.candidate.as_ref().map(|one| one.as_str()), Some("of a"));
    assert_eq!(run.flying()[0].base, run.world.state.run.head);
}

fn asks() -> Outcome {
    let mut outcome = says(AgentReport {
        clarity: Clarity::Blocked,
        summary: "which?".into(),
        question: Some("which port?".into()),
        options: Vec::from(["80".into(), "443".into()]),
        ..AgentReport::default()
    });
    outcome.goes_on = true;
    outcome
}

fn open(run: &Loop, atom: &str) -> Option<String> {
    let atom = run.world.state.atoms.get(atom)?;
    Some(atom.task()?.open_question()?.text())
}

#[test]
fn a_question_ends_the_attempt_and_the_run_asks_a_person_whatever_on_stuck_says() {
    let mut run = corrected(json!({"max_attempts": 3, "on_stuck": "abandon"}), json!({}));
    run.end_turn(asks(), "c", &[]);
    assert_eq!(open(&run, "A").as_deref(), Some("which port? (80 | 443)"));
    assert_eq!((run.attempts("A"), run.world.state.failures().count()), (1, 0));
    run.judge();
    let status = run.world.state.run.status;
    assert_eq!((status, run.reason()), (RunStatus::NeedsGuidance, Some(Reason::Guidance)));
    assert!(run.summary().starts_with("A asks: which port?"), "{}", run.summary());

    run.again(Vec::new());
    assert!(run.flying().is_empty(), "it does not start again without an answer");
    let guide = Steering::Guide("443");
    let now = UnixMillis(run.now_ms);
    let answered = steer(&run.world.state, guide, &[], None, "ada", now).expect("it asks");
    run.world = World::new(answered.state);
    run.again(Vec::new());
    assert_eq!((run.flying().len(), run.flying()[0].n), (1, 1), "the answer gives it back");
}

#[test]
fn other_choices_are_tried_while_a_question_is_open() {
    let atoms = json!({
        "G": {"kind": "any", "choices": ["A", "B"]}, "A": checked(json!({})), "B": task(json!({}))
    });
    let constraints = json!({"workspace": "git", "max_attempts": 1});
    let mut run = Loop::new(&constraints, &atoms);
    run.end_turn(asks(), "c", &[]);
    run.judge();
    assert_eq!(run.flying()[0].atom, AtomId::new("B"));
    let switched = run.events.iter().find_map(|event| match event {
        Event::Backtracked { because, .. } => Some(because.as_str()),
        _ => None,
    });
    assert_eq!(switched, Some("A waits for an answer"));
    let id = run.flying()[0].id.clone();
    run.ended(&id, Outcome::ended(CommandEnd::Exit(1), 1));
    run.settle(&merged("c"), &[]);
    assert_eq!(run.reason(), Some(Reason::Guidance), "nothing else is left");
    let asking = run.world.state.atoms.get("A").and_then(|atom| atom.task());
    assert_eq!(asking.map(|task| &task.status), Some(&AtomStatus::NeedsGuidance));
}

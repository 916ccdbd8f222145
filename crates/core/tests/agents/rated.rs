//! Candidates that a judge rates: how often it is asked, what follows, and what is kept where no rating comes.

use descent_core::{answer_forms, event::ConsultAnswer, state::Question};

use super::{doubted::*, *};

const QUALITY: &str = "the code is clear";

/// One task with a machine check and a leaf that a judge rates, so often.
fn rated(samples: u32, constraints: Value) -> Loop {
    let all = with(json!({"workspace": "git", "max_attempts": 2, "law": "off"}), &constraints);
    let checks = json!({"all": [
        {"quality": QUALITY, "samples": samples}, {"command": CHECK}
    ]});
    let atoms = json!({"A": task(json!({"checks": checks})), "B": checked(json!({}))});
    let mut agents = AgentTable::default();
    agents.set(Role::Worker, AgentName::new("claude"));
    agents.set(Question::Rate, AgentName::new("judge"));
    Loop::with_agents(&all, &atoms, agents)
}

impl Loop {
    fn made(&mut self, atom: &str, commit: &str, outcome: Outcome) {
        let intent = self.flying().into_iter().find(|one| one.atom.as_str() == atom);
        self.ended(&intent.expect("it is in flight").id, outcome);
        self.settle(&merged(commit), &[&format!("tree of {commit}")]);
    }

    fn scores(&mut self, scores: &[&str]) {
        for score in scores {
            let answer =
                json!({"score": score.parse::<f64>().expect("a number"), "because": "words"});
            let answer = answer_forms::object(&answer.to_string()).expect("an object");
            self.answers(ConsultAnswer::Value(answer));
        }
    }

    fn is_silent(&mut self, times: u32) {
        for _ in 0..times {
            self.answers(ConsultAnswer::Silent("nothing".into()));
            self.pass(600_000);
        }
    }
}

#[test]
fn the_middle_of_the_samples_decides_and_the_reason_is_told() {
    for (scores, holds) in [
        (&["0.9"][..], true),
        (&["0.7"], false),
        (&["0.1", "0.8", "1.0"], true),
        (&["0.7", "0.9", "0.1"], false),
        (&["0.7", "0.9"], false),
    ] {
        let mut run = rated(u32::try_from(scores.len()).expect("few"), json!({}));
        run.made("A", "c1", done());
        run.scores(scores);
        assert_eq!(run.asked(), None, "{scores:?}");
        assert_eq!(run.binding("A").is_some(), holds, "{scores:?}");
        assert_eq!(run.world.state.run.spent.consults, scores.len() as u64);
        if !holds {
            let reason = &run.world.state.failures().next().expect("a failure").1.reason;
            assert!(
                reason.contains(QUALITY) && reason.ends_with("(wanted 0.8): words"),
                "{reason}"
            );
        }
    }
}

#[test]
fn nobody_is_asked_before_the_machine_checks_hold_nor_twice_about_one_work() {
    let mut run = rated(1, json!({}));
    let a = run.flying()[0].id.clone();
    run.ended(&a, done());
    run.settle(&merged("c1"), &[]);
    assert_eq!((run.asked(), run.attempts("A")), (None, 1));

    run.made("A", "c2", done());
    let asked = run.asked().expect("a question");
    assert_eq!(
        (asked.atom.as_ref().map(|atom| atom.as_str()), asked.on.as_deref()),
        (Some("A"), Some("A.3"))
    );
    // Another result lands meanwhile; the work is laid on that, and is the same.
    run.made("B", "of b", done());
    assert!(run.binding("B").is_some());
    run.settle(&merged("c3"), &["tree of c3"]);
    assert_eq!(run.asked().map(|now| now.id), Some(asked.id));
    run.scores(&["1"]);
    run.settle(&merged("c3"), &["tree of c3"]);
    assert!(run.binding("A").is_some());
    assert_eq!(run.world.state.run.spent.consults, 1);
}

#[test]
fn an_agent_that_goes_on_corrects_what_was_rated_too_low() {
    let mut run = rated(1, json!({"corrections": 1}));
    run.made("A", "c1", Outcome { goes_on: true, ..done() });
    run.scores(&["0.2"]);
    let turn = run.flying()[0].turn.clone().expect("a turn");
    assert!(turn.reason.contains("rated 0.2"), "{}", turn.reason);
    run.made("A", "c2", done());
    assert_eq!(run.asked().and_then(|asked| asked.on).as_deref(), Some("A.1 turn 1"));
    run.scores(&["0.9"]);
    assert!(run.binding("A").is_some());
}

#[test]
fn the_work_is_kept_where_no_rating_comes_and_rated_by_the_next_run() {
    let mut run = rated(1, json!({"max_transient": 1}));
    run.made("A", "c1", done());
    run.made("B", "of b", done());
    run.is_silent(2);
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    assert_eq!((run.flying().len(), run.attempts("A")), (1, 0));

    let id = run.flying()[0].id.clone();
    run.again(Vec::from([(id, done())]));
    run.settle(&merged("c1"), &["tree of c1"]);
    run.scores(&["0.9"]);
    assert!(run.binding("A").is_some());
    assert_eq!(run.world.state.run.spent.attempts, 2);
}

#[test]
fn a_stop_while_a_judge_is_asked_keeps_the_work() {
    let mut run = rated(1, json!({}));
    run.made("B", "of b", done());
    run.made("A", "c1", done());
    assert!(run.asked().is_some());
    run.is_stopped();
    assert_eq!((run.reason(), run.asked()), (Some(Reason::Stopped), None));
    assert_eq!((run.flying().len(), run.attempts("A")), (1, 0));
}

#[test]
fn at_a_limit_that_pays_no_judge_the_work_is_kept() {
    let mut run = rated(1, json!({"budget": {"calls": 3}}));
    let usage = descent_core::state::Usage { calls: 3, ..Default::default() };
    run.made("A", "c1", Outcome { usage, ..done() });
    assert_eq!((run.reason(), run.asked()), (Some(Reason::Calls), None));
    let kept: Vec<_> = run.flying().iter().map(|intent| intent.atom.to_string()).collect();
    assert_eq!(kept, ["A"]);
}

#[test]
fn a_question_outlives_a_kill() {
    let mut run = rated(1, json!({}));
    run.made("A", "c1", done());
    let (asked, a) = (run.asked().expect("a question"), run.flying()[0].id.clone());
    run.again(Vec::from([(a, done())]));
    assert_eq!(run.asked().map(|now| now.id), Some(asked.id));
    run.settle(&merged("c1"), &["tree of c1"]);
    run.scores(&["0.9"]);
    assert!(run.binding("A").is_some());
    assert_eq!(run.world.state.run.spent.consults, 1);
}

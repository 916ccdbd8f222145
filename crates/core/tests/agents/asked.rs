//! Questions to agents that think: what they use counts at limits, and a run waits for the answers that may lead on.

use descent_core::{
    event::{ConsultAnswer, ConsultEnd},
    state::{Consult, Question, Usage},
};

use super::*;

fn used(calls: u64) -> Usage {
    Usage { calls, ..Usage::default() }
}

fn agents(judge: &str) -> AgentTable {
    let mut agents = AgentTable::default();
    agents.set(Role::Worker, AgentName::new("claude"));
    agents.set_planner(AgentName::new("planner"));
    agents.set(Question::Plan, AgentName::new(judge));
    agents
}

impl Loop {
    pub(super) fn asked(&self) -> Option<Consult> {
        self.world.state.run.consult.clone()
    }

    pub(super) fn answers(&mut self, answer: ConsultAnswer) {
        let consult = self.asked().expect("a question").id;
        let end = ConsultEnd {
            answer,
            usage: Usage::default(),
            duration_ms: 1,
            facts: Default::default(),
            shell_faults: Vec::new(),
        };
        self.observe(Input::Consulted { consult, end: Box::new(end) });
        self.judge();
    }

    fn flying_atoms(&self) -> Vec<String> {
        self.flying().iter().map(|intent| intent.atom.to_string()).collect()
    }

    /// The attempt of an atom succeeds or fails, and used these calls.
    fn end_atom(&mut self, atom: &str, end: CommandEnd, calls: u64) {
        let intent = self.flying().into_iter().find(|one| one.atom.as_str() == atom);
        let mut outcome = Outcome::ended(end, 20_000);
        outcome.usage = used(calls);
        if atom == "P" {
            let plan =
                json!({"atoms": {"x": {"description": "free", "action": {"run": "echo 1 >free"}}}});
            outcome.stdout = Some(plan.to_string());
        }
        self.end(&intent.expect("it is in flight"), outcome);
    }
}

/// Ten calls at most. The plan of P waits for its judge, and nine calls of T leave too little for its second attempt.
fn at_the_limit(first: &str) -> Loop {
    let limits = json!({
        "judging": "model", "law": "off", "budget": {"calls": 10}, "planning": {"changes": 0}
    });
    let atoms = json!({"P": {"kind": "plan", "description": "plan it"}, "T": task(json!({}))});
    let mut run = Loop::with_agents(&limits, &atoms, agents("judge"));
    let (plan, work) = (("P", CommandEnd::Exit(0), 0), ("T", CommandEnd::Exit(1), 9));
    let ends = if first == "P" { [plan, work] } else { [work, plan] };
    for (atom, end, calls) in ends {
        run.end_atom(atom, end, calls);
    }
    run
}

#[test]
fn a_run_does_not_end_at_a_limit_while_a_plan_waits_for_its_judge() {
    for first in ["P", "T"] {
        let mut run = at_the_limit(first);
        assert_eq!(run.asked().map(|asked| asked.question), Some(Question::Plan), "{first}");
        assert_eq!(run.reason(), None, "{first}");
        let none = descent_core::answer_forms::object(r#"{"issues": []}"#).expect("an object");
        run.answers(ConsultAnswer::Value(none));
        assert_eq!(run.flying_atoms(), ["P-1"], "what the plan opens costs nothing");
    }
}

#[test]
fn what_a_question_tells_is_counted_and_ends_it_at_a_limit() {
    let mut run = at_the_limit("P");
    let asked = run.asked().expect("a question");
    let tells =
        |calls| Input::Used { attempt: asked.attempt(), epoch: asked.epoch, usage: used(calls) };
    run.observe(tells(1));
    assert_eq!(run.reason(), None);
    run.observe(tells(4));
    assert_eq!(run.asked(), None);
    run.judge();
    assert_eq!((run.asked(), run.reason()), (None, Some(Reason::Calls)));
    assert_eq!(run.world.state.run.spent.usage.calls, 13);
}

#[test]
fn a_question_in_flight_leaves_less_for_attempts() {
    let limits = json!({
        "judging": "model", "law": "off", "budget": {"calls": 10}, "planning": {"changes": 0}
    });
    let atoms = json!({"P": {"kind": "plan", "description": "plan it"}, "T": task(json!({}))});
    let mut run = Loop::with_agents(&limits, &atoms, agents("judge"));
    run.end_atom("P", CommandEnd::Exit(0), 0);
    let asked = run.asked().expect("a question");
    let tells = Input::Used { attempt: asked.attempt(), epoch: asked.epoch, usage: used(5) };
    run.observe(tells);
    run.end_atom("T", CommandEnd::Exit(1), 4);
    assert!(run.flying().is_empty(), "four calls are more than is left beside the question");
    assert_eq!(run.reason(), None);
}

#[test]
fn a_question_that_a_killed_loop_left_is_asked_of_the_agent_that_is_named_now() {
    for (judge, is_another) in [("judge", false), ("other", true)] {
        let mut run = at_the_limit("P");
        let before = run.asked().expect("a question");
        run.session = Session::new(8);
        run.session.agents = Arc::new(agents(judge));
        run.begin(Vec::new());
        let now = run.asked().expect("a question");
        assert_eq!((now.agent.as_str(), now.id != before.id), (judge, is_another));
    }
}

/// All is done, the base case does not hold, and a refiner is asked for a change of the plan.
fn refined() -> Loop {
    let mut agents = AgentTable::default();
    agents.set(Role::Worker, AgentName::new("claude"));
    agents.set(Question::Refine, AgentName::new("refiner"));
    let atoms = json!({"A": task(json!({}))});
    let mut run = Loop::with_agents(&json!({"law": "off"}), &atoms, agents);
    run.end_atom("A", CommandEnd::Exit(0), 0);
    assert_eq!(run.asked().map(|asked| asked.question), Some(Question::Refine));
    run
}

#[test]
fn a_refiner_at_a_limit_is_waited_for_and_one_that_cannot_work_ends_the_run() {
    let mut run = refined();
    let until = Some(UnixMillis(run.now_ms + 60_000));
    run.answers(ConsultAnswer::Ended(AgentEnd::Limited { until }));
    assert_eq!((run.asked(), run.reason(), run.world.state.run.waits.len()), (None, None, 1));
    run.pass(60_000);
    assert_eq!(run.asked().map(|asked| asked.question), Some(Question::Refine));

    let login = AgentEnd::Unavailable {
        kind: AgentLack::Login,
        words: "log in first".into(),
        variable: None,
    };
    run.answers(ConsultAnswer::Ended(login));
    assert_eq!(run.reason(), Some(Reason::Unavailable));
    let changes = |run: &Loop| run.world.state.run.grant.as_ref().map(|grant| grant.left);
    assert_eq!(changes(&run), changes(&refined()), "no change is used up");
}

#[test]
fn what_a_killed_loop_saw_of_a_question_counts_when_its_answer_tells_less() {
    let mut run = at_the_limit("P");
    let asked = run.asked().expect("a question");
    let seen = Input::Used { attempt: asked.attempt(), epoch: asked.epoch, usage: used(1) };
    run.observe(seen);
    let none = descent_core::answer_forms::object(r#"{"issues": []}"#).expect("an object");
    run.answers(ConsultAnswer::Value(none));
    assert_eq!(run.world.state.run.spent.usage.calls, 10);
}

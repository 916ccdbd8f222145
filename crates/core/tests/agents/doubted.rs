//! Attempts that something speaks against: when their checks decide, and when these are measured on the tree before too.

use descent_core::{
    event::{AgentReport, Clarity, Merge, Misfit, Product, Scope},
    id::{AttemptId, CommitId, Digest, TreeId},
    state::{Binding, Check, FailureEntry, StartedFrom, Workspace},
    step::run_end,
    verdict::Basis,
};

use super::*;

pub(super) const CHECK: &str = "test -e made";

pub(super) fn checked(more: Value) -> Value {
    with(task(json!({"checks": {"command": CHECK}})), &more)
}

/// A loop with trees of its own, whose one task has a check.
fn alone_with_trees(more: Value) -> Loop {
    let constraints = json!({"workspace": "git", "max_attempts": 1});
    Loop::new(&constraints, &json!({"A": checked(more)}))
}

pub(super) fn done() -> Outcome {
    let mut outcome = Loop::outcome(AgentEnd::Done);
    outcome.made = Some(Product::Commit(CommitId::new("made")));
    outcome
}

pub(super) fn says(report: AgentReport) -> Outcome {
    let report = Some(report);
    Outcome { report, ..done() }
}

fn denies() -> Outcome {
    says(AgentReport {
        summary: "I am not sure".into(),
        has_failed: true,
        ..AgentReport::default()
    })
}

fn unreadable() -> Outcome {
    Outcome { report_fault: Some("it holds no JSON object".into()), ..done() }
}

fn ends(end: AgentEnd) -> Outcome {
    let agent_end = Some(end);
    Outcome { agent_end, ..done() }
}

pub(super) fn merged(commit: &str) -> Merge {
    Merge::Clean {
        commit: CommitId::new(commit),
        tree: tree_of(commit),
        change: Digest::sha256(commit.as_bytes()),
        files: Vec::from(["made".into()]),
        protected: Vec::new(),
    }
}

fn tree_of(commit: &str) -> TreeId {
    TreeId::new(format!("tree of {commit}"))
}

/// The work for the attempts until nothing more is wanted.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// The bases on which the checks of atoms were measured, with the commits that were checked out.
    measured: Vec<(Basis, String)>,
    learnt: Vec<String>,
}

impl Loop {
    /// None in a directory without trees.
    pub(super) fn start(&self) -> Option<StartedFrom> {
        let constraints = &self.world.state.objective.constraints;
        let has_trees = constraints.workspace() != Workspace::Shared;
        has_trees.then(|| StartedFrom {
            commit: CommitId::new("start"),
            tree: TreeId::new("tree of start"),
            head: CommitId::new("start"),
            branch: None,
            dirty: false,
            extra: Default::default(),
        })
    }

    /// Does all that is wanted but attempts. The checks of atoms hold on these trees.
    pub(super) fn settle(&mut self, merge: &Merge, holding: &[&str]) -> Settled {
        let mut settled = Settled::default();
        for _ in 0..20 {
            let wanted = desired_work(&self.world, &self.session, 0).effects;
            let next = wanted.into_iter().find_map(|(_, work)| match work {
                Work::Merge { intent, onto, .. } => {
                    Some(Input::Tried { attempt: intent.id, onto, merge: merge.clone() })
                }
                Work::Learn(commit) => {
                    settled.learnt.push(commit.as_str().into());
                    let tree = tree_of(commit.as_str());
                    Some(Input::Learned { commit, tree })
                }
                Work::Judge { scope, basis, check, commit, .. } => {
                    let of_atom = matches!(scope, Scope::Atom(_));
                    if of_atom {
                        let commit = commit.map_or_else(String::new, |one| one.as_str().into());
                        settled.measured.push((basis.clone(), commit));
                    }
                    let tree = basis.tree().map_or("", TreeId::as_str);
                    let holds = of_atom && holding.contains(&tree);
                    let is_machine = |leaf: &&Check| {
                        leaf.leaf().is_some_and(descent_core::state::Leaf::is_machine)
                    };
                    let leaves = check.leaves().into_iter().filter(is_machine);
                    let seen = leaves.map(|leaf| (leaf.key(), exit(i32::from(!holds))));
                    let seen = seen.collect();
                    Some(Input::Judged { scope, basis, seen })
                }
                _ => None,
            });
            let Some(input) = next else { break };
            self.observe(input);
        }
        settled
    }

    pub(super) fn ended(&mut self, attempt: &AttemptId, outcome: Outcome) {
        let intent = self.flying().into_iter().find(|one| one.id == *attempt);
        let intent = intent.expect("it is in flight");
        self.observe(Input::Ended {
            attempt: intent.id,
            epoch: intent.epoch,
            outcome: Box::new(outcome),
        });
    }

    pub(super) fn binding(&self, atom: &str) -> Option<&Binding> {
        self.world.state.bindings.get(atom).map(|one| &**one)
    }

    fn failure(&self) -> &FailureEntry {
        self.world.state.failures().next().expect("a failure").1
    }
}

fn exit(code: i32) -> Measurement {
    Measurement {
        what: MeasurementKind::Command { how: CommandEnd::Exit(code), matched: None, number: None },
        duration_ms: 1,
        excerpt: String::new(),
        whole: None,
    }
}

/// The one attempt ends so, its change is merged so, and its check holds on these trees.
fn run(outcome: Outcome, merge: &Merge, holding: &[&str]) -> (Loop, Settled) {
    let mut run = alone_with_trees(json!({}));
    let id = run.flying()[0].id.clone();
    run.ended(&id, outcome);
    let settled = run.settle(merge, holding);
    (run, settled)
}

#[test]
fn checks_decide_whatever_the_agent_says_and_the_result_says_what_was_wrong() {
    for (outcome, because) in [
        (unreadable(), "its answer cannot be read: it holds no JSON object"),
        (denies(), "it says that it did not succeed: I am not sure"),
        (ends(AgentEnd::Refused("no".into())), "the model refused: no"),
        (ends(AgentEnd::OutOfTurns("200".into())), "the agent ran out of turns: 200"),
        (ends(AgentEnd::CutShort("8k".into())), "the answer was too long: 8k"),
    ] {
        let (held, _) = run(outcome.clone(), &merged("c"), &["tree of c"]);
        let bound = held.binding("A").expect(because);
        assert!(bound.unclear, "{because}");
        assert_eq!(bound.unclear_because, because);
        assert!(bound.summary.contains("changed made"), "{}", bound.summary);
        let solved = held.events.iter().find_map(|event| match event {
            Event::Solved { unclear, .. } => Some(unclear.as_str()),
            _ => None,
        });
        assert_eq!(solved, Some(because));

        let (failed, _) = run(outcome, &merged("c"), &[]);
        assert!(failed.binding("A").is_none(), "{because}");
        let failure = failed.failure();
        assert_eq!(failure.class, FailureClass::Logical);
        let told = format!("its check does not hold: {CHECK}");
        assert!(failure.reason.starts_with(&told), "{}", failure.reason);
        assert!(!failure.by_form && failure.criteria.len() == 1, "{because}");
    }
}

#[test]
fn after_a_denial_alone_the_checks_are_measured_once_on_the_tree_before() {
    let start = Basis::Pristine(tree_of("start"));
    let refusal = || ends(AgentEnd::Refused("no".into()));
    for (outcome, is_measured) in [
        (denies(), true),
        (refusal(), true),
        (unreadable(), false),
        (ends(AgentEnd::OutOfTurns("200".into())), false),
        (says(AgentReport::default()), false),
    ] {
        let (run, settled) = run(outcome, &merged("c"), &["tree of c"]);
        assert!(run.binding("A").is_some());
        let before: Vec<_> = settled.measured.iter().filter(|(on, _)| *on == start).collect();
        assert_eq!(before.len(), usize::from(is_measured), "{settled:?}");
        assert!(before.iter().all(|(_, commit)| commit == "start"));
    }
    // A change that fails anyway is not measured there.
    let (_, settled) = run(denies(), &merged("c"), &[]);
    assert!(settled.measured.iter().all(|(on, _)| *on != start), "{settled:?}");
}

#[test]
fn a_denial_stands_where_the_checks_held_before_or_the_tree_did_not_change() {
    let both = ["tree of start", "tree of c"];
    let (held, _) = run(denies(), &merged("c"), &both);
    assert!(held.binding("A").is_none());
    let reason = &held.failure().reason;
    assert!(reason.contains("I am not sure") && reason.contains("held before"), "{reason}");
    for made in [Some(Product::Unchanged), None] {
        let (same, settled) = run(Outcome { made, ..denies() }, &merged("c"), &both);
        assert!(same.binding("A").is_none() && settled.measured.is_empty());
    }
    // The head has its change already, or one that its own does not merge with.
    let onto_head = Merge::Unchanged { tree: Some(tree_of("start")) };
    for merge in [onto_head, Merge::Conflict(Vec::from(["made".into()]))] {
        let (nothing, _) = run(denies(), &merge, &both);
        let reason = &nothing.failure().reason;
        assert!(reason.starts_with("it says that it did not"), "{reason}");
    }
    // The form of an answer says nothing about the work.
    let (unclear, _) = run(unreadable(), &merged("c"), &both);
    assert!(unclear.binding("A").is_some());
}

#[test]
fn without_checks_a_form_costs_nothing_and_a_denial_fails() {
    for (outcome, is_solved) in [
        (unreadable(), true),
        (denies(), false),
        (ends(AgentEnd::Refused("no".into())), false),
        (ends(AgentEnd::OutOfTurns("200".into())), false),
    ] {
        for constraints in [json!({}), json!({"workspace": "git"})] {
            let limits = with(constraints, &json!({"max_attempts": 1}));
            let mut run = Loop::new(&limits, &json!({"A": task(json!({}))}));
            let id = run.flying()[0].id.clone();
            run.ended(&id, outcome.clone());
            run.settle(&merged("c"), &[]);
            assert_eq!(run.binding("A").is_some_and(|one| one.unclear), is_solved);
        }
    }
}

#[test]
fn an_attempt_fails_by_its_form_where_a_value_is_needed() {
    let misfits = || Vec::from([Misfit { at: String::new(), message: "it is missing".into() }]);
    let mut wrong = says(AgentReport::default());
    wrong.misfits = misfits();
    let mut none = unreadable();
    none.misfits = misfits();
    for outcome in [wrong, none] {
        let (run, settled) = run(outcome, &merged("c"), &["tree of c"]);
        assert!(run.binding("A").is_none() && settled.measured.is_empty());
        assert!(run.failure().by_form);
        let result = run_end::last_result(&run.world).expect("a result");
        let accountable = result.accountable.expect("somebody");
        assert_eq!(accountable.word(), "answer");
        assert!(!accountable.meaning().contains("work was wrong"));
    }
}

#[test]
fn what_they_cannot_decide_fails_as_ever() {
    let blocked = says(AgentReport {
        summary: "there is no such port".into(),
        clarity: Clarity::Blocked,
        ..AgentReport::default()
    });
    let timeout = Outcome::ended(CommandEnd::TimedOut, 20_000);
    let code = Outcome::ended(CommandEnd::Exit(4), 20_000);
    let signal = Outcome::ended(CommandEnd::Signal(9), 20_000);
    for outcome in [blocked, timeout, code, signal] {
        let (run, settled) = run(outcome, &merged("c"), &["tree of c"]);
        assert!(run.binding("A").is_none() && settled.measured.is_empty());
    }
}

#[test]
fn an_effect_that_may_happen_once_is_never_made_again_for_the_form_of_an_answer() {
    let external = || json!({"effect": "external"});
    for (outcome, holding, is_solved) in [
        (unreadable(), &["tree of c"][..], true),
        (unreadable(), &[], false),
        (ends(AgentEnd::OutOfTurns("200".into())), &["tree of c"], false),
    ] {
        let mut run = alone_with_trees(external());
        let id = run.flying()[0].id.clone();
        run.ended(&id, outcome);
        run.settle(&merged("c"), holding);
        assert_eq!(run.binding("A").is_some(), is_solved);
        assert_eq!(run.reason() == Some(Reason::InDoubt), !is_solved);
    }
    let mut bare = Loop::new(&json!({}), &json!({"A": task(external())}));
    let id = bare.flying()[0].id.clone();
    bare.ended(&id, unreadable());
    bare.settle(&merged("c"), &[]);
    assert_eq!(bare.reason(), Some(Reason::InDoubt));
}

/// A loop that lost its session looks the tree up that an attempt began from.
#[test]
fn the_tree_before_is_looked_up_where_it_is_not_known() {
    let constraints = json!({"workspace": "git", "max_attempts": 1, "max_parallel_agents": 2});
    let atoms = json!({
        "A": checked(json!({})),
        "B": checked(json!({"depends_on": ["A"]})),
        "C": checked(json!({"depends_on": ["A"]})),
    });
    let mut run = Loop::new(&constraints, &atoms);
    let first = run.flying()[0].id.clone();
    run.ended(&first, done());
    run.settle(&merged("a"), &["tree of a"]);
    let of = |run: &Loop, atom: &str| {
        let flying = run.flying().into_iter();
        flying.into_iter().find(|one| one.atom.as_str() == atom).expect("it started")
    };
    let (b, c) = (of(&run, "B"), of(&run, "C"));
    assert_eq!(b.base, Some(CommitId::new("a")));
    run.ended(&c.id, done());
    run.settle(&merged("ac"), &["tree of ac"]);
    run.again(Vec::from([(b.id, denies())]));
    let settled = run.settle(&merged("acb"), &["tree of acb"]);
    assert!(settled.learnt.contains(&"a".into()), "{settled:?}");
    let before = (Basis::Pristine(tree_of("a")), "a".into());
    assert!(settled.measured.contains(&before), "{settled:?}");
    assert!(run.binding("B").is_some_and(|one| one.unclear));
    assert_eq!(run.binding("B").map(|one| one.attempts), Some(1));
}

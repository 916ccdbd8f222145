//! No word of a state reaches an agent under a digest of other words. Each text of a rich state is changed, and the
//! prompts of all roles are compared.

use descent_core::{
    doc::{self, Limits, Node, Value},
    graph::unjudged,
    id::{AgentName, AtomId, ConsultId, Digest, Epoch, UnixMillis},
    state::{
        AnswerRecord, Consult, IssuesAnswer, KeptAnswer, Question, Role, Run, State, Usage,
        decode::decode,
        encode::StateText,
        rule::{Form, RecordRule},
    },
    trust::TrustList,
    world::{Session, World, long_phase},
};
use descent_minds::{
    prompt::{self, Ending, Prompt, PromptFiles, PromptInputs, TreeStart},
    prompt::{AligningInputs, AligningTask, ProjectWords, QuestionInputs, RatedDifference},
};

#[path = "../../../tests/records.rs"]
mod whole_records;

/// The words that are put behind a text.
const PLANTED: &str = "PLANTED-WORDS";
const NOW: UnixMillis = UnixMillis(1_764_000_000_000);
/// The tree that is rated.
const RATED: &str = "tree-of-a-rating";

const BEFORE_RUN: &str = r#"{"version": "3.0", "lineage": "l", "serial": 7, "seal": "",
"objective": {"raw_input": "please make it so", "goal": "it is so", "background_intent": "people wait",
  "deliverables": "a thing", "definition_of_done": "it is there", "scope": {"in": ["this"], "out": ["that"]},
  "clarifications": [{"question": "which?", "resolution": "this one"}],
  "base_case": {"all": [{"name": "suite", "command": "make test", "number": "([0-9]+)", "at_least": 3},
    {"quality": "it is good", "rubric": [{"criterion": "clear", "description": "so that one can read it",
      "levels": {"1": "bad", "5": "fine"}}], "scope": "docs/**"}, {"assertion": "it pleases"}]},
  "constraints": {"max_attempts": 3, "protected": ["tests/**"],
    "convergence": [{"name": "tested", "statement": "every part has a test", "at_least": "0.8"}]}},
"control": {"stop_requested": false, "stop_reason": "none", "redirect_requested": false, "request": null},
"work_graph": {"atoms": {
  "A": {"kind": "task", "description": "do it", "guidance": ["so, please"], "touches": ["src/**"], "needs": ["plans"],
    "provides": ["a result"], "output_schema": {"title": "a value"}, "timeout": "9m",
    "checks": {"all": [{"command": "make a"}, {"quality": "its part is good", "rubric": ["fit"]}]},
    "depends_on": ["B", "P"], "questions": [{"question": "how?", "assume": "by hand"}],
    "attention": {"because": "issues", "text": "look here"},
    "tries": [{"context": "c", "attempts": 1, "conflict": {"attempt": "A.1", "paths": ["src/a"]}}]},
  "F": {"kind": "task", "description": "fails", "status": "failed", "action": {"run": "tool fetch x"},
    "depends_on": [], "tries": [{"context": "c", "attempts": 3, "failed": "logical"}]},
  "I": {"kind": "task", "description": "cannot be done", "status": "invalid", "blocked": "it lacks a door"},
  "G": {"kind": "any", "description": "either way", "choices": ["G1", "G2"], "selected": "G2"},
  "G1": {"kind": "task", "description": "one way"},
  "G2": {"kind": "task", "description": "the other way"},
  "P": {"kind": "all", "description": "plan it", "parts": ["P-1", "P-2"], "planned": {"action": {"run": "planner"},
    "convergence_target": "A", "fragment": {"context": "CONTEXT-P", "digest": "d", "attempt": "P.1", "unjudged": true,
      "judged": {"by": "model", "at": "now", "issues": 1, "because": "it said so", "found": [{"type": "relevance",
        "severity": "low", "location": "P-1", "description": "not needed", "proposed_repair": "leave it out"}]}}}},
  "P-1": {"kind": "task", "description": "a part", "origin": {"by": "planner", "proposed": "part", "reason": "why so"}},
  "Q": {"kind": "plan", "description": "plan on", "depends_on": ["P", "B"], "guidance": ["think"], "planned": {
    "by": "refiner", "reason": "nothing was left to try", "was": {"kind": "task", "description": "what stood here"}}},
  "R": {"kind": "plan", "description": "plan in short", "depends_on": ["P"], "context": {"mode": "summary",
    "chars": 4000}}
}},
"bindings": {
  "B": {"summary": "it was done", "handoff": "mind the gap", "value": {"k": "v"}, "artifacts": ["out"], "by": "worker",
    "at": "then", "attempts": 1, "evidence": [{"check": "make b", "verdict": "pass"}],
    "of": {"kind": "task", "description": "done before", "attention": {"because": "contradicted", "text": "it is odd"}}},
  "P-2": {"summary": "SUMMARY", "handoff": "go on: SUMMARY", "artifacts": ["p2"], "attempts": 1,
    "of": {"kind": "task", "description": "another part", "origin": {"by": "planner", "proposed": "other",
      "reason": "since it helps"}}}
},
"trail": [
  {"type": "choice", "at": "t", "group": "G", "choice": "G1", "untried": ["G2"]},
  {"type": "failure", "at": "t", "atom": "A", "attempt": "A.1", "nth": 1, "class": "logical", "reason": "it broke",
    "context": "c", "output": "line one\nline two", "criteria": [{"check": "make a", "verdict": "fail", "output": "no"}],
    "files": ["src/f"], "changed": ["src/c"], "summary": "I tried", "handoff": "look there",
    "tried": [{"tool": "Bash", "target": "make a"}], "value": {"half": "done"}},
  {"type": "failure", "at": "t", "atom": "F", "attempt": "F.1", "nth": 3, "class": "logical", "reason": "no such host",
    "context": "c", "output": "fetch failed", "conflict": {"G": "G1"}},
  {"type": "failure", "at": "t", "atom": "G1", "attempt": "G1.1", "nth": 3, "class": "environmental", "reason": "no room",
    "context": "c"},
  {"type": "refuted", "at": "t", "conflict": {"G": "G1", "P": "P-1"}, "files": ["r"], "evidence": [{"check": "suite",
    "verdict": "fail", "ended": "exit 1", "output": "three of nine fail, and here is a long line that tells of each of them in turn, one after another"}]},
  {"type": "backtrack", "at": "t", "changes": {"G": ["G1", "G2"]}, "reason": "G1 failed"},
  {"type": "plan", "at": "t", "atom": "P", "attempt": "P.1", "parts": ["P-1", "P-2"], "differs": "it is shorter"},
  {"type": "refine", "at": "t", "atom": "P", "round": 1, "reason": "its parts failed", "failed": ["P-1"]},
  {"type": "replan", "at": "t", "atom": "Q", "reason": "the base case does not hold", "atoms": ["Q"]},
  {"type": "replan", "at": "t", "reason": "it was refused", "refused": "the same again"},
  {"type": "probe", "at": "t", "atom": "A", "attempt": "A.2", "context": "CONTEXT-A", "feasible": true,
    "findings": "the door is open"},
  {"type": "user_correction", "at": "t", "description": "a person changed the graph"}
],
"corrections": [{"id": "C1", "timestamp": "t", "type": "confirmation", "description": "confirmed", "by": "ada",
  "changes": ["one"], "name": "it pleases", "holds": true, "reason": "I looked"}],
"run": "#;

/// A value of that form, with texts that are all others.
fn sample(form: &Form, count: &mut usize) -> Option<Node> {
    *count += 1;
    let text = || Node::string(format!("said-{count}"));
    Some(match form {
        Form::Any | Form::Text | Form::NonBlank | Form::Short(_) => text(),
        Form::Pattern("AtomId", _) => Node::string("A"),
        Form::Pattern("AgentName", _) => Node::string("agent"),
        Form::Pattern(..) => Node::string("9m"),
        Form::Flag => Node::bool(true),
        Form::Count | Form::Integer | Form::Whole(..) => Node::uint(1),
        Form::Decimal | Form::Share => Value::Number("0.5".into()).into(),
        Form::Words(rule) => Node::string(rule.words.first()?.word),
        Form::List(one) | Form::Filled(one) | Form::AtMost(_, one) => {
            Node::array(vec![sample(one, count)?])
        }
        Form::ById(one) => Node::object(vec![("A", sample(one, count)?)]),
        Form::Choices => Node::object(vec![("G", Node::string("G1"))]),
        Form::Record(rule) => of_record(rule, count),
        Form::Either(forms) => sample(forms.first()?, count)?,
        Form::OneOf(_) | Form::Never => return None,
    })
}

fn of_record(rule: &RecordRule, count: &mut usize) -> Node {
    let fields = (rule.fields)().into_iter();
    let members = fields.filter_map(|field| Some((field.key, sample(&field.form, count)?)));
    Node::object(members.collect::<Vec<_>>())
}

fn read(text: &str) -> Option<State> {
    let decoded = decode(text.as_bytes());
    decoded.state.filter(|_| decoded.faults.is_empty())
}

/// A state in which each record of a run has each of its keys.
fn rich() -> State {
    let mut count = 0;
    let run = of_record(&Run::RULE, &mut count);
    let run = doc::write_compact(&run);
    let long = "what was found in this part of the work ".repeat(45);
    let whole = format!("{BEFORE_RUN}{run}}}").replace("SUMMARY", &long);
    let whole = serde_json::from_str(&whole).expect("JSON");
    let mut text = crate::whole_records::file(&whole).to_string();
    let faults = decode(text.as_bytes()).faults;
    assert!(faults.is_empty(), "{faults:#?}");
    // A plan is in force in the context that it was made in, and so is what a probe found.
    for id in ["P", "A"] {
        let world = World::new(read(&text).expect("a state"));
        let next = prompt::next_attempt(&world, &id.into()).expect("a task");
        text = text.replace(&format!("CONTEXT-{id}"), next.intent.context.as_str());
    }
    let mut state = read(&text).expect("a state");
    let world = World::new(state.clone());
    // A report is told of the plan that it is about.
    let subject = unjudged::all(&world.graph, &world.state);
    let judging = std::sync::Arc::make_mut(&mut state.run).judging_mut();
    let said = judging.kept(Question::Pass).expect("an opinion").clone();
    judging.keep(AnswerRecord {
        question: Question::Plan,
        subject: subject.first().expect("a plan").subject.clone(),
        answer: Some(KeptAnswer::Issues(IssuesAnswer::of(said.issues().to_vec()))),
        ..said
    });
    state
}

fn consult(question: Question, subject: Digest) -> Consult {
    Consult {
        id: ConsultId::new("consult-1"),
        question,
        subject,
        agent: AgentName::from("judge"),
        epoch: Epoch(1),
        n: 1,
        atom: None,
        leaf: None,
        on: Some(RATED.into()),
        from: None,
        commit: None,
        reserved: Usage::default(),
        at: String::new(),
        extra: Default::default(),
    }
}

/// The prompts of all attempts that could be made of the atoms, with the files beside them.
fn attempts(world: &World) -> Vec<Prompt> {
    let mut prompts = Vec::new();
    let files = PromptFiles { lies_at: &|_| None, patches: &[], start: &TreeStart::Clean };
    for id in world.state.all_atoms().into_keys() {
        let Some(mut next) = prompt::next_attempt(world, id) else {
            continue;
        };
        for (role, ending) in [
            (next.intent.role, Ending::ResultFile),
            (next.intent.role, Ending::Answer),
            (Role::Probe, Ending::LastMessage),
        ] {
            next.intent.role = role;
            prompts.push(prompt::attempt(&PromptInputs {
                world: &next.world,
                intent: &next.intent,
                now: NOW,
                files,
                project: None,
                instructions: None,
                worker: None,
                ending,
            }));
        }
    }
    prompts
}

/// The prompts of those who think about the whole; none where there is nothing to ask.
fn questions(world: &World) -> Vec<Option<Prompt>> {
    let (graph, state) = (&world.graph, &world.state);
    let plans = unjudged::all(graph, state);
    let plan = plans.into_iter().next();
    let validate = plan.map(|plan| consult(Question::Plan, plan.subject));
    let step = graph.ix(&"R".into()).expect("a planning step");
    let phase = long_phase::wanted(world, step);
    let summarise = phase.map(|phase| Consult {
        atom: Some(phase.plan),
        ..consult(Question::Summarise, phase.subject)
    });
    let leaves = state.objective.base_case.iter();
    let mut leaves = leaves.flat_map(|check| check.leaves());
    let leaf = leaves.find(|leaf| leaf.title().contains("good"));
    let judge = consult(Question::Rate, Digest::sha256(b""));
    let judge = Consult { leaf: leaf.map(|leaf| leaf.key()), ..judge };
    let of_task = rated_task(state).map(|(atom, leaf)| Consult {
        atom: Some(atom),
        leaf: Some(leaf),
        ..judge.clone()
    });
    let (difference, session) = (RatedDifference::default(), Session::default());
    let project = &ProjectWords::default();
    let ask =
        |question: Question, consult: Option<&Consult>, difference: Option<&RatedDifference>| {
            prompt::question(
                question,
                &QuestionInputs {
                    world,
                    now: NOW,
                    consult,
                    session: Some(&session),
                    difference,
                    worker: None,
                },
            )
        };
    vec![
        ask(Question::Refine, None, None),
        ask(Question::Pass, None, None),
        ask(Question::Profile, None, None),
        validate.and_then(|consult| ask(Question::Plan, Some(&consult), None)),
        summarise.and_then(|consult| ask(Question::Summarise, Some(&consult), None)),
        ask(Question::Word, None, Some(&difference)),
        ask(Question::Rate, Some(&judge), Some(&difference)),
        of_task.and_then(|consult| ask(Question::Rate, Some(&consult), Some(&difference))),
        Some(prompt::aligning(&AligningInputs {
            task: AligningTask::Change(world),
            words: "another way",
            why: "",
            given: &[],
            answers: &[],
            before: None,
            project,
            can_look: true,
            agents: &[],
            may_ask: true,
            now: NOW,
        })),
    ]
}

/// A task with a leaf that a judge rates.
fn rated_task(state: &State) -> Option<(AtomId, Digest)> {
    let mut atoms = state.all_atoms().into_iter();
    atoms.find_map(|(id, atom)| {
        let leaf = atom.task()?.spec.checks.as_ref()?.first_quality()?;
        Some((id.clone(), leaf.key()))
    })
}

/// All that agents of any role would be told.
fn told(state: &State) -> Vec<Option<Prompt>> {
    let world = World::new(state.clone());
    let attempts = attempts(&world).into_iter().map(Some);
    attempts.chain(questions(&world)).collect()
}

/// Each text below a node, with its place: its keys and its numbers.
fn texts(node: &Node, at: &str, found: &mut Vec<String>) {
    match &node.value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(members) => {
            for member in members {
                texts(&member.node, &format!("{at}/{}", member.key), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn at_mut<'n>(node: &'n mut Node, at: &str) -> Option<&'n mut Node> {
    at.split('/').skip(1).try_fold(node, |node, part| match &mut node.value {
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        Value::Object(members) => {
            let member = members.iter_mut().find(|member| member.key == part);
            member.map(|member| &mut member.node)
        }
        _ => None,
    })
}

/// The state with another text there: one with the words behind it, else, where it must be a name, another name.
fn planted(root: &Node, at: &str) -> Vec<State> {
    let with = |change: &dyn Fn(&str) -> String| {
        let mut root = root.clone();
        let node = at_mut(&mut root, at)?;
        let text = change(node.as_str()?);
        *node = Node::string(text.as_str());
        read(&doc::write(&root))
    };
    let changes: [&dyn Fn(&str) -> String; 4] =
        [&|text| format!("{text} {PLANTED}"), &|_| "G1".to_owned(), &|_| "G2".to_owned(), &|_| {
            "failed".to_owned()
        }];
    changes.into_iter().filter_map(with).collect()
}

#[test]
fn no_text_of_a_state_reaches_an_agent_under_a_digest_of_other_words() {
    let state = rich();
    let before = told(&state);
    let asked: Vec<bool> = before.iter().map(Option::is_some).collect();
    assert!(!asked.contains(&false), "not each role is asked: {asked:?}");
    let digest = TrustList::of_state(&state).digest();
    let text = StateText::of(&state).text(&state);
    let root = doc::parse(&text, &Limits::default()).node.expect("a tree");
    let mut places = Vec::new();
    texts(&root, "", &mut places);
    let (mut unseen, mut unlisted, mut heard) = (Vec::new(), Vec::new(), Vec::new());
    for at in &places {
        for other in planted(&root, at) {
            if told(&other) == before {
                continue;
            }
            heard.push(at.as_str());
            let list = TrustList::of_state(&other);
            if list.digest() == digest {
                unseen.push(at);
            }
            // The words of agents are shown, those of results by their digest.
            let text = StateText::of(&other).text(&other);
            let is_said =
                at.starts_with("/internal/run/") && !at.starts_with("/internal/run/judged/");
            let shown = list.items().iter().any(|item| item.text.contains(PLANTED));
            if text.contains(PLANTED) && is_said && !shown {
                unlisted.push(at);
            }
            break;
        }
    }
    assert!(unseen.is_empty(), "told under an equal digest: {unseen:#?}");
    assert!(unlisted.is_empty(), "told and not listed: {unlisted:#?}");
    for at in [
        "/internal/run/judging/answers/0/answer/issues/0/description",
        "/internal/run/judging/answers/0/answer/missing/0",
        "/internal/run/judging/answers/0/answer/contradictions/0",
        "/internal/run/judging/answers/1/answer/issues/0/description",
        "/internal/run/law/point/rationale",
        "/internal/run/law/blocked/0/target",
        "/internal/run/profile/raw_inference",
        "/internal/run/patterns/0/reason",
        "/internal/run/memory_used/lessons/0/lesson",
        "/work_graph/atoms/G/selected",
    ] {
        assert!(heard.contains(&at), "nobody is told {at}: {heard:#?}");
    }
}

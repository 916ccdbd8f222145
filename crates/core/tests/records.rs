//! One description a record: what reads, writes, judges, merges and documents a key all take it from the one table.
//!
//! `DESCENT_UPDATE=1` writes the schema of the state, and the tables of the pages, anew. `DESCENT_KEY` names a
//! constraint that must be among those that are tried: `scripts/one-line` adds one by a single line and asks for it.

use descent_core::state::limits::{KeyFate, OLD_WORDS};
use std::{fs, path::PathBuf};

use descent_core::{
    change,
    doc::{self, Node, Value},
    id::Lineage,
    json_schema, plan,
    state::{
        Constraints, Duty, JudgingLevel, Question, State,
        decode::{self, decode},
        encode::StateText,
        limits::{self, ConstraintRule, ValueForm},
        rule::{WordRule, text_of},
    },
};

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares a committed file with what it is generated from; writes it where that is asked for.
#[allow(clippy::disallowed_methods)] // A person asks it to write.
fn check_committed(path: &str, fresh: &str) {
    let path = root(path);
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        fs::write(&path, fresh).expect("it can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let hint = "run `DESCENT_UPDATE=1 cargo test -p descent-core --test all records`";
    assert!(committed == fresh, "{} is stale: {hint}", path.display());
}

/// A value that each kind of constraint may have, and one that none may have.
fn sample(rule: &ConstraintRule) -> (Node, Node) {
    let text = |text: &str| Node::string(text);
    match (&*rule.key, rule.form) {
        (_, ValueForm::Count) => (Node::uint(7), text("many")),
        ("convergence", _) => {
            let criterion = [
                ("name", text("tested")),
                ("statement", text("every part has a test")),
                ("at_least", Value::Number("0.8".into()).into()),
            ];
            let criteria = Node::array(vec![Node::object(criterion.to_vec())]);
            (criteria, text("a"))
        }
        (_, ValueForm::List) => (Node::array(vec![text("a")]), text("a")),
        (_, ValueForm::Flag) => (Node::bool(true), text("yes")),
        ("planning.context", _) => (alone("mode", text("full")), text("full")),
        ("workspace", _) => (text("shared"), text("nowhere")),
        ("memory" | "warm", _) => (text("off"), text("some")),
        ("on_stuck", _) => (text("ask"), text("wonder")),
        ("retry_from", _) => (text("last"), text("first")),
        ("budget.time" | "attempt_timeout", _) => (text("9m"), Node::uint(9)),
        ("budget.cost_usd", _) => (Value::Number("7.50".into()).into(), text("much")),
        ("profile", _) => (text("depth=4"), text("deep")),
        ("law", _) => (text("show"), text("sometimes")),
        ("judging", _) => (text("full"), text("sometimes")),
        (_, ValueForm::Text) => (text("make"), Node::uint(9)),
        (_, ValueForm::Record) => (alone("notes", text("a")), text("a")),
    }
}

fn state_with(constraints: &Node) -> State {
    let check = Node::object(vec![("command", Node::string("make"))]);
    let objective = Node::object(vec![
        ("goal", Node::string("it builds")),
        ("base_case", check),
        ("constraints", constraints.clone()),
    ]);
    let plan = Node::object(vec![("objective", objective)]);
    let plan = plan::read(doc::write(&plan).as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    plan.into_state(Lineage::new("l"))
}

fn alone(key: &str, value: Node) -> Node {
    Node::object(vec![(key, value)])
}

#[test]
fn every_constraint_is_read_written_judged_shown_and_merged_by_its_line_of_the_table() {
    let rules = limits::all();
    if let Ok(key) = std::env::var("DESCENT_KEY") {
        assert!(rules.iter().any(|rule| rule.key == key), "{key} is none");
    }
    for rule in rules {
        let (good, bad) = sample(&rule);
        let state = state_with(&limits::with(&Node::null(), &rule.key, Some(good.clone())));
        let written = StateText::of(&state).text(&state);
        let decoded = decode(written.as_bytes());
        let again = decoded.state.expect("it is read again");
        let node = again.objective.constraints.node();
        assert_eq!(limits::at(&node, &rule.key).map(doc::canonical), Some(doc::canonical(&good)));

        // `status --constraints`
        let shown = limits::in_force(&again.objective.constraints);
        let shown = shown.iter().find(|one| one.key == rule.key).expect("it is shown");
        assert!(shown.is_chosen && !shown.what.is_empty(), "{}", rule.key);

        // `validate`
        let last = rule.key.rsplit('.').next().expect("a key");
        let text = written.replace(
            &format!("\"{last}\": "),
            &format!("\"{last}\": {}, \"notes\": ", doc::write_compact(&bad)),
        );
        let faults = decode(text.as_bytes()).faults;
        let at = format!("/objective/constraints/{}", rule.key.replace('.', "/"));
        assert!(faults.iter().any(|fault| fault.pointer == at), "{}: {faults:?}", rule.key);

        // A merge: both changed it, and the person says what is wanted.
        let base = state_with(&Node::object(Vec::<(String, Node)>::new()));
        let merged = change::merge(Some(&base), Some(&base), &state).state;
        let node = merged.objective.constraints.node();
        assert_eq!(limits::at(&node, &rule.key).map(doc::canonical), Some(doc::canonical(&good)));
    }
}

#[test]
fn the_schema_of_the_state_is_that_of_its_records() {
    let schema = json_schema::of("descent state", &decode::RULE);
    check_committed("state-schema/state.schema.json", &json_schema::text(&schema));
}

#[test]
fn the_tables_of_the_pages_are_those_of_the_records() {
    let row = |rule: ConstraintRule| {
        let default = match rule.form {
            ValueForm::List => "none".to_owned(),
            _ => limits::plain(&rule.default),
        };
        let details = match rule.details.as_str() {
            "" => String::new(),
            details => format!(". {details}"),
        };
        format!("| `{}` | {default} | {}{details} |\n", rule.key, rule.what)
    };
    let rows: String = limits::all().into_iter().map(row).collect();
    let table = format!("| key | default | what it limits |\n|---|---|---|\n{rows}");
    let old = OLD_WORDS.map(|(word, fate)| match fate {
        KeyFate::Key(key) => format!("| `{word}` | `{key}` |\n"),
        KeyFate::Constant(value) => format!("| `{word}` | {value}, always |\n"),
    });
    let old = format!("| it was | it is |\n|---|---|\n{}", old.concat());
    let questions: String =
        Question::WORDS.into_iter().zip(Question::RULE.words).map(asked).collect();
    let questions =
        format!("| question | what is asked | when | from |\n|---|---|---|---|\n{questions}");
    for (page, name, table) in [
        ("docs/contract.md", "questions", &questions),
        ("docs/workers.md", "questions", &questions),
        ("docs/contract.md", "constraints", &table),
        ("docs/plan.md", "constraints", &table),
        ("docs/plan.md", "old words", &old),
    ] {
        let text = fs::read_to_string(root(page)).expect("a page");
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- {name} end -->"));
        let (before, rest) = text.split_once(&begin).expect("a table");
        let (_, after) = rest.split_once(&end).expect("the end of the table");
        check_committed(page, &format!("{before}{begin}{table}{end}{after}"));
    }
}

/// A question as a line of a table.
fn asked(((_, question), rule): ((&str, Question), &WordRule)) -> String {
    let row = question.row();
    let alone = if row.is_named { ", named alone" } else { "" };
    let from = match row.level {
        JudgingLevel::Off => "always".to_owned(),
        level => format!("`judging: {}`", level.word()),
    };
    let duty = Duty::from(question).text();
    let (what, when) = (text_of(rule.doc), row.moment.words());
    format!("| `{duty}`{alone} | {what} | {when} | {from} |\n")
}

#[test]
fn an_old_word_is_a_fault_that_names_the_new_one() {
    for (word, fate) in OLD_WORDS {
        let text = format!(r#"{{"objective": {{"goal": "g", "constraints": {{"{word}": 3}}}}}}"#);
        let plan = plan::read(text.as_bytes());
        let fault = plan.faults.first().expect("a fault");
        assert_eq!(fault.pointer, format!("/objective/constraints/{word}"));
        assert_eq!(fault.hint, Some(fate.hint()), "{word}");
        let rules = limits::all();
        if let KeyFate::Key(key) = fate {
            assert!(rules.iter().any(|rule| rule.key == key), "{key}");
        }
    }
}

#[test]
fn a_key_that_no_table_has_is_a_fault_among_constraints_and_kept_elsewhere() {
    let known = Constraints::RULE;
    assert!(known.field("max_of_nothing").is_none());
    let text = r#"{"max_of_nothing": 3, "objective": {"goal": "g", "constraints": {"max_of_nothing": 3}}}"#;
    let plan = plan::read(text.as_bytes());
    let faults: Vec<&str> = plan.faults.iter().map(|one| one.pointer.as_str()).collect();
    assert_eq!(faults, ["/objective/constraints/max_of_nothing"]);
    let state = plan.into_state(Lineage::new("l"));
    assert_eq!(state.extra.get("max_of_nothing").and_then(Node::as_u64), Some(3));
}

//! Constraints on the command line: `--set KEY=VALUE` of `align` and `run`, and `status --constraints`.

use std::sync::Arc;

use descent_core::{
    doc::{self, Node, suggest},
    state::{
        Constraints, State,
        fields::Findings,
        limits::{self, ConstraintRule, LIMITS, ValueForm},
    },
    step::correct,
};

use super::{End, context::Context};
use crate::{
    clock,
    failure::Failure,
    render,
    store::{CommitContent, CommitError, LoadedState, Store},
};

/// A longer value pushes only its own row out of line.
const VALUE_WIDTH_MAX: usize = 20;
const LOOK: &str = "descent status --constraints shows them all";

/// Constraints with `KEY=VALUE` laid over them; `null` takes a choice back.
pub(super) fn set(constraints: &Constraints, pairs: &[String]) -> Result<Constraints, Failure> {
    let node = constraints.node();
    let mut members: Vec<(String, Node)> = node
        .as_object()
        .unwrap_or_default()
        .iter()
        .map(|m| (m.key.clone(), m.node.clone()))
        .collect();
    for pair in pairs {
        let (limit, value) = read(pair)?;
        members.retain(|(known, _)| known != limit.key);
        if !value.is_null() {
            // Each for itself, so that what is wrong is told of the pair that was typed.
            let alone = Node::object(vec![(limit.key, value.clone())]);
            let mut found = Findings::default();
            let _ = Constraints::read(&alone, "", &mut found);
            if let Some(fault) = found.faults.first() {
                let hint = fault.hint.clone().unwrap_or_else(|| example(limit));
                let message = format!("--set {pair}: {}", fault.message);
                return Err(Failure::usage(message, hint));
            }
            members.push((limit.key.to_owned(), value));
        }
    }
    let read = Constraints::read(&Node::object(members), "", &mut Findings::default());
    read.ok_or_else(|| Failure::bug("constraints that were read cannot be read again"))
}

fn read(pair: &str) -> Result<(&'static ConstraintRule, Node), Failure> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Failure::usage(
            format!("`--set {pair}` has no value"),
            "--set KEY=VALUE, such as max_attempts=2",
        ));
    };
    let Some(limit) = LIMITS.iter().find(|limit| limit.key == key.trim()) else {
        let near = suggest(key.trim(), LIMITS.iter().map(|limit| limit.key));
        let hint = near.map_or_else(
            || LOOK.to_owned(),
            |near| format!("did you mean `{near}`? {LOOK}"),
        );
        let message = format!("--set {pair}: there is no constraint `{}`", key.trim());
        return Err(Failure::usage(message, hint));
    };
    Ok((limit, value_of(limit.form, value.trim())))
}

/// A command may look like JSON, so text is taken as it stands; a list may be written with commas.
fn value_of(form: ValueForm, value: &str) -> Node {
    let parsed = doc::parse(value, &doc::Limits::default());
    let json = parsed.node.filter(|_| parsed.faults.is_empty());
    match (form, json) {
        (_, Some(node)) if node.is_null() => node,
        (ValueForm::Count | ValueForm::Flag, Some(node)) => node,
        (ValueForm::List, Some(node)) if node.as_array().is_some() => node,
        (ValueForm::Text, Some(node)) if node.as_str().is_some() => node,
        (ValueForm::List, _) => {
            let items = value
                .split(',')
                .map(str::trim)
                .filter(|one| !one.is_empty());
            Node::array(items.map(Node::string).collect())
        }
        (ValueForm::Count | ValueForm::Text | ValueForm::Flag, _) => Node::string(value),
    }
}

fn example(limit: &ConstraintRule) -> String {
    let value = match (limit.key, limit.form) {
        ("time_budget" | "attempt_timeout", _) => "30m",
        (_, ValueForm::Count) => "2",
        (_, ValueForm::List) => "one,two",
        (_, ValueForm::Text) => "TEXT",
        (_, ValueForm::Flag) => "true",
    };
    format!("--set {}={value}", limit.key)
}

/// Why the constraints were not changed.
enum ConstraintsRefusal {
    /// A person saved meanwhile: sealed with the change, it would be taken for the program's own words.
    Edited,
    Failed(Failure),
}

/// `run --set`: a correction of its own, before the run begins. The caller holds the lease. `None`: an edit came first.
pub(super) fn change(
    context: &Context,
    store: &mut Store,
    loaded: &Arc<LoadedState>,
    pairs: &[String],
) -> Result<Option<Arc<LoadedState>>, Failure> {
    let state = &loaded.state;
    let wanted = set(&state.objective.constraints, pairs)?;
    if doc::canonical(&wanted.node()) == doc::canonical(&state.objective.constraints.node()) {
        return Ok(Some(Arc::clone(loaded)));
    }
    let has_started = state.run.id.is_some();
    if has_started && wanted.workspace() != state.objective.constraints.workspace() {
        let hint = "align --force --set workspace=… archives this run and begins anew";
        let message = "the workspace cannot be changed once a run has started";
        return Err(Failure::usage(message, hint));
    }
    let mut notices = Vec::new();
    let changed = store.commit(|fresh| {
        if fresh.is_foreign {
            return Err(ConstraintsRefusal::Edited);
        }
        let before = &fresh.state;
        let mut after = before.clone();
        let mut objective = (*after.objective).clone();
        objective.constraints =
            set(&before.objective.constraints, pairs).map_err(ConstraintsRefusal::Failed)?;
        after.objective = Arc::new(objective);
        let adopted = correct::adopt(Some(before), after, &Context::by(), clock::now());
        notices = adopted.notices;
        Ok(Some(CommitContent {
            state: adopted.state,
            touched: adopted.touched,
        }))
    });
    match changed {
        Ok(changed) => {
            notices.iter().for_each(|notice| context.tell(notice));
            Ok(Some(changed))
        }
        Err(CommitError::Store(error)) => Err(error.into()),
        Err(CommitError::Decide(ConstraintsRefusal::Edited)) => Ok(None),
        Err(CommitError::Decide(ConstraintsRefusal::Failed(failure))) => Err(failure),
    }
}

/// `status --constraints`: what is in force, and who chose it.
pub(super) fn show(context: &Context, state: &State) -> End {
    let all = limits::in_force(&state.objective.constraints);
    if context.out.json {
        let one = |one: &limits::InForce| {
            serde_json::json!({
                "key": one.key,
                "value": one.value,
                "from": from(one),
                "limits": one.what,
            })
        };
        let constraints: Vec<serde_json::Value> = all.iter().map(one).collect();
        context.out.json(&serde_json::json!({
            "schema": "descent/constraints/1",
            "constraints": constraints,
        }));
        return End::Code(0);
    }
    let values: Vec<String> = all
        .iter()
        .map(|one| render::line(&limits::plain(&one.value)))
        .collect();
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let keys = longest(&mut all.iter().map(|one| one.key.chars().count()));
    let width = longest(&mut values.iter().map(|value| value.chars().count())).min(VALUE_WIDTH_MAX);
    let mut rows = Vec::new();
    for (one, value) in all.iter().zip(&values) {
        let what = if one.what.is_empty() {
            "unknown: nothing reads it"
        } else {
            one.what
        };
        let key = &one.key;
        rows.push(format!(
            "{key:<keys$} {value:<width$} {:<7} {what}",
            from(one)
        ));
    }
    rows.push("next: descent run --set KEY=VALUE".to_owned());
    context.out.data(&render::clean(&rows.join("\n")));
    End::Code(0)
}

fn from(one: &limits::InForce) -> &'static str {
    if one.is_chosen { "chosen" } else { "default" }
}

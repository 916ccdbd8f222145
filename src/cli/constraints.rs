//! Constraints on the command line: `--set KEY=VALUE` of `align` and `run`, and `status --constraints`.

use descent_core::{
    change::{ConstraintChange, constraints_with},
    doc::{self, Node, did_you_mean},
    profile,
    state::{
        Constraints, State,
        limits::{self, ConstraintRule, InForce, ValueForm, fate_of},
    },
};
use serde::Serialize;

use super::{Context, End, Failure, phrase};

/// A longer value widens only its own row.
const VALUE_WIDTH_MAX: usize = 20;
const LOOK: &str = "descent status --constraints shows them all";

/// Constraints with `KEY=VALUE` applied; `null` takes a choice back.
pub(super) fn set(constraints: &Constraints, pairs: &[String]) -> Result<Constraints, Failure> {
    constraints_with(constraints, &changes(pairs)?).map_err(Failure::bug)
}

/// Reads the changes of the pairs. Each pair is read by itself, so that a fault names the pair that was typed.
pub(super) fn changes(pairs: &[String]) -> Result<Vec<ConstraintChange>, Failure> {
    let change = |pair: &String| {
        let (limit, value) = read(pair)?;
        ConstraintChange::new(&limit, value).map_err(|fault| {
            let hint = fault.hint.unwrap_or_else(|| example(&limit));
            let message = format!("--set {pair}: {}", fault.message);
            Failure::usage(message, hint)
        })
    };
    pairs.iter().map(change).collect()
}

/// The names of all constraints.
pub(super) fn names() -> impl Iterator<Item = String> {
    limits::all().into_iter().map(|rule| rule.key)
}

fn read(pair: &str) -> Result<(ConstraintRule, Node), Failure> {
    let Some((key, value)) = pair.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
    else {
        let hint = "--set KEY=VALUE, such as max_attempts=2";
        return Err(Failure::usage(format!("`--set {pair}` has no value"), hint));
    };
    let mut rules = limits::all().into_iter();
    let Some(limit) = rules.find(|rule| rule.key == key) else {
        let group = format!("{key}.");
        let names: Vec<String> = names().collect();
        let inner = names.iter().find(|name| name.starts_with(&group));
        let fate = fate_of(key).map(|fate| fate.option(value));
        let fate = fate.or(inner.map(|name| format!("--set {name}={value}")));
        let near = || did_you_mean(key, names.iter().map(String::as_str));
        let near = fate.or_else(near).map(|near| format!("{near}; {LOOK}"));
        let message = format!("--set {pair}: there is no constraint `{key}`");
        return Err(Failure::usage(message, near.unwrap_or_else(|| LOOK.to_owned())));
    };
    let value = value_of(limit.form, value);
    // In a file an unknown key is kept; nobody means one that was typed.
    let mut keys = value.as_object().unwrap_or_default().iter().map(|member| member.key.as_str());
    if let Some(unknown) = keys.find(|key| !limit.keys.contains(key)) {
        let message = format!("--set {pair}: `{}` has no `{unknown}`", limit.key);
        let near = did_you_mean(unknown, limit.keys.iter().copied()).map(|near| near + " ");
        return Err(Failure::usage(message, near.unwrap_or_default() + &example(&limit)));
    }
    Ok((limit, value))
}

/// A command may look like JSON, so text is taken as it is; a list may be written with commas.
fn value_of(form: ValueForm, value: &str) -> Node {
    let parsed = doc::parse(value, &doc::Limits::default());
    let json = parsed.node.filter(|_| parsed.faults.is_empty());
    match (form, json) {
        (_, Some(node)) if node.is_null() => node,
        (ValueForm::Count | ValueForm::Flag, Some(node)) => node,
        (ValueForm::List, Some(node)) if node.as_array().is_some() => node,
        (ValueForm::Text, Some(node)) if node.as_str().is_some() => node,
        (ValueForm::Record, Some(node)) if node.as_object().is_some() => node,
        (ValueForm::List, _) => Node::array(items(value).map(Node::string).collect()),
        (ValueForm::Record, _) => {
            let pairs = items(value).map(|item| {
                let (key, value) = item.split_once('=').unwrap_or((item, ""));
                (key.trim(), value_of(ValueForm::Count, value.trim()))
            });
            Node::object(pairs.collect())
        }
        (ValueForm::Count | ValueForm::Text | ValueForm::Flag, _) => Node::string(value),
    }
}

/// The items of a list that is written with commas.
fn items(value: &str) -> impl Iterator<Item = &str> {
    let items = value.split(',').map(str::trim);
    items.filter(|one| !one.is_empty())
}

fn example(limit: &ConstraintRule) -> String {
    let value = match (&*limit.key, limit.form) {
        ("budget.time" | "attempt_timeout", _) => "30m",
        ("budget.cost_usd", _) => "2.50",
        ("budget.tokens", _) => "2000000",
        ("budget.calls", _) => "200",
        (_, ValueForm::Count) => "2",
        (_, ValueForm::List) => "one,two",
        (_, ValueForm::Text) => "TEXT",
        (_, ValueForm::Flag) => "true",
        (_, ValueForm::Record) => "mode=full,chars=20000",
    };
    format!("--set {}={value}", limit.key)
}

/// The constraints in force: `descent status --constraints --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ConstraintsOutput {
    schema: &'static str,
    constraints: Vec<ConstraintOutput>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConstraintOutput {
    key: String,
    /// Null where nothing limits.
    value: Node,
    /// `profile` where the kind of task sets it.
    #[cfg_attr(test, schemars(extend("enum" = ["chosen", "default", "profile"])))]
    from: &'static str,
    /// The thing that it limits; empty for a key that nothing reads.
    limits: String,
}

/// `status --constraints`: the constraints in force, and who chose them.
pub(super) fn show(context: &Context, state: &State) -> End {
    let all = profile::constraints_in_force(state);
    let output = |one: &InForce| ConstraintOutput {
        key: one.key.clone(),
        value: one.value.clone(),
        from: from(one),
        limits: one.what.clone(),
    };
    let output = ConstraintsOutput {
        schema: "descent/constraints/1",
        constraints: all.iter().map(output).collect(),
    };
    context.answer(&output, || {
        let values: Vec<String> =
            all.iter().map(|one| phrase::line(&limits::plain(&one.value))).collect();
        let keys = all.iter().map(|one| one.key.chars().count()).max().unwrap_or(0);
        let widths = values.iter().map(|value| value.chars().count());
        let width = widths.filter(|width| *width <= VALUE_WIDTH_MAX).max().unwrap_or(0);
        let row = |(one, value): (&InForce, &String)| {
            let what = if one.what.is_empty() { "unknown: nothing reads it" } else { &one.what };
            format!("{:<keys$} {value:<width$} {:<7} {what}", one.key, from(one))
        };
        let rows: Vec<String> = all.iter().zip(&values).map(row).collect();
        format!("{}\nnext: descent run --set KEY=VALUE", rows.join("\n"))
    })
}

fn from(one: &InForce) -> &'static str {
    match (one.is_chosen, one.is_of_profile) {
        (true, _) => "chosen",
        (false, true) => "profile",
        (false, false) => "default",
    }
}

//! The JSON Schema (draft 2020-12) of a record, from its rules.
//!
//! Invariant: what the program reads without a fault satisfies the schema. Unknown keys are allowed in every object but
//! those of `CLOSED`.
//! Not here: the records (`state`, `plan`).

use crate::doc::prelude::*;
use serde_json::{Map, Value, json};

use crate::{
    doc,
    state::{
        encode::labels::LABELS,
        rule::{
            ATOM_ID, ChoiceRule, FieldRule, Form, Owner, RecordRule, WordRule, WordsRule, text_of,
        },
    },
};

/// The schema of a file that holds one record.
pub fn of(title: &str, root: &RecordRule) -> Value {
    let mut schemas = Definitions::default();
    let mut schema = schemas.record(root, &[]);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".into(), json!(title));
        let definitions: Map<String, Value> = schemas.by_name.into_iter().collect();
        schema.insert("$defs".into(), Value::Object(definitions));
    }
    schema
}

/// The text of a schema: keys sorted, in the layout of the state file.
pub fn text(schema: &Value) -> String {
    let limits = doc::Limits::default();
    let tree = |text: String| doc::parse(&text, &limits).node;
    let sorted = tree(schema.to_string()).and_then(|root| tree(doc::canonical(&root)));
    let mut out = String::new();
    sorted.into_iter().for_each(|root| doc::write_filled(&root, 0, 0, &mut out));
    out.push('\n');
    out
}

/// The schema of a record as views print it: what is always written is required.
#[cfg(feature = "schema")]
pub fn printed(rule: &RecordRule, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schemas = Definitions { is_printed: true, ..Definitions::default() };
    let schema = schemas.record(rule, &[]);
    generator.definitions_mut().extend(schemas.by_name);
    schema.try_into().unwrap_or_default()
}

/// The text of the schema of an agent's answer: whole in itself, closed, and without the keys that are code's.
pub fn of_answer(rule: &RecordRule, without: &'static [&'static str]) -> String {
    let mut schemas = Definitions { without: Some(without), ..Definitions::default() };
    let schema = schemas.record(rule, &[]).to_string();
    let parsed = doc::parse(&schema, &doc::Limits::default()).node;
    parsed.as_ref().map(doc::canonical).unwrap_or_default()
}

/// Records in which an unknown key is a fault: it would decide something, and be ignored.
const CLOSED: [&str; 15] = [
    "Action",
    "AllOf",
    "AnyOf",
    "AssertionLeaf",
    "CommandLeaf",
    "Constraints",
    "Control",
    "FileLeaf",
    "NotCommandLeaf",
    "NotFileLeaf",
    "PhaseBudget",
    "PlanningLimits",
    "QualityLeaf",
    "RunBudget",
    "Setup",
];

/// Definitions that several places share, by name.
#[derive(Default)]
struct Definitions {
    /// Whether a key that the program always writes is required.
    is_printed: bool,
    /// The keys that an agent's answer has not; none of a file.
    without: Option<&'static [&'static str]>,
    by_name: BTreeMap<String, Value>,
}

impl Definitions {
    /// A reference to a definition, which is made where it is missing.
    fn named(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.without.is_some() {
            return make(self);
        }
        if !self.by_name.contains_key(name) {
            // Stands while it is made: a record may hold records of its own kind.
            self.by_name.insert(name.into(), Value::Bool(true));
            let made = make(self);
            self.by_name.insert(name.into(), made);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    fn record(&mut self, rule: &RecordRule, common: &[FieldRule]) -> Value {
        let fields = (rule.fields)();
        let without = self.without.unwrap_or_default();
        let shown =
            |field: &&FieldRule| field.owner != Owner::Internal && !without.contains(&field.key);
        let all: Vec<&FieldRule> = common.iter().chain(&fields).filter(shown).collect();
        let mut properties: Map<String, Value> =
            all.iter().map(|field| (field.key.into(), self.property(field))).collect();
        let labels = LABELS.iter().filter(|(record, ..)| *record == rule.name && !self.is_printed);
        properties.extend(labels.map(|(_, key, doc)| ((*key).into(), described(json!({}), doc))));
        let is_there =
            |field: &&&FieldRule| field.is_required || self.is_printed && field.is_written;
        let required = all.iter().filter(is_there);
        let required: Vec<&str> = required.map(|field| field.key).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if self.without.is_some() {
            schema["additionalProperties"] = json!(false);
        } else if !self.is_printed && CLOSED.contains(&rule.name) {
            schema["properties"]["notes"] = described(json!({}), "A remark");
            schema["additionalProperties"] = json!(false);
        }
        described(schema, rule.doc)
    }

    fn property(&mut self, field: &FieldRule) -> Value {
        let form = self.form(&field.form);
        let is_whole = field.is_required || self.without.is_some();
        let form = if is_whole { form } else { or_null(form) };
        let mut schema = described(form, field.doc);
        if let (Some(default), Some(schema)) = (&field.default, schema.as_object_mut())
            && let Ok(default) = serde_json::from_str(&doc::write_compact(default))
        {
            schema.insert("default".into(), default);
        }
        schema
    }

    fn form(&mut self, form: &Form) -> Value {
        match form {
            Form::Any => Value::Bool(true),
            Form::Text => json!({"type": "string"}),
            Form::NonBlank => json!({"type": "string", "pattern": r"\S"}),
            Form::Short(most) => json!({"type": "string", "maxLength": most}),
            Form::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
            Form::Whole(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Form::AtMost(most, item) => {
                json!({"type": "array", "maxItems": most, "items": self.form(item)})
            }
            Form::Flag => json!({"type": "boolean"}),
            Form::Integer => json!({"type": "integer"}),
            Form::Never => json!({"type": "null"}),
            Form::Pattern(name, pattern) => {
                self.named(name, |_| json!({"type": "string", "pattern": pattern}))
            }
            Form::Count => self.named("Count", |_| {
                let text = json!({"type": "string", "pattern": "^(0|[1-9][0-9]*)$"});
                let count = json!({"anyOf": [{"type": "integer", "minimum": 0}, text]});
                described(count, "A whole number; above 2^53 as a decimal string")
            }),
            Form::Decimal => self.named("Decimal", |_| {
                let number = json!({"anyOf": [{"type": "number"}, {"type": "string"}]});
                described(number, "A number, or its decimal text")
            }),
            Form::Words(rule) => self.words(rule),
            Form::List(item) => json!({"type": "array", "items": self.form(item)}),
            Form::Filled(form) => {
                let mut schema = self.form(form);
                let is_list = schema["type"] == "array";
                schema[if is_list { "minItems" } else { "minProperties" }] = json!(1);
                schema
            }
            Form::ById(value) => {
                let id = self.form(&ATOM_ID);
                let value = self.form(value);
                json!({"type": "object", "propertyNames": id, "additionalProperties": value})
            }
            Form::Choices => {
                json!({"type": "object", "additionalProperties": {"type": "string"}})
            }
            Form::Record(rule) => self.named(rule.name, |all| all.record(rule, &[])),
            Form::OneOf(rule) => self.named(rule.name, |all| all.choice(rule)),
            Form::Either(forms) => {
                let forms: Vec<Value> = forms.iter().map(|form| self.form(form)).collect();
                json!({"anyOf": forms})
            }
        }
    }

    fn words(&mut self, rule: &WordsRule) -> Value {
        if rule.name.is_empty() || self.without.is_some() {
            let words: Vec<&str> = rule.words.iter().map(|word| word.word).collect();
            return json!({"type": "string", "enum": words});
        }
        self.named(rule.name, |_| {
            let word = |word: &WordRule| {
                described(json!({"type": "string", "const": word.word}), word.doc)
            };
            let words: Vec<Value> = rule.words.iter().map(word).collect();
            described(json!({"oneOf": words}), rule.doc)
        })
    }

    fn choice(&mut self, rule: &ChoiceRule) -> Value {
        let common = (rule.common)();
        let records = rule.records.iter().map(|one| self.record(one, &common));
        let records: Vec<Value> = records.collect();
        let key = if rule.is_exclusive { "oneOf" } else { "anyOf" };
        let mut schema = Map::new();
        schema.insert(key.into(), Value::Array(records));
        described(Value::Object(schema), rule.doc)
    }
}

/// A null reads as absent.
fn or_null(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else {
        return schema;
    };
    let Some(kind) = members.get("type").and_then(Value::as_str) else {
        return json!({"anyOf": [schema, {"type": "null"}]});
    };
    if kind != "null" {
        let kinds = json!([kind, "null"]);
        members.insert("type".into(), kinds);
    }
    if let Some(words) = members.get_mut("enum").and_then(Value::as_array_mut) {
        words.push(Value::Null);
    }
    schema
}

fn described(mut schema: Value, doc: &str) -> Value {
    let text = text_of(doc);
    if schema.is_boolean() && !text.is_empty() {
        schema = json!({});
    }
    if let Some(members) = schema.as_object_mut()
        && !text.is_empty()
    {
        members.insert("description".into(), Value::String(text));
    }
    schema
}

//! The schema of an atom's value: compiled within bounds, compared with a value, nothing fetched.
//!
//! Invariant: the cost is bounded for any schema and any value. References to references cannot multiply: one may not lead
//! back to itself, and none leads out of the schema. Equal schema and value give equal faults. Not here: what a fault leads
//! to (the core), where a schema stands (`descent_core::state::check`).

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use descent_core::{
    doc::{self, Node},
    event::{AgentReport, Clarity, MISFITS_MAX, Misfit},
};
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

/// Characters at most of a pointer or a message.
const TEXT_CHARS_MAX: usize = 200;
/// Bytes at most of one compiled pattern, and of its cache.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A schema that was compiled.
#[derive(Debug, Clone)]
pub struct Shape {
    validator: Arc<Validator>,
    /// Its JSON.
    text: Arc<str>,
}

/// Why a schema cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("it has more than {} KiB", BYTES_MAX >> 10)]
    TooLarge,
    #[error("it nests deeper than {} levels, references included", DEPTH_MAX)]
    TooDeep,
    #[error("it has more than {} patterns", PATTERNS_MAX)]
    TooManyPatterns,
    #[error("with its references written out it has more than {} parts", PARTS_MAX)]
    TooCostly,
    #[error("`{0}` is not looked up: only references of the form `#/…` are followed")]
    Elsewhere(String),
    #[error("`{0}` leads back to itself")]
    Circle(String),
    #[error("`{0}` leads to nothing")]
    Nowhere(String),
    #[error("{0}")]
    NotASchema(String),
}

impl Shape {
    pub fn compile(schema: &Node) -> Result<Self, ShapeError> {
        Self::read(&doc::write_compact(schema))
    }

    /// Why the text of a schema cannot be used, if it cannot.
    pub fn fault(text: &str) -> Option<String> {
        let error = Self::read(text).err()?;
        Some(format!("not a schema to use: {error}"))
    }

    fn read(text: &str) -> Result<Self, ShapeError> {
        if text.len() > BYTES_MAX {
            return Err(ShapeError::TooLarge);
        }
        let schema: Value = serde_json::from_str(text)
            .map_err(|error| ShapeError::NotASchema(shortened(&error.to_string())))?;
        bounds_check(&schema)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let mut options = jsonschema::options();
        options = options.with_pattern_options(patterns);
        let validator = options.build(&schema).map_err(|error| {
            let at = shortened(error.instance_path().as_str());
            let message = shortened(&error.to_string());
            ShapeError::NotASchema(if at.is_empty() { message } else { format!("{at}: {message}") })
        })?;
        Ok(Self { validator: Arc::new(validator), text: text.into() })
    }

    /// The schema as JSON, if it is no longer than that.
    pub fn text(&self, bytes_max: usize) -> Option<&str> {
        (self.text.len() <= bytes_max).then_some(&*self.text)
    }

    /// Whether a text is JSON that it takes.
    pub fn fits(&self, text: &str) -> bool {
        serde_json::from_str::<Value>(text).is_ok_and(|value| self.validator.is_valid(&value))
    }

    /// The faults in the report of an attempt that says that its task can be done, the first few.
    pub fn misfits_of(&self, report: Option<&AgentReport>) -> Vec<Misfit> {
        if report.is_some_and(|report| report.clarity == Clarity::Blocked) {
            Vec::new()
        } else {
            self.misfits(report.and_then(|report| report.value.as_ref()))
        }
    }

    /// The faults of a value. One that is absent counts as null.
    fn misfits(&self, value: Option<&Node>) -> Vec<Misfit> {
        let Some(value) = value else {
            return if self.validator.is_valid(&Value::Null) {
                Vec::new()
            } else {
                vec![whole("it is missing, and its schema does not take null")]
            };
        };
        match serde_json::from_str::<Value>(&doc::write_compact(value)) {
            Ok(value) => self.faults(&value),
            Err(error) => vec![whole(&format!("it cannot be compared: {error}"))],
        }
    }

    fn faults(&self, value: &Value) -> Vec<Misfit> {
        let found = self.validator.iter_errors(value).take(MISFITS_MAX);
        let misfit = |error: jsonschema::ValidationError<'_>| Misfit {
            at: shortened(error.instance_path().as_str()),
            message: shortened(&error.masked_with("it").to_string()),
        };
        found.map(misfit).collect()
    }
}

fn whole(message: &str) -> Misfit {
    Misfit { at: String::new(), message: shortened(message) }
}

/// One line without what controls a terminal, cut.
fn shortened(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().filter(|c| !c.is_control() && !turns(*c));
    let mut shown = shown.peekable();
    let mut cut: String = shown.by_ref().take(TEXT_CHARS_MAX).collect();
    if shown.peek().is_some() {
        cut.push('…');
    }
    cut
}

const BYTES_MAX: usize = 64 << 10;
const DEPTH_MAX: usize = 64;
/// Subschemas, with each reference written out.
const PARTS_MAX: usize = 2_000;
const PATTERNS_MAX: usize = 32;

/// Keywords whose members are schemas under names.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose value is data.
const DATA: [&str; 5] = ["const", "enum", "default", "example", "examples"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords by which the references below them have another meaning.
const BASES: [&str; 2] = ["$id", "id"];

fn bounds_check(schema: &Value) -> Result<(), ShapeError> {
    let mut walk = SchemaWalk { root: schema, targets: BTreeMap::new(), patterns: 0 };
    walk.schema(schema, 0).map(drop)
}

/// The extent of a schema with its references written out.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    parts: usize,
    height: usize,
}

struct SchemaWalk<'a> {
    root: &'a Value,
    /// The targets of references; `None` while one is looked at.
    targets: BTreeMap<&'a str, Option<Extent>>,
    patterns: usize,
}

impl<'a> SchemaWalk<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<Extent, ShapeError> {
        if depth > DEPTH_MAX {
            return Err(ShapeError::TooDeep);
        }
        let mut extent = Extent { parts: 1, height: 0 };
        match schema {
            Value::Object(members) => self.members(members, depth, &mut extent)?,
            Value::Array(items) => {
                for item in items {
                    extent.add(self.schema(item, depth + 1)?)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(extent)
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        depth: usize,
        extent: &mut Extent,
    ) -> Result<(), ShapeError> {
        for (key, value) in members {
            match (key.as_str(), value) {
                (key, _) if DATA.contains(&key) => {}
                (key, Value::String(to)) if REFERENCES.contains(&key) => {
                    extent.add(self.reference(key, to, depth + 1)?)?;
                }
                (key, Value::String(base)) if BASES.contains(&key) && depth > 0 => {
                    return Err(ShapeError::Elsewhere(shortened(base)));
                }
                (key, Value::Object(named)) if MAPS.contains(&key) => {
                    if key == "patternProperties" {
                        self.patterns(named.len())?;
                    }
                    for schema in named.values() {
                        extent.add(self.schema(schema, depth + 1)?)?;
                    }
                }
                (key, value) => {
                    self.patterns(usize::from(key == "pattern"))?;
                    if value.is_object() || value.is_array() {
                        extent.add(self.schema(value, depth + 1)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn patterns(&mut self, more: usize) -> Result<(), ShapeError> {
        self.patterns += more;
        if self.patterns > PATTERNS_MAX { Err(ShapeError::TooManyPatterns) } else { Ok(()) }
    }

    fn reference(&mut self, key: &str, to: &'a str, depth: usize) -> Result<Extent, ShapeError> {
        let shown = || shortened(to);
        let pointer = to.strip_prefix('#').filter(|rest| {
            // An anchor, and an escape of a URI, would need a second way of looking up.
            (rest.is_empty() || rest.starts_with('/')) && !rest.contains('%') && key == "$ref"
        });
        let pointer = pointer.ok_or_else(|| ShapeError::Elsewhere(shown()))?;
        let target = self.root.pointer(pointer);
        let target = target.ok_or_else(|| ShapeError::Nowhere(shown()))?;
        let extent = match self.targets.get(to) {
            Some(Some(known)) => *known,
            Some(None) => return Err(ShapeError::Circle(shown())),
            None => {
                self.targets.insert(to, None);
                let found = self.schema(target, depth)?;
                self.targets.insert(to, Some(found));
                found
            }
        };
        if depth + extent.height > DEPTH_MAX { Err(ShapeError::TooDeep) } else { Ok(extent) }
    }
}

impl Extent {
    fn add(&mut self, inner: Extent) -> Result<(), ShapeError> {
        self.parts += inner.parts;
        self.height = self.height.max(inner.height + 1);
        if self.parts > PARTS_MAX { Err(ShapeError::TooCostly) } else { Ok(()) }
    }
}

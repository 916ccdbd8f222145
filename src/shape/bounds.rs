//! The bounds of a schema: what it may cost to compile it, and to compare a value with it.
//!
//! A reference costs as much as what it leads to, so that references to references cannot multiply. Hence one may not
//! lead back to itself, and none leads out of the schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ShapeError;

pub(super) const BYTES_MAX: usize = 64 << 10;
pub(super) const DEPTH_MAX: usize = 64;
/// Subschemas, with each reference written out.
pub(super) const PARTS_MAX: usize = 2_000;
pub(super) const PATTERNS_MAX: usize = 32;

/// Keywords whose members are schemas under names.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose value is data.
const DATA: [&str; 5] = ["const", "enum", "default", "example", "examples"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords by which the references below them have another meaning.
const BASES: [&str; 2] = ["$id", "id"];

pub(super) fn check(schema: &Value) -> Result<(), ShapeError> {
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
                    return Err(ShapeError::Elsewhere(super::shortened(base)));
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
        let shown = || super::shortened(to);
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

//! Serialises the lossless tree with serde, for `--json`: numbers keep their value, not their text.

use super::{Node, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => to.serialize_unit(),
            Value::Bool(flag) => to.serialize_bool(*flag),
            Value::String(text) => to.serialize_str(text),
            Value::Array(items) => to.collect_seq(items),
            Value::Object(members) => {
                let mut map = to.serialize_map(Some(members.len()))?;
                for member in members {
                    map.serialize_entry(&member.key, &member.node)?;
                }
                map.end()
            }
            Value::Number(text) => number(text, to),
        }
    }
}

/// Any JSON value.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Node {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Node".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// A number that no machine type holds is written as its text.
fn number<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    if let Ok(count) = text.parse::<u64>() {
        return to.serialize_u64(count);
    }
    if let Ok(count) = text.parse::<i64>() {
        return to.serialize_i64(count);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => to.serialize_f64(number),
        _ => to.serialize_str(text),
    }
}

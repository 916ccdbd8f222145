//! Atoms that a model proposes: their JSON Schema, and the keys that are the program's or a person's to write.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::{
    doc::{self, Fault, Node, Span},
    state::atom::text::keys_of_program,
};

/// Whether only the program writes this key of an atom.
pub(super) fn is_programs(key: &str) -> bool {
    key == "planned" || keys_of_program().contains(&key)
}

/// A check and an atom in the `$defs` of a JSON Schema. `id` is the key by which a list names its atoms, and `more` are
/// further members of one. The reading of a plan decides the rest.
pub fn definitions(id: Option<&str>, more: &str) -> String {
    let (required, named) = match id {
        Some(key) => (format!(r#""{key}","#), format!(r#""{key}":{{"type":"string"}},"#)),
        None => Default::default(),
    };
    format!(
        r##""$defs":{{
"check":{{"type":"object","properties":{{
 "all":{{"type":"array","items":{{"$ref":"#/$defs/check"}}}},"any":{{"type":"array","items":{{"$ref":"#/$defs/check"}}}},
 "name":{{"type":"string"}},"command":{{"type":"string"}},"file":{{"type":"string"}}}}}},
"atom":{{"type":"object","required":[{required}"description"],"properties":{{{named}
 "description":{{"type":"string"}},"kind":{{"enum":["task","any","all","plan"]}},
 "depends_on":{{"type":"array","items":{{"type":"string"}}}},
 "choices":{{"type":"array","items":{{"type":"string"}}}},"parts":{{"type":"array","items":{{"type":"string"}}}},
 "action":{{"type":"object","required":["run"],"properties":{{"run":{{"type":"string"}}}}}},
 "checks":{{"$ref":"#/$defs/check"}},"touches":{{"type":"array","items":{{"type":"string"}}}},
 "needs":{{"type":"array","items":{{"type":"string"}}}},"provides":{{"type":"array","items":{{"type":"string"}}}},{more}
 "timeout":{{"type":"string"}}}}}}}}"##
    )
}

/// The faults of such keys in atoms that a model proposes: a map by id or a list, with the nested ones. `persons` are
/// the keys that only a person writes.
pub fn keys_of_others(atoms: &Node, at: &str, persons: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut todo = Vec::from([(atoms, at.to_owned(), true)]);
    while let Some((node, at, are_many)) = todo.pop() {
        let is_map = are_many && node.as_object().is_some();
        let inner = node.as_array().unwrap_or_default().iter().enumerate();
        todo.extend(inner.map(|(n, one)| (one, format!("{at}/{n}"), false)));
        for member in node.as_object().unwrap_or_default() {
            let at = doc::pointer_push(&at, &member.key);
            if is_map {
                todo.push((&member.node, at, false));
            } else if member.key == "parts" || member.key == "choices" {
                todo.push((&member.node, at, true));
            } else if persons.contains(&member.key.as_str()) {
                let message = format!("`{}` is a person's to say", member.key);
                let hint = "say it in the description";
                faults.push(fault("persons-key", at, message, hint));
            } else if is_programs(&member.key) {
                let message = format!("`{}` is the program's to say", member.key);
                faults.push(fault("program-key", at, message, "leave it out"));
            }
        }
    }
    faults.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    faults
}

fn fault(rule: &'static str, pointer: String, message: String, hint: &str) -> Fault {
    Fault { span: Span::default(), pointer, rule, message, hint: Some(hint.to_owned()) }
}

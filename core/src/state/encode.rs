//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only
//! what it changed. The seal is taken over the records' digests.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{State, VERSION};
use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// What a transition changed: exactly these records are written and hashed anew.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    pub objective: bool,
    pub control: bool,
    pub run: bool,
    pub atoms: BTreeSet<AtomId>,
    pub bindings: BTreeSet<AtomId>,
    /// The lists only grow; `true` when one was cleared or replaced.
    pub lists_replaced: bool,
}

impl Touched {
    /// Everything, as for a state that was not written before.
    pub fn all(state: &State) -> Self {
        Self {
            objective: true,
            control: true,
            run: true,
            atoms: state.atoms.keys().cloned().collect(),
            bindings: state.bindings.keys().cloned().collect(),
            lists_replaced: true,
        }
    }
}

#[derive(Debug, Clone)]
struct Record {
    text: String,
    digest: Digest,
}

impl Record {
    fn of(node: &Node, level: usize) -> Self {
        let mut text = String::new();
        doc::write_indented(node, level, &mut text);
        let digest = Digest::of(text.as_bytes());
        Self { text, digest }
    }
}

/// A state's records as text.
#[derive(Debug, Clone)]
pub struct Rendered {
    objective: Record,
    control: Record,
    run: Record,
    atoms: BTreeMap<AtomId, Record>,
    bindings: BTreeMap<AtomId, Record>,
    trail: Vec<Record>,
    corrections: Vec<Record>,
}

const IN_TOP: usize = 1;
const IN_LIST: usize = 2;
const IN_ATOMS: usize = 3;

impl Rendered {
    pub fn of(state: &State) -> Self {
        Self {
            objective: Record::of(&state.objective.node(), IN_TOP),
            control: Record::of(&state.control.node(), IN_TOP),
            run: Record::of(&state.run.node(), IN_TOP),
            atoms: state
                .atoms
                .iter()
                .map(|(id, atom)| (id.clone(), Record::of(&atom.node(), IN_ATOMS)))
                .collect(),
            bindings: state
                .bindings
                .iter()
                .map(|(id, b)| (id.clone(), Record::of(&b.node(), IN_LIST)))
                .collect(),
            trail: state
                .trail
                .iter()
                .map(|entry| Record::of(&entry.node, IN_LIST))
                .collect(),
            corrections: state
                .corrections
                .iter()
                .map(|entry| Record::of(&entry.node, IN_LIST))
                .collect(),
        }
    }

    /// Brings the records that `touched` names up to `state`.
    pub fn update(&mut self, state: &State, touched: &Touched) {
        if touched.objective {
            self.objective = Record::of(&state.objective.node(), IN_TOP);
        }
        if touched.control {
            self.control = Record::of(&state.control.node(), IN_TOP);
        }
        if touched.run {
            self.run = Record::of(&state.run.node(), IN_TOP);
        }
        for id in &touched.atoms {
            let record = state
                .atoms
                .get(id)
                .map(|atom| Record::of(&atom.node(), IN_ATOMS));
            replace(&mut self.atoms, id, record);
        }
        for id in &touched.bindings {
            let record = state
                .bindings
                .get(id)
                .map(|binding| Record::of(&binding.node(), IN_LIST));
            replace(&mut self.bindings, id, record);
        }
        if touched.lists_replaced {
            self.trail.clear();
            self.corrections.clear();
        }
        let known = self.trail.len();
        self.trail.extend(
            state
                .trail
                .iter()
                .skip(known)
                .map(|entry| Record::of(&entry.node, IN_LIST)),
        );
        let known = self.corrections.len();
        self.corrections.extend(
            state
                .corrections
                .iter()
                .skip(known)
                .map(|c| Record::of(&c.node, IN_LIST)),
        );
    }

    /// The digest that a person's edit does not keep up.
    pub fn seal(&self, state: &State) -> Digest {
        let mut list = format!("{} {}\n", state.lineage, state.serial.0);
        let mut line = |key: &str, record: &Record| {
            list.push_str(key);
            list.push(' ');
            list.push_str(record.digest.as_str());
            list.push('\n');
        };
        line("objective", &self.objective);
        line("control", &self.control);
        line("run", &self.run);
        self.atoms
            .iter()
            .for_each(|(id, record)| line(id.as_str(), record));
        line(
            "bindings",
            &Record {
                text: String::new(),
                digest: Digest::new(""),
            },
        );
        self.bindings
            .iter()
            .for_each(|(id, record)| line(id.as_str(), record));
        self.trail.iter().for_each(|record| line("trail", record));
        self.corrections
            .iter()
            .for_each(|record| line("correction", record));
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, doc::write_compact);
        state
            .work_graph_extra
            .weave(&mut unknown, doc::write_compact);
        for (key, text) in unknown {
            list.push_str(&format!("unknown {key} {text}\n"));
        }
        Digest::of(list.as_bytes())
    }

    /// The whole file.
    pub fn text(&self, state: &State) -> String {
        let seal = self.seal(state);
        let quoted = |text: &str| doc::write_compact(&Node::string(text));
        let mut pieces = Vec::from([
            (
                "version".to_owned(),
                quoted(&format!("{}.{}", VERSION.major, state.version.minor)),
            ),
            ("lineage".to_owned(), quoted(state.lineage.as_str())),
            (
                "serial".to_owned(),
                doc::write_compact(&Node::uint(state.serial.0)),
            ),
            ("seal".to_owned(), quoted(seal.as_str())),
            ("objective".to_owned(), self.objective.text.clone()),
            ("control".to_owned(), self.control.text.clone()),
            ("work_graph".to_owned(), self.work_graph(state)),
            ("bindings".to_owned(), map_text(&self.bindings, IN_TOP)),
            ("trail".to_owned(), list_text(&self.trail)),
            ("corrections".to_owned(), list_text(&self.corrections)),
            ("run".to_owned(), self.run.text.clone()),
        ]);
        state
            .extra
            .weave(&mut pieces, |node| indented(node, IN_TOP));
        let mut text = object_text(pieces, 0);
        text.push('\n');
        text
    }

    fn work_graph(&self, state: &State) -> String {
        let mut pieces = Vec::from([("atoms".to_owned(), map_text(&self.atoms, IN_LIST))]);
        state
            .work_graph_extra
            .weave(&mut pieces, |node| indented(node, IN_LIST));
        object_text(pieces, IN_TOP)
    }
}

fn replace(records: &mut BTreeMap<AtomId, Record>, id: &AtomId, record: Option<Record>) {
    match record {
        Some(record) => drop(records.insert(id.clone(), record)),
        None => drop(records.remove(id)),
    }
}

fn indented(node: &Node, level: usize) -> String {
    let mut text = String::new();
    doc::write_indented(node, level, &mut text);
    text
}

fn map_text(records: &BTreeMap<AtomId, Record>, level: usize) -> String {
    if records.is_empty() {
        return "{}".to_owned();
    }
    object_text(
        records
            .iter()
            .map(|(id, record)| (id.to_string(), &record.text))
            .collect(),
        level,
    )
}

fn object_text<T: AsRef<str>>(pieces: Vec<(String, T)>, level: usize) -> String {
    let size = pieces
        .iter()
        .map(|(key, text)| key.len() + text.as_ref().len() + 8 + 2 * level)
        .sum::<usize>();
    let mut text = String::with_capacity(size + 8);
    text.push('{');
    for (index, (key, value)) in pieces.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        pad(&mut text, level + 1);
        text.push_str(&doc::write_compact(&Node::string(key.as_str())));
        text.push_str(": ");
        text.push_str(value.as_ref());
    }
    text.push('\n');
    pad(&mut text, level);
    text.push('}');
    text
}

fn list_text(records: &[Record]) -> String {
    if records.is_empty() {
        return "[]".to_owned();
    }
    let mut text = "[".to_owned();
    for (index, record) in records.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        pad(&mut text, IN_LIST);
        text.push_str(&record.text);
    }
    text.push('\n');
    pad(&mut text, IN_TOP);
    text.push(']');
    text
}

fn pad(text: &mut String, level: usize) {
    for _ in 0..level {
        text.push_str("  ");
    }
}

//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only
//! what it changed. The seal is taken over the records' digests.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};

use super::{Atom, Binding, State, VERSION};
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
    /// With what stands before it in its line, where it is one of many.
    text: String,
    /// Inline: the seal is taken over those of all records.
    digest: [u8; Digest::BYTES],
}

impl Record {
    fn of(node: &Node, level: usize) -> Self {
        let mut text = String::new();
        doc::write_indented(node, level, &mut text);
        let digest = Digest::text_of(text.as_bytes());
        Self { text, digest }
    }

    /// In a list, or under its id: what stands before it is no part of what is sealed.
    fn inner(id: Option<&AtomId>, node: &Node, level: usize) -> Self {
        let bare = Self::of(node, level);
        let mut text = String::with_capacity(bare.text.len() + AROUND_BYTES);
        pad(&mut text, level);
        if let Some(id) = id {
            doc::write_quoted(id.as_str(), &mut text);
            text.push_str(": ");
        }
        text.push_str(&bare.text);
        Self { text, ..bare }
    }

    fn of_atom(id: &AtomId, atom: &Atom) -> Self {
        Self::inner(Some(id), &atom.node(), IN_ATOMS)
    }

    fn of_binding(id: &AtomId, binding: &Binding) -> Self {
        Self::inner(Some(id), &binding.node(), IN_LIST)
    }

    fn of_item(node: &Node) -> Self {
        Self::inner(None, node, IN_LIST)
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
                .map(|(id, atom)| (id.clone(), Record::of_atom(id, atom)))
                .collect(),
            bindings: state
                .bindings
                .iter()
                .map(|(id, binding)| (id.clone(), Record::of_binding(id, binding)))
                .collect(),
            trail: state
                .trail
                .iter()
                .map(|entry| Record::of_item(&entry.node))
                .collect(),
            corrections: state
                .corrections
                .iter()
                .map(|entry| Record::of_item(&entry.node))
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
            let record = state.atoms.get(id).map(|atom| Record::of_atom(id, atom));
            replace(&mut self.atoms, id, record);
        }
        for id in &touched.bindings {
            let record = state
                .bindings
                .get(id)
                .map(|binding| Record::of_binding(id, binding));
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
                .map(|entry| Record::of_item(&entry.node)),
        );
        let known = self.corrections.len();
        self.corrections.extend(
            state
                .corrections
                .iter()
                .skip(known)
                .map(|entry| Record::of_item(&entry.node)),
        );
    }

    /// The digest that a person's edit does not keep up.
    pub fn seal(&self, state: &State) -> Digest {
        let records =
            self.atoms.len() + self.bindings.len() + self.trail.len() + self.corrections.len();
        let mut list = Vec::with_capacity(TOP_BYTES + records * LINE_BYTES);
        list.extend_from_slice(format!("{} {}\n", state.lineage, state.serial.0).as_bytes());
        let mut line = |key: &str, digest: &[u8]| {
            list.extend_from_slice(key.as_bytes());
            list.push(b' ');
            list.extend_from_slice(digest);
            list.push(b'\n');
        };
        line("objective", &self.objective.digest);
        line("control", &self.control.digest);
        line("run", &self.run.digest);
        for (id, record) in &self.atoms {
            line(id.as_str(), &record.digest);
        }
        line("bindings", b"");
        for (id, record) in &self.bindings {
            line(id.as_str(), &record.digest);
        }
        for record in &self.trail {
            line("trail", &record.digest);
        }
        for record in &self.corrections {
            line("correction", &record.digest);
        }
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, doc::write_compact);
        state
            .work_graph_extra
            .weave(&mut unknown, doc::write_compact);
        for (key, text) in unknown {
            list.extend_from_slice(format!("unknown {key} {text}\n").as_bytes());
        }
        Digest::of(&list)
    }

    /// The whole file.
    pub fn text(&self, state: &State) -> String {
        self.sealed_text(state, &self.seal(state))
    }

    /// The same with the seal that was taken already.
    pub fn sealed_text(&self, state: &State, seal: &Digest) -> String {
        let quoted = |text: &str| doc::write_compact(&Node::string(text));
        let version = format!("{}.{}", VERSION.major, state.version.minor);
        let own = Vec::from([
            ("version".to_owned(), Piece::Text(quoted(&version))),
            (
                "lineage".to_owned(),
                Piece::Text(quoted(state.lineage.as_str())),
            ),
            (
                "serial".to_owned(),
                Piece::Text(doc::write_compact(&Node::uint(state.serial.0))),
            ),
            ("seal".to_owned(), Piece::Text(quoted(seal.as_str()))),
            ("objective".to_owned(), Piece::Record(&self.objective)),
            ("control".to_owned(), Piece::Record(&self.control)),
            (
                "work_graph".to_owned(),
                Piece::Members(self.work_graph(state)),
            ),
            ("bindings".to_owned(), Piece::Map(&self.bindings)),
            ("trail".to_owned(), Piece::List(&self.trail)),
            ("corrections".to_owned(), Piece::List(&self.corrections)),
            ("run".to_owned(), Piece::Record(&self.run)),
        ]);
        let mut pieces = own;
        state
            .extra
            .weave(&mut pieces, |node| Piece::Text(indented(node, IN_TOP)));
        // One buffer of the right size: a large state is moved once.
        let mut text = String::with_capacity(self.size_about());
        Piece::Members(pieces).write(0, &mut text);
        text.push('\n');
        text
    }

    fn work_graph(&self, state: &State) -> Vec<(String, Piece<'_>)> {
        let mut pieces = Vec::from([("atoms".to_owned(), Piece::Map(&self.atoms))]);
        state
            .work_graph_extra
            .weave(&mut pieces, |node| Piece::Text(indented(node, IN_LIST)));
        pieces
    }

    /// Bytes of the text but for what this program does not know.
    fn size_about(&self) -> usize {
        let inner = self.atoms.values().chain(self.bindings.values());
        let listed = self.trail.iter().chain(&self.corrections);
        let single = [&self.objective, &self.control, &self.run];
        let all = inner.chain(listed).chain(single);
        TOP_BYTES
            + all
                .map(|record| record.text.len() + AROUND_BYTES)
                .sum::<usize>()
    }
}

/// Keys, quotes and blanks around a record, and those of the file as a whole: about.
const AROUND_BYTES: usize = 16;
const TOP_BYTES: usize = 1024;
/// Of a line of the seal's list: an id and a digest, about.
const LINE_BYTES: usize = 100;

/// What stands at a key.
enum Piece<'r> {
    Text(String),
    Record(&'r Record),
    Map(&'r BTreeMap<AtomId, Record>),
    List(&'r [Record]),
    Members(Vec<(String, Piece<'r>)>),
}

impl Piece<'_> {
    fn write(&self, level: usize, text: &mut String) {
        match self {
            Piece::Text(own) => text.push_str(own),
            Piece::Record(record) => text.push_str(&record.text),
            Piece::Map(records) => {
                let lines = records.values().map(|record| record.text.as_str());
                write_lines(['{', '}'], lines, level, text, |line, text| {
                    text.push_str(line)
                });
            }
            Piece::List(records) => {
                let lines = records.iter().map(|record| record.text.as_str());
                write_lines(['[', ']'], lines, level, text, |line, text| {
                    text.push_str(line)
                });
            }
            Piece::Members(pieces) => {
                write_lines(
                    ['{', '}'],
                    pieces.iter(),
                    level,
                    text,
                    |(key, piece), text| {
                        pad(text, level + 1);
                        doc::write_quoted(key, text);
                        text.push_str(": ");
                        piece.write(level + 1, text);
                    },
                );
            }
        }
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

fn write_lines<T>(
    [begin, end]: [char; 2],
    lines: impl ExactSizeIterator<Item = T>,
    level: usize,
    text: &mut String,
    mut line: impl FnMut(T, &mut String),
) {
    let is_empty = lines.len() == 0;
    text.push(begin);
    for (index, each) in lines.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        line(each, text);
    }
    if !is_empty {
        text.push('\n');
        pad(text, level);
    }
    text.push(end);
}

fn pad(text: &mut String, level: usize) {
    for _ in 0..level {
        text.push_str("  ");
    }
}

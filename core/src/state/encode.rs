//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only the
//! records that it changed. The seal is taken over the records' digests.

mod lines;
mod single;

use alloc::{
    borrow::ToOwned,
    collections::BTreeSet,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::ops::Range;

use self::{
    lines::{Lines, Text, sealed_line},
    single::Single,
};
use super::{Atom, Binding, State, records::Records};
use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// The records that a transition changed: exactly these are written and hashed anew.
#[derive(Debug, Clone, Default)]
pub struct ChangeSet {
    pub objective: bool,
    pub control: bool,
    pub run: bool,
    pub plan: bool,
    pub atoms: BTreeSet<AtomId>,
    pub bindings: BTreeSet<AtomId>,
    /// The lists only grow; `true` if one was cleared or replaced.
    pub lists_replaced: bool,
}

impl ChangeSet {
    /// Whether it is a request alone, which is small.
    pub fn is_request(&self) -> bool {
        let others = self.objective || self.run || self.plan || self.lists_replaced;
        self.control && !others && self.atoms.is_empty() && self.bindings.is_empty()
    }

    /// All records, as for a state that was not written before.
    pub fn all(state: &State) -> Self {
        Self {
            objective: true,
            control: true,
            run: true,
            plan: true,
            atoms: state.atoms.keys().cloned().collect(),
            bindings: state.bindings.keys().cloned().collect(),
            lists_replaced: true,
        }
    }

    /// Adds the records that an earlier transition of the same commit changed.
    pub fn add(&mut self, earlier: &Self) {
        self.objective |= earlier.objective;
        self.control |= earlier.control;
        self.run |= earlier.run;
        self.plan |= earlier.plan;
        self.atoms.extend(earlier.atoms.iter().cloned());
        self.bindings.extend(earlier.bindings.iter().cloned());
        self.lists_replaced |= earlier.lists_replaced;
    }

    /// The records of `after` that are not the very ones of `before`. Records that went are among them.
    pub fn between(before: &State, after: &State) -> Self {
        Self {
            objective: !Arc::ptr_eq(&before.objective, &after.objective),
            control: !Arc::ptr_eq(&before.control, &after.control),
            run: !Arc::ptr_eq(&before.run, &after.run),
            plan: match (&before.plan, &after.plan) {
                (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
                (before, after) => before.is_some() || after.is_some(),
            },
            atoms: changed(&before.atoms, &after.atoms),
            bindings: changed(&before.bindings, &after.bindings),
            lists_replaced: !(is_grown(&before.trail, &after.trail)
                && is_grown(&before.corrections, &after.corrections)),
        }
    }
}

fn changed<T>(before: &Records<T>, after: &Records<T>) -> BTreeSet<AtomId> {
    let is_other = |records: &Records<T>, id: &AtomId, record: &Arc<T>| {
        let known = records.get(id);
        !known.is_some_and(|known| Arc::ptr_eq(known, record))
    };
    let new = after.iter().filter(|(id, record)| is_other(before, id, record));
    let gone = before.iter().filter(|(id, _)| !after.contains_key(*id));
    new.chain(gone).map(|(id, _)| id.clone()).collect()
}

fn is_grown<T>(before: &[Arc<T>], after: &[Arc<T>]) -> bool {
    let mut pairs = before.iter().zip(after);
    before.len() <= after.len() && pairs.all(|(old, new)| Arc::ptr_eq(old, new))
}

#[derive(Debug, Clone)]
struct RenderedRecord {
    /// The text, with its key and indentation if it is one of many.
    text: String,
    /// Stored inline: the seal is taken over the digests of all records.
    digest: [u8; Digest::BYTES],
    /// The values that it holds.
    values: usize,
}

impl RenderedRecord {
    fn of(node: &Node, level: usize) -> Self {
        let text = indented(node, level);
        let digest = Digest::text_of(text.as_bytes());
        let values = node.count();
        Self { text, digest, values }
    }

    /// A record in a list, or under its id; the key before it is not sealed.
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

    fn of_plan(state: &State) -> Option<Single> {
        let plan = state.plan.as_ref();
        Some(Self::of(plan?, IN_TOP).into())
    }

    fn of_item(node: &Node) -> Self {
        Self::inner(None, node, IN_LIST)
    }
}

/// A state's records as text.
#[derive(Debug, Clone)]
pub struct StateText {
    objective: RenderedRecord,
    control: RenderedRecord,
    run: RenderedRecord,
    plan: Option<Single>,
    atoms: Lines<AtomId>,
    bindings: Lines<AtomId>,
    trail: Lines<usize>,
    corrections: Lines<usize>,
}

const IN_TOP: usize = 1;
const IN_LIST: usize = 2;
const IN_ATOMS: usize = 3;
/// With more changes, all records of a kind are written anew in one pass: each replaced record moves all later ones.
const MANY: usize = 64;

impl StateText {
    pub fn of(state: &State) -> Self {
        let mut rendered = Self {
            objective: RenderedRecord::of(&state.objective.node(), IN_TOP),
            control: RenderedRecord::of(&state.control.node(), IN_TOP),
            run: RenderedRecord::of(&state.run.node(), IN_TOP),
            plan: RenderedRecord::of_plan(state),
            atoms: Lines::default(),
            bindings: Lines::default(),
            trail: Lines::default(),
            corrections: Lines::default(),
        };
        rendered.put_atoms(state, state.atoms.keys());
        rendered.put_bindings(state, state.bindings.keys());
        rendered.append(state);
        rendered
    }

    /// Renders the records in `touched` anew, from `state`.
    pub fn update(&mut self, state: &State, touched: &ChangeSet) {
        if touched.objective {
            self.objective = RenderedRecord::of(&state.objective.node(), IN_TOP);
        }
        if touched.control {
            self.control = RenderedRecord::of(&state.control.node(), IN_TOP);
        }
        if touched.run {
            self.run = RenderedRecord::of(&state.run.node(), IN_TOP);
        }
        if touched.plan {
            self.plan = RenderedRecord::of_plan(state);
        }
        if touched.atoms.len() > MANY {
            self.atoms = Lines::default();
            self.put_atoms(state, state.atoms.keys());
        } else {
            self.put_atoms(state, &touched.atoms);
        }
        if touched.bindings.len() > MANY {
            self.bindings = Lines::default();
            self.put_bindings(state, state.bindings.keys());
        } else {
            self.put_bindings(state, &touched.bindings);
        }
        if touched.lists_replaced {
            self.trail = Lines::default();
            self.corrections = Lines::default();
        }
        self.append(state);
    }

    fn put_atoms<'i>(&mut self, state: &State, ids: impl IntoIterator<Item = &'i AtomId>) {
        for id in ids {
            let record = state.atoms.get(id).map(|atom| RenderedRecord::of_atom(id, atom));
            put(&mut self.atoms, id, record);
        }
    }

    fn put_bindings<'i>(&mut self, state: &State, ids: impl IntoIterator<Item = &'i AtomId>) {
        for id in ids {
            let record =
                state.bindings.get(id).map(|binding| RenderedRecord::of_binding(id, binding));
            put(&mut self.bindings, id, record);
        }
    }

    /// Adds the entries of the lists that are not written yet.
    fn append(&mut self, state: &State) {
        for (index, entry) in state.trail.iter().enumerate().skip(self.trail.len()) {
            let record = RenderedRecord::of_item(&entry.node);
            self.trail.put(index, "trail", record);
        }
        let known = self.corrections.len();
        for (index, entry) in state.corrections.iter().enumerate().skip(known) {
            let record = RenderedRecord::of_item(&entry.node);
            self.corrections.put(index, "correction", record);
        }
    }

    /// The digest that an edit by hand leaves outdated.
    pub fn seal(&self, state: &State) -> Digest {
        let many = [
            self.atoms.sealed(),
            self.bindings.sealed(),
            self.trail.sealed(),
            self.corrections.sealed(),
        ];
        let mut list =
            Vec::with_capacity(TOP_BYTES + many.iter().map(|lines| lines.len()).sum::<usize>());
        list.extend_from_slice(format!("{} {}\n", state.lineage, state.serial.0).as_bytes());
        let single =
            [("objective", &self.objective), ("control", &self.control), ("run", &self.run)];
        for (name, record) in single {
            list.extend_from_slice(&sealed_line(name, &record.digest));
        }
        let [atoms, rest @ ..] = many;
        list.extend_from_slice(atoms);
        list.extend_from_slice(&sealed_line("bindings", b""));
        rest.iter().for_each(|lines| list.extend_from_slice(lines));
        if let Some(plan) = &self.plan {
            list.extend_from_slice(&sealed_line("plan", &plan.digest));
        }
        let mut unknown = Vec::new();
        for extra in [&state.extra, &state.work_graph_extra] {
            extra.weave(&mut unknown, doc::write_compact);
        }
        for (key, text) in unknown {
            list.extend_from_slice(format!("unknown {key} {text}\n").as_bytes());
        }
        Digest::of(&list)
    }

    /// The values in the whole file, as a reader counts them.
    pub fn values(&self, state: &State) -> usize {
        let single = [&self.objective, &self.control, &self.run].map(|record| record.values);
        let plan = self.plan.as_ref().map_or(0, |plan| plan.values);
        let lists = self.trail.values() + self.corrections.values();
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, Node::count);
        state.work_graph_extra.weave(&mut unknown, Node::count);
        let unknown = unknown.iter().map(|(_, values)| values).sum::<usize>();
        let graph = self.atoms.values() + self.bindings.values();
        TOP_VALUES + single.iter().sum::<usize>() + plan + graph + lists + unknown
    }

    /// The whole file.
    pub fn text(&self, state: &State) -> String {
        self.compose(state, &self.seal(state)).text
    }

    /// The same with a seal that was taken already. From then on the file holds the text of the records.
    pub fn write(&mut self, state: &State, seal: &Digest) -> Arc<String> {
        let FileText { text, spans } = self.compose(state, seal);
        let file = Arc::new(text);
        let many: [&mut dyn Text; 4] =
            [&mut self.atoms, &mut self.bindings, &mut self.trail, &mut self.corrections];
        let plan = self.plan.as_mut().map(|plan| plan as &mut dyn Text);
        for (section, span) in many.into_iter().chain(plan).zip(spans) {
            section.settle(&file, span);
        }
        file
    }

    fn compose(&self, state: &State, seal: &Digest) -> FileText {
        let quoted = |text: &str| doc::write_compact(&Node::string(text));
        let mut pieces = Vec::from([
            ("version".to_owned(), Piece::Text(quoted(&state.version.to_string()))),
            ("lineage".to_owned(), Piece::Text(quoted(state.lineage.as_str()))),
            ("serial".to_owned(), Piece::Text(doc::write_compact(&Node::uint(state.serial.0)))),
            ("seal".to_owned(), Piece::Text(quoted(seal.as_str()))),
            ("objective".to_owned(), Piece::Record(&self.objective)),
            ("control".to_owned(), Piece::Record(&self.control)),
            ("work_graph".to_owned(), Piece::Members(self.work_graph(state))),
            ("bindings".to_owned(), Piece::Lines(['{', '}'], &self.bindings)),
            ("trail".to_owned(), Piece::Lines(['[', ']'], &self.trail)),
            ("corrections".to_owned(), Piece::Lines(['[', ']'], &self.corrections)),
            ("run".to_owned(), Piece::Record(&self.run)),
        ]);
        if let Some(plan) = &self.plan {
            pieces.push(("plan".to_owned(), Piece::Single(plan)));
        }
        state.extra.weave(&mut pieces, |node| Piece::Text(indented(node, IN_TOP)));
        // One buffer of the right size, so that a large state is copied once.
        let mut file =
            FileText { text: String::with_capacity(rounded(self.size_about())), spans: Vec::new() };
        Piece::Members(pieces).write(0, &mut file);
        file.text.push('\n');
        file
    }

    fn work_graph(&self, state: &State) -> Vec<(String, Piece<'_>)> {
        let mut pieces = Vec::from([("atoms".to_owned(), Piece::Lines(['{', '}'], &self.atoms))]);
        state.work_graph_extra.weave(&mut pieces, |node| Piece::Text(indented(node, IN_LIST)));
        pieces
    }

    /// The size of the text without unknown keys.
    fn size_about(&self) -> usize {
        let many: [&dyn Text; 4] = [&self.atoms, &self.bindings, &self.trail, &self.corrections];
        let single = [&self.objective, &self.control, &self.run];
        TOP_BYTES
            + many.map(Text::size_max).iter().sum::<usize>()
            + single.map(|record| record.text.len()).iter().sum::<usize>()
            + self.plan.as_ref().map_or(0, Text::size_max)
    }
}

/// The rough size around an inner record: its blanks, its id, and the quotes.
const AROUND_BYTES: usize = 16;
/// The rough size of the file's own keys, blanks and brackets.
const TOP_BYTES: usize = 1024;
/// The file itself, its texts and numbers at the top, and what holds the records.
const TOP_VALUES: usize = 10;

/// The text of a file, with the places in it of the atoms, the bindings, the trail, the corrections, and the plan.
struct FileText {
    text: String,
    spans: Vec<Range<usize>>,
}

/// The text at a key.
enum Piece<'r> {
    Text(String),
    Record(&'r RenderedRecord),
    Single(&'r Single),
    Lines([char; 2], &'r dyn Text),
    Members(Vec<(String, Piece<'r>)>),
}

impl Piece<'_> {
    fn write(&self, level: usize, file: &mut FileText) {
        let text = &mut file.text;
        match self {
            Piece::Text(own) => text.push_str(own),
            Piece::Record(record) => text.push_str(&record.text),
            Piece::Single(single) => {
                let start = text.len();
                single.write(text);
                file.spans.push(start..text.len());
            }
            Piece::Lines([begin, end], lines) => {
                text.extend([*begin, '\n']);
                let start = text.len();
                lines.write(text);
                file.spans.push(start..text.len());
                match text.len() > start {
                    true => close(*end, level, text),
                    false => {
                        text.truncate(start - 1);
                        text.push(*end);
                    }
                }
            }
            Piece::Members(pieces) => {
                text.push('{');
                for (index, (key, piece)) in pieces.iter().enumerate() {
                    let text = &mut file.text;
                    text.push_str(if index == 0 { "\n" } else { ",\n" });
                    pad(text, level + 1);
                    doc::write_quoted(key, text);
                    text.push_str(": ");
                    piece.write(level + 1, file);
                }
                close('}', level, &mut file.text);
            }
        }
    }
}

fn put(lines: &mut Lines<AtomId>, id: &AtomId, record: Option<RenderedRecord>) {
    match record {
        Some(record) => lines.put(id.clone(), id.as_str(), record),
        None => lines.take_out(id),
    }
}

/// Rounds up by an eighth at most: the text of the next state fits where that of the one before was.
fn rounded(size: usize) -> usize {
    size.next_multiple_of((size / 16).next_power_of_two())
}

fn indented(node: &Node, level: usize) -> String {
    let mut text = String::new();
    doc::write_indented(node, level, &mut text);
    text
}

/// Ends lines with the bracket, on a line of its own.
fn close(end: char, level: usize, text: &mut String) {
    text.push('\n');
    pad(text, level);
    text.push(end);
}

fn pad(text: &mut String, level: usize) {
    for _ in 0..level {
        text.push_str("  ");
    }
}

//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only the
//! records that it changed. The seal is taken over the records' digests. A group shows what its members come to.

mod change_set;
pub(super) mod implied;
pub(crate) mod labels;
mod lines;

use crate::doc::prelude::*;
pub use change_set::ChangeSet;

use self::lines::{FileText, Lines, Piece, RecordKey, RenderedRecord};
use super::{Atom, Body, ShownStatus, State, fields::Halves};
use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// A record, or records of one kind, in the order of the file: in `internal` from the second one of the run on.
#[derive(Debug, Clone, Copy)]
enum FileSection {
    Objective,
    Atoms,
    Control,
    Bindings,
    Trail,
    Corrections,
    Run,
    InternalRun,
    InternalAtoms,
    InternalBindings,
    InternalTrail,
    /// Empty where there is none.
    Plan,
}

/// The sections under the seal: the line before those of several records, and the name of a record that has no id.
const SEALED: [(FileSection, &str, Option<&str>); 12] = [
    (FileSection::Objective, "", Some("objective")),
    (FileSection::Control, "", Some("control")),
    (FileSection::Run, "", Some("run")),
    (FileSection::Atoms, "atoms \n", None),
    (FileSection::Bindings, "bindings \n", None),
    (FileSection::Trail, "trail \n", Some("trail")),
    (FileSection::Corrections, "corrections \n", Some("correction")),
    (FileSection::InternalAtoms, "internal atoms \n", None),
    (FileSection::InternalBindings, "internal bindings \n", None),
    (FileSection::InternalTrail, "internal trail \n", Some("trail")),
    (FileSection::InternalRun, "", Some("internal run")),
    (FileSection::Plan, "", Some("plan")),
];

/// A state's records as text.
#[derive(Debug, Clone, Default)]
pub struct StateText {
    /// By section.
    lines: [Lines; SEALED.len()],
    order: Arc<Vec<AtomId>>,
    places: Arc<BTreeMap<AtomId, usize>>,
    groups: BTreeMap<AtomId, ShownStatus>,
}

impl StateText {
    pub fn of(state: &State) -> Self {
        let mut rendered = Self::default();
        rendered.update(state, &ChangeSet::all(state));
        rendered
    }

    /// Renders the records in `touched` anew, from `state`.
    pub fn update(&mut self, state: &State, touched: &ChangeSet) {
        if touched.objective {
            self.put_top(FileSection::Objective, "objective", &state.objective.node());
        }
        if touched.control {
            self.put_top(FileSection::Control, "control", &state.control.node());
        }
        // The lines of the run show commits of bindings, and verdicts on checks of the objective.
        if touched.run || touched.objective || !touched.bindings.is_empty() {
            let Halves { shown, internal } = state.run.halves();
            let internal = internal.unwrap_or_else(Node::no_members);
            let internal = implied::without_commits(internal, &state.bindings);
            let internal = RenderedRecord::of_internal(None, &internal);
            self.put_top(FileSection::Run, "run", &labels::of_run(shown, state));
            self.put_one(FileSection::InternalRun, Some(internal));
        }
        if touched.plan {
            let plan = state.plan.as_ref().map(|plan| RenderedRecord::of_internal(None, plan));
            self.put_one(FileSection::Plan, plan);
        }
        if !self.is_in_order(state) {
            self.put_all_atoms(state);
        } else if !touched.atoms.is_empty() || !touched.bindings.is_empty() {
            let groups = resolved_groups(state);
            let of_groups = changed_groups(&self.groups, &groups);
            self.groups = groups;
            let ids = touched.atoms.iter().chain(&touched.bindings).chain(&of_groups);
            self.put_atoms(state, ids.cloned().collect::<BTreeSet<_>>().iter());
        }
        self.put_bindings(state, &touched.bindings);
        if touched.lists_replaced {
            self.clear(&[FileSection::Trail, FileSection::InternalTrail, FileSection::Corrections]);
        }
        self.append(state);
    }

    fn clear(&mut self, sections: &[FileSection]) {
        for section in sections {
            self.lines[*section as usize] = Lines::default();
        }
    }

    fn put_top(&mut self, section: FileSection, key: &str, node: &Node) {
        self.put_one(section, Some(RenderedRecord::of_top(key, node)));
    }

    /// A record that a state has once.
    fn put_one(&mut self, section: FileSection, line: Option<RenderedRecord>) {
        self.lines[section as usize].put(RecordKey::default(), line);
    }

    /// Both halves of one of many records: the one for people in the first section. They stand at the two `names`.
    fn put_halves(
        &mut self,
        sections: [FileSection; 2],
        key: RecordKey,
        names: (Option<&str>, &str),
        halves: Option<Halves>,
    ) {
        let (shown, internal) = halves.map(|halves| (halves.shown, halves.internal)).unzip();
        let shown = shown.map(|shown| RenderedRecord::of_many(names.0, &shown));
        let internal = internal.flatten();
        let internal = internal.map(|half| RenderedRecord::of_internal(Some(names.1), &half));
        self.lines[sections[0] as usize].put(key.clone(), shown);
        self.lines[sections[1] as usize].put(key, internal);
    }

    /// Whether each atom has its place already: most commits share the order with the one before.
    fn is_in_order(&self, state: &State) -> bool {
        let atoms = state.atoms.len() + state.bindings.len();
        let is_shared = Arc::ptr_eq(&self.order, &state.order) && atoms == self.order.len();
        is_shared || self.order == state.settled_order()
    }

    fn put_all_atoms(&mut self, state: &State) {
        let order = state.settled_order();
        let places = order.iter().enumerate();
        self.places = Arc::new(places.map(|(place, id)| (id.clone(), place)).collect());
        self.order = Arc::clone(&order);
        self.groups = resolved_groups(state);
        self.clear(&[FileSection::Atoms, FileSection::InternalAtoms]);
        self.put_atoms(state, order.iter());
    }

    fn put_atoms<'i>(&mut self, state: &State, ids: impl IntoIterator<Item = &'i AtomId>) {
        for id in ids {
            let Some(place) = self.places.get(id) else {
                continue;
            };
            let (key, name) = ((*place, id.clone()), id.as_str());
            let halves = state.atom(id).map(|atom| {
                let Halves { shown, internal } = atom.halves(self.status(state, id, atom));
                let internal = implied::without_try(internal, atom, state.bindings.get(id));
                Halves { shown, internal }
            });
            let sections = [FileSection::Atoms, FileSection::InternalAtoms];
            self.put_halves(sections, key, (Some(name), name), halves);
        }
    }

    fn status(&self, state: &State, id: &AtomId, atom: &Atom) -> ShownStatus {
        if state.bindings.contains_key(id) {
            return ShownStatus::Resolved;
        }
        let of_group = self.groups.get(id).copied();
        of_group.unwrap_or_else(|| ShownStatus::of_open(atom))
    }

    fn put_bindings<'i>(&mut self, state: &State, ids: impl IntoIterator<Item = &'i AtomId>) {
        for id in ids {
            let halves = state.bindings.get(id).map(|binding| {
                let Halves { shown, internal } = binding.file_halves();
                Halves { shown, internal: implied::of_binding(internal) }
            });
            let (key, name) = ((0, id.clone()), id.as_str());
            let sections = [FileSection::Bindings, FileSection::InternalBindings];
            self.put_halves(sections, key, (Some(name), name), halves);
        }
    }

    /// Adds the entries of the lists that are not written yet.
    fn append(&mut self, state: &State) {
        let known = self.lines[FileSection::Trail as usize].len();
        for (index, entry) in state.trail.iter().enumerate().skip(known) {
            let (key, n) = ((index, AtomId::default()), entry.n.to_string());
            let sections = [FileSection::Trail, FileSection::InternalTrail];
            self.put_halves(sections, key, (None, &n), Some(entry.halves()));
        }
        let corrections = &mut self.lines[FileSection::Corrections as usize];
        for (index, entry) in state.corrections.iter().enumerate().skip(corrections.len()) {
            let line = RenderedRecord::of_many(None, &entry.node);
            corrections.put((index, AtomId::default()), Some(line));
        }
    }

    /// The digest that an edit by hand leaves outdated.
    pub fn seal(&self, state: &State) -> Digest {
        let mut list = format!("{} {}\n", state.lineage, state.serial.0).into_bytes();
        for (section, head, name) in SEALED {
            list.extend_from_slice(head.as_bytes());
            self.lines[section as usize].seal(name, &mut list);
        }
        let mut unknown = Vec::new();
        for extra in [&state.extra, &state.work_graph_extra] {
            extra.weave(&mut unknown, doc::write_compact);
        }
        for (key, text) in unknown {
            list.extend_from_slice(format!("unknown {key} {text}\n").as_bytes());
        }
        Digest::sha256(&list)
    }

    /// The values in the whole file, as a reader counts them.
    pub fn values(&self, state: &State) -> usize {
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, Node::count);
        state.work_graph_extra.weave(&mut unknown, Node::count);
        let unknown = unknown.iter().map(|(_, values)| values).sum::<usize>();
        TOP_VALUES + unknown + self.lines.iter().map(Lines::values).sum::<usize>()
    }

    /// The whole file.
    pub fn text(&self, state: &State) -> String {
        self.compose(state, &self.seal(state)).text
    }

    /// The same with a seal that was taken already. From then on the file holds the text of the records.
    pub fn write(&mut self, state: &State, seal: &Digest) -> Arc<String> {
        let FileText { text, starts } = self.compose(state, seal);
        let file = Arc::new(text);
        for (lines, start) in self.lines.iter_mut().zip(starts) {
            lines.settle(&file, start);
        }
        file
    }

    /// The records of a section, between brackets where there may be many.
    fn piece(&self, section: FileSection, brackets: Option<[char; 2]>) -> Piece<'_> {
        Piece::Lines(brackets, &self.lines[section as usize])
    }

    fn compose(&self, state: &State, seal: &Digest) -> FileText {
        let version = doc::write_compact(&Node::string(state.version.to_string()));
        let object = Some(['{', '}']);
        let list = Some(['[', ']']);
        let mut pieces = Vec::from([
            ("version".to_owned(), Piece::Text(version)),
            ("objective".to_owned(), self.piece(FileSection::Objective, None)),
            ("work_graph".to_owned(), Piece::Members(self.work_graph(state), usize::MAX)),
            ("control".to_owned(), self.piece(FileSection::Control, None)),
            ("bindings".to_owned(), self.piece(FileSection::Bindings, object)),
            ("trail".to_owned(), self.piece(FileSection::Trail, list)),
            ("corrections".to_owned(), self.piece(FileSection::Corrections, list)),
            ("run".to_owned(), self.piece(FileSection::Run, None)),
            ("internal".to_owned(), Piece::Members(self.internal(state, seal), 3)),
        ]);
        state.extra.weave(&mut pieces, |node| {
            let mut text = String::new();
            doc::write_filled(node, 0, 1, &mut text);
            Piece::Text(text)
        });
        // One buffer of the right size, so that a large state is copied once.
        let size = TOP_BYTES + self.lines.iter().map(Lines::size_max).sum::<usize>();
        let mut file = FileText { text: String::with_capacity(rounded(size)), starts: Vec::new() };
        file.text.push_str("{\n");
        file.members(&pieces, 1);
        file.text.push_str("\n}\n");
        file
    }

    fn work_graph(&self, state: &State) -> Vec<(String, Piece<'_>)> {
        let atoms = self.piece(FileSection::Atoms, Some(['{', '}']));
        let mut pieces = Vec::from([("atoms".to_owned(), atoms)]);
        state.work_graph_extra.weave(&mut pieces, |node| {
            let mut text = String::new();
            doc::write_side_by_side(node, &mut text);
            Piece::Text(text)
        });
        pieces
    }

    fn internal(&self, state: &State, seal: &Digest) -> Vec<(String, Piece<'_>)> {
        let quoted = |text: &str| Piece::Text(doc::write_compact(&Node::string(text)));
        let many = |section| self.piece(section, Some(['{', '}']));
        let pieces = [
            ("lineage", quoted(state.lineage.as_str())),
            ("serial", Piece::Text(doc::write_compact(&Node::uint(state.serial.0)))),
            ("seal", quoted(seal.as_str())),
            ("run", self.piece(FileSection::InternalRun, None)),
            ("atoms", many(FileSection::InternalAtoms)),
            ("bindings", many(FileSection::InternalBindings)),
            ("trail", many(FileSection::InternalTrail)),
        ];
        let plan = state.plan.as_ref().map(|_| ("plan", self.piece(FileSection::Plan, None)));
        let pieces = pieces.into_iter().chain(plan);
        pieces.map(|(key, piece)| (key.to_owned(), piece)).collect()
    }
}

/// The rough size of the file's own keys, blanks and brackets.
const TOP_BYTES: usize = 1024;
/// The file itself, its texts and numbers at the top, and what holds the records.
const TOP_VALUES: usize = 14;

/// Rounds up by an eighth at most: the text of the next state fits where that of the one before was.
fn rounded(size: usize) -> usize {
    size.next_multiple_of((size / 16).next_power_of_two())
}

/// The status that the file shows of each atom.
pub fn shown_statuses(state: &State) -> BTreeMap<AtomId, ShownStatus> {
    let groups = resolved_groups(state);
    let open = state.atoms.iter().map(|(id, atom)| {
        let of_group = groups.get(id).copied();
        (id.clone(), of_group.unwrap_or_else(|| ShownStatus::of_open(atom)))
    });
    let solved = state.bindings.keys().map(|id| (id.clone(), ShownStatus::Resolved));
    open.chain(solved).collect()
}

/// The groups all of whose needed members are resolved.
fn resolved_groups(state: &State) -> BTreeMap<AtomId, ShownStatus> {
    let mut groups = BTreeMap::new();
    for (id, atom) in state.atoms.iter().filter(|(_, atom)| is_group(atom)) {
        let status = if is_resolved(state, atom, GROUPS_DEEP_MAX) {
            ShownStatus::Resolved
        } else {
            ShownStatus::of_open(atom)
        };
        groups.insert(id.clone(), status);
    }
    groups
}

/// More than groups nest in any graph that is admitted.
const GROUPS_DEEP_MAX: usize = 64;

fn is_group(atom: &Atom) -> bool {
    match &atom.body {
        Body::Task(_) => false,
        Body::Plan(plan) => plan.in_force().is_some(),
        Body::All { .. } | Body::Any { .. } => true,
    }
}

fn is_resolved(state: &State, atom: &Atom, deep: usize) -> bool {
    let member = |id: &AtomId| {
        let inner = state.atoms.get(id).filter(|inner| is_group(inner) && deep > 0);
        state.bindings.contains_key(id)
            || inner.is_some_and(|inner| is_resolved(state, inner, deep - 1))
    };
    match &atom.body {
        Body::Task(_) => false,
        Body::Plan(plan) => plan.in_force().is_some_and(|one| one.parts.iter().all(member)),
        Body::All { parts } => parts.iter().all(member),
        Body::Any { selected, .. } => selected.as_ref().is_some_and(member),
    }
}

/// The groups that are shown otherwise than before.
fn changed_groups(
    before: &BTreeMap<AtomId, ShownStatus>,
    after: &BTreeMap<AtomId, ShownStatus>,
) -> Vec<AtomId> {
    let changed = after.iter().filter(|(id, status)| before.get(*id) != Some(*status));
    changed.map(|(id, _)| id.clone()).collect()
}

//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only the
//! records that it changed. The seal is taken over the records' digests. A group shows what its members come to.

mod change_set;
pub(super) mod implied;
pub(crate) mod labels;
mod lines;

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

pub use change_set::ChangeSet;

use self::lines::{FileText, Lines, Piece, RenderedRecord, Text, sealed_line};
use super::{Atom, Body, ShownStatus, State, fields::Halves};
use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
};

/// Records of one kind in the file: the halves for people, and those in `internal`.
#[derive(Debug, Clone)]
struct Section<K> {
    shown: Lines<K>,
    internal: Lines<K>,
}

impl<K: Ord + Clone> Section<K> {
    /// `name` is the record's name under the seal; its halves stand at the two `keys`.
    fn put(&mut self, key: &K, name: &str, keys: (Option<&str>, &str), halves: Halves) {
        self.shown.put(key.clone(), name, RenderedRecord::of_many(keys.0, &halves.shown));
        match halves.internal {
            Some(half) => {
                let record = RenderedRecord::of_internal(Some(keys.1), &half);
                self.internal.put(key.clone(), name, record);
            }
            None => self.internal.take_out(key),
        }
    }

    fn take_out(&mut self, key: &K) {
        self.shown.take_out(key);
        self.internal.take_out(key);
    }
}

impl<K> Default for Section<K> {
    fn default() -> Self {
        Self { shown: Lines::default(), internal: Lines::default() }
    }
}

/// A state's records as text.
#[derive(Debug, Clone)]
pub struct StateText {
    objective: Lines<()>,
    control: Lines<()>,
    run: Section<()>,
    /// Empty where there is none.
    plan: Lines<()>,
    order: Arc<Vec<AtomId>>,
    places: Arc<BTreeMap<AtomId, usize>>,
    groups: BTreeMap<AtomId, ShownStatus>,
    /// By their places in the order of the file, and their ids.
    atoms: Section<(usize, AtomId)>,
    bindings: Section<AtomId>,
    trail: Section<usize>,
    corrections: Section<usize>,
}

/// With more changes, all records of a kind are written anew in one pass: each replaced record moves all later ones.
const MANY: usize = 64;

impl StateText {
    pub fn of(state: &State) -> Self {
        let mut rendered = Self {
            objective: of_top("objective", &state.objective.node()),
            control: of_top("control", &state.control.node()),
            run: run_records(state),
            plan: plan_record(state),
            order: Arc::default(),
            places: Arc::default(),
            groups: BTreeMap::new(),
            atoms: Section::default(),
            bindings: Section::default(),
            trail: Section::default(),
            corrections: Section::default(),
        };
        rendered.put_all_atoms(state);
        rendered.put_bindings(state, state.bindings.keys());
        rendered.append(state);
        rendered
    }

    /// Renders the records in `touched` anew, from `state`.
    pub fn update(&mut self, state: &State, touched: &ChangeSet) {
        if touched.objective {
            self.objective = of_top("objective", &state.objective.node());
        }
        if touched.control {
            self.control = of_top("control", &state.control.node());
        }
        // The lines of the run show commits of bindings, and verdicts on checks of the objective.
        if touched.run || touched.objective || !touched.bindings.is_empty() {
            self.run = run_records(state);
        }
        if touched.plan {
            self.plan = plan_record(state);
        }
        let atoms = touched.atoms.len() + touched.bindings.len();
        if atoms > MANY || !self.is_in_order(state) {
            self.put_all_atoms(state);
        } else if atoms > 0 {
            let groups = resolved_groups(state);
            let of_groups = changed_groups(&self.groups, &groups);
            self.groups = groups;
            let ids = touched.atoms.iter().chain(&touched.bindings).chain(&of_groups);
            self.put_atoms(state, ids.cloned().collect::<BTreeSet<_>>().iter());
        }
        if touched.bindings.len() > MANY {
            self.bindings = Section::default();
            self.put_bindings(state, state.bindings.keys());
        } else {
            self.put_bindings(state, &touched.bindings);
        }
        if touched.lists_replaced {
            self.trail = Section::default();
            self.corrections = Section::default();
        }
        self.append(state);
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
        self.atoms = Section::default();
        self.put_atoms(state, order.iter());
    }

    fn put_atoms<'i>(&mut self, state: &State, ids: impl IntoIterator<Item = &'i AtomId>) {
        for id in ids {
            let Some(place) = self.places.get(id) else {
                continue;
            };
            let key = (*place, id.clone());
            let Some(atom) = state.atom(id) else {
                self.atoms.take_out(&key);
                continue;
            };
            let mut halves = atom.halves(self.status(state, id, atom));
            halves.internal = implied::without_try(halves.internal, atom, state.bindings.get(id));
            self.atoms.put(&key, id.as_str(), (Some(id.as_str()), id.as_str()), halves);
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
            let Some(binding) = state.bindings.get(id) else {
                self.bindings.take_out(id);
                continue;
            };
            let mut halves = binding.file_halves();
            halves.internal = implied::of_binding(halves.internal);
            self.bindings.put(id, id.as_str(), (Some(id.as_str()), id.as_str()), halves);
        }
    }

    /// Adds the entries of the lists that are not written yet.
    fn append(&mut self, state: &State) {
        let known = self.trail.shown.len();
        for (index, entry) in state.trail.iter().enumerate().skip(known) {
            self.trail.put(&index, "trail", (None, &entry.n.to_string()), entry.halves());
        }
        let known = self.corrections.shown.len();
        for (index, entry) in state.corrections.iter().enumerate().skip(known) {
            let halves = Halves { shown: entry.node.clone(), internal: None };
            self.corrections.put(&index, "correction", (None, ""), halves);
        }
    }

    /// The digest that an edit by hand leaves outdated.
    pub fn seal(&self, state: &State) -> Digest {
        let parts: [(Option<&str>, &[u8]); 12] = [
            (None, self.objective.sealed()),
            (None, self.control.sealed()),
            (None, self.run.shown.sealed()),
            (Some("atoms"), self.atoms.shown.sealed()),
            (Some("bindings"), self.bindings.shown.sealed()),
            (Some("trail"), self.trail.shown.sealed()),
            (Some("corrections"), self.corrections.shown.sealed()),
            (Some("internal atoms"), self.atoms.internal.sealed()),
            (Some("internal bindings"), self.bindings.internal.sealed()),
            (Some("internal trail"), self.trail.internal.sealed()),
            (None, self.run.internal.sealed()),
            (None, self.plan.sealed()),
        ];
        let size = TOP_BYTES + parts.iter().map(|(_, lines)| lines.len()).sum::<usize>();
        let mut list = Vec::with_capacity(size);
        list.extend_from_slice(format!("{} {}\n", state.lineage, state.serial.0).as_bytes());
        for (head, lines) in parts {
            list.extend(head.map(|head| sealed_line(head, b"")).unwrap_or_default());
            list.extend_from_slice(lines);
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
        TOP_VALUES + unknown + self.texts().map(Text::values).iter().sum::<usize>()
    }

    /// The whole file.
    pub fn text(&self, state: &State) -> String {
        self.compose(state, &self.seal(state)).text
    }

    /// The same with a seal that was taken already. From then on the file holds the text of the records.
    pub fn write(&mut self, state: &State, seal: &Digest) -> Arc<String> {
        let FileText { text, spans } = self.compose(state, seal);
        let file = Arc::new(text);
        for (section, span) in self.texts_mut().into_iter().zip(spans) {
            section.settle(&file, span);
        }
        file
    }

    /// The texts in the order of the file.
    fn texts(&self) -> [&dyn Text; 12] {
        [
            &self.objective,
            &self.atoms.shown,
            &self.control,
            &self.bindings.shown,
            &self.trail.shown,
            &self.corrections.shown,
            &self.run.shown,
            &self.run.internal,
            &self.atoms.internal,
            &self.bindings.internal,
            &self.trail.internal,
            &self.plan,
        ]
    }

    /// The same, to note where they lie once the file is written.
    fn texts_mut(&mut self) -> [&mut dyn Text; 12] {
        [
            &mut self.objective,
            &mut self.atoms.shown,
            &mut self.control,
            &mut self.bindings.shown,
            &mut self.trail.shown,
            &mut self.corrections.shown,
            &mut self.run.shown,
            &mut self.run.internal,
            &mut self.atoms.internal,
            &mut self.bindings.internal,
            &mut self.trail.internal,
            &mut self.plan,
        ]
    }

    fn compose(&self, state: &State, seal: &Digest) -> FileText {
        let version = doc::write_compact(&Node::string(state.version.to_string()));
        let object = Some(['{', '}']);
        let list = Some(['[', ']']);
        let mut pieces = Vec::from([
            ("version".to_owned(), Piece::Text(version)),
            ("objective".to_owned(), Piece::Lines(None, &self.objective)),
            ("work_graph".to_owned(), Piece::Members(self.work_graph(state), usize::MAX)),
            ("control".to_owned(), Piece::Lines(None, &self.control)),
            ("bindings".to_owned(), Piece::Lines(object, &self.bindings.shown)),
            ("trail".to_owned(), Piece::Lines(list, &self.trail.shown)),
            ("corrections".to_owned(), Piece::Lines(list, &self.corrections.shown)),
            ("run".to_owned(), Piece::Lines(None, &self.run.shown)),
            ("internal".to_owned(), Piece::Members(self.internal(state, seal), 3)),
        ]);
        state.extra.weave(&mut pieces, |node| {
            let mut text = String::new();
            doc::write_filled(node, 0, 1, &mut text);
            Piece::Text(text)
        });
        // One buffer of the right size, so that a large state is copied once.
        let size = TOP_BYTES + self.texts().map(Text::size_max).iter().sum::<usize>();
        let mut file = FileText { text: String::with_capacity(rounded(size)), spans: Vec::new() };
        file.text.push_str("{\n");
        file.members(&pieces, 1);
        file.text.push_str("\n}\n");
        file
    }

    fn work_graph(&self, state: &State) -> Vec<(String, Piece<'_>)> {
        let atoms = Piece::Lines(Some(['{', '}']), &self.atoms.shown);
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
        let lines = |lines| Piece::Lines(Some(['{', '}']), lines);
        let pieces = [
            ("lineage", quoted(state.lineage.as_str())),
            ("serial", Piece::Text(doc::write_compact(&Node::uint(state.serial.0)))),
            ("seal", quoted(seal.as_str())),
            ("run", Piece::Lines(None, &self.run.internal)),
            ("atoms", lines(&self.atoms.internal)),
            ("bindings", lines(&self.bindings.internal)),
            ("trail", lines(&self.trail.internal)),
        ];
        let plan = state.plan.as_ref().map(|_| ("plan", Piece::Lines(None, &self.plan)));
        let pieces = pieces.into_iter().chain(plan);
        pieces.map(|(key, piece)| (key.to_owned(), piece)).collect()
    }
}

/// A record that a state has once.
fn single(name: &str, record: RenderedRecord) -> Lines<()> {
    let mut lines = Lines::default();
    lines.put((), name, record);
    lines
}

fn of_top(key: &str, node: &Node) -> Lines<()> {
    single(key, RenderedRecord::of_top(key, node))
}

fn run_records(state: &State) -> Section<()> {
    let Halves { shown, internal } = state.run.halves();
    let internal = internal.unwrap_or_else(Node::no_members);
    let internal = implied::without_commits(internal, &state.bindings);
    let internal = RenderedRecord::of_internal(None, &internal);
    Section {
        shown: of_top("run", &labels::of_run(shown, state)),
        internal: single("internal run", internal),
    }
}

fn plan_record(state: &State) -> Lines<()> {
    let plan = state.plan.as_ref().map(|plan| RenderedRecord::of_internal(None, plan));
    plan.map_or_else(Lines::default, |record| single("plan", record))
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

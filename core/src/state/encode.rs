//! The one canonical writer: a state as text, a record at a time.
//!
//! Invariant: the text of a record depends on that record alone, so that a commit writes and hashes anew only the
//! records that it changed. The seal is taken over the records' digests.

mod change_set;
pub(super) mod implied;
pub(crate) mod labels;
mod lines;
mod pieces;
mod rendered;
mod single;
mod statuses;

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

pub use change_set::ChangeSet;
pub use statuses::shown_statuses;

use self::{
    lines::{Lines, Text, sealed_line},
    pieces::{FileText, Piece},
    rendered::RenderedRecord,
    single::Single,
    statuses::{changed_groups, resolved_groups},
};
use super::{Atom, ShownStatus, State, fields::Halves};
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
    fn put(
        &mut self,
        key: &K,
        name: &str,
        shown: RenderedRecord,
        internal: Option<RenderedRecord>,
    ) {
        self.shown.put(key.clone(), name, shown);
        match internal {
            Some(internal) => self.internal.put(key.clone(), name, internal),
            None => self.internal.take_out(key),
        }
    }

    fn take_out(&mut self, key: &K) {
        self.shown.take_out(key);
        self.internal.take_out(key);
    }

    fn values(&self) -> usize {
        self.shown.values() + self.internal.values()
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
    objective: RenderedRecord,
    control: RenderedRecord,
    run: RenderedRecord,
    run_internal: Single,
    plan: Option<Single>,
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
        let (run, run_internal) = run_records(state);
        let mut rendered = Self {
            objective: RenderedRecord::of_top("objective", &state.objective.node()),
            control: RenderedRecord::of_top("control", &state.control.node()),
            run,
            run_internal,
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
            self.objective = RenderedRecord::of_top("objective", &state.objective.node());
        }
        if touched.control {
            self.control = RenderedRecord::of_top("control", &state.control.node());
        }
        // The lines of the run show commits of bindings, and verdicts on checks of the objective.
        if touched.run || touched.objective || !touched.bindings.is_empty() {
            (self.run, self.run_internal) = run_records(state);
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
            let Halves { shown, internal } = atom.halves(self.status(state, id, atom));
            let internal = implied::without_try(internal, atom, state.bindings.get(id));
            let internal =
                internal.map(|node| RenderedRecord::of_internal(Some(id.as_str()), &node));
            self.atoms.put(&key, id.as_str(), RenderedRecord::of_many(Some(id), &shown), internal);
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
            let Halves { shown, internal } = binding.file_halves();
            let internal = implied::of_binding(internal);
            let internal =
                internal.map(|node| RenderedRecord::of_internal(Some(id.as_str()), &node));
            self.bindings.put(id, id.as_str(), RenderedRecord::of_many(Some(id), &shown), internal);
        }
    }

    /// Adds the entries of the lists that are not written yet.
    fn append(&mut self, state: &State) {
        let known = self.trail.shown.len();
        for (index, entry) in state.trail.iter().enumerate().skip(known) {
            let Halves { shown, internal } = entry.halves();
            let key = format!("{}", entry.n);
            let internal = internal.map(|node| RenderedRecord::of_internal(Some(&key), &node));
            self.trail.put(&index, "trail", RenderedRecord::of_many(None, &shown), internal);
        }
        let known = self.corrections.shown.len();
        for (index, entry) in state.corrections.iter().enumerate().skip(known) {
            let record = RenderedRecord::of_many(None, &entry.node);
            self.corrections.put(&index, "correction", record, None);
        }
    }

    /// The digest that an edit by hand leaves outdated.
    pub fn seal(&self, state: &State) -> Digest {
        let many: [(&str, &[u8]); 7] = [
            ("atoms", self.atoms.shown.sealed()),
            ("bindings", self.bindings.shown.sealed()),
            ("trail", self.trail.shown.sealed()),
            ("corrections", self.corrections.shown.sealed()),
            ("internal atoms", self.atoms.internal.sealed()),
            ("internal bindings", self.bindings.internal.sealed()),
            ("internal trail", self.trail.internal.sealed()),
        ];
        let mut list = Vec::with_capacity(
            TOP_BYTES + many.iter().map(|(_, lines)| lines.len()).sum::<usize>(),
        );
        list.extend_from_slice(format!("{} {}\n", state.lineage, state.serial.0).as_bytes());
        let single =
            [("objective", &self.objective), ("control", &self.control), ("run", &self.run)];
        for (name, record) in single {
            list.extend_from_slice(&sealed_line(name, &record.digest));
        }
        for (name, lines) in many {
            list.extend_from_slice(&sealed_line(name, b""));
            list.extend_from_slice(lines);
        }
        list.extend_from_slice(&sealed_line("internal run", &self.run_internal.digest));
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
        Digest::sha256(&list)
    }

    /// The values in the whole file, as a reader counts them.
    pub fn values(&self, state: &State) -> usize {
        let single = [&self.objective, &self.control, &self.run].map(|record| record.values);
        let singles = [Some(&self.run_internal), self.plan.as_ref()].into_iter().flatten();
        let lists = self.trail.values() + self.corrections.values();
        let mut unknown = Vec::new();
        state.extra.weave(&mut unknown, Node::count);
        state.work_graph_extra.weave(&mut unknown, Node::count);
        let unknown = unknown.iter().map(|(_, values)| values).sum::<usize>();
        let graph = self.atoms.values() + self.bindings.values();
        let singles = singles.map(|one| one.values).sum::<usize>();
        TOP_VALUES + single.iter().sum::<usize>() + singles + graph + lists + unknown
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

    /// The texts that the file holds once it is written, in its order.
    fn texts_mut(&mut self) -> Vec<&mut dyn Text> {
        let mut texts: Vec<&mut dyn Text> = Vec::from([
            &mut self.atoms.shown as &mut dyn Text,
            &mut self.bindings.shown,
            &mut self.trail.shown,
            &mut self.corrections.shown,
            &mut self.run_internal,
            &mut self.atoms.internal,
            &mut self.bindings.internal,
            &mut self.trail.internal,
        ]);
        texts.extend(self.plan.as_mut().map(|plan| plan as &mut dyn Text));
        texts
    }

    fn compose(&self, state: &State, seal: &Digest) -> FileText {
        let version = doc::write_compact(&Node::string(state.version.to_string()));
        let mut pieces = Vec::from([
            ("version".to_owned(), Piece::Text(version)),
            ("objective".to_owned(), Piece::Record(&self.objective)),
            ("work_graph".to_owned(), Piece::Members(self.work_graph(state))),
            ("control".to_owned(), Piece::Record(&self.control)),
            ("bindings".to_owned(), Piece::Lines(['{', '}'], &self.bindings.shown)),
            ("trail".to_owned(), Piece::Lines(['[', ']'], &self.trail.shown)),
            ("corrections".to_owned(), Piece::Lines(['[', ']'], &self.corrections.shown)),
            ("run".to_owned(), Piece::Record(&self.run)),
            ("internal".to_owned(), Piece::Internal(self.internal(state, seal))),
        ]);
        state.extra.weave(&mut pieces, |node| {
            let mut text = String::new();
            doc::write_filled(node, 0, 1, &mut text);
            Piece::Text(text)
        });
        // One buffer of the right size, so that a large state is copied once.
        let mut file =
            FileText { text: String::with_capacity(rounded(self.size_about())), spans: Vec::new() };
        file.text.push_str("{\n");
        for (index, (key, piece)) in pieces.iter().enumerate() {
            file.text.push_str(if index == 0 { "" } else { ",\n" });
            doc::write_key(key, &mut file.text);
            piece.write(&mut file);
        }
        file.text.push_str("\n}\n");
        file
    }

    fn work_graph(&self, state: &State) -> Vec<(String, Piece<'_>)> {
        let atoms = Piece::Lines(['{', '}'], &self.atoms.shown);
        let mut pieces = Vec::from([("atoms".to_owned(), atoms)]);
        state.work_graph_extra.weave(&mut pieces, |node| {
            let mut text = String::new();
            doc::write_side_by_side(node, &mut text);
            Piece::Text(text)
        });
        pieces
    }

    fn internal(&self, state: &State, seal: &Digest) -> Vec<(&'static str, Piece<'_>)> {
        let quoted = |text: &str| Piece::Text(doc::write_compact(&Node::string(text)));
        let lines = |lines| Piece::Lines(['{', '}'], lines);
        let mut pieces = Vec::from([
            ("lineage", quoted(state.lineage.as_str())),
            ("serial", Piece::Text(doc::write_compact(&Node::uint(state.serial.0)))),
            ("seal", quoted(seal.as_str())),
            ("run", Piece::Single(&self.run_internal)),
            ("atoms", lines(&self.atoms.internal)),
            ("bindings", lines(&self.bindings.internal)),
            ("trail", lines(&self.trail.internal)),
        ]);
        pieces.extend(self.plan.as_ref().map(|plan| ("plan", Piece::Single(plan))));
        pieces
    }

    /// The size of the text without unknown keys.
    fn size_about(&self) -> usize {
        let many: [&dyn Text; 7] = [
            &self.atoms.shown,
            &self.bindings.shown,
            &self.trail.shown,
            &self.corrections.shown,
            &self.atoms.internal,
            &self.bindings.internal,
            &self.trail.internal,
        ];
        let single = [&self.objective, &self.control, &self.run];
        let singles = [Some(&self.run_internal), self.plan.as_ref()].into_iter().flatten();
        TOP_BYTES
            + many.map(Text::size_max).iter().sum::<usize>()
            + single.map(|record| record.text.len()).iter().sum::<usize>()
            + singles.map(Text::size_max).sum::<usize>()
    }
}

fn run_records(state: &State) -> (RenderedRecord, Single) {
    let Halves { shown, internal } = state.run.halves();
    let shown = labels::of_run(shown, state);
    let internal = internal.unwrap_or_else(Node::no_members);
    let internal = implied::without_commits(internal, &state.bindings);
    let internal = RenderedRecord::of_internal(None, &internal);
    (RenderedRecord::of_top("run", &shown), internal.into())
}

fn plan_record(state: &State) -> Option<Single> {
    let plan = state.plan.as_ref()?;
    Some(RenderedRecord::of_internal(None, plan).into())
}

/// The rough size of the file's own keys, blanks and brackets.
const TOP_BYTES: usize = 1024;
/// The file itself, its texts and numbers at the top, and what holds the records.
const TOP_VALUES: usize = 14;

/// Rounds up by an eighth at most: the text of the next state fits where that of the one before was.
fn rounded(size: usize) -> usize {
    size.next_multiple_of((size / 16).next_power_of_two())
}

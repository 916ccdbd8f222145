//! Reads a whole state file, collecting every fault in one pass: syntax, types, and the meaning of the graph.
//!
//! Not here: the rules of the graph themselves (`graph::validate`), which get the half-read state as it is.

use super::{
    Atom, Binding, Body, Control, Correction, Entry, Extra, Objective, Run, ShownStatus, State,
    VERSION, Version,
    check::{self, Pattern},
    encode::{self, implied},
    fields::{Fields, FindNearMiss, Findings, INTERNAL, NEWER_VALUE},
    limits, near_miss,
    rule::{FieldRule, Form, Owner, RecordRule},
    table::rule,
    value::FieldValue,
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Limits, Node, Value},
    id::{AtomId, Digest, Lineage, Serial},
};

/// The outcome of reading: a state as far as it could be read, and all findings.
#[derive(Debug, Default)]
pub struct Decoding {
    pub state: Option<State>,
    pub root: Option<Node>,
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// Patterns that the shell must compile before the state may be used.
    pub patterns: Vec<Pattern>,
    /// The file's version, if it could be read.
    pub version: Option<Version>,
}

/// Reads the types; `graph::validate::check` checks the graph.
pub fn decode(bytes: &[u8]) -> Decoding {
    let parsed = doc::parse_bytes(bytes, &Limits::default());
    of_parsed(parsed, Some(near_miss::of))
}

/// The same for a file from which `internal` was taken out: it gets that of the commit that is known.
pub fn decode_without_internal(bytes: &[u8], known: &State) -> Decoding {
    let mut parsed = doc::parse_bytes(bytes, &Limits::default());
    let text = encode::StateText::of(known).text(known);
    let kept = doc::parse(&text, &Limits::default()).node;
    let internal = kept.and_then(|kept| kept.member(INTERNAL).cloned());
    if let Some(Value::Object(members)) = parsed.node.as_mut().map(|node| &mut node.value) {
        members.retain(|member| member.key != INTERNAL);
        members.extend(internal);
    }
    of_parsed(parsed, Some(near_miss::of))
}

/// The same for a commit of the past, whose keys were judged when it was made.
pub fn decode_past(bytes: &[u8]) -> Decoding {
    of_parsed(doc::parse_bytes(bytes, &Limits::default()), None)
}

/// The same for a tree that was not read from a text.
pub fn of_tree(root: Node) -> Decoding {
    let parsed = doc::Parsed { node: Some(root), faults: Vec::new() };
    of_parsed(parsed, Some(near_miss::of))
}

fn of_parsed(parsed: doc::Parsed, near_miss: Option<FindNearMiss>) -> Decoding {
    // Missing parts may only have been cut off, and the rest may be in the wrong object.
    let mut is_cut = parsed.faults.iter().any(|fault| fault.rule == "unclosed");
    let mut found = Findings { faults: parsed.faults, near_miss, ..Findings::default() };
    let Some(root) = parsed.node else {
        return Decoding { faults: found.faults, warnings: found.warnings, ..Decoding::default() };
    };
    is_cut |= !found.faults.is_empty() && root.get(INTERNAL).is_none();
    let version = root.get("version").and_then(Node::as_str).and_then(Version::parse);
    found.is_newer = version.is_some_and(|version| version > VERSION);
    let mut state = None;
    match version {
        Some(version) if version < VERSION || version.major != VERSION.major => {
            found.faults.push(foreign_version(&root, version));
        }
        _ if is_cut => {}
        _ => state = read_state(&root, &mut found),
    }
    let mut patterns = Vec::new();
    collect_patterns(&root, &mut patterns);
    Decoding {
        state,
        root: Some(root),
        faults: found.faults,
        warnings: found.warnings,
        patterns,
        version,
    }
}

/// The warnings of values that only a newer version knows and that may decide what a run does. History decides nothing.
pub fn deciding(warnings: &[Fault]) -> impl Iterator<Item = &Fault> {
    warnings.iter().filter(|warning| {
        let at = warning.pointer.as_str();
        let is_history = at.starts_with("/trail/") || at.starts_with("/corrections/");
        warning.rule == NEWER_VALUE && !is_history
    })
}

impl Decoding {
    /// Whether it is a file of this version, or of none, without the part that only the program can write.
    pub fn lacks_internal(&self) -> bool {
        let has = |key: &str| self.root.as_ref().is_some_and(|root| root.get(key).is_some());
        let is_ours = self.version.is_none_or(|version| version.major == VERSION.major);
        let internal = self.root.as_ref().and_then(|root| root.get(INTERNAL));
        let has_own = internal.is_some_and(|own| own.as_object().is_none_or(|all| !all.is_empty()));
        is_ours && (has("objective") || has("work_graph")) && !has_own
    }

    /// Whether nobody agreed to it yet, provided that no commit of it is kept. A text that was cut off may have been.
    pub fn is_first_agreement(&self) -> bool {
        let is_known = self.version.is_none_or(|version| version == VERSION);
        self.state.is_some() && is_known && self.lacks_internal()
    }
}

impl Version {
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// The hint for a state of an older version.
pub const BEGIN_ANEW: &str = "move the file away, and begin anew with `descent align`; `descent migrate` reads files of the AoT loop alone";

fn foreign_version(root: &Node, found: Version) -> Fault {
    let span = root.get("version").map_or(root.span, |node| node.span);
    let (rule, message, hint) = if found > VERSION {
        let message =
            format!("the file has version {found}, this program reads {}.x", VERSION.major);
        let hint = "use a descent that reads it; this one never writes it";
        ("newer-version", message, hint)
    } else {
        let message = format!("the file has version {found}, which cannot be read any more");
        ("older-version", message, BEGIN_ANEW)
    };
    let hint = Some(hint.to_owned());
    Fault { span, pointer: "/version".to_owned(), rule, message, hint }
}

fn read_state(root: &Node, found: &mut Findings) -> Option<State> {
    let mut fields = Fields::open(root, "", found)?;
    for key in ["version", "objective", "work_graph", INTERNAL] {
        let _ = fields.need(key);
    }
    let version = read_version(&mut fields).unwrap_or(VERSION);
    let objective = Objective::take(&mut fields, "objective").unwrap_or_default();
    let mut halves = Internal::take(&mut fields)?;
    let (mut atoms, order, work_graph_extra) = read_work_graph(&mut fields, &halves);
    let control = Control::take(&mut fields, "control").unwrap_or_default();
    let bindings = read_bindings(&mut fields, &halves, &mut atoms);
    let (trail, corrections, run) = fields.owned(Owner::Program, |fields| {
        let trail = read_trail(fields, &halves);
        let corrections = Vec::<Correction>::take(fields, "corrections").unwrap_or_default();
        let run = fields.take("run").unwrap_or(&NO_RECORD);
        let run_half = implied::with_commits(halves.run, |id| half(&halves.bindings, id));
        (trail, corrections, Run::read_half(run, Some(&run_half), "/run", fields.found))
    });
    let extra = fields.finish();
    let mut state = State {
        version,
        lineage: Lineage::new(core::mem::take(&mut halves.lineage)),
        serial: halves.serial,
        seal: halves.seal.take(),
        objective: Arc::new(objective),
        control: Arc::new(control),
        atoms: atoms.into_iter().map(|(id, atom)| (id, Arc::new(atom))).collect(),
        order: Arc::new(order),
        bindings: bindings.into_iter().map(|(id, binding)| (id, Arc::new(binding))).collect(),
        trail: trail.into_iter().map(Arc::new).collect(),
        corrections: corrections.into_iter().map(Arc::new).collect(),
        run: Arc::new(run.unwrap_or_default()),
        plan: halves.plan.take(),
        extra,
        work_graph_extra,
        said: BTreeMap::new(),
    };
    state.said = said(root, &state);
    found.warnings.extend(encode::labels::edited(root, &state));
    Some(state)
}

/// Statuses that are written otherwise than the state has them.
fn said(root: &Node, state: &State) -> BTreeMap<AtomId, ShownStatus> {
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let atoms = parts(atoms.unwrap_or(&NO_RECORD));
    let word = |id: &AtomId| {
        let written = atoms.get(id.as_str()).and_then(|atom| atom.get("status"));
        let written = written.filter(|word| !word.is_null());
        // Without a word a result stays.
        let is_bound = state.bindings.contains_key(id);
        ShownStatus::of_word(written.map_or((!is_bound).then_some("pending"), Node::as_str)?)
    };
    let shown = encode::shown_statuses(state).into_iter();
    let said = shown.filter_map(|(id, shown)| Some((word(&id).filter(|word| *word != shown)?, id)));
    said.map(|(status, id)| (id, status)).collect()
}

/// A record that is not there.
static NO_RECORD: Node = Node::no_members();

/// The halves of records in `internal`, and what names the file.
struct Internal<'n> {
    lineage: String,
    serial: Serial,
    seal: Option<Digest>,
    run: &'n Node,
    atoms: Parts<'n>,
    bindings: Parts<'n>,
    trail: Parts<'n>,
    plan: Option<Arc<Node>>,
}

/// Records by their keys: an object is searched from its beginning, and there may be many.
type Parts<'n> = BTreeMap<&'n str, &'n Node>;

fn parts(node: &Node) -> Parts<'_> {
    let members = node.as_object().unwrap_or_default().iter();
    members.map(|member| (member.key.as_str(), &member.node)).collect()
}

impl<'n> Internal<'n> {
    fn take(fields: &mut Fields<'n, '_>) -> Option<Self> {
        let node = fields.take(INTERNAL).unwrap_or(&NO_RECORD);
        fields.owned(Owner::Program, |fields| {
            let mut inner = Fields::open(node, "/internal", fields.found)?;
            let lineage = inner.text_or_empty("lineage");
            let serial = inner.count("serial").map_or(Serial(0), Serial);
            let seal = inner.text("seal").map(Digest::new);
            let plan = inner.take("plan").map(|plan| Arc::new(plan.clone()));
            let mut part = |key| inner.take(key).unwrap_or(&NO_RECORD);
            let (run, atoms) = (part("run"), parts(part("atoms")));
            let (bindings, trail) = (parts(part("bindings")), parts(part("trail")));
            let _ = inner.finish();
            Some(Self { lineage, serial, seal, run, atoms, bindings, trail, plan })
        })
    }
}

/// The half of one record in a part of `internal`.
fn half<'n>(part: &Parts<'n>, key: &str) -> &'n Node {
    part.get(key).copied().unwrap_or(&NO_RECORD)
}

/// The state file.
pub const RULE: RecordRule = RecordRule {
    name: "State",
    doc: "The state file: what was agreed, what is done, what is under way",
    fields: || {
        let version = Form::Pattern("Version", r"^3\.[0-9]+$");
        let bindings = Form::ById(Box::new(Binding::form()));
        Vec::from([
            rule::<String>("$schema", "For editors: where this schema is"),
            rule::<String>("version", "The version of the contract: major.minor")
                .of_form(version)
                .required(),
            rule::<Node>("objective", "").of_form(Form::Record(&OBJECTIVE)).required(),
            rule::<Node>("work_graph", "").of_form(Form::Record(&WORK_GRAPH)).required(),
            rule::<Control>("control", ""),
            rule::<Node>("bindings", "The results of resolved atoms").of_form(bindings),
            rule::<Vec<Entry>>("trail", "Choices, failures and backtracks, in order"),
            rule::<Vec<Correction>>("corrections", "Changes made by people, in order"),
            rule::<Run>("run", "How the run goes, and how it ended"),
            rule::<Node>("internal", "The program's own: an edit of it is not kept"),
        ])
    },
};

/// The keys of the objective without which no run starts.
const AGREED: [&str; 3] = ["goal", "background_intent", "base_case"];

const OBJECTIVE: RecordRule = RecordRule {
    fields: || {
        let fields = (Objective::RULE.fields)().into_iter();
        let fields =
            fields.map(|field| FieldRule { is_required: AGREED.contains(&field.key), ..field });
        fields.collect()
    },
    ..Objective::RULE
};

const WORK_GRAPH: RecordRule = RecordRule {
    name: "WorkGraph",
    doc: "The AND/OR graph of the work",
    fields: || {
        let atoms = Form::ById(Box::new(Atom::form()));
        Vec::from([rule::<Node>("atoms", "").of_form(atoms)])
    },
};

fn read_version(fields: &mut Fields<'_, '_>) -> Option<Version> {
    let node = fields.take("version")?;
    let version = node.as_str().and_then(Version::parse);
    if version.is_none() {
        let hint = Some(format!("\"{VERSION}\""));
        fields.found.fault(
            "bad-version",
            ("/version", node.span),
            "not a version `major.minor`".to_owned(),
            hint,
        );
    }
    version
}

type Atoms = BTreeMap<AtomId, Atom>;

fn read_work_graph(
    fields: &mut Fields<'_, '_>,
    internal: &Internal<'_>,
) -> (Atoms, Vec<AtomId>, Extra) {
    let Some(node) = fields.take("work_graph") else {
        return Default::default();
    };
    let Some(mut graph) = Fields::open(node, "/work_graph", fields.found) else {
        return Default::default();
    };
    let mut order = Vec::new();
    let atoms = read_map(&mut graph, "atoms", |node, id, at, found| {
        order.push(AtomId::new(id));
        Atom::read_half(node, Some(half(&internal.atoms, id)), at, found)
    });
    order.retain(|id| atoms.contains_key(id));
    (atoms, order, graph.finish())
}

/// A result takes its atom out of the open ones.
fn read_bindings(
    fields: &mut Fields<'_, '_>,
    halves: &Internal<'_>,
    atoms: &mut Atoms,
) -> BTreeMap<AtomId, Binding> {
    read_map(fields, "bindings", |node, id, at, found| {
        let Some(mut atom) = atoms.remove(id) else {
            let hint = doc::did_you_mean(id, atoms.keys().map(AtomId::as_str));
            let message = format!("a binding for the unknown atom `{id}`");
            let write = || {
                format!(
                    "take it out, or write `work_graph: {{atoms: {{{id}: {{description: …}}}}}}`"
                )
            };
            let hint = hint.or_else(|| Some(write()));
            found.fault("binding-unknown-atom", (at, node.span), message, hint);
            return None;
        };
        if let Some(hint) = no_result_of(&atom.body) {
            let message = format!("`{id}` has no result of its own");
            found.fault("binding-of-group", (at, node.span), message, Some(hint.to_owned()));
            return None;
        }
        let internal = implied::with_usual(half(&halves.bindings, id));
        let binding = Binding::read_half(node, Some(&internal), at, found)?;
        implied::give_try(&mut atom, &binding, half(&halves.atoms, id));
        Some(Binding { of: Arc::new(atom), ..binding })
    })
}

/// The hint for a result of an atom that has none of its own.
fn no_result_of(body: &Body) -> Option<&'static str> {
    match body {
        Body::Task(_) | Body::Plan(_) => None,
        Body::Any { .. } => Some("take it out: `selected` names the choice whose result counts"),
        Body::All { .. } => Some("take it out: the results of its `parts` count"),
    }
}

/// A map by atom id; every id is checked.
fn read_map<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    mut read: impl FnMut(&Node, &str, &str, &mut Findings) -> Option<T>,
) -> BTreeMap<AtomId, T> {
    let Some(node) = fields.take(key) else {
        return BTreeMap::new();
    };
    let pointer = fields.at(key);
    if Fields::open(node, &pointer, fields.found).is_none() {
        return BTreeMap::new();
    }
    let mut map = BTreeMap::new();
    for member in node.as_object().unwrap_or_default() {
        let at = doc::pointer_push(&pointer, &member.key);
        if !AtomId::is_valid(&member.key) {
            let message = format!("`{}` cannot name an atom", member.key);
            let hint =
                Some("a letter, then letters, digits, `_` or `-`, at most 64 in all".to_owned());
            fields.found.fault("bad-id", (&at, member.key_span), message, hint);
        }
        if let Some(value) = read(&member.node, &member.key, &at, fields.found) {
            map.entry(AtomId::new(member.key.as_str())).or_insert(value);
        }
    }
    map
}

fn read_trail(fields: &mut Fields<'_, '_>, internal: &Internal<'_>) -> Vec<Entry> {
    let half = |n: &str| internal.trail.get(n).copied();
    let list = fields.list("trail").into_iter();
    list.filter_map(|(at, node)| Entry::read_half(node, half, &at, fields.found)).collect()
}

/// The globs of one constraint.
fn collect_globs(root: &Node, key: &str, into: &mut Vec<Pattern>) {
    let constraints = root.get("objective").and_then(|node| node.get("constraints"));
    let globs = constraints.and_then(|node| limits::at(node, key));
    let globs = globs.and_then(Node::as_array).unwrap_or_default();
    for (index, node) in globs.iter().enumerate() {
        if let Some(text) = node.as_str() {
            into.push(Pattern {
                pointer: format!("/objective/constraints/{}/{index}", key.replace('.', "/")),
                span: node.span,
                text: text.to_owned(),
                kind: check::PatternKind::Glob,
            });
        }
    }
}

fn collect_patterns(root: &Node, into: &mut Vec<Pattern>) {
    if let Some(node) = root.get("objective").and_then(|node| node.get("base_case")) {
        check::patterns(node, "/objective/base_case", into);
    }
    for key in ["protected", "setup.inputs", "setup.keep"] {
        collect_globs(root, key, into);
    }
    let atoms = root.get("work_graph").and_then(|node| node.get("atoms"));
    for member in atoms.and_then(Node::as_object).unwrap_or_default() {
        let pointer = doc::pointer_push("/work_graph/atoms", &member.key);
        check::patterns_of_atom(&member.node, &pointer, into);
    }
}

/// The place of a pointer in the tree: the value's place, or the nearest that exists.
pub fn place_of(root: &Node, pointer: &str) -> doc::Span {
    let mut node = root;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = match node.as_array() {
            Some(items) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
            None => node.get(&token),
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node.span
}

//! Reads a whole state file, collecting every fault in one pass: syntax, types, and the meaning of the graph.
//!
//! Not here: the rules of the graph themselves (`graph::validate`), which get the half-read state as it is.

use alloc::{
    borrow::ToOwned, boxed::Box, collections::BTreeMap, format, string::String, sync::Arc, vec::Vec,
};

use super::{
    Atom, Binding, Control, Correction, Entry, Extra, Objective, Run, State, VERSION, Version,
    check::{self, Pattern},
    fields::{Fields, FindNearMiss, Findings, NEWER_VALUE},
    limits, near_miss,
    rule::{FieldRule, Form, Owner, RecordRule},
    table::rule,
    value::FieldValue,
};
use crate::{
    doc::{self, Fault, Limits, Node},
    id::{AtomId, Digest, Lineage, Serial},
};

/// The outcome of reading: a state as far as it could be read, and all findings.
#[derive(Debug)]
pub struct Decoding {
    pub state: Option<State>,
    pub root: Option<Node>,
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// Patterns that the shell must compile before the state may be used.
    pub patterns: Vec<Pattern>,
    /// The file's version, if it could be read.
    pub version: Option<Version>,
    /// The state of a newer major version, as far as it is understood: to be shown, never written.
    pub understood: Option<State>,
}

/// Reads the types; `graph::validate::check` checks the graph.
pub fn decode(bytes: &[u8]) -> Decoding {
    let parsed = doc::parse_bytes(bytes, &Limits::default());
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
    let is_cut = parsed.faults.iter().any(|fault| fault.rule == "unclosed");
    let mut found = Findings { faults: parsed.faults, near_miss, ..Findings::default() };
    let Some(root) = parsed.node else {
        return Decoding {
            state: None,
            root: None,
            faults: found.faults,
            warnings: found.warnings,
            patterns: Vec::new(),
            version: None,
            understood: None,
        };
    };
    let version = root.get("version").and_then(Node::as_str).and_then(Version::parse);
    found.is_newer = version.is_some_and(|version| version > VERSION);
    let (mut state, mut understood) = (None, None);
    match version {
        Some(version) if version < VERSION || version.major != VERSION.major => {
            if found.is_newer && found.faults.is_empty() {
                understood = read_leniently(&root, &mut found);
            }
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
        understood,
    }
}

/// Reads a state of a newer major version. Misfits are no faults of the file, but there is a state only without any.
fn read_leniently(root: &Node, found: &mut Findings) -> Option<State> {
    let state = read_state(root, found);
    let odd = core::mem::take(&mut found.faults);
    let is_whole = odd.is_empty();
    found.warnings.extend(odd);
    state.filter(|_| is_whole)
}

/// The warnings of values that only a newer version knows and that may decide what a run does. History decides nothing,
/// and neither does the past status of a resolved atom.
pub fn deciding(warnings: &[Fault]) -> impl Iterator<Item = &Fault> {
    warnings.iter().filter(|warning| {
        let at = warning.pointer.as_str();
        let is_history = at.starts_with("/trail/") || at.starts_with("/corrections/");
        let is_past = at.starts_with("/bindings/") && at.ends_with("/of/status");
        warning.rule == NEWER_VALUE && !is_history && !is_past
    })
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
        let hint = "use a descent that reads it; this one only looks at it, and never writes it";
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
    for key in [
        "version",
        "lineage",
        "serial",
        "seal",
        "objective",
        "control",
        "work_graph",
        "bindings",
        "trail",
        "corrections",
        "run",
    ] {
        // A person who removes it means that the file changed.
        let hint =
            (key == "seal").then_some("write \"seal\": \"\", and the next commit fills it in");
        let _ = fields.need_or(key, hint);
    }
    let version = read_version(&mut fields).unwrap_or(VERSION);
    let lineage = Lineage::new(fields.text_or_empty("lineage"));
    let serial = fields.serial("serial").unwrap_or(Serial(0));
    let seal = fields.text("seal").map(Digest::new);
    let objective = record(&mut fields, "objective", Objective::read).unwrap_or_default();
    let control = record(&mut fields, "control", Control::read).unwrap_or_default();
    let (atoms, work_graph_extra) = read_work_graph(&mut fields);
    let bindings = read_map(&mut fields, "bindings", Binding::read);
    let (trail, corrections, run) = fields.owned(Owner::Program, |fields| {
        let trail = read_list(fields, "trail", Entry::read);
        let corrections = read_list(fields, "corrections", Correction::read);
        (trail, corrections, record(fields, "run", Run::read))
    });
    let run = run.unwrap_or_default();
    let plan = read_plan(&mut fields);
    let extra = fields.finish();
    Some(State {
        version,
        lineage,
        serial,
        seal,
        objective: Arc::new(objective),
        control: Arc::new(control),
        atoms: atoms.into_iter().map(|(id, atom)| (id, Arc::new(atom))).collect(),
        bindings: bindings.into_iter().map(|(id, binding)| (id, Arc::new(binding))).collect(),
        trail: trail.into_iter().map(Arc::new).collect(),
        corrections: corrections.into_iter().map(Arc::new).collect(),
        run: Arc::new(run),
        plan,
        extra,
        work_graph_extra,
    })
}

/// The state file.
pub const RULE: RecordRule = RecordRule {
    name: "State",
    doc: "The state file: what was agreed, what is done, what is under way",
    fields: || {
        let version = Form::Pattern("Version", r"^2\.[0-9]+$");
        let bindings = Form::ById(Box::new(Binding::form()));
        Vec::from([
            rule::<String>("$schema", "For editors: where this schema is"),
            rule::<String>("version", "The version of the contract: major.minor")
                .of_form(version)
                .required(),
            rule::<Lineage>("lineage", "Born with `align`, never changes").required(),
            rule::<Serial>("serial", "Counts the commits of this file").required(),
            rule::<String>("seal", "A mismatch means that a person edited the file").required(),
            rule::<Node>("objective", "").of_form(Form::Record(&OBJECTIVE)).required(),
            rule::<Control>("control", "").required(),
            rule::<Node>("work_graph", "").of_form(Form::Record(&WORK_GRAPH)).required(),
            rule::<Node>("bindings", "Resolved atoms").of_form(bindings).required(),
            rule::<Vec<Entry>>("trail", "Choices, failures and backtracks, in order").required(),
            rule::<Vec<Correction>>("corrections", "Changes made by people, in order").required(),
            rule::<Run>("run", "").required(),
            rule::<Node>(
                "plan",
                "The plan that was taken in last: digests of its values by their places",
            ),
        ])
    },
};

/// The keys of the objective without which no run starts.
const AGREED: [&str; 5] =
    ["goal", "background_intent", "deliverables", "definition_of_done", "base_case"];

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

type Read<T> = fn(&Node, &str, &mut Findings) -> Option<T>;

fn record<T>(fields: &mut Fields<'_, '_>, key: &'static str, read: Read<T>) -> Option<T> {
    let node = fields.take(key)?;
    let at = fields.at(key);
    read(node, &at, fields.found)
}

/// Carried as its tree: it is read only when the next plan is compared with it.
fn read_plan(fields: &mut Fields<'_, '_>) -> Option<Arc<Node>> {
    let node = fields.take("plan")?;
    let at = fields.at("plan");
    Fields::open(node, &at, fields.found)?;
    Some(Arc::new(node.clone()))
}

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

fn read_work_graph(fields: &mut Fields<'_, '_>) -> (BTreeMap<AtomId, Atom>, Extra) {
    let Some(node) = fields.take("work_graph") else {
        return Default::default();
    };
    let Some(mut graph) = Fields::open(node, "/work_graph", fields.found) else {
        return Default::default();
    };
    let atoms = read_map(&mut graph, "atoms", Atom::read);
    (atoms, graph.finish())
}

/// A map by atom id; every id is checked.
fn read_map<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: Read<T>,
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
        if let Some(value) = read(&member.node, &at, fields.found) {
            map.entry(AtomId::new(member.key.as_str())).or_insert(value);
        }
    }
    map
}

fn read_list<T>(fields: &mut Fields<'_, '_>, key: &'static str, read: Read<T>) -> Vec<T> {
    fields.list(key).into_iter().filter_map(|(at, node)| read(node, &at, fields.found)).collect()
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
    for key in ["protected", "setup.inputs", "keep"] {
        collect_globs(root, key, into);
    }
    let atoms = root.get("work_graph").and_then(|node| node.get("atoms"));
    for (map, at, inside) in
        [(atoms, "/work_graph/atoms", ""), (root.get("bindings"), "/bindings", "/of")]
    {
        for member in map.and_then(Node::as_object).unwrap_or_default() {
            let atom = if inside.is_empty() { Some(&member.node) } else { member.node.get("of") };
            if let Some(node) = atom.and_then(|atom| atom.get("checks")) {
                let pointer = doc::pointer_push(at, &member.key) + inside + "/checks";
                check::patterns(node, &pointer, into);
            }
        }
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

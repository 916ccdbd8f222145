//! A plan in a file or from standard input: its bytes, its notation, its tree, its faults.
//!
//! Here: reading with a limit, JSON or YAML (`yaml`), and the faults of a plan, placed in its text. Not here: the
//! meaning of a plan (`descent_core::plan`), and its use (`cli`).
//!
//! Invariant: a fault has the line and column of the text that the person wrote, in either notation.

#[cfg(test)]
mod tests;
mod yaml;

pub use yaml::parse_below as yaml_below;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use descent_core::{
    doc::{self, Fault, Limits, Node, Parsed},
    graph::validate,
    id::Lineage,
    plan::{self, PlanReading, PointerMap},
    state::State,
};

use descent_store as store;
use descent_system::failure::{Failure, exit};

/// Bytes at most of a plan, as many as the reader takes (`doc::Limits`).
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The names of standard input, on the command line and in front of a place.
const STDIN: (&str, &str) = ("-", "<stdin>");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    Json,
    Yaml,
}

/// The text of a plan, and its name for a person.
#[derive(Debug)]
pub struct PlanFile {
    pub name: PathBuf,
    pub bytes: Vec<u8>,
    pub notation: Notation,
}

/// The outcome of reading a plan with its flags.
#[derive(Debug)]
pub struct PlanDraft {
    pub state: State,
    /// The plan in the form of the file, with the places of its text.
    pub root: Node,
    /// The places in the text as it was written.
    pub written: PointerMap,
    /// All but what the start gate asks for.
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
}

/// Reads `path`, relative to `dir`; `-` is standard input.
pub fn read(dir: &Path, path: &Path) -> Result<PlanFile, Failure> {
    let is_stdin = path.as_os_str() == STDIN.0;
    let name = if is_stdin { Path::new(STDIN.1) } else { path };
    let bytes = if is_stdin {
        capped(io::stdin())
    } else {
        std::fs::File::open(dir.join(path)).and_then(capped)
    };
    let bytes = bytes.map_err(|error| {
        let message = format!("{} cannot be read: {error}", name.display());
        let hint = "give an existing file, or `-` for standard input";
        Failure::new("E-INVALID", exit::INVALID, message, hint)
    })?;
    Ok(PlanFile { notation: Notation::of(path, &bytes), name: name.to_owned(), bytes })
}

/// Reads one byte more than the limit, so that a larger text is noticed.
fn capped(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Notation {
    /// The notation by the name of the file, else by its beginning: `{` is JSON.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "json" => return Self::Json,
            "yaml" | "yml" => return Self::Yaml,
            _ => {}
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'{') { Self::Json } else { Self::Yaml }
    }
}

impl PlanFile {
    /// No plan: everything comes from flags.
    pub fn none() -> Self {
        Self { name: PathBuf::from("plan"), bytes: b"{}".to_vec(), notation: Notation::Json }
    }

    pub fn tree(&self) -> Parsed {
        self.tree_and_traps().0
    }

    pub fn plan(&self) -> PlanReading {
        self.read(plan::of_tree)
    }

    /// A whole plan, or new atoms in a file without an objective.
    pub fn plan_or_atoms(&self) -> PlanReading {
        let plan = self.plan();
        let has_objective = |root: &Node| root.get("objective").is_some();
        if plan.root.as_ref().is_none_or(has_objective) { plan } else { self.atoms() }
    }

    fn read(&self, read: impl FnOnce(Parsed) -> PlanReading) -> PlanReading {
        let (tree, traps) = self.tree_and_traps();
        let mut plan = read(tree);
        plan.warnings.extend(traps);
        if self.notation == Notation::Yaml {
            yaml::hint(&mut plan.faults, &doc::readable(&self.bytes));
        }
        plan
    }

    /// New atoms for an agreement that stands.
    pub fn atoms(&self) -> PlanReading {
        self.read(plan::atoms_of_tree)
    }

    /// The tree, with warnings of text that the notation read differently than meant.
    fn tree_and_traps(&self) -> (Parsed, Vec<Fault>) {
        let limits = Limits::default();
        let mut traps = Vec::new();
        let tree = match self.notation {
            Notation::Json => doc::parse_bytes(&self.bytes, &limits),
            Notation::Yaml => doc::parse_bytes_as(&self.bytes, &limits, |text, limits| {
                yaml::parse(text, limits, &mut traps)
            }),
        };
        (tree, traps)
    }

    /// One line for each fault: `plan.yaml:3:5: /objective/goal: what is wrong (hint)`.
    pub fn lines(&self, faults: &[Fault]) -> Vec<String> {
        store::show_faults(&self.name, &self.bytes, faults)
    }

    /// The error that names every fault, if there are any.
    pub fn refuse(&self, faults: &[Fault]) -> Result<(), Failure> {
        if faults.is_empty() {
            return Ok(());
        }
        let lines = self.lines(faults);
        let message = format!("{} has {}", self.name.display(), store::count(lines.len()));
        let hint = "mend them, then try again; nothing was written";
        Err(Failure::new("E-INVALID", exit::INVALID, message, hint).with(lines))
    }
}

/// The first state of a plan, and every fault that can be found before anything runs.
pub fn draft(mut plan: PlanReading, lineage: Lineage) -> PlanDraft {
    let mut faults = std::mem::take(&mut plan.faults);
    let warnings = std::mem::take(&mut plan.warnings);
    faults.extend(store::pattern_faults(&plan.patterns));
    let root = plan.root.take().unwrap_or_else(Node::null);
    let written = std::mem::take(&mut plan.written);
    let is_whole = faults.iter().all(|fault| fault.rule != "missing-value");
    let state = plan.into_state(lineage);
    if is_whole {
        let mut of_graph = validate::check(&state, &root);
        written.put_back(&mut of_graph);
        faults.extend(of_graph);
    }
    PlanDraft { state, root, written, faults, warnings }
}

//! Bindings: each replaces a solved atom (contract §6).
//!
//! Invariant: a binding holds its atom whole (`of`), so that backtracking may open it again. A parked one is inside
//! that very atom and omits `of`.

use super::{Atom, Try};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Member, Node, Value},
    id::{CommitId, Digest},
    state::{
        FreeValue,
        encode::labels::keys_of,
        fields::{Extra, Fields, Halves, Writer},
        rule::{Form, Owner},
        table::record,
        tool_call::ToolCall,
        value::FieldValue,
    },
};

/// The beginning of the result of a skipped atom.
pub const SKIPPED: &str = "skipped";

/// The maker of a result that a person gave.
pub(crate) const PERSON: &str = "person";

/// Characters at most in a summary.
pub const SUMMARY_CHARS_MAX: usize = 2_000;
/// Bytes at most of a value, as JSON.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;

record! {
    /// The result that replaces a solved atom
    pub struct Binding {
        /// The work in short
        always summary: String {Form::Short(SUMMARY_CHARS_MAX)},
        /// A value for the tasks that depend on it
        optional value: FreeValue,
        /// Files that the task made or changed
        filled(of_either_half) artifacts: Vec<String>,
        /// On the line of the result; absent where the tree did not change
        optional[internal] commit: CommitId,
        /// Digest of the change to the tree
        optional[internal] change: Digest,
        filled[internal] evidence: Vec<FreeValue>,
        optional[internal] context: Digest,
        /// Digest of the results upstream that it was made from
        optional[internal] inputs: Digest,
        filled[internal] attempts: u32,
        /// `person` unless given: such a binding is never overwritten
        always[program] by: String = PERSON.to_owned(),
        /// When it was made
        filled[program] at: String,
        /// The atom, whole
        always[internal] of: Arc<Atom> = Arc::default(),
        /// Words for who goes on from here
        optional[program] handoff: String,
        /// Whether some of it is left undone
        filled[program] partial: bool,
        /// Its agent says that it was only partly clear, or `unclear_because`
        filled[program] unclear: bool,
        /// The fault of its answer, or its agent's own doubt: its checks hold all the same
        filled[program] unclear_because: String,
        /// Keys of its answer that were read as they were meant
        filled[internal] read_as: Vec<String>,
        /// The newest tools that its agent called
        filled[internal] tried: Vec<ToolCall>,
    }
    with Default;
    check is_small;
}

impl Binding {
    pub fn is_by_person(&self) -> bool {
        self.by == PERSON
    }

    /// Whether it stands for work that a person left out.
    pub fn is_skip(&self) -> bool {
        self.is_by_person() && self.summary.starts_with(SKIPPED)
    }

    /// The digest of everything that others may depend on: value, artifacts, change. A summary counts only if an agent
    /// or a person wrote it.
    pub fn result_digest(&self) -> Digest {
        let mut to = Writer::default();
        to.some("value", self.value.clone()).texts_unless_empty("artifacts", &self.artifacts);
        to.some("change", self.change.as_ref().map(|change| Node::string(change.as_str())));
        if self.by != "action" {
            to.text("summary", &self.summary);
        }
        Digest::of(doc::canonical(&to.finish(&Extra::default())).as_bytes())
    }

    /// Its halves in the file, where the atom is written apart from it. Files that the summary names are in `internal`.
    pub fn file_halves(&self) -> Halves {
        let Halves { shown, internal } = self.halves();
        let mut members = shown.into_members();
        let mut half = internal.map(Node::into_members).unwrap_or_default();
        half.retain(|member| member.key != "of");
        if self.names_its_files() {
            half.extend(members.extract_if(.., |member| member.key == "artifacts"));
        }
        let label = self.commit.as_ref().map(|commit| Node::string(commit.label()));
        members.extend(label.map(|label| Member::new("commit", label)));
        let internal = (!half.is_empty()).then(|| Value::Object(half).into());
        Halves { shown: Value::Object(members).into(), internal }
    }

    /// Whether its summary names all its files, which are not shown then.
    pub(crate) fn names_its_files(&self) -> bool {
        self.artifacts.iter().all(|file| self.summary.contains(file.as_str()))
    }

    /// The try that a result by attempts of its own context implies.
    pub(crate) fn implied_try(&self) -> Option<Try> {
        let context = self.context.clone().filter(|_| self.attempts > 0 && !self.is_by_person())?;
        Some(Try { attempts: self.attempts, ..Try::new(context, BTreeMap::new()) })
    }

    /// The binding as it is written inside its own atom.
    pub fn parked_node(&self) -> Node {
        self.node().filtered(|key, _| key != "of")
    }
}

/// Files that a person names come first.
fn of_either_half(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let internal = fields.owned(Owner::Internal, |fields| Vec::take(fields, key));
    let is_typed = fields.has(key);
    let typed = Vec::take(fields, key);
    if is_typed { typed } else { internal }
}

fn is_small(fields: &mut Fields<'_, '_>, binding: &Binding) {
    keys_of(Binding::RULE.name).for_each(|label| fields.pass_over(label));
    if binding.summary.chars().count() > SUMMARY_CHARS_MAX {
        let message = format!("the summary is longer than {SUMMARY_CHARS_MAX} characters");
        fields.fault_at("summary", "limit", message, Some("shorten it".to_owned()));
    }
    let value = binding.value.as_ref();
    if value.is_some_and(|value| doc::write_compact(value).len() > VALUE_BYTES_MAX) {
        let message = "the value is larger than 64 KiB".to_owned();
        let hint = Some("put it into a file of the tree".to_owned());
        fields.fault_at("value", "limit", message, hint);
    }
}

//! The assertions of a state, people's confirmations of them, and the evidence for a verdict.
//!
//! Invariant: a confirmation that names a tree or an attempt counts on that one alone; of those that
//! count, the newest decides.

use super::{Evaluator, LeafEvidence, MeasurementKind, Verdict, decided};
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, AttemptId},
    state::{
        Check, Correction, CorrectionRecord, Intent, Leaf, State, Workspace,
        check::{QualityLeaf, number_node},
        record::EvidenceRecord,
    },
};

/// One assertion, wherever it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Its name for people, or its statement if it has none.
    pub name: String,
    pub statement: String,
    pub in_base_case: bool,
    /// The atoms that have it among their own checks.
    pub atoms: Vec<AtomId>,
}

impl Assertion {
    /// A name is shown on one line, and typed as it is shown.
    pub fn is_called(&self, name: &str) -> bool {
        let is = |known: &str| known.split_whitespace().eq(name.split_whitespace());
        is(&self.name) || is(&self.statement)
    }

    /// Whether a confirmation is for one tree: if only the whole result is examined, and trees can
    /// be distinguished. A candidate of an atom is merged later, so its tree is another then.
    pub fn is_of_one_tree(&self, state: &State) -> bool {
        self.in_base_case
            && self.atoms.is_empty()
            && state.objective.constraints.workspace() != Workspace::Shared
    }

    /// The attempt whose candidate waits for a word, or may be about to; none if a word is for good.
    pub fn attempt<'s>(&self, state: &'s State) -> Option<&'s AttemptId> {
        let is_of = |intent: &&Intent| self.atoms.contains(&intent.atom);
        let mut waiting = state.run.in_flight.iter().filter(|_| !self.in_base_case).filter(is_of);
        let is_open = |intent: &&Intent| {
            let counts = |word: &CorrectionRecord| word.attempt.as_ref() == Some(&intent.id);
            newest(&state.corrections, &self.name, &self.statement, counts).is_none()
        };
        let first = waiting.clone().next();
        waiting.find(is_open).or(first).map(|intent| &intent.id)
    }

    /// The confirmation that counts for the present result.
    pub fn confirmation<'s>(&self, state: &'s State) -> Option<&'s CorrectionRecord> {
        said_now(state, &self.name, &self.statement)
    }
}

fn said_now<'s>(state: &'s State, name: &str, statement: &str) -> Option<&'s CorrectionRecord> {
    newest(&state.corrections, name, statement, |word| {
        let is_in_flight =
            |id: &AttemptId| state.run.in_flight.iter().any(|intent| intent.id == *id);
        let is_of_tree = word.on.is_none() || word.commit.as_ref() == state.run.result();
        is_of_tree && word.attempt.as_ref().is_none_or(is_in_flight)
    })
}

/// The verdict on an assertion for the present result; `None` for every other leaf.
pub fn as_it_stands(state: &State, check: &Check) -> Option<Verdict> {
    let (name, statement) = called(check)?;
    Some(match said_now(state, name, statement) {
        Some(word) if word.affirms() => Verdict::Pass,
        Some(_) => Verdict::Fail,
        None => Verdict::Unknown,
    })
}

/// Every assertion of a state, each once: those of the base case as written, then those of the
/// atoms.
pub fn assertions(state: &State) -> Vec<Assertion> {
    let mut found: Vec<Assertion> = Vec::new();
    let base_case = state.objective.base_case.iter().map(|check| (None, check));
    let atoms = state
        .all_atoms()
        .into_iter()
        .filter_map(|(id, atom)| Some((Some(id), atom.task()?.spec.checks.as_ref()?)));
    for (atom, check) in base_case.chain(atoms) {
        for (name, statement) in check.leaves().into_iter().filter_map(called) {
            let known = found.iter().position(|known| known.name == name);
            let at = known.unwrap_or_else(|| {
                found.push(Assertion {
                    name: name.to_string(),
                    statement: statement.to_string(),
                    in_base_case: false,
                    atoms: Vec::new(),
                });
                found.len() - 1
            });
            match atom {
                None => found[at].in_base_case = true,
                Some(id) => found[at].atoms.push(id.clone()),
            }
        }
    }
    found
}

/// The names of assertions that nobody confirmed for the present result, and that something still
/// waits for.
pub fn open(state: &State) -> Vec<String> {
    let is_awaited = |one: &Assertion| {
        one.in_base_case || one.atoms.iter().any(|id| state.atoms.contains_key(id))
    };
    let is_open = |one: &Assertion| one.confirmation(state).is_none_or(|word| !word.affirms());
    assertions(state)
        .into_iter()
        .filter(|one| is_awaited(one) && is_open(one))
        .map(|one| one.name)
        .collect()
}

/// The command by which a person confirms it, quoted for a shell.
pub fn command(name: &str) -> String {
    let needs_care = |c: char| matches!(c, '"' | '$' | '`' | '\\' | '!');
    let quoted = if name.contains(needs_care) {
        format!("'{}'", name.replace('\'', "'\\''"))
    } else {
        format!("\"{name}\"")
    };
    let dashes = if name.starts_with('-') { "-- " } else { "" };
    format!("descent confirm {dashes}{quoted}")
}

/// Name and statement of an assertion.
pub(super) fn called(check: &Check) -> Option<(&str, &str)> {
    match check.leaf()? {
        Leaf::Assertion(leaf) => {
            let statement = leaf.statement.as_str();
            Some((check.name.as_deref().unwrap_or(statement), statement))
        }
        _ => None,
    }
}

/// The newest confirmation of an assertion with this name, among those that count.
pub fn newest<'s>(
    corrections: &'s [Arc<Correction>],
    name: &str,
    statement: &str,
    counts: impl Fn(&CorrectionRecord) -> bool,
) -> Option<&'s CorrectionRecord> {
    let mut named = corrections.iter().rev().filter_map(|one| one.confirms()).filter(|word| {
        word.name.as_deref().is_some_and(|called| called == name || called == statement)
    });
    named.find(|word| counts(word))
}

// The evidence for a verdict, as bindings and results record it.

impl Evaluator<'_> {
    /// The newest confirmation of an assertion that counts here.
    pub(super) fn said(&self, check: &Check) -> Option<&CorrectionRecord> {
        let (name, statement) = called(check)?;
        let on = self.basis.text();
        let counts = |word: &CorrectionRecord| {
            let is_of_attempt = word
                .attempt
                .as_ref()
                .is_none_or(|id| self.attempt.is_some_and(|one| one.id == *id));
            is_of_attempt && word.on.as_ref().is_none_or(|tree| *tree == on)
        };
        newest(self.corrections, name, statement, counts)
    }

    /// The word of a person who said that it does not hold.
    pub fn denial(&self, check: &Check) -> Option<&CorrectionRecord> {
        self.said(check).filter(|word| !word.affirms())
    }

    /// The evidence of every leaf that was measured, of the assertions, and of the quality leaves.
    pub fn evidence_of(&self, check: &Check) -> Vec<EvidenceRecord> {
        let evidence = |leaf: &Check| match (self.cache.get(&leaf.key(), self.basis), leaf.leaf()?)
        {
            (Some(seen), _) => Some(self.of_measurement(leaf, seen)),
            (None, Leaf::Assertion(_)) => Some(self.of_word(leaf)),
            (None, Leaf::Quality(quality)) => Some(self.of_rating(leaf, quality)),
            (None, _) => None,
        };
        check.leaves().into_iter().filter_map(evidence).collect()
    }

    fn record(&self, check: &Check, verdict: Verdict, ended: Option<String>) -> EvidenceRecord {
        EvidenceRecord { ended, ..EvidenceRecord::of(check, verdict.word(), self.basis.text()) }
    }

    fn of_measurement(&self, check: &Check, seen: &LeafEvidence) -> EvidenceRecord {
        let measurement = &seen.measurement;
        let (ended, number, found) = match &measurement.what {
            MeasurementKind::Command { how, number, .. } => {
                (Some(how.text()), number.map(number_node), None)
            }
            MeasurementKind::Files { found, .. } => (None, None, Some(*found as u64)),
            MeasurementKind::SetupFailed { how } => (Some(how.text() + " in setup"), None, None),
        };
        EvidenceRecord {
            number,
            found,
            duration_ms: Some(measurement.duration_ms),
            output: measurement.excerpt.clone(),
            whole: measurement.whole.clone(),
            ..self.record(check, seen.verdict, ended)
        }
    }

    /// A person's confirmation of an assertion, or that there is none.
    fn of_word(&self, check: &Check) -> EvidenceRecord {
        let (verdict, ended) = match self.said(check) {
            Some(word) => (decided(word.affirms()), word.word_text()),
            None => (Verdict::Unknown, "a person must confirm it".to_owned()),
        };
        self.record(check, verdict, Some(ended))
    }

    /// A judge's rating of a quality leaf, or that there is none.
    fn of_rating(&self, check: &Check, leaf: &QualityLeaf) -> EvidenceRecord {
        let rating = self.rating(check);
        let passes = rating.and_then(|rating| rating.passes(leaf));
        let text = rating.map(|rating| rating.text(leaf));
        let text = text.unwrap_or_else(|| "no judge has rated it".to_owned());
        self.record(check, passes.map_or(Verdict::Unknown, decided), Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed_whatever_the_name() {
        let rows = [
            ("looks right", "descent confirm \"looks right\""),
            ("it's right", "descent confirm \"it's right\""),
            ("costs $5", "descent confirm 'costs $5'"),
            ("it's \"so\"", "descent confirm 'it'\\''s \"so\"'"),
            ("-x", "descent confirm -- \"-x\""),
        ];
        for (name, wanted) in rows {
            assert_eq!(command(name), wanted);
        }
    }
}

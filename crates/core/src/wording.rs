//! An agent's words for the final answer (contract §9.27): when they are asked for, what is kept of a run's limits for
//! them, and their place in a result.
//!
//! Invariant: they change the text and add notes, and nothing else of a result. Not here: the question
//! (`step/final_words`), and the answer by code (`step/account`).

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    doc,
    id::Digest,
    profile,
    state::{
        Consult, JudgedBy, JudgingLevel, Question, Reason, Run, RunStatus, State, TextAnswer,
        UsageLimit, final_result::FinalOutput,
    },
};

/// Kept of the limits of a run for the question.
const CALLS_KEPT: u64 = 1;
const TOKENS_KEPT: u64 = 4_000;
/// The beginning of a note that an agent gave.
const BY_MODEL: &str = "model: ";
/// The beginning of a note about what was asked for and what is there.
const DRIFT: &str = "advice, not proof: ";

/// Whether an ending of a run is worded by an agent.
pub fn is_wanted(state: &State) -> bool {
    state.run.asks(Question::Word) && profile::judging(state) >= Question::Word.row().level
}

/// Whether an ending is one that an agent words: the run ended by itself, and something was tried for it.
pub fn is_worded(run: &Run) -> bool {
    let is_own = matches!(run.status, RunStatus::Completed | RunStatus::Exhausted);
    is_own && run.ending.reason != Some(Reason::AlreadyHeld)
}

/// Whether the agent also compares what was asked for with what is there.
pub fn compares(state: &State) -> bool {
    state.run.status == RunStatus::Completed && profile::judging(state) == JudgingLevel::Full
}

/// The digest of an ending: another one is another subject.
pub fn subject(state: &State) -> Digest {
    let run = &state.run;
    let commit = run.result().map_or("", |commit| commit.as_str());
    let reason = run.ending.reason.map_or("", Reason::word);
    let (status, summary) = (run.status.word(), &run.ending.summary);
    // Other limits make no other ending.
    let objective = state.objective.node().filtered(|key, _| key != "constraints");
    let objective = doc::canonical(&objective);
    Digest::of(format!("{status}\n{reason}\n{commit}\n{summary}\n{objective}").as_bytes())
}

/// The question about the ending that the state tells; none where another one, or none, is in it.
pub fn asked(state: &State) -> Option<&Consult> {
    let consult = state.run.consult.as_ref()?;
    is_of_ending(state, consult).then_some(consult)
}

/// Whether a question is about the ending that the state tells.
pub fn is_of_ending(state: &State, consult: &Consult) -> bool {
    let run = &state.run;
    let is_put = consult.question == Question::Word && consult.epoch == run.epoch;
    is_put && run.ending.is_known() && subject(state) == consult.subject
}

/// The part of a limit that is kept for the question, and used for nothing else. Half of a small limit stays for the work.
pub fn kept(state: &State, limit: UsageLimit) -> u64 {
    let most = state.objective.constraints.usage(limit);
    let (Some(most), true) = (most, is_wanted(state)) else {
        return 0;
    };
    let kept = match limit {
        UsageLimit::Calls => CALLS_KEPT,
        UsageLimit::Tokens => TOKENS_KEPT,
        UsageLimit::Cost => 0,
    };
    kept.min(most / 2)
}

/// The parts of the limits that are kept for the question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptBudget {
    pub model_calls: u64,
    pub tokens: u64,
}

impl KeptBudget {
    pub fn of(state: &State) -> Self {
        Self {
            model_calls: kept(state, UsageLimit::Calls),
            tokens: kept(state, UsageLimit::Tokens),
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The part of a limit that is for the work.
pub fn for_work(state: &State, limit: UsageLimit) -> Option<u64> {
    let most = state.objective.constraints.usage(limit)?;
    Some(most.saturating_sub(kept(state, limit)))
}

/// Puts the words of an agent in the place of those by code. The measured parts stay.
pub fn put_into(words: &TextAnswer, output: &mut FinalOutput) {
    let own = words.notes.iter().map(|note| format!("{BY_MODEL}{note}"));
    let drift = words.drift.iter().map(|note| format!("{DRIFT}{note}"));
    output.notes.extend(own.chain(drift));
    output.doubted = !words.drift.is_empty();
    output.text.clone_from(&words.text);
    output.by = Some(JudgedBy::Model);
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, sync::Arc, vec::Vec};

    use super::*;
    use crate::{id::Lineage, plan};

    #[test]
    fn words_take_the_place_of_those_by_code_with_their_notes_behind() {
        let list = |text: &str| Vec::from([text.to_string()]);
        let words = TextAnswer {
            text: "It\nis there.".to_string(),
            notes: list("a b"),
            drift: list("c"),
            extra: Default::default(),
        };
        let mut output = FinalOutput {
            text: "by code".to_string(),
            confidence: None,
            used: Vec::new(),
            notes: list("by code"),
            doubted: false,
            by: Some(JudgedBy::Code),
            extra: Default::default(),
        };
        put_into(&words, &mut output);
        assert!(output.doubted, "it has a doubt");
        assert_eq!(output.text, "It\nis there.", "its lines stay");
        assert_eq!(output.notes, ["by code", "model: a b", "advice, not proof: c"]);
        assert_eq!(output.by, Some(JudgedBy::Model));
    }

    #[test]
    fn a_part_of_the_limits_is_kept_only_where_an_agent_is_asked() {
        let state = |limits: &str, answers| {
            let text = format!(
                r#"{{"objective": {{"goal": "g", "base_case": {{"command": "make"}}, "constraints": {limits}}}}}"#
            );
            let mut state = plan::read(text.as_bytes()).into_state(Lineage::new("l"));
            let questions = if answers { Vec::from([Question::Word]) } else { Vec::new() };
            Arc::make_mut(&mut state.run).questions = questions;
            let left = |limit| for_work(&state, limit);
            (left(UsageLimit::Calls), left(UsageLimit::Tokens))
        };
        for (limits, answers, left) in [
            (
                r#"{"judging": "model", "budget": {"calls": 5, "tokens": 9000}}"#,
                true,
                (Some(4), Some(5_000)),
            ),
            (
                r#"{"judging": "model", "budget": {"calls": 1, "tokens": 1000}}"#,
                true,
                (Some(1), Some(500)),
            ),
            (r#"{"judging": "code", "budget": {"calls": 5}}"#, true, (Some(5), None)),
            (r#"{"judging": "full", "budget": {"calls": 5}}"#, false, (Some(5), None)),
            (r#"{"judging": "full"}"#, true, (None, None)),
        ] {
            assert_eq!(state(limits, answers), left, "{limits}");
        }
    }
}

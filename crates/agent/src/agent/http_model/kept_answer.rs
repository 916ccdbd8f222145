//! The answers of a model, on disk before anybody acts on them: a question that was answered is never paid for twice.
//!
//! Invariant: a record counts as missing unless it is whole, bound to the same purpose, and of the same model.

use std::{
    io,
    path::{Path, PathBuf},
};

use descent_core::state::Usage;
use serde::{Deserialize, Serialize};

use crate::{
    agent::directory::{self, ANSWERS},
    config::provider::Provider,
    model::ModelAnswer,
};
use descent_system::files;

/// Three answers of the greatest length, in which each byte may be escaped.
const BYTES_MAX: u64 = 8 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct KeptRecord {
    schema: String,
    bound: String,
    asked: String,
    prompt: String,
    answers: Vec<ModelAnswer>,
}

const SCHEMA: &str = "descent/answers/1";

/// The answers of one talk, in the order of its turns.
#[derive(Debug)]
pub(super) struct KeptAnswers {
    path: PathBuf,
    record: KeptRecord,
}

impl KeptAnswers {
    /// Those that are there, else none; `prompt` is the first question of a new talk.
    pub(super) fn open(dir: &Path, bound: &str, provider: &Provider, prompt: &str) -> Self {
        let asked = provider.line();
        let path = dir.join(ANSWERS);
        let found = read(&path).filter(|record| record.bound == bound && record.asked == asked);
        let record = found.unwrap_or_else(|| KeptRecord {
            schema: SCHEMA.to_owned(),
            bound: bound.to_owned(),
            asked,
            prompt: prompt.to_owned(),
            answers: Vec::new(),
        });
        Self { path, record }
    }

    /// The first question: that of the answers that are there.
    pub(super) fn prompt(&self) -> &str {
        &self.record.prompt
    }

    pub(super) fn answer(&self, nth: usize) -> Option<ModelAnswer> {
        self.record.answers.get(nth).cloned()
    }

    /// The usage of the answers that are there. That of a try without an answer is forgotten with a kill of the loop.
    pub(super) fn usage(&self) -> Usage {
        let mut used = Usage::default();
        for answer in &self.record.answers {
            let (tokens, is_estimated) = (answer.tokens.tokens(), answer.tokens.is_estimated);
            used.add(&Usage { calls: 1, tokens, is_estimated, ..Usage::default() });
        }
        used
    }

    /// Keeps one more answer; it is durable when this returns.
    pub(super) fn add(&mut self, answer: &ModelAnswer) -> io::Result<()> {
        self.record.answers.push(answer.clone());
        directory::write_durably(&self.path, &serde_json::to_vec(&self.record)?)
    }
}

fn read(path: &Path) -> Option<KeptRecord> {
    let record: KeptRecord = serde_json::from_slice(&files::read(path, BYTES_MAX).ok()?).ok()?;
    (record.schema == SCHEMA).then_some(record)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // door: tests
mod tests {
    use super::*;
    use crate::{
        config::provider::Wire,
        model::{AnswerStop, TokenCounts},
    };

    fn provider(model: &str) -> Provider {
        Provider {
            wire: Wire::Chat,
            base_url: "http://localhost:1/v1".to_owned(),
            model: model.to_owned(),
            key: None,
            max_parallel: 1,
            context: None,
            max_answer: None,
            effort: None,
        }
    }

    #[test]
    fn an_answer_is_there_again_for_the_same_purpose_and_model_alone() {
        let dir = tempfile::tempdir().unwrap();
        let answer = ModelAnswer {
            text: "{}".to_owned(),
            tokens: TokenCounts { input: 3, is_estimated: true, ..TokenCounts::default() },
            stop: AnswerStop::Refused("no".to_owned()),
        };
        let mut kept = KeptAnswers::open(dir.path(), "A1.1/c", &provider("m"), "today");
        assert_eq!(kept.answer(0), None);
        kept.add(&answer).unwrap();
        let again = KeptAnswers::open(dir.path(), "A1.1/c", &provider("m"), "tomorrow");
        assert_eq!((again.answer(0), again.prompt()), (Some(answer), "today"));
        for (bound, model) in [("A1.1/d", "m"), ("A1.1/c", "n")] {
            let other = KeptAnswers::open(dir.path(), bound, &provider(model), "tomorrow");
            assert_eq!((other.answer(0), other.prompt()), (None, "tomorrow"));
        }
        std::fs::write(dir.path().join(ANSWERS), "{\"schema\"").unwrap();
        let torn = KeptAnswers::open(dir.path(), "A1.1/c", &provider("m"), "later");
        assert_eq!(torn.answer(0), None);
    }
}

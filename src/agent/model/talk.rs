//! A talk with a model: questions and answers in turns, each answer kept before it is looked at.

use std::{io, path::Path};

use serde_json::Value;

use super::{AskedModel, kept::KeptAnswers};
use crate::{
    config::provider::Wire,
    model::{
        AskContext, AskObserver, ModelAnswer, ModelError, ModelQuestion, ModelTurn, Speaker,
        TRIES_MAX,
    },
    process::Programs,
};

/// Turns of a talk at most, whatever is said in it.
const TURNS_MAX: usize = 16;
/// Tokens of an answer at most, where the wire wants a number and the configuration names none.
const ANSWER_TOKENS: u64 = 8_192;
const SYSTEM: &str =
    "You are a careful engineer. You answer exactly in the form that is asked for.";

/// Tokens of an answer at most that this program names by itself.
pub(super) fn answer_tokens(wire: Wire) -> Option<u64> {
    (wire == Wire::Messages).then_some(ANSWER_TOKENS)
}

/// One talk.
pub(super) struct ModelTalk<'a> {
    pub(super) model: &'a AskedModel,
    pub(super) programs: &'a dyn Programs,
    /// The mark of the attempt.
    pub(super) mark: &'a str,
    pub(super) schema: Option<&'a Value>,
    /// The directory that keeps the answers.
    pub(super) dir: &'a Path,
    pub(super) observer: &'a dyn AskObserver,
}

/// Why a talk came to no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ModelTalkError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("an answer cannot be kept: {0}")]
    Unkept(#[source] io::Error),
}

impl ModelTalk<'_> {
    /// Talks until `take` has no further question. It gets each answer.
    pub(super) async fn go(
        &self,
        mut kept: KeptAnswers,
        take: &mut (dyn FnMut(&ModelAnswer) -> Option<String> + Send),
    ) -> Result<(), ModelTalkError> {
        let mut turns = vec![ModelTurn { by: Speaker::User, text: kept.prompt().to_owned() }];
        for nth in 0..TURNS_MAX {
            let answer = match kept.answer(nth) {
                Some(answer) => answer,
                None => {
                    let answer = self.ask(nth, turns.clone()).await?;
                    kept.add(&answer).map_err(ModelTalkError::Unkept)?;
                    answer
                }
            };
            let Some(words) = take(&answer) else {
                return Ok(());
            };
            // Some servers take no empty turn.
            let text = match answer.text.trim() {
                "" => "(nothing)".to_owned(),
                _ => answer.text,
            };
            turns.push(ModelTurn { by: Speaker::Model, text });
            turns.push(ModelTurn { by: Speaker::User, text: words });
        }
        Ok(())
    }

    async fn ask(&self, nth: usize, turns: Vec<ModelTurn>) -> Result<ModelAnswer, ModelError> {
        let question = ModelQuestion {
            system: SYSTEM.to_owned(),
            turns,
            schema: self.schema.cloned(),
            is_object: true,
            max_answer: ANSWER_TOKENS,
        };
        let seed = format!("{}/{nth}", self.dir.display());
        let context = AskContext {
            provider: &self.model.provider,
            limits: self.model.ask_limits(),
            programs: self.programs,
            mark: self.mark,
            observer: self.observer,
            tries_max: TRIES_MAX,
            seed: &seed,
        };
        self.model.asker.ask(context, &question).await
    }
}

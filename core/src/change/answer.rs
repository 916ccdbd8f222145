//! A person's word on an assertion becomes a correction of type `confirmation` (contract §3, §8).

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};

use super::{Answer, ChangeRefusal, draft::Draft};
use crate::{
    state::{CorrectionRecord, record::CorrectionType},
    verdict::assertions::newest,
};

impl Answer<'_> {
    /// Records the answer; refused if the same was recorded already.
    pub(super) fn make(&self, draft: &mut Draft<'_>) -> Result<(), ChangeRefusal> {
        let state = &draft.state;
        let on = self.on.map(|tree| tree.as_str().to_string());
        let (name, statement) = (&self.assertion.name, &self.assertion.statement);
        let counts = |earlier: &CorrectionRecord| earlier.on.is_none() || earlier.on == on;
        if let Some(earlier) = newest(&state.corrections, name, statement, counts)
            && earlier.affirms() == self.holds
        {
            return Err(ChangeRefusal::SameAnswer(Box::new(earlier.clone())));
        }
        let commit = on.as_ref().and_then(|_| state.run.result().cloned());
        let what = self.describe();
        let correction = draft.correct(CorrectionType::Confirmation, what);
        correction.name = Some(name.clone());
        correction.holds = Some(self.holds);
        correction.on = on;
        correction.commit = commit;
        correction.reason = self.reason.map(ToString::to_string);
        Ok(())
    }

    fn describe(&self) -> String {
        let verb = if self.holds { "confirmed" } else { "denied" };
        let why = self.reason.map(|why| format!(" ({why})"));
        format!("{verb}: {}{}", self.assertion.name, why.unwrap_or_default())
    }
}

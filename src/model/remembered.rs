//! The servers that hold an answer to a form, as each was tried once: in a small file of the person's cache.
//!
//! Invariant: nothing depends on the file. Without it a server is tried again.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    config::provider::Provider,
    files::{self, private},
};

const NAME: &str = "servers.json";
const BYTES_MAX: u64 = 256 << 10;
const RECORDS_MAX: usize = 200;

/// The form that a server holds an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerForm {
    Schema,
    /// Any JSON object.
    Object,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FormRecord {
    base_url: String,
    model: String,
    wire: String,
    form: AnswerForm,
    holds: bool,
}

impl FormRecord {
    fn new(provider: &Provider, form: AnswerForm, holds: bool) -> Self {
        Self {
            base_url: provider.base_url.clone(),
            model: provider.model.clone(),
            wire: provider.wire.word().to_owned(),
            form,
            holds,
        }
    }
}

#[derive(Debug)]
pub(super) struct FormMemory {
    dir: Option<PathBuf>,
    /// Read at the first question.
    records: OnceLock<Mutex<Vec<FormRecord>>>,
}

impl FormMemory {
    pub(super) fn new(dir: Option<PathBuf>) -> Self {
        Self { dir, records: OnceLock::new() }
    }

    /// `None` where it was never tried.
    pub(super) fn holds(&self, provider: &Provider, form: AnswerForm) -> Option<bool> {
        let known = |holds| self.records().contains(&FormRecord::new(provider, form, holds));
        [true, false].into_iter().find(|holds| known(*holds))
    }

    pub(super) fn learn(&self, provider: &Provider, form: AnswerForm, holds: bool) {
        if self.holds(provider, form) == Some(holds) {
            return;
        }
        let mut records = self.records();
        let other = FormRecord::new(provider, form, !holds);
        records.retain(|record| *record != other);
        let over = (records.len() + 1).saturating_sub(RECORDS_MAX);
        records.drain(..over);
        records.push(FormRecord::new(provider, form, holds));
        let text = serde_json::to_vec(&*records).unwrap_or_default();
        let written = self.dir.as_ref().map(|dir| private::write_loosely(dir, NAME, &text));
        if let Some(Err(error)) = written {
            tracing::debug!(%error, "what a server can do is not remembered");
        }
    }

    fn records(&self) -> MutexGuard<'_, Vec<FormRecord>> {
        let records = self.records.get_or_init(|| {
            let bytes = self.dir.as_ref();
            let bytes = bytes.and_then(|dir| files::read(&dir.join(NAME), BYTES_MAX).ok());
            let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            Mutex::new(read.unwrap_or_default())
        });
        // A list that is not whole is no worse than none.
        records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! A diagnosis of the machine: each thing that a run needs, tried in the very places that a run uses.
//!
//! Invariant: it works without a state too, and nothing of it stays.

mod agent_findings;
mod machine;

use std::borrow::Cow;

use serde::Serialize;

use descent_process::Programs;
use descent_store::StatePlace;

/// The state of one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Health {
    Ok,
    /// A run works without it, or with a part of it.
    Degraded,
    /// It is there, and no run works with it as it is.
    Unusable,
    /// No run works without it.
    Missing,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    pub name: Cow<'static, str>,
    pub health: Health,
    /// The observation.
    pub found: String,
    /// Its consequence, if something is wrong.
    pub means: Option<&'static str>,
    /// The remedy.
    pub mend: Option<String>,
}

impl Finding {
    fn ok(name: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        Self { name: name.into(), health: Health::Ok, found: found.into(), means: None, mend: None }
    }
}

impl Health {
    /// A finding that is not well; without a remedy the last is empty.
    fn of(
        self,
        name: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        means: &'static str,
        mend: impl Into<String>,
    ) -> Finding {
        let mend = Some(mend.into()).filter(|how| !how.is_empty());
        Finding { health: self, means: Some(means), mend, ..Finding::ok(name, found) }
    }
}

/// Tries everything.
pub fn diagnose(place: &StatePlace, programs: &dyn Programs) -> Vec<Finding> {
    let mut findings = machine::findings(place);
    findings.extend(agent_findings::findings(place, programs));
    findings.extend([machine::ending(), machine::fence(place)]);
    findings
}

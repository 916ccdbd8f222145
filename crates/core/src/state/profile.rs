//! The profile of a task: how deep it is, how much is known, and what that asks for; and the passes of a run that it allows.
//!
//! Invariant: a text that is no profile is a fault with its place. Not here: what follows from a profile (`profile`).

use super::{
    answer_texts::share,
    check::Thousandths,
    fields::Fields,
    rule::Form,
    table::{record, words},
    value::{FieldValue, up_to},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    id::AgentName,
};

words! {
    /// How much is done by tools
    pub enum ToolUsage {
        NoTools = "none",
        Minimal = "minimal",
        Moderate = "moderate",
        Extensive = "extensive",
    }
}

words! {
    /// How much shall come out
    pub enum OutputBreadth {
        Narrow = "narrow",
        Moderate = "moderate",
        Broad = "broad",
    }
}

words! {
    /// How sure the result has to be
    pub enum ConfidenceNeed {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

record! {
    /// The passes of a run: a pass is a stretch of it under one plan
    #[derive(PartialEq)]
    pub struct PassCount {
        always[program] allocated: u32,
        /// Passes that have begun, the present one among them
        always[program] begun: u32 = 1,
    }
}

words! {
    /// The origin of a profile
    pub enum ProfileSource {
        /// An agent said it
        Inferred = "inferred",
        /// An agent was asked, and gave none that can be used
        Default = "default",
    }
}

record! {
    part
    /// The kind of task that a goal is, with nothing left out
    #[derive(Copy, PartialEq)]
    pub struct TaskProfile {
        /// From 1, a single look, to 5
        required(depth) reasoning_depth: u32 {Form::Whole(1, 5)},
        /// How much of what is needed is known, from 0 to 1
        required(share) information_sufficiency: Thousandths {Form::Share},
        required expected_tool_usage: ToolUsage,
        required output_breadth: OutputBreadth,
        required confidence_requirement: ConfidenceNeed,
    }
}

record! {
    /// The kind of task that a goal is, by an agent that was asked before anything was planned
    #[derive(PartialEq)]
    pub struct ProfileRecord {
        part[program] profile: TaskProfile,
        /// The agent's reasons
        filled[program] raw_inference: String,
        required[program] source: ProfileSource,
        required[program] agent: AgentName,
        /// Why there is only a default
        filled[program] fault: String,
        always[program] at: String,
        /// The newest changes, the oldest first
        filled[program] history: Vec<ProfileChange>,
    }
}

record! {
    /// A field of a profile that was revised at the end of a pass
    #[derive(PartialEq)]
    pub struct ProfileChange {
        always[program] pass: u64,
        always[program] field: String,
        always[program] was: String,
        always[program] is: String,
        /// The passes that were allocated before
        always[program] passes_were: u32,
        always[program] passes: u32,
        filled[program] because: String,
    }
}

impl TaskProfile {
    /// The profile of a goal of which nothing is known.
    pub const UNKNOWN: Self = Self {
        reasoning_depth: 3,
        information_sufficiency: Thousandths(500),
        expected_tool_usage: ToolUsage::Moderate,
        output_breadth: OutputBreadth::Moderate,
        confidence_requirement: ConfidenceNeed::Medium,
    };
}

/// A person's own words on the kind of task: any of its five fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileText {
    text: String,
    /// The fields that they leave out are those of a goal of which nothing is known.
    pub profile: TaskProfile,
}

const FIELDS: [&str; 5] = ["depth", "information", "tools", "breadth", "confidence"];

impl ProfileText {
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut profile = TaskProfile::UNKNOWN;
        for part in text.split(',').map(str::trim) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim(), value.trim());
            match key {
                "depth" => {
                    let depth = value.parse().ok().filter(|depth| (1..=5).contains(depth));
                    let depth = depth.ok_or("`depth` is a whole number from 1 to 5")?;
                    profile.reasoning_depth = depth;
                }
                "information" => {
                    let share = Thousandths::parse(value).filter(|share| share.0 <= 1_000);
                    let share = share.ok_or("`information` is a number from 0 to 1")?;
                    profile.information_sufficiency = share;
                }
                "tools" => profile.expected_tool_usage = ToolUsage::one_of(key, Some(value))?,
                "breadth" => profile.output_breadth = OutputBreadth::one_of(key, Some(value))?,
                "confidence" => {
                    profile.confidence_requirement = ConfidenceNeed::one_of(key, Some(value))?
                }
                _ => {
                    let near = doc::did_you_mean(key, FIELDS).map(|near| format!("; {near}"));
                    let all = FIELDS.join(", ");
                    return Err(format!(
                        "`{key}` is no part of a profile, which has {all}{}",
                        near.unwrap_or_default()
                    ));
                }
            }
        }
        Ok(Self { text: text.trim().to_string(), profile })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The next of the same kind that may be worth more passes: one deeper, or with nothing that is known.
    pub fn deeper(&self) -> Option<Self> {
        let depth = self.profile.reasoning_depth;
        let information = self.profile.information_sufficiency.0;
        let (key, value) = match (depth, information) {
            (..5, _) => ("depth", depth + 1),
            (_, 1..) => ("information", 0),
            _ => return None,
        };
        let parts = self.text.split(',').map(str::trim);
        let others = parts.filter(|part| part.split('=').next().map(str::trim) != Some(key));
        let mut text: Vec<String> = others.map(ToString::to_string).collect();
        text.push(format!("{key}={value}"));
        Self::parse(&text.join(",")).ok()
    }
}

/// Changes of a profile that are kept: the newest.
pub const PROFILE_CHANGES_MAX: usize = 8;

fn depth(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    up_to(fields, key, 5, "bad-profile")
}

impl FieldValue for ProfileText {
    fn form() -> Form {
        Form::Text
    }

    fn take(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let text = fields.text(key)?;
        match Self::parse(&text) {
            Ok(profile) => Some(profile),
            Err(fault) => {
                let hint = "such as depth=4,information=0.2,confidence=high".to_string();
                fields.fault_at(key, "bad-profile", fault, Some(hint));
                None
            }
        }
    }

    fn node(&self) -> Node {
        Node::string(self.text.as_str())
    }
}

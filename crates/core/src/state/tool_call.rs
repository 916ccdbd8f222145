//! A call of a tool by an agent, as far as it is kept.

use super::table::record;
use crate::doc::prelude::*;

/// Calls of tools at most that are kept of one attempt.
pub const TRIED_MAX: usize = 50;
const CHARS_MAX: usize = 200;

record! {
    /// A call of a tool
    #[derive(Default, PartialEq)]
    pub struct ToolCall {
        /// The kind of tool, or its name
        always[program] tool: String,
        /// A file, a command or an address
        filled[program] target: String,
        /// Whether its agent says that it failed
        filled[program] failed: bool,
    }
}

impl ToolCall {
    /// Both texts are cut to 200 characters.
    pub fn new(tool: &str, target: &str) -> Self {
        let short = |text: &str| text.chars().take(CHARS_MAX).collect();
        Self { tool: short(tool), target: short(target), ..Self::default() }
    }

    /// It in a line.
    pub fn text(&self) -> String {
        let target = if self.target.is_empty() { "" } else { ": " };
        let failed = if self.failed { " (failed)" } else { "" };
        format!("{}{target}{}{failed}", self.tool, self.target)
    }
}

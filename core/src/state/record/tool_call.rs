//! A call of a tool by an agent.
//!
//! Not here: how a protocol tells of one (the shell).

use alloc::string::String;

use crate::state::{fields::Extra, table::record};

/// ToolCall things at most that are kept of one attempt.
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
    }
}

impl ToolCall {
    /// Both texts are cut to 200 characters.
    pub fn new(tool: &str, target: &str) -> Self {
        let short = |text: &str| text.chars().take(CHARS_MAX).collect();
        Self { tool: short(tool), target: short(target), extra: Extra::default() }
    }
}

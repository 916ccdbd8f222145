//! The prompt of a correcting turn: why the checks of an attempt do not hold (contract §9.37). Its session has heard the rest.

use core::time::Duration;

use descent_core::doc::prelude::*;
use descent_core::state::CorrectingTurn;

use super::{
    Prompt,
    section::{cut, flag, last_lines},
};

/// Bytes of the end of an output that a turn is told.
const OUTPUT_END_BYTES_MAX: usize = 8 << 10;
const REASON_BYTES_MAX: usize = 1_500;

/// Everything that the prompt of a turn is made from.
#[derive(Debug, Clone, Copy)]
pub struct CorrectingInputs<'a> {
    pub turn: &'a CorrectingTurn,
    /// Turns that the attempt may have in all.
    pub of: u32,
    pub left: Duration,
    /// The end of what the check printed, where it is kept as a file.
    pub output: Option<&'a str>,
    /// The path of that file.
    pub path: Option<&'a str>,
}

pub fn correcting(inputs: &CorrectingInputs<'_>) -> Prompt {
    let CorrectingInputs { turn, of, left, output, path } = *inputs;
    let value = |name: &str| {
        Some(match name {
            "reason" => cut(&turn.reason, REASON_BYTES_MAX),
            "output" => last_lines(output.unwrap_or(&turn.output), OUTPUT_END_BYTES_MAX),
            "whole" => path.unwrap_or_default().into(),
            "moved" => flag(turn.candidate.is_some()),
            "time" => match left.as_secs() {
                seconds @ 0..120 => format!("{seconds} seconds"),
                seconds => format!("{} minutes", seconds / 60),
            },
            "more" => match of.saturating_sub(turn.n) {
                0 => String::new(),
                1 => "once".into(),
                more => format!("{more} times"),
            },
            _ => return None,
        })
    };
    Prompt::of_template("correct", &value)
}

//! Programs that print text: all of it is the last message.

use descent_core::event::AgentEnd;

use super::{EventDialect, LineMeaning};
use crate::agent::heard::Heard;

#[derive(Debug, Default)]
pub(in crate::agent) struct PlainText;

impl EventDialect for PlainText {
    /// The end of the text is the end of the turn, so it counts as one from its first line on.
    fn line(&mut self, line: &str, heard: &Heard) -> LineMeaning {
        heard.with(|heard| {
            if heard.end.is_none() {
                heard.call();
                heard.end = Some(AgentEnd::Done);
            }
            heard.part(None, line);
            heard.part(None, "\n");
        });
        LineMeaning::Goes
    }
}

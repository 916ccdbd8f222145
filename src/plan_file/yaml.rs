//! Turns a YAML text into the lossless tree of JSON, so that all later stages see one notation.
//!
//! Here: the reader, from the events of the parser. `scalar` types bare words, `words` explains syntax errors, and
//! `lines` places markers. Not here: the meaning of keys.
//!
//! Invariant: a JSON text reads as the same tree. Spans are bytes of the text. The tree is no larger than the limits,
//! whatever its aliases name. Strings are strings by the rules of YAML 1.2: `yes`, `no`, `on` and dates too.

mod build;
mod lines;
mod scalar;
mod words;

pub(super) use words::hint;

use descent_core::doc::{Fault, Limits, Parsed, Span};
use saphyr_parser::{Event, Parser};

use build::Builder;

const FAULTS_MAX: usize = 100;
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Reads a text whole. A syntax error ends the reading, with one fault and no tree; all else is found in one pass.
/// Oddities that are no faults go to `warnings`.
pub(super) fn parse(text: &str, limits: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.is_empty() {
        let fault = fault("empty-file", Span::default(), "the file is empty", None);
        return refused(fault);
    }
    read(Builder::new(text, text.len() - body.len(), limits), warnings)
}

/// Reads the text from byte `from` to the end. Numbers may be keys there, as other programs write them.
pub fn parse_below(text: &str, from: usize, limits: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
    let mut builder = Builder::new(text, from, limits);
    builder.takes_number_keys = true;
    read(builder, warnings)
}

fn read(mut builder: Builder<'_>, warnings: &mut Vec<Fault>) -> Parsed {
    let (text, body) = builder.texts();
    let mut parser = Parser::new_from_str(body);
    loop {
        match parser.next_event() {
            None => break,
            Some(Ok((event, at))) => {
                if builder.take(event, at).is_none() {
                    break;
                }
            }
            Some(Err(error)) => {
                let at = builder.lines.point(*error.marker());
                let span = words::place(error.info(), text, at);
                let (rule, message, hint) = words::explain(error.info(), text, span.start());
                builder.fail(rule, span, &message, Some(&hint));
                break;
            }
        }
    }
    warnings.append(&mut builder.warnings);
    builder.finish()
}

fn refused(fault: Fault) -> Parsed {
    Parsed { node: None, faults: vec![fault] }
}

fn fault(rule: &'static str, span: Span, message: &str, hint: Option<&str>) -> Fault {
    Fault {
        span,
        pointer: String::new(),
        rule,
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    }
}

/// Whether the parser reports the end of the text.
fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::StreamEnd)
}

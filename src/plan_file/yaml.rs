//! A YAML text into the lossless tree that JSON has too, so that all behind it sees one notation.
//!
//! Here: the reader, from the events of the parser; `scalar` says what a bare word is, `words` what a syntax error
//! means, `lines` where a marker stands. Not here: what keys mean.
//!
//! Invariant: a JSON text reads as the same tree; spans are bytes of the text; the tree is no larger than the limits,
//! whatever its aliases name. Strings are strings where YAML 1.2 says so: `yes`, `no`, `on` and dates too.

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
    read(
        Builder::new(text, text.len() - body.len(), limits),
        warnings,
    )
}

/// Reads what stands from byte `from` to the end: numbers may be keys there, as other programs write them.
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
    Parsed {
        node: None,
        faults: vec![fault],
    }
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

/// Whether the parser says that the text is over.
fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::StreamEnd)
}

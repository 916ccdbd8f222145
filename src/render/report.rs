//! A report as a file: Markdown, HTML or JUnit's XML.
//!
//! Invariant: the same report gives the same bytes. Whatever an agent or a person wrote stays a text: it becomes no
//! markup, no link, no mention and no control character. Not here: what a report says (`view` of the core).

mod drawing;
mod html;
mod junit;
mod markdown;
mod markup;
mod outline;
mod plain;

pub use html::html;
pub use junit::junit;
pub use markdown::markdown;

#[cfg(test)]
mod tests;

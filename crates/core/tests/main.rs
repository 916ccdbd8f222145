//! The core from outside, as one program, so that it is linked once.
//!
//! Not here: any test; each is in the module of its subject.

mod agents;
mod change;
#[path = "fuzz/main.rs"]
mod fuzz;
mod invalid;
#[path = "law/main.rs"]
mod law;
#[path = "merge/main.rs"]
mod merge;
mod newer;
mod pays;
mod records;
mod redirect;
#[path = "search/main.rs"]
mod search;
#[path = "../../../tests/records.rs"]
mod whole_records;

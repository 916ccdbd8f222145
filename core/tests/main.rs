//! The core from outside, as one program: what is built once is linked once.
//!
//! Not here: any test; each stands in the module that says what it is about.

mod change;
#[path = "fuzz/main.rs"]
mod fuzz;
mod invalid;
#[path = "merge/main.rs"]
mod merge;
mod newer;
#[path = "search/main.rs"]
mod search;

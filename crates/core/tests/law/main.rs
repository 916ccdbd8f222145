//! Whether the control law pays: planners that obey it against planners that do not, by simulation (docs/law.md).
//!
//! Each directive and each block comes from the law itself; the planners, the work and what is told of it are of the
//! simulation. No model is asked, so nothing here says how planners are.

#![allow(clippy::print_stdout, reason = "a table is told where it is computed")]

mod cells;
mod chance;
mod leaves;
mod page;
mod steering;

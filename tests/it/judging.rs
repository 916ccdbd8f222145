//! Judging: plans that are looked at before they are run.

mod assess;
mod gate;
mod passes;
mod patterns;
mod planted;
mod refine;
mod scripted;

//! Judging: plans that are looked at before they are run.

mod answer;
mod assess;
mod deltas;
mod gate;
mod kind;
mod passes;
mod patterns;
mod planted;
mod refine;
mod scripted;

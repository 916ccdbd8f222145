//! Judging: plans that are looked at before they are run.

mod answer;
mod assess;
mod deltas;
mod distances;
mod fragments;
mod gate;
mod generated;
mod killed;
mod kind;
mod passes;
mod patterns;
mod pipeline;
mod planted;
mod refine;
mod scripted;
mod summaries;

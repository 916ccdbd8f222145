//! Judging: plans that are looked at before they are run.

mod planted;

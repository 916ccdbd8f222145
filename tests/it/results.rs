//! Repositories, and how a result gets into the tree of a person.

pub(crate) mod apply;
pub(crate) mod clean;
pub(crate) mod last;
pub(crate) mod lineage;
pub(crate) mod memory;
pub(crate) mod nested;
pub(crate) mod repositories;
pub(crate) mod shadow;
pub(crate) mod untracked;

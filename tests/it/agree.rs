//! Agreements: plans, checks, constraints, and the words of `align` about them.

pub(crate) mod align;
pub(crate) mod asked;
pub(crate) mod checks;
pub(crate) mod constraints;
pub(crate) mod counted;
pub(crate) mod formats;
pub(crate) mod from_nothing;
pub(crate) mod gate;
pub(crate) mod guards;
pub(crate) mod near_misses;
pub(crate) mod odd_checks;
pub(crate) mod plan;
pub(crate) mod plans;
pub(crate) mod plans_yaml;
pub(crate) mod whole_way;

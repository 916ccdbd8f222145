//! Kills, power cuts and full disks, and the run that goes on after them.

pub(crate) mod adopted;
pub(crate) mod away;
pub(crate) mod crash;
pub(crate) mod killed;
pub(crate) mod mended;
pub(crate) mod room;
pub(crate) mod shadow_lost;

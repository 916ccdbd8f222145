//! Files of older and newer versions.

pub(crate) mod newer;
pub(crate) mod upgrade;

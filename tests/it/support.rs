//! The foundation of the tests: a world, fixture agents, a terminal, processes, chance, and tests that were passed over.

pub(crate) mod agents;
pub(crate) mod begun;
pub(crate) mod chance;
pub(crate) mod described;
pub(crate) mod kept;
pub(crate) mod passed_over;
pub(crate) mod processes;
pub(crate) mod screen;
pub(crate) mod snapshot;
pub(crate) mod terminal;
pub(crate) mod undisturbed;
pub(crate) mod world;

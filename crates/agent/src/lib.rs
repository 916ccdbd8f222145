//! Agents: their configuration, and each way to run one.
//!
//! Not here: the prompt (`descent-minds`), the meaning of an answer (`descent-core`), when one is started
//! (`descent-engine`).
//!
//! Interface: `config` reads `descent.toml` and says which agent has a role. `agent` runs an attempt or a question: a
//! shell action, a headless program, a program that speaks ACP, a model over HTTP. A new dialect of events is a module
//! of `agent::headless`. `model` speaks to a model's server over each wire.

pub mod agent;
pub mod config;
pub mod model;

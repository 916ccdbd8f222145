//! The agent programs that are known by name: the data of `presets.toml`.
//!
//! Invariant: no preset uses a mode in which a model gives leave. Not here: looking whether one is installed.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;

use super::transport::Transport;

const DATA: &str = include_str!("presets.toml");

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    /// Its name for people.
    pub title: String,
    pub version: VersionCheck,
    pub transport: Transport,
    /// Absent: it has no command that tells.
    pub login: Option<LoginCheck>,
    /// The command that installs it.
    pub install: String,
    /// The command by which a person logs in.
    pub log_in: String,
    /// Variables that hold a key for it; none is passed on by itself.
    pub variables: Vec<String>,
    /// Variables that say where its login, its configuration or its server lies; they are passed on.
    pub env: Vec<String>,
    /// Variables that are set for it.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The files of a project with instructions for agents that it reads by itself.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Whether it tells the cost of its work.
    pub tells_cost: bool,
}

/// A command that prints a version.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionCheck {
    pub argv: Vec<String>,
    /// The oldest that works.
    pub min: String,
}

/// A command that tells whether a person is logged in.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginCheck {
    pub argv: Vec<String>,
    /// The key of the printed JSON object that is `true` then; without it exit code 0 tells.
    pub key: Option<String>,
}

impl VersionCheck {
    /// The version in what a program printed: the first number with a point in it.
    pub fn read(&self, text: &str) -> Option<String> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let mut words = text.split(|c: char| !is_part(c));
        let version = words.find(|word| word.contains('.') && numbers(word).is_some());
        version.map(str::to_owned)
    }

    /// Whether a version is the oldest that works, or newer.
    pub fn is_met_by(&self, version: &str) -> bool {
        numbers(version) >= numbers(&self.min)
    }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

impl Preset {
    /// The program that a person has on PATH.
    pub fn program(&self) -> &str {
        self.transport.program()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    preset: Vec<Preset>,
}

/// All presets, in the order in which they are proposed.
pub fn presets() -> &'static [Preset] {
    static PRESETS: OnceLock<Vec<Preset>> = OnceLock::new();
    PRESETS.get_or_init(|| {
        let file: PresetFile = toml::from_str(DATA).expect("BUG: presets.toml is read by a test");
        file.preset
    })
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.name == name)
}

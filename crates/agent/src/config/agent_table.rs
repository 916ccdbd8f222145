//! An agent of the configuration: what is started, how it is talked to, and the price of its tokens.
//!
//! Invariant: money is a whole number of micro-dollars, from decimal text. Not here: reading it from a file (`read`),
//! starting it (`agent`).

use std::{collections::BTreeMap, sync::OnceLock, time::Duration};

use descent_core::{
    id::AgentName,
    state::{Micros, Role},
};
use serde::Deserialize;

use super::provider::{KeySource, Provider};

/// How long an agent may be silent before its first event.
pub(crate) const FIRST_EVENT: Duration = Duration::from_secs(2 * 60);
/// How long an agent may be silent between two events.
pub const IDLE: Duration = Duration::from_secs(10 * 60);
/// How long the server of a model may be silent between two bytes.
pub(crate) const PROVIDER_IDLE: Duration = Duration::from_secs(60);

/// All that is needed to start an agent and to talk to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAgent {
    pub name: AgentName,
    pub transport: Transport,
    /// Names of variables that are passed on beside the default list.
    pub env: Vec<String>,
    /// Variables with these values, set for it.
    pub set: Vec<(String, String)>,
    pub limits: AgentLimits,
    pub price: Option<Price>,
    /// Ends of its command that may pass, beside exit 75.
    pub transient: CommandEnds,
    pub preset: Option<&'static Preset>,
}

impl ResolvedAgent {
    /// With all that its preset adds.
    pub(super) fn new(
        name: AgentName,
        transport: Transport,
        preset: Option<&'static Preset>,
    ) -> Self {
        let set = preset.into_iter().flat_map(|preset| preset.set.clone());
        Self {
            name,
            transport,
            env: preset.map_or_else(Vec::new, |preset| preset.env.clone()),
            set: set.collect(),
            limits: AgentLimits { first_event: FIRST_EVENT, idle: IDLE },
            price: None,
            transient: CommandEnds::default(),
            preset,
        }
    }

    /// A preset as it is, under its own name.
    pub fn of_preset(preset: &'static Preset) -> Self {
        Self::new(AgentName::from(preset.name.as_str()), preset.transport.clone(), Some(preset))
    }

    /// The variable that its key is read from.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        let Transport::Model(provider) = &self.transport else { return None };
        match &provider.key {
            Some(KeySource::Env(name)) => Some(name),
            _ => None,
        }
    }

    /// The files of a project that it reads by itself.
    pub fn reads(&self) -> &[String] {
        self.preset.map_or(&[], |preset| &preset.reads)
    }

    /// Whether it can propose an agreement: a plain command does one role's work.
    pub fn can_propose(&self) -> bool {
        !matches!(self.transport, Transport::Shell(_))
    }

    /// Whether its cost can be known: it tells it, or it has a price. `None` where only its work will show.
    pub fn tells_cost(&self) -> Option<bool> {
        let by_protocol = || match &self.transport {
            Transport::Headless(Headless { dialect: Dialect::CodexExecJson, .. })
            | Transport::Model(_) => Some(false),
            Transport::Headless(_) | Transport::Acp(_) | Transport::Shell(_) => None,
        };
        match (self.price, self.preset) {
            (Some(_), _) => Some(true),
            (None, Some(preset)) => Some(preset.tells_cost),
            (None, None) => by_protocol(),
        }
    }

    /// It in a line for people: its command, or its name and its program.
    pub fn line(&self) -> String {
        match (&self.transport, self.preset) {
            (Transport::Shell(command), _) => command.clone(),
            (Transport::Model(provider), _) => format!("{}, {}", self.name, provider.line()),
            (Transport::Headless(_) | Transport::Acp(_), Some(preset)) => {
                format!("{}, by {}", self.name, preset.title)
            }
            (Transport::Headless(_) | Transport::Acp(_), None) => {
                format!("{}, by `{}`", self.name, self.transport.program())
            }
        }
    }
}

/// Ends of a command: exit codes, and a regular expression of its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandEnds {
    pub exit: Vec<i32>,
    pub output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    pub first_event: Duration,
    pub idle: Duration,
}

/// Money for a million tokens of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    pub input: Micros,
    pub output: Micros,
    pub cache_read: Micros,
    pub(crate) cache_write: Micros,
}

/// Money at most for a million tokens.
const MOST: Micros = Micros(1_000_000_000_000);
const TOKENS: u128 = 1_000_000;

impl Price {
    /// Money for so many tokens, rounded up.
    pub fn cost(&self, input: u64, output: u64, cache_read: u64, cache_write: u64) -> Micros {
        let counts = [input, output, cache_read, cache_write];
        let prices = [self.input, self.output, self.cache_read, self.cache_write];
        let of = |(count, price): (u64, Micros)| u128::from(count) * u128::from(price.0);
        let sum: u128 = counts.into_iter().zip(prices).map(of).sum();
        Micros(u64::try_from(sum.div_ceil(TOKENS)).unwrap_or(u64::MAX))
    }
}

/// An amount of decimal text such as `0.30`, within the limit.
pub(super) fn money(text: &str) -> Option<Micros> {
    Micros::parse(text).filter(|amount| *amount <= MOST)
}

/// Stands for the id of a session in `resume` and `session`.
pub const SESSION: &str = "{session}";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A command for the shell; it ends with an exit code.
    #[serde(skip)]
    Shell(String),
    /// A program that reads a prompt, prints events and ends.
    Headless(Headless),
    /// A program that speaks the Agent Client Protocol, version 1, on its standard streams.
    Acp(Acp),
    /// A model that is asked over HTTP, for roles that only think.
    #[serde(skip)]
    Model(Box<Provider>),
}

/// The events that a headless program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Dialect {
    #[serde(rename = "claude-stream-json")]
    ClaudeStreamJson,
    #[serde(rename = "codex-exec-json")]
    CodexExecJson,
    /// Plain text: its last JSON object is the answer.
    #[serde(rename = "text")]
    Text,
}

/// Whether a role changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Write,
    Read,
}

impl Access {
    /// The access of a role: only a worker changes files.
    pub fn of(role: Role) -> Self {
        if role == Role::Worker { Self::Write } else { Self::Read }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Headless {
    #[serde(rename = "events")]
    pub dialect: Dialect,
    /// The program, and the arguments before those of a session.
    pub argv: Vec<String>,
    /// Arguments that let us choose the id of a new session, with `{session}`; without them the agent makes one.
    #[serde(default)]
    pub session: Option<Vec<String>>,
    /// Arguments that go on with a session, with `{session}`; empty if it cannot.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Arguments of every start, after those of a session.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Arguments for roles that change files.
    #[serde(default)]
    pub write: Vec<String>,
    /// Arguments for roles that only read.
    #[serde(default)]
    pub read: Vec<String>,
    /// More arguments of a person, the last of all.
    #[serde(skip)]
    pub args: Vec<String>,
}

impl Transport {
    /// Whether a session can go on in another process. The answers of a model are kept.
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Headless(headless) => !headless.resume.is_empty(),
            Self::Acp(_) | Self::Model(_) => true,
            Self::Shell(_) => false,
        }
    }

    /// The program that is started: the shell, for a command, and none for a model that is asked.
    pub fn program(&self) -> &str {
        let argv = match self {
            Self::Shell(_) => return "sh",
            Self::Model(_) => return "",
            Self::Headless(headless) => &headless.argv,
            Self::Acp(acp) => &acp.argv,
        };
        argv.first().map_or("", String::as_str)
    }
}

impl Headless {
    /// Program and arguments of a new session. `session` is its id, where it can be chosen.
    pub fn start(&self, access: Access, session: &str) -> Vec<String> {
        self.with(access, self.session.iter().flatten().map(|arg| arg.replace(SESSION, session)))
    }

    /// Program and arguments that go on with a session, if it can.
    pub fn go_on(&self, access: Access, session: &str) -> Vec<String> {
        self.with(access, self.resume.iter().map(|arg| arg.replace(SESSION, session)))
    }

    fn with(&self, access: Access, middle: impl Iterator<Item = String>) -> Vec<String> {
        let of_access = match access {
            Access::Write => &self.write,
            Access::Read => &self.read,
        };
        let tail = self.flags.iter().chain(of_access).chain(&self.args);
        self.argv.iter().cloned().chain(middle).chain(tail.cloned()).collect()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acp {
    pub argv: Vec<String>,
    pub modes: Modes,
    /// A JSON object for `_meta` of `session/new`, if it needs one.
    pub(crate) session_meta: Option<String>,
}

/// Ids of session modes, by access. Without one the agent's own mode stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Modes {
    pub write: Option<String>,
    pub read: Option<String>,
}

impl Modes {
    pub fn of(&self, access: Access) -> Option<&str> {
        match access {
            Access::Write => self.write.as_deref(),
            Access::Read => self.read.as_deref(),
        }
    }
}

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
        words.find(|word| word.contains('.') && numbers(word).is_some()).map(str::to_owned)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_beyond_all_measure_is_none() {
        assert_eq!(money("0.30"), Some(Micros(300_000)));
        for text in ["1e3", "-1", "2000000"] {
            assert_eq!(money(text), None, "{text}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let price = Price {
            input: Micros(3_000_000),
            output: Micros(15_000_000),
            cache_read: Micros(300_000),
            cache_write: Micros(3_750_000),
        };
        for (counts, micros) in [
            ([1_000_000, 0, 0, 0], 3_000_000),
            ([1, 0, 0, 0], 3),
            ([0, 0, 1, 0], 1),
            ([1_000, 200, 5_000, 100], 3_000 + 3_000 + 1_500 + 375),
            ([u64::MAX, u64::MAX, 0, 0], u64::MAX),
        ] {
            let [input, output, read, write] = counts;
            assert_eq!(price.cost(input, output, read, write), Micros(micros));
        }
    }
}

//! How an agent ended its turn, where its protocol tells more than an exit code does.

use alloc::{format, string::String};

use crate::{
    doc::Node,
    id::UnixMillis,
    state::{
        AgentTrouble,
        fields::{Extra, Fields, Findings, Writer},
        table::words,
        value::FieldValue,
    },
};

/// How an agent ended its turn. It counts before the end of its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// It says that it is done: the checks decide.
    Done,
    /// The model refused, in its words.
    Refused(String),
    /// It ran out of turns or tokens of its own.
    OutOfTurns(String),
    /// Its answer was cut at the greatest length, or has no end.
    CutShort(String),
    /// It said nothing for so long.
    Silent { ms: u64 },
    /// It broke its protocol.
    Protocol(String),
    /// Its provider is down, or cannot be reached.
    Down(String),
    /// Its prompt, with all that it has read, does not fit into its model.
    TooLong(String),
    /// Its provider takes no more until then.
    Limited { until: Option<UnixMillis> },
    /// It cannot be used at all.
    Unavailable {
        kind: AgentLack,
        words: String,
        /// The variable that lacks, or that holds a wrong key.
        variable: Option<String>,
    },
}

words! {
    /// A lack of an agent that only a person can end
    pub enum AgentLack {
        /// It is not logged in
        Login = "login",
        /// Its account has no credit left
        Credit = "credit",
        /// Its key is missing or wrong
        Key = "key",
        /// Its program is missing
        Missing = "missing",
        /// The place of its key cannot be read
        NoKey = "no_key",
        /// Its server has no such model
        Model = "model",
        /// Its server never takes what it is asked
        Provider = "provider",
        /// A question does not fit into its context
        Context = "context",
        /// Its server cannot be connected to
        Unreachable = "unreachable",
        /// Its provider was waited for long enough
        Down = "down",
    }
}

impl AgentLack {
    /// The code of a run that ends by it.
    pub fn trouble(self) -> AgentTrouble {
        match self {
            AgentLack::Login | AgentLack::Key => AgentTrouble::Login,
            AgentLack::Credit => AgentTrouble::Credit,
            AgentLack::Missing => AgentTrouble::Missing,
            AgentLack::NoKey => AgentTrouble::NoKey,
            AgentLack::Model => AgentTrouble::Model,
            AgentLack::Provider => AgentTrouble::Provider,
            AgentLack::Context => AgentTrouble::Context,
            AgentLack::Unreachable | AgentLack::Down => AgentTrouble::Unreachable,
        }
    }
}

/// Characters at most of an agent's words in a sentence.
const SHORT_CHARS: usize = 300;

/// The first line of an agent's words, cut.
pub(crate) fn short(words: &str) -> String {
    let line = words.trim().lines().next().unwrap_or_default();
    line.chars().take(SHORT_CHARS).collect()
}

const END: &str = "end";
const WORDS: &str = "words";

impl AgentEnd {
    pub(super) fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text(END, self.word());
        match self {
            AgentEnd::Done => {}
            AgentEnd::Refused(words)
            | AgentEnd::OutOfTurns(words)
            | AgentEnd::CutShort(words)
            | AgentEnd::Protocol(words)
            | AgentEnd::Down(words)
            | AgentEnd::TooLong(words) => drop(to.text(WORDS, words)),
            AgentEnd::Silent { ms } => drop(to.put("ms", Node::uint(*ms))),
            AgentEnd::Limited { until } => {
                to.some("until_ms", until.map(|until| Node::uint(until.0)));
            }
            AgentEnd::Unavailable { kind, words, variable } => {
                to.text("kind", kind.word()).text(WORDS, words);
                to.some("variable", variable.as_deref().map(Node::string));
            }
        }
        to.finish(&Extra::default())
    }

    /// Whether its provider is to be waited for.
    pub fn is_of_provider(&self) -> bool {
        matches!(self, AgentEnd::Limited { .. } | AgentEnd::Down(_))
    }

    /// The end in words, for a reason.
    pub fn text(&self) -> String {
        let with = |what: &str, words: &str| match short(words).as_str() {
            "" => what.into(),
            words => format!("{what}: {words}"),
        };
        match self {
            AgentEnd::Done => "is done".into(),
            AgentEnd::Refused(words) => with("the model refused", words),
            AgentEnd::OutOfTurns(words) => with("the agent ran out of turns", words),
            AgentEnd::CutShort(words) => with("the answer was too long", words),
            AgentEnd::Silent { ms } => format!("the agent said nothing for {} s", ms / 1_000),
            AgentEnd::Protocol(words) => with("the agent broke its protocol", words),
            AgentEnd::Down(words) => with("its provider is down", words),
            AgentEnd::TooLong(words) => with("the prompt does not fit into the model", words),
            AgentEnd::Limited { .. } => "its provider takes no more for now".into(),
            AgentEnd::Unavailable { words, .. } => with("the agent cannot be used", words),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            AgentEnd::Done => "done",
            AgentEnd::Refused(_) => "refused",
            AgentEnd::OutOfTurns(_) => "out_of_turns",
            AgentEnd::CutShort(_) => "cut_short",
            AgentEnd::Silent { .. } => "silent",
            AgentEnd::Protocol(_) => "protocol",
            AgentEnd::Down(_) => "down",
            AgentEnd::TooLong(_) => "too_long",
            AgentEnd::Limited { .. } => "limited",
            AgentEnd::Unavailable { .. } => "unavailable",
        }
    }

    pub(super) fn read(node: &Node, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, "/agent_end", found)?;
        let words = fields.text_or_empty(WORDS);
        match fields.text(END)?.as_str() {
            "done" => Some(AgentEnd::Done),
            "refused" => Some(AgentEnd::Refused(words)),
            "out_of_turns" => Some(AgentEnd::OutOfTurns(words)),
            "cut_short" => Some(AgentEnd::CutShort(words)),
            "silent" => Some(AgentEnd::Silent { ms: fields.count("ms")? }),
            "protocol" => Some(AgentEnd::Protocol(words)),
            "down" => Some(AgentEnd::Down(words)),
            "too_long" => Some(AgentEnd::TooLong(words)),
            "limited" => {
                Some(AgentEnd::Limited { until: fields.count("until_ms").map(UnixMillis) })
            }
            "unavailable" => Some(AgentEnd::Unavailable {
                kind: AgentLack::take(&mut fields, "kind")?,
                words,
                variable: fields.text("variable"),
            }),
            _ => None,
        }
    }
}

//! The reason that nothing more can start in a run, with its stable code and the next moves of a person.

use alloc::{format, string::String, vec, vec::Vec};

use crate::{
    event::AgentLack,
    id::{AgentName, AtomId},
    state::AgentTrouble,
};

#[derive(Debug, Clone)]
pub(crate) struct Unavailable {
    pub why: String,
    /// None if no agent is to blame.
    pub trouble: Option<AgentTrouble>,
    pub moves: Vec<String>,
}

impl Unavailable {
    /// The setup or the place of checks is to blame.
    pub fn outside(why: String) -> Self {
        Self { why, trouble: None, moves: vec![then_run(MEND)] }
    }

    /// An agent told what it lacks; a variable that was withheld from it may be the cause.
    pub fn lack(agent: &AgentName, lack: AgentLack, words: &str, variable: Option<&str>) -> Self {
        let what = match lack {
            AgentLack::Login => format!("the agent {agent} is not logged in"),
            AgentLack::Credit => format!("the account of the agent {agent} has no credit left"),
            AgentLack::Key => format!("the key of the agent {agent} is missing or wrong"),
            AgentLack::Missing => format!("the agent {agent} is not installed"),
            AgentLack::NoKey => format!("the agent {agent} has no key"),
            AgentLack::Model => format!("the agent {agent} names a model that is not there"),
            AgentLack::Provider => format!("the server of the agent {agent} refuses"),
            AgentLack::Context => format!("the context of the agent {agent} is too small"),
            AgentLack::Unreachable => format!("the server of the agent {agent} is not there"),
            AgentLack::Down => format!("the provider of the agent {agent} does not answer"),
        };
        let withheld = |name| format!(" ({name} is withheld: name it in the agent's `env`)");
        let words = match words.trim() {
            "" => String::new(),
            words => format!(": {}", crate::event::short(words)),
        };
        let why = format!("{what}{}{words}", variable.map(withheld).unwrap_or_default());
        let name_it = variable.map(|name| {
            format!("name it in descent.toml: agents.{agent}.env = [\"{name}\"], then descent run")
        });
        let first = match lack {
            AgentLack::Login => "log in with the program of AGENT",
            AgentLack::Key => "give AGENT a key that works",
            AgentLack::Credit => "give the account of AGENT credit, or name another agent",
            AgentLack::Model => {
                "name a model that its server has in descent.toml (agents.AGENT.model)"
            }
            AgentLack::Unreachable => {
                "start the server, or mend agents.AGENT.base_url in descent.toml"
            }
            AgentLack::Down => "wait until it answers again",
            AgentLack::Missing | AgentLack::NoKey | AgentLack::Provider | AgentLack::Context => {
                MEND
            }
        };
        let mut moves: Vec<String> = name_it.into_iter().collect();
        moves.push(then_run(&first.replace("AGENT", agent.as_str())));
        moves.push(TRY.into());
        Self { why, trouble: Some(lack.trouble()), moves }
    }

    /// A limit of money is set, and this agent tells no cost.
    pub fn without_cost(agent: &AgentName) -> Self {
        Self {
            why: format!("the agent {agent} tells no cost, so `budget.cost_usd` cannot limit it"),
            trouble: Some(AgentTrouble::Cost),
            moves: vec![
                format!("give it a price in descent.toml (agents.{agent}.price), then descent run"),
                "descent run --set budget.cost_usd=null".into(),
            ],
        }
    }

    /// The base case has a leaf that a judge rates, and no judge is configured.
    pub fn no_judge(leaf: &str) -> Self {
        Self {
            why: format!("no judge is configured, and the base case needs one: {leaf}"),
            trouble: Some(AgentTrouble::NoJudge),
            moves: vec!["name a judge in descent.toml (roles.judge = …), then descent run".into()],
        }
    }

    /// A judge gave no rating, however often it was asked.
    pub fn no_rating(agent: &AgentName, leaf: &str, why: &str) -> Self {
        Self {
            why: format!(
                "the judge {agent} gave no rating of `{leaf}` ({})",
                crate::event::short(why)
            ),
            trouble: Some(AgentTrouble::NoRating),
            moves: vec![then_run(MEND), TRY.into()],
        }
    }

    /// The state is as large as it may be.
    pub fn no_room(why: String) -> Self {
        Self {
            why,
            trouble: Some(AgentTrouble::NoRoom),
            moves: vec![
                "descent edit (make room: shorten or remove what is large)".into(),
                "descent run".into(),
            ],
        }
    }

    /// So many attempts of an agent ended at once and alike.
    pub fn ends_at_once(agent: &AgentName, attempts: usize, atom: &AtomId, reason: &str) -> Self {
        Self {
            why: format!(
                "the agent {agent} fails at once, and does nothing: {attempts} attempts ended alike ({})",
                crate::event::short(reason)
            ),
            trouble: Some(AgentTrouble::Protocol),
            moves: vec![then_run(MEND), TRY.into(), format!("descent why {atom}")],
        }
    }
}

const MEND: &str = "mend what it says";
const TRY: &str = "descent doctor";

fn then_run(first: &str) -> String {
    format!("{first}, then descent run")
}

//! The agents that a run can need: whether each is configured, installed and new enough. All of it is looked at before
//! anything starts.
//!
//! Not here: whether a person is logged in (an attempt finds out, and `doctor` tries), and talking to an agent (`agent`).

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::Path,
};

use descent_core::{
    graph, profile,
    state::{Check, Question, Role, State},
};

use crate::driver;
use descent_agent::{
    config::{
        Config,
        agent_table::{Preset, ResolvedAgent, Transport, presets},
        fault::COMMAND_LINES,
        program::{ProgramLook, find_program, missing_program},
    },
    model::Asker,
};
use descent_process::{
    Programs,
    environment::Environment,
    timeouts,
    tool::{Tool, ToolOutput},
};
use descent_system::failure::{Failure, exit};

/// The place and the means to look for agents.
#[derive(Debug)]
pub struct AgentLook<'a> {
    pub config: &'a Config,
    pub environment: &'a Environment,
    pub programs: &'a dyn Programs,
    /// The directory in which a program is asked for its version.
    pub dir: &'a Path,
}

/// The use that agents are looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentUse {
    /// Something starts now.
    Run,
    /// A worker that is not named yet, the program of a shell worker and the key of a provider may come before the run.
    Agreement,
}

impl AgentLook<'_> {
    /// Looks for all agents that the open work of a state can need, and gives them; each is started once at most, for
    /// its version.
    ///
    /// # Errors
    /// The first that is not configured, not there or too old.
    pub fn ready(&self, state: &State, reason: AgentUse) -> Result<Vec<ResolvedAgent>, Failure> {
        for choice in self.config.roles() {
            self.config.by_name(&choice.agent, &choice.said_in)?;
        }
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        let mut take = |agent: ResolvedAgent| {
            if seen.insert(agent.name.clone()) {
                self.look_at(&agent)?;
                limited(state, &agent)?;
                found.push(agent);
            }
            Ok::<(), Failure>(())
        };
        for (id, atom) in state.atoms.iter() {
            // An action needs no agent.
            let Some(task) = atom.task().filter(|task| task.spec.action.is_none()) else {
                continue;
            };
            let agent = self.config.doer(atom.plan().is_some(), task.spec.agent.as_ref());
            let Some(agent) = agent.map_err(|error| error.of_atom(id))? else {
                match reason {
                    AgentUse::Run => return Err(self.no_worker()),
                    AgentUse::Agreement => continue,
                }
            };
            if let (Transport::Model(_), None) = (&agent.transport, atom.plan()) {
                return Err(only_thinks(&agent));
            }
            let may_come = matches!(agent.transport, Transport::Shell(_) | Transport::Model(_));
            if may_come && reason == AgentUse::Agreement {
                continue;
            }
            take(agent)?;
        }
        self.thinkers(state, reason)?.into_iter().try_for_each(take)?;
        Ok(found)
    }

    /// The agents that only think: a judge, a probe, a planner that may change the plan, and those that are asked at this
    /// level of judging.
    fn thinkers(&self, state: &State, reason: AgentUse) -> Result<Vec<ResolvedAgent>, Failure> {
        let mut found = Vec::new();
        if let Some(leaf) = rated(state) {
            match (self.config.agent(Question::Rate, None)?, reason) {
                (Some(judge), _) => found.push(judge),
                (None, AgentUse::Run) => return Err(self.no_judge(&leaf.title())),
                (None, AgentUse::Agreement) => {}
            }
        }
        if state.atoms.iter().any(|(_, atom)| graph::is_unknown(atom)) {
            found.extend(self.config.agent(Role::Probe, None)?);
        }
        // A planner may change the plan where nothing is left to try.
        let may_change = state.objective.constraints.planning.changes() > 0;
        if reason == AgentUse::Run && may_change && !state.atoms.is_empty() {
            found.extend(self.config.agent(Role::Planner, None)?);
        }
        let level = profile::judging(state);
        let asked = Question::WORDS.into_iter().map(|(_, question)| question);
        let asked = asked.filter(|one| level.asks() && level >= one.row().level);
        for question in asked.filter(|_| reason == AgentUse::Run) {
            found.extend(self.config.agent(question, None)?);
        }
        Ok(found)
    }

    fn no_judge(&self, leaf: &str) -> Failure {
        let message = format!("a judge rates a leaf, and no judge is configured: {leaf}");
        let hint = match self.config.thinker() {
            Some(name) => format!("name one in descent.toml: roles.judge = \"{name}\""),
            None => "name one in descent.toml: agents.NAME.preset = \"claude\" and roles.judge = \"NAME\"".to_owned(),
        };
        Failure::new("E-NO-JUDGE", exit::CONFIG, message, hint)
    }

    fn look_at(&self, agent: &ResolvedAgent) -> Result<(), Failure> {
        let path = self.environment.path();
        if let Transport::Shell(command) = &agent.transport {
            let missing_here = missing_program(command, &path);
            return missing_here.map_or(Ok(()), |program| Err(missing(agent, &program)));
        }
        if let Transport::Model(provider) = &agent.transport {
            // The command of a key may ask a person, so it runs once, at the first question.
            return Asker::try_key(provider).map_err(|error| {
                let message = format!("the agent `{}`: {error}", agent.name);
                let hint = error.hint(agent.name.as_str());
                Failure::new(error.code(), exit::CONFIG, message, hint)
            });
        }
        let program = agent.transport.program();
        match (find_program(program, &path), agent.preset) {
            (ProgramLook::Missing, _) => Err(missing(agent, program)),
            (ProgramLook::Found(found), Some(preset)) => {
                let found = self.version(agent, preset, &found)?;
                let is_met = preset.version.is_met_by(&found);
                if is_met { Ok(()) } else { Err(old(agent, preset, &format!("is {found}"))) }
            }
            (ProgramLook::Found(_) | ProgramLook::Unknown, _) => Ok(()),
        }
    }

    /// The version that a program tells.
    pub(super) fn version(
        &self,
        agent: &ResolvedAgent,
        preset: &Preset,
        program: &Path,
    ) -> Result<String, Failure> {
        let told = self.ask(agent, program, &preset.version.argv);
        let told = told.map_err(|why| old(agent, preset, &format!("tells no version: {why}")))?;
        let text = String::from_utf8_lossy(&told.stdout);
        preset.version.read(&text).ok_or_else(|| old(agent, preset, "tells no version"))
    }

    /// Starts a program to ask it about itself, with the environment of its attempts. It gets half a minute: Node starts
    /// slowly on a busy machine.
    pub(super) fn ask(
        &self,
        agent: &ResolvedAgent,
        program: &Path,
        args: &[String],
    ) -> Result<ToolOutput, String> {
        let environment =
            self.environment.for_agent(&agent.env, &agent.set, |name| std::env::var_os(name));
        let tool = Tool {
            program: program.to_owned(),
            args: args.iter().map(OsString::from).collect(),
            env: environment.vars_in(self.dir),
            cwd: self.dir.to_owned(),
            stdin: None,
            wait_max: timeouts::ASK_MAX,
            ends_with_us: false,
        };
        let told = self.programs.run_tool(&tool);
        told.map_err(|error| error.to_string())
    }

    fn no_worker(&self) -> Failure {
        let failure = driver::no_worker();
        let here = installed(&self.environment.path());
        let Some(first) = here.first() else {
            return failure;
        };
        let [one, other] = lines_for(first);
        let names: Vec<&str> = here.iter().map(|preset| preset.program()).collect();
        let (names, worker) = (names.join(", "), first.program());
        let lines = vec![
            format!("installed here: {names}; this makes `{worker}` the worker:"),
            format!("  {one}"),
            format!("  {other}"),
        ];
        let hint = "write these two lines in descent.toml, then: descent run".to_owned();
        Failure { hint, ..failure.with(lines) }
    }
}

/// The first leaf that a judge rates.
fn rated(state: &State) -> Option<&Check> {
    let tasks = state.atoms.values().filter_map(|atom| atom.task()?.spec.checks.as_ref());
    let checks = state.objective.base_case.iter().chain(tasks);
    checks.filter_map(Check::first_quality).next()
}

/// The variables that a person's `env` of an agent names, and that have no value here.
pub(crate) fn unset_variables(agent: &ResolvedAgent) -> Vec<&str> {
    let by_preset =
        |name: &str| agent.preset.is_some_and(|preset| preset.env.iter().any(|one| one == name));
    let named = agent.env.iter().map(String::as_str);
    named.filter(|name| !by_preset(name) && std::env::var_os(name).is_none()).collect()
}

pub(crate) fn not_set(variable: &str) -> String {
    format!("`{variable}`, which its `env` names, is not set")
}

/// The known programs that are installed.
pub fn installed(path: &OsStr) -> Vec<&'static Preset> {
    let is_there =
        |preset: &&Preset| matches!(find_program(preset.program(), path), ProgramLook::Found(_));
    presets().iter().filter(is_there).collect()
}

/// Lines of `descent.toml` that make something the worker: a known program that is installed, else an example.
pub fn example() -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match installed(&path).first() {
        Some(first) => lines_for(first).to_vec(),
        None => COMMAND_LINES.map(str::to_owned).to_vec(),
    }
}

/// The two lines that make a preset the worker.
fn lines_for(preset: &Preset) -> [String; 2] {
    let name = &preset.name;
    [format!("agents.{name}.preset = \"{name}\""), format!("roles.worker = \"{name}\"")]
}

/// A limit of money holds only for an agent whose cost can be known.
fn limited(state: &State, agent: &ResolvedAgent) -> Result<(), Failure> {
    if state.objective.constraints.budget.cost_usd.is_none() || agent.tells_cost() != Some(false) {
        return Ok(());
    }
    let name = &agent.name;
    let message = format!("the agent `{name}` tells no cost, so `budget.cost_usd` cannot limit it");
    let hint = format!(
        "give it a price in descent.toml: agents.{name}.price = {{input = \"3\", output = \"15\"}} (dollars a million \
         tokens), or limit tokens in place of money: --set budget.cost_usd=null --set budget.tokens=2000000"
    );
    Err(Failure::new("E-AGENT-COST", exit::CONFIG, message, hint))
}

/// The refusal of a provider as a worker.
pub(super) fn only_thinks(agent: &ResolvedAgent) -> Failure {
    let name = &agent.name;
    let message = format!(
        "the agent `{name}` is a provider, which only thinks: it has no tools, and cannot be a worker"
    );
    let hint = "name a program as the worker, such as opencode, which can work with this server (docs/models.md)";
    Failure::new("E-CONFIG", exit::CONFIG, message, hint)
}

fn missing(agent: &ResolvedAgent, program: &str) -> Failure {
    let hint = match agent.preset {
        Some(preset) => preset.install.clone(),
        None => format!("install {program}, or name another agent"),
    };
    let message = format!("`{program}` of the agent `{}` is not installed", agent.name);
    Failure::new("E-AGENT-MISSING", exit::UNAVAILABLE, message, hint)
}

fn old(agent: &ResolvedAgent, preset: &Preset, what: &str) -> Failure {
    let (program, min) = (preset.program(), &preset.version.min);
    let message = format!("`{program}` of the agent `{}` {what}; {min} is needed", agent.name);
    Failure::new("E-AGENT-MISSING", exit::UNAVAILABLE, message, preset.install.clone())
}

/// Says that no worker is named where an atom, or a task that an agent may plan, needs one.
pub(crate) fn lacks_worker(state: &State, config: &Config) -> Option<&'static str> {
    if config.agent(Role::Worker, None).ok()?.is_some() {
        return None;
    }
    let has_planner = matches!(config.doer(true, None), Ok(Some(_)));
    state.atoms.values().find_map(|atom| {
        let spec = &atom.task()?.spec;
        let is_named = spec.agent.is_some();
        match atom.plan() {
            _ if spec.action.is_some() => None,
            Some(_) if is_named || has_planner => Some("a plan may hold work for a worker"),
            _ if is_named => None,
            _ => Some("the work needs a worker"),
        }
    })
}

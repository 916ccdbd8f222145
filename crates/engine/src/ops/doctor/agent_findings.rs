//! The agents of the configuration, else the known programs that are installed: version, and whether a person is
//! logged in.
//!
//! Invariant: only programs of presets are started, and only to ask them about themselves. A provider is asked one tiny
//! question. Nothing of a configuration that is not allowed is started, asked, or read.

use std::time::Duration;

use descent_core::{
    doc::{self, Limits},
    id::AgentName,
    state::Role,
};
use serde_json::{Value, json};

use super::{Finding, Health};
use crate::{
    ops::{
        agents::{AgentLook, example, installed, only_thinks},
        trust,
    },
    survey,
};
use descent_agent::{
    agent::last_object,
    config::{
        self, Config,
        agent_table::{AgentLimits, LoginCheck, Preset, ResolvedAgent, Transport},
        program::{ProgramLook, find_program, missing_program_in},
        provider::Provider,
    },
    model::{
        AnswerStop, AskContext, Asker, ModelAnswer, ModelError, ModelQuestion, ModelTurn,
        NoObserver, ServerLook, Speaker,
    },
};
use descent_process::{self as process, Programs, environment};
use descent_store::StatePlace;
use descent_system::{failure::Failure, phrase, shape::Shape};

const NO_WORK: &str = "nothing that it should do can be done";

pub(super) fn findings(place: &StatePlace, programs: &dyn Programs) -> Vec<Finding> {
    let config = match config::load(&place.project) {
        Ok(config) => config,
        Err(error) => {
            let failure = Failure::from(error);
            let means = "no run begins with it";
            return vec![Health::Missing.of("agents", failure.message, means, failure.hint)];
        }
    };
    let environment = environment::for_attempts(std::env::vars_os(), &[]);
    let look =
        AgentLook { config: &config, environment: &environment, programs, dir: &place.project };
    let refused = trust::refused_configuration(place, &config);
    let of_name = |name: &AgentName| match &refused {
        Some(why) if config.project.agents.contains_key(name) => not_tried(&look, name, why),
        Some(_) | None => of_name(&look, name),
    };
    let mut findings = match config.names() {
        names if names.is_empty() => of_machine(&look),
        names => names.iter().map(of_name).collect(),
    };
    findings.extend(unknown_roles(&config));
    let walls = "none for agents: they have your files and your network";
    findings.push(Finding::ok("walls", walls));
    findings
}

/// Roles whose agent is not configured.
fn unknown_roles(config: &Config) -> Vec<Finding> {
    let unknown = config.roles().into_iter().filter_map(|choice| {
        let error = config.by_name(&choice.agent, &choice.said_in).err()?;
        let failure = Failure::from(error);
        let name = format!("role {}", choice.duty.text());
        let means = "no run begins with it";
        Some(Health::Missing.of(name, failure.message, means, failure.hint))
    });
    unknown.collect()
}

/// Nothing is configured: what could be.
fn of_machine(look: &AgentLook<'_>) -> Vec<Finding> {
    let here = installed(&look.environment.path());
    if here.is_empty() {
        let found = "none is configured, and none that is known is installed";
        return vec![Finding::ok("agents", found)];
    }
    let mut findings: Vec<Finding> = here
        .iter()
        .map(|preset| {
            let agent = ResolvedAgent::of_preset(preset);
            AgentFinding { look, agent, is_needed: false }.finding()
        })
        .collect();
    let means = "a task without an action finds nobody who does it";
    let mend = format!("in descent.toml: {}", example().join(" and "));
    findings.push(Health::Degraded.of("worker", "none is configured", means, mend));
    findings
}

/// An agent of a configuration that nobody allowed here.
fn not_tried(look: &AgentLook<'_>, name: &AgentName, why: &str) -> Finding {
    let why = phrase::visible(why);
    let found = format!("not tried: this configuration is not yours (descent.toml {why})");
    let means = "nothing of it starts, and no key is read, before you allowed it";
    let health = if is_needed(look, name) { Health::Unusable } else { Health::Degraded };
    health.of(label(name), found, means, "descent trust --worker")
}

/// Whether a role names it.
fn is_needed(look: &AgentLook<'_>, name: &AgentName) -> bool {
    let roles = look.config.roles();
    roles.iter().any(|choice| choice.agent == *name)
}

fn of_name(look: &AgentLook<'_>, name: &AgentName) -> Finding {
    match look.config.by_name(name, "the configuration") {
        Ok(agent) => AgentFinding { look, agent, is_needed: is_needed(look, name) }.finding(),
        Err(error) => Health::Missing.of(label(name), error.to_string(), NO_WORK, ""),
    }
}

fn label(name: &AgentName) -> String {
    format!("agent {name}")
}

/// One agent, looked at.
struct AgentFinding<'a> {
    look: &'a AgentLook<'a>,
    agent: ResolvedAgent,
    /// A role names it.
    is_needed: bool,
}

impl AgentFinding<'_> {
    fn finding(&self) -> Finding {
        let path = self.look.environment.path();
        if let Transport::Shell(command) = &self.agent.transport {
            return match missing_program_in(self.look.dir, command, &path) {
                None => self.ok(format!("`{command}`, by the shell")),
                Some(program) => self.missing(
                    format!("`{program}` is not there (E-AGENT-MISSING)"),
                    format!("install {program}, or name it from the top of the project"),
                ),
            };
        }
        if let Transport::Model(provider) = &self.agent.transport {
            let name = &self.agent.name;
            let roles = self.look.config.roles();
            if roles.iter().any(|one| one.duty == Role::Worker.into() && one.agent == *name) {
                let failure = only_thinks(&self.agent);
                return self.unusable(failure.message, failure.hint);
            }
            return match providers_tried(self.look, &self.agent, provider) {
                Ok((found, true)) => self.ok(found),
                Ok((found, false)) => {
                    let mend = format!(
                        "try another model in agents.{name}.model, or another server for it"
                    );
                    Health::Degraded.of(label(name), found, MISFIT, mend)
                }
                Err((found, mend)) => self.unusable(found, mend),
            };
        }
        let program = self.agent.transport.program();
        match (find_program(program, &path), self.agent.preset) {
            (ProgramLook::Missing, preset) => {
                let mend = preset.map(|preset| preset.install.clone());
                let mend = mend.unwrap_or_else(|| format!("install {program}"));
                self.missing(format!("`{program}` is not installed"), mend)
            }
            (ProgramLook::Found(found), Some(preset)) => self.of_preset(preset, &found),
            (ProgramLook::Found(_) | ProgramLook::Unknown, None) => self.ok(format!("`{program}`")),
            (ProgramLook::Unknown, Some(preset)) => self.ok(format!("`{}`", preset.program())),
        }
    }

    fn of_preset(&self, preset: &Preset, program: &std::path::Path) -> Finding {
        let version = match self.look.version(&self.agent, preset, program) {
            Ok(version) if preset.version.is_met_by(&version) => version,
            Ok(version) => {
                let (program, min) = (preset.program(), &preset.version.min);
                let found = format!("`{program}` is {version}, and {min} is needed");
                return self.unusable(found, preset.install.clone());
            }
            Err(failure) => return self.unusable(failure.message, failure.hint),
        };
        let login = match self.login(preset, program) {
            Login::In => "logged in",
            Login::ByKey => "with a key in the environment",
            Login::Unknown => "whether you are logged in shows when it works",
            Login::Out => return self.logged_out(preset, &version),
        };
        self.ok(format!("{} {version}, {login}", preset.title))
    }

    fn logged_out(&self, preset: &Preset, version: &str) -> Finding {
        let found = format!("`{}` is {version}, and you are not logged in", preset.program());
        let withheld = &self.look.environment.withheld;
        let is_withheld =
            |name: &&String| withheld.contains(name) && !self.agent.env.contains(name);
        let log_in = &preset.log_in;
        match preset.variables.iter().find(is_withheld) {
            Some(key) => self.unusable(
                format!("{found}; {key} is withheld"),
                format!("name {key} in the agent's `env`, or: {log_in}"),
            ),
            None => self.unusable(found, log_in.clone()),
        }
    }

    fn login(&self, preset: &Preset, program: &std::path::Path) -> Login {
        let is_passed =
            |name: &&String| self.agent.env.contains(name) && std::env::var_os(name).is_some();
        if preset.variables.iter().any(|name| is_passed(&name)) {
            return Login::ByKey;
        }
        let Some(check) = &preset.login else {
            return Login::Unknown;
        };
        match self.look.ask(&self.agent, program, &check.argv) {
            Ok(told) => login_of(check, told.status.success(), &told.stdout),
            Err(_) => Login::Unknown,
        }
    }

    fn ok(&self, found: String) -> Finding {
        let found = format!("{found}; {}", self.instructions());
        Finding::ok(label(&self.agent.name), found)
    }

    /// How it comes to the project's instructions.
    fn instructions(&self) -> String {
        let reads = self.agent.reads();
        let told = survey::INSTRUCTIONS.into_iter();
        let told: Vec<&str> = told.filter(|file| !reads.iter().any(|one| one == file)).collect();
        let (reads, told) = (reads.join(" and "), told.join(" or "));
        match (reads.is_empty(), told.is_empty()) {
            (true, _) => format!("is told {told}"),
            (false, true) => format!("reads {reads} by itself"),
            (false, false) => format!("reads {reads} by itself, is told {told}"),
        }
    }

    fn missing(&self, found: String, mend: String) -> Finding {
        self.lack(Health::Missing, found, mend)
    }

    fn unusable(&self, found: String, mend: String) -> Finding {
        self.lack(Health::Unusable, found, mend)
    }

    /// An agent that no role names is no lack of the machine.
    fn lack(&self, health: Health, found: String, mend: String) -> Finding {
        let health = if self.is_needed { health } else { Health::Degraded };
        health.of(label(&self.agent.name), found, NO_WORK, mend)
    }
}

enum Login {
    In,
    Out,
    ByKey,
    Unknown,
}

fn login_of(check: &LoginCheck, is_success: bool, printed: &[u8]) -> Login {
    let is_in = match &check.key {
        None => is_success,
        Some(key) => {
            let told: Option<serde_json::Value> = serde_json::from_slice(printed).ok();
            match told.as_ref().and_then(|told| told.get(key)?.as_bool()) {
                Some(is_in) => is_in,
                None => return Login::Unknown,
            }
        }
    };
    if is_in { Login::In } else { Login::Out }
}

// A provider, tried: its key, its server, its model, and what it can do. It costs one tiny question
// at most.
//
// Invariant: it is said to hold its answers to a schema only where it held this one.

/// Nobody waits longer for a diagnosis.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Tokens of the answer at most, with those of a model that thinks first.
const ANSWER_TOKENS: u64 = 8_192;
const QUESTION: &str = "Answer with this JSON object and nothing else: {\"ok\": true}";

/// The consequence of answers that do not fit.
const MISFIT: &str = "an answer that does not fit is asked for twice more; then the attempt fails";

/// The trial of a provider: what it can do, and whether it answered as it was asked to; else the fault with its mend.
fn providers_tried(
    look: &AgentLook<'_>,
    agent: &ResolvedAgent,
    provider: &Provider,
) -> Result<(String, bool), (String, String)> {
    let name = agent.name.as_str();
    let told = |error: &ModelError| {
        let what = format!("{}: {error} ({})", provider.line(), error.code());
        (what, error.hint(name))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (error.to_string(), String::new()))?;
    process::prepare().map_err(|failure| (failure.message, failure.hint))?;
    let mark = format!("doctor-{}/{name}", std::process::id());
    let first_event = agent.limits.first_event.min(ANSWER_MAX);
    let asker = Asker::default();
    let context = AskContext {
        provider,
        limits: AgentLimits { first_event, ..agent.limits },
        programs: look.programs,
        mark: &mark,
        observer: &NoObserver,
        tries_max: 1,
    };
    let server = runtime.block_on(asker.look(context));
    let server = server.map_err(|error| told(&error))?;
    if let Some(error) = missing(provider, &server) {
        return Err(told(&error));
    }
    let answered = runtime.block_on(asker.ask(context, &question()));
    let answered = answered.map_err(|error| told(&error))?;
    let fits = fits(&answered);
    let is_structured = asker.is_structured(provider) == Some(true);
    let answers = match (&answered.stop, fits, is_structured) {
        (AnswerStop::Refused(words), ..) => format!("refuses to answer: {words}"),
        (_, false, _) => "answers, and not in the form asked for".to_owned(),
        (_, true, true) => "holds answers to a schema".to_owned(),
        (_, true, false) => "answers, and holds no answer to a schema".to_owned(),
    };
    let context = provider.context.or(server.context);
    let context = context.map(|tokens| format!("; {tokens} tokens fit")).unwrap_or_default();
    let found = format!("{}: {answers}{context}", provider.line());
    Ok((found, fits))
}

/// Whether an answer is the object that was asked for.
fn fits(answered: &ModelAnswer) -> bool {
    let schema = doc::parse(&schema().to_string(), &Limits::default()).node;
    let shape = schema.and_then(|schema| Shape::compile(&schema).ok());
    let answer = last_object(&answered.text);
    answered.stop == AnswerStop::Done && shape.is_some_and(|shape| shape.fits(&answer))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
        "additionalProperties": false,
    })
}

/// A question whose answer is an object that fits a schema.
fn question() -> ModelQuestion {
    ModelQuestion {
        system: String::new(),
        turns: vec![ModelTurn { by: Speaker::User, text: QUESTION.to_owned() }],
        schema: Some(schema()),
        max_answer: ANSWER_TOKENS,
    }
}

/// The model is not among those that the server lists.
fn missing(provider: &Provider, server: &ServerLook) -> Option<ModelError> {
    let models = server.models.as_ref().filter(|models| !models.is_empty())?;
    let latest = format!("{}:latest", provider.model);
    let is_there = models.iter().any(|model| *model == provider.model || *model == latest);
    let some: Vec<&str> = models.iter().take(8).map(String::as_str).collect();
    let words = format!("it has {}", some.join(", "));
    (!is_there && !provider.is_vendor()).then(|| ModelError::no_model(&provider.model, &words))
}

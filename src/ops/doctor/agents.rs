//! The agents of the configuration, else the known programs that are installed: version, whether a person is
//! logged in, and whether it can be cancelled and resumed.
//!
//! Invariant: only programs of presets are started, and only to ask them about themselves. A provider is asked one tiny
//! question. Nothing of a configuration that is not allowed is started, asked, or read.

use descent_core::id::AgentName;

use super::{Finding, Health, providers};
use crate::{
    config::{
        self, Config,
        agent::{ResolvedAgent, Transport},
        preset::{Cancel, LoginCheck, Preset},
        program::{ProgramLook, find_program, is_relative, missing_program_in},
    },
    failure::Failure,
    ops::{
        agents::{AgentLook, example, installed, not_set, unset_variables},
        trust,
    },
    process::{Programs, environment},
    render,
    store::StatePlace,
    survey,
};

const NO_WORK: &str = "nothing that it should do can be done";

pub(super) fn findings(place: &StatePlace, programs: &dyn Programs) -> Vec<Finding> {
    let config = match config::load(&place.project) {
        Ok(config) => config,
        Err(error) => {
            let failure = Failure::from(error);
            let means = "no run begins with it";
            return vec![Finding::missing("agents", failure.message, means).mend(failure.hint)];
        }
    };
    let environment = environment::for_attempts(std::env::vars_os(), &[]);
    let look =
        AgentLook { config: &config, environment: &environment, programs, dir: &place.project };
    let refused = trust::refused_configuration(place, &config);
    let of_name = |name: &AgentName| match &refused {
        Some(why) if config.is_of_project(name) => vec![not_tried(&look, name, why)],
        Some(_) | None => of_name(&look, name),
    };
    let mut findings = match config.names() {
        names if names.is_empty() => of_machine(&look),
        names => names.iter().flat_map(of_name).collect(),
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
        let name = format!("role {}", choice.role.word());
        let means = "no run begins with it";
        Some(Finding::missing(name, failure.message, means).mend(failure.hint))
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
        .map(|preset| AgentFinding::of(look, ResolvedAgent::of_preset(preset), false).finding())
        .collect();
    let means = "a task without an action finds nobody who does it";
    let lines = example().join(" and ");
    findings.push(
        Finding::degraded("worker", "none is configured", means)
            .mend(format!("in descent.toml: {lines}")),
    );
    findings
}

/// An agent of a configuration that nobody allowed here.
fn not_tried(look: &AgentLook<'_>, name: &AgentName, why: &str) -> Finding {
    let why = render::visible(why);
    let found = format!("not tried: this configuration is not yours (descent.toml {why})");
    let means = "nothing of it starts, and no key is read, before you allowed it";
    let finding = if is_needed(look, name) {
        Finding::unusable(label(name), found, means)
    } else {
        Finding::degraded(label(name), found, means)
    };
    finding.mend("descent trust --worker")
}

/// Whether a role names it.
fn is_needed(look: &AgentLook<'_>, name: &AgentName) -> bool {
    let roles = look.config.roles();
    roles.iter().any(|choice| choice.agent == *name)
}

fn of_name(look: &AgentLook<'_>, name: &AgentName) -> Vec<Finding> {
    let is_needed = is_needed(look, name);
    match look.config.by_name(name, "the configuration") {
        Ok(agent) => {
            let unset = unset_variables(&agent);
            let unset = unset.iter().map(|variable| {
                let (name, found) = (format!("{} env", label(name)), not_set(variable));
                let mend = format!("export {variable}, or take it out of `env`");
                Finding::degraded(name, found, "the agent starts without it").mend(mend)
            });
            let unset: Vec<Finding> = unset.collect();
            let of_agent = AgentFinding::of(look, agent, is_needed).finding();
            std::iter::once(of_agent).chain(unset).collect()
        }
        Err(error) => vec![Finding::missing(label(name), error.to_string(), NO_WORK)],
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

impl<'a> AgentFinding<'a> {
    fn of(look: &'a AgentLook<'a>, agent: ResolvedAgent, is_needed: bool) -> Self {
        Self { look, agent, is_needed }
    }

    fn finding(&self) -> Finding {
        let path = self.look.environment.path();
        if let Transport::Shell(command) = &self.agent.transport {
            return match missing_program_in(self.look.dir, command, &path) {
                None => self.ok(format!("`{command}`, by the shell")),
                Some(program) => self.without_program(&program),
            };
        }
        if let Transport::Model(provider) = &self.agent.transport {
            return match providers::tried(self.look, &self.agent, provider) {
                Ok(tried) if tried.fits => self.ok(tried.found),
                Ok(tried) => Finding::degraded(self.label(), tried.found, providers::MISFIT)
                    .mend(providers::mend(&self.agent)),
                Err((found, mend)) => self.worse(found, mend),
            };
        }
        let program = self.agent.program();
        match (find_program(program, &path), self.agent.preset) {
            (ProgramLook::Missing, preset) => {
                let mend = preset.map(|preset| preset.install.clone());
                let mend = mend.unwrap_or_else(|| format!("install {program}"));
                self.missing(format!("`{program}` is not installed"), mend)
            }
            (ProgramLook::Found(found), Some(preset)) => self.of_preset(preset, &found),
            (ProgramLook::Found(_) | ProgramLook::Unknown, None) => {
                self.ok(format!("`{program}`; {}", self.abilities(None)))
            }
            (ProgramLook::Unknown, Some(preset)) => self.ok(format!("`{}`", preset.program())),
        }
    }

    fn of_preset(&self, preset: &Preset, program: &std::path::Path) -> Finding {
        let version = match self.look.version(&self.agent, preset, program) {
            Ok(version) if preset.version.is_met_by(&version) => version,
            Ok(version) => {
                let what = format!("is {version}, and {} is needed", preset.version.min);
                return self.bad(preset.program(), &what, preset.install.clone());
            }
            Err(failure) => return self.worse(failure.message, failure.hint),
        };
        let login = match self.login(preset, program) {
            Login::In => "logged in",
            Login::ByKey => "with a key in the environment",
            Login::Unknown => "whether you are logged in shows when it works",
            Login::Out => return self.logged_out(preset, &version),
        };
        let abilities = self.abilities(Some(preset));
        let provider = self.provider(preset).unwrap_or_default();
        self.ok(format!("{} {version}, {login}; {abilities}{provider}", preset.title))
    }

    /// That a variable for another provider does nothing here, and what does.
    fn provider(&self, preset: &Preset) -> Option<String> {
        const BASE_URL: &str = "OPENAI_BASE_URL";
        let form = preset.provider.as_ref()?;
        let is_passed = self.agent.env.iter().any(|name| name == BASE_URL);
        let is_meant = std::env::var_os(BASE_URL).is_some() && !is_passed;
        is_meant.then(|| format!("; {BASE_URL} is not passed on, a provider is named by {form}"))
    }

    fn logged_out(&self, preset: &Preset, version: &str) -> Finding {
        let what = format!("is {version}, and you are not logged in");
        let withheld = &self.look.environment.withheld;
        let is_withheld =
            |name: &&String| withheld.contains(name) && !self.agent.env.contains(name);
        let log_in = &preset.log_in;
        let (what, mend) = match (preset.variables.iter().find(is_withheld), &preset.provider) {
            (Some(key), _) => (
                format!("{what}; {key} is withheld"),
                format!("name {key} in the agent's `env`, or: {log_in}"),
            ),
            (None, Some(form)) => (what, format!("{log_in}; or a provider of your own: {form}")),
            (None, None) => (what, log_in.clone()),
        };
        self.bad(preset.program(), &what, mend)
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

    /// Whether it can be cancelled and can go on, as its data say.
    fn abilities(&self, preset: Option<&Preset>) -> String {
        let cancel = match (preset.map(|preset| preset.cancel), &self.agent.transport) {
            (Some(Cancel::Protocol), _) | (None, Transport::Acp(_)) => "cancelled by its protocol",
            (Some(Cancel::Signal), _)
            | (None, Transport::Headless(_) | Transport::Shell(_) | Transport::Model(_)) => {
                "cancelled by a signal"
            }
        };
        let resumes = match (preset, &self.agent.transport) {
            (Some(preset), _) => preset.can_resume,
            (None, Transport::Headless(headless)) => !headless.resume.is_empty(),
            (None, Transport::Acp(_)) => {
                return format!("{cancel}; it says itself whether it can resume");
            }
            (None, Transport::Shell(_) | Transport::Model(_)) => false,
        };
        let can = if resumes { "can" } else { "cannot" };
        format!("{cancel}, {can} resume")
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

    fn bad(&self, program: &str, what: &str, mend: String) -> Finding {
        self.worse(format!("`{program}` {what}"), mend)
    }

    /// A shell command whose program is not there.
    fn without_program(&self, program: &str) -> Finding {
        let (what, mend) = if is_relative(program) {
            (
                format!("not found in {}", self.look.dir.display()),
                "name it from the top of the project; what setup or a step makes is found then"
                    .to_owned(),
            )
        } else {
            ("not installed".to_owned(), format!("install {program}"))
        };
        self.missing(format!("`{program}` is {what} (E-AGENT-MISSING)"), mend)
    }

    fn missing(&self, found: String, mend: String) -> Finding {
        self.lack(Finding::missing(self.label(), found, NO_WORK), mend)
    }

    fn worse(&self, found: String, mend: String) -> Finding {
        self.lack(Finding::unusable(self.label(), found, NO_WORK), mend)
    }

    /// An agent that no role names is no lack of the machine.
    fn lack(&self, mut finding: Finding, mend: String) -> Finding {
        if !self.is_needed {
            finding.health = Health::Degraded;
        }
        finding.mend(mend)
    }

    fn label(&self) -> String {
        label(&self.agent.name)
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

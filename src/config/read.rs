//! The text of a configuration as typed values, each fault with its place.
//!
//! Not here: files, and what is put together from several (`config`).

use std::{collections::BTreeMap, ops::Range, time::Duration};

use descent_core::{
    id::AgentName,
    state::{Micros, Role, fields::DurationText},
};
use serde::Deserialize;
use toml::Spanned;

use super::{
    ConfigLayer,
    agent::{AgentConfig, AgentSource, Headless, Modes, SESSION},
    choices::{self, RoleChoice, meant},
    fault::ConfigFault,
    preset::{self, PresetTransport},
    price::{self, Price},
    read_provider::{self, ProviderText},
};

const AGENTS_MAX: usize = 50;
const ARGS_MAX: usize = 100;
const ENV_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest silence that may be allowed.
const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct ConfigText {
    notify: Option<Spanned<String>>,
    #[serde(default)]
    agents: BTreeMap<Spanned<String>, Spanned<AgentText>>,
    #[serde(default)]
    roles: BTreeMap<Spanned<String>, Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct AgentText {
    preset: Option<Spanned<String>>,
    acp: Option<Spanned<Vec<String>>>,
    headless: Option<Spanned<Headless>>,
    run: Option<Spanned<String>>,
    provider: Option<Spanned<String>>,
    base_url: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    /// Any value: a message about it must not repeat it.
    key: Option<Spanned<toml::Value>>,
    max_parallel: Option<Spanned<i64>>,
    context: Option<Spanned<i64>>,
    max_answer: Option<Spanned<i64>>,
    effort: Option<Spanned<String>>,
    args: Option<Spanned<Vec<String>>>,
    env: Option<Spanned<Vec<String>>>,
    modes: Option<Spanned<Modes>>,
    first_event: Option<Spanned<String>>,
    idle: Option<Spanned<String>>,
    price: Option<PriceText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct PriceText {
    input: Spanned<String>,
    output: Spanned<String>,
    cache_read: Option<Spanned<String>>,
    cache_write: Option<Spanned<String>>,
}

/// `place` names an offset of the text for people.
pub(super) fn parse(
    text: &str,
    place: &dyn Fn(usize) -> String,
) -> Result<ConfigLayer, ConfigFault> {
    let read: ConfigText =
        toml::from_str(text).map_err(|error| ConfigFault::of_toml(&error, text))?;
    let notify = read.notify.map(|text| command("notify", text)).transpose()?;
    let agents = agents(read.agents)?;
    let roles = read.roles.into_iter().map(|(role, agent)| {
        let said_in = place(role.span().start);
        Ok(RoleChoice { role: role_of(&role)?, agent: agent_name(&agent)?, said_in })
    });
    let roles = roles.collect::<Result<_, _>>()?;
    Ok(ConfigLayer { notify, agents, roles, text: text.to_owned() })
}

fn command(key: &str, value: Spanned<String>) -> Result<String, ConfigFault> {
    let (span, command) = (value.span(), value.into_inner());
    let fault = |what: &str| Err(ConfigFault::new(span, format!("`{key}` {what}")));
    if command.trim().is_empty() {
        return fault("is empty");
    }
    match faulty_text(&command) {
        Some(what) => fault(what),
        None => Ok(command),
    }
}

fn faulty_text(text: &str) -> Option<&'static str> {
    if text.len() > TEXT_BYTES_MAX {
        return Some("is longer than 16 KiB");
    }
    text.contains('\0').then_some("holds a NUL, which no command can")
}

fn agents(
    read: BTreeMap<Spanned<String>, Spanned<AgentText>>,
) -> Result<BTreeMap<AgentName, AgentConfig>, ConfigFault> {
    if let Some((name, _)) = read.iter().nth(AGENTS_MAX) {
        let message = format!("there are more than {AGENTS_MAX} agents");
        return Err(ConfigFault::new(name.span(), message));
    }
    let mut agents = BTreeMap::new();
    for (key, text) in read {
        agents.insert(agent_name(&key)?, agent(key.as_ref(), text)?);
    }
    Ok(agents)
}

fn agent_name(name: &Spanned<String>) -> Result<AgentName, ConfigFault> {
    if AgentName::is_valid(name.as_ref()) {
        return Ok(AgentName::from(name.as_ref().as_str()));
    }
    let message = format!("`{}` is no name of an agent", name.as_ref().escape_debug());
    let hint = "1 to 64 of a-z, 0-9, `_`, `.` and `-`";
    Err(ConfigFault::new(name.span(), message).hint(hint))
}

fn role_of(name: &Spanned<String>) -> Result<Role, ConfigFault> {
    Role::of_word(name.as_ref()).ok_or_else(|| {
        let message = format!("unknown role `{}`", name.as_ref().escape_debug());
        ConfigFault::new(name.span(), message).hint(choices::role_meant(name.as_ref()))
    })
}

fn agent(name: &str, text: Spanned<AgentText>) -> Result<AgentConfig, ConfigFault> {
    let span = text.span();
    let text = text.into_inner();
    let source = source(name, span, &text)?;
    if let (AgentSource::Shell(_), Some(args)) = (&source, &text.args) {
        let fault = ConfigFault::new(args.span(), "`args` goes with a program, not with `run`");
        return Err(fault.hint("write them into the command of `run`"));
    }
    let unused = unused(&source, &text);
    let optional = |key, value: Option<Spanned<Vec<String>>>| {
        value.map_or(Ok(Vec::new()), |value| arguments(key, &value))
    };
    let agent = AgentConfig {
        source,
        args: optional("args", text.args)?,
        env: text.env.map_or(Ok(Vec::new()), |names| variables(&names))?,
        modes: text.modes.map(Spanned::into_inner).unwrap_or_default(),
        first_event: text.first_event.map(silence).transpose()?,
        idle: text.idle.map(silence).transpose()?,
        price: text.price.map(price).transpose()?,
    };
    unused.map_or(Ok(agent), Err)
}

/// The fault of a setting that this kind of agent has no use for: it would be believed to hold.
fn unused(source: &AgentSource, text: &AgentText) -> Option<ConfigFault> {
    let is_acp = match source {
        AgentSource::Acp(_) => true,
        AgentSource::Preset(preset) => match preset.transport {
            PresetTransport::Acp(_) => true,
            PresetTransport::Headless(_) => false,
        },
        AgentSource::Headless(_) | AgentSource::Shell(_) | AgentSource::Provider(_) => false,
    };
    let is_provider = matches!(source, AgentSource::Provider(_));
    if let Some(fault) = text.not_for(is_provider) {
        return Some(fault);
    }
    let is_shell = matches!(source, AgentSource::Shell(_));
    let modes = text.modes.as_ref().filter(|_| !is_acp).map(Spanned::span);
    if let Some(span) = modes {
        let fault = ConfigFault::new(span, "`modes` goes with an agent of the protocol alone");
        return Some(
            fault.hint("take it out; `acp = […]`, or a preset such as `claude-acp`, has modes"),
        );
    }
    let limits = [("first_event", &text.first_event), ("idle", &text.idle)];
    let mut limits = limits.into_iter().filter(|_| is_shell);
    let (key, span) = limits.find_map(|(key, text)| Some((key, text.as_ref()?.span())))?;
    let message = format!("`{key}` goes with an agent that prints events, not with `run`");
    let hint = "take it out; `attempt_timeout` limits a command";
    Some(ConfigFault::new(span, message).hint(hint))
}

impl AgentText {
    /// A setting that stands there, and that only the other kind of agent has a use for.
    fn not_for(&self, is_provider: bool) -> Option<ConfigFault> {
        let of_program = [
            ("args", self.args.as_ref().map(Spanned::span)),
            ("env", self.env.as_ref().map(Spanned::span)),
        ];
        let of_provider = [
            ("base_url", self.base_url.as_ref().map(Spanned::span)),
            ("model", self.model.as_ref().map(Spanned::span)),
            ("key", self.key.as_ref().map(Spanned::span)),
            ("max_parallel", self.max_parallel.as_ref().map(Spanned::span)),
            ("context", self.context.as_ref().map(Spanned::span)),
            ("max_answer", self.max_answer.as_ref().map(Spanned::span)),
            ("effort", self.effort.as_ref().map(Spanned::span)),
        ];
        let (settings, with, hint) = if is_provider {
            (
                &of_program[..],
                "a program, not with `provider`",
                "take it out; the variable of a key is named by `key = {env = \"NAME\"}`",
            )
        } else {
            (
                &of_provider[..],
                "`provider` alone",
                "take it out; a program gets its model and its key by `args` and `env`",
            )
        };
        let mut settings = settings.iter();
        let (key, span) = settings.find_map(|(key, span)| span.clone().map(|span| (*key, span)))?;
        Some(ConfigFault::new(span, format!("`{key}` goes with {with}")).hint(hint))
    }

    fn provider(&self, name: &str, provider: &Spanned<String>) -> Result<AgentSource, ConfigFault> {
        let text = ProviderText {
            agent: name,
            provider,
            base_url: self.base_url.as_ref(),
            model: self.model.as_ref(),
            key: self.key.as_ref(),
            max_parallel: self.max_parallel.as_ref(),
            context: self.context.as_ref(),
            max_answer: self.max_answer.as_ref(),
            effort: self.effort.as_ref(),
        };
        let provider = read_provider::provider(&text)?;
        Ok(AgentSource::Provider(Box::new(provider)))
    }
}

fn source(name: &str, span: Range<usize>, text: &AgentText) -> Result<AgentSource, ConfigFault> {
    let hint = "exactly one of `preset`, `acp`, `headless`, `run` and `provider`";
    let ways = [
        text.preset.is_some(),
        text.acp.is_some(),
        text.headless.is_some(),
        text.run.is_some(),
        text.provider.is_some(),
    ];
    if ways.into_iter().filter(|is_there| *is_there).count() > 1 {
        let message = format!("agent `{name}` has several things to start");
        return Err(ConfigFault::new(span, message).hint(hint));
    }
    if let Some(preset) = &text.preset {
        return of_preset(preset);
    }
    if let Some(argv) = &text.acp {
        program("acp", argv.span(), argv.as_ref())?;
        return Ok(AgentSource::Acp(argv.as_ref().clone()));
    }
    if let Some(headless) = &text.headless {
        return of_headless(headless);
    }
    if let Some(run) = &text.run {
        return command("run", run.clone()).map(AgentSource::Shell);
    }
    match &text.provider {
        Some(provider) => text.provider(name, provider),
        None => {
            let message = format!("agent `{name}` has nothing to start");
            Err(ConfigFault::new(span, message).hint(hint))
        }
    }
}

fn of_preset(name: &Spanned<String>) -> Result<AgentSource, ConfigFault> {
    if let Some(preset) = preset::preset(name.as_ref()) {
        return Ok(AgentSource::Preset(preset));
    }
    let known: Vec<&str> = preset::presets().iter().map(|one| one.name.as_str()).collect();
    let message = format!("unknown preset `{}`", name.as_ref().escape_debug());
    Err(ConfigFault::new(name.span(), message).hint(meant(name.as_ref(), &known)))
}

fn of_headless(headless: &Spanned<Headless>) -> Result<AgentSource, ConfigFault> {
    let (span, headless) = (headless.span(), headless.as_ref());
    program("argv", span.clone(), &headless.argv)?;
    let session = headless.session.as_deref().unwrap_or_default();
    for (key, list) in [
        ("session", session),
        ("resume", &headless.resume),
        ("flags", &headless.flags),
        ("write", &headless.write),
        ("read", &headless.read),
    ] {
        fits(key, span.clone(), list)?;
    }
    for (key, list) in [("session", session), ("resume", &headless.resume)] {
        let says = list.iter().any(|arg| arg.contains(SESSION));
        if !list.is_empty() && !says {
            let message = format!("`{key}` does not say where the id of the session stands");
            let hint = "write `{session}` there";
            return Err(ConfigFault::new(span, message).hint(hint));
        }
    }
    Ok(AgentSource::Headless(headless.clone()))
}

fn program(key: &str, span: Range<usize>, argv: &[String]) -> Result<(), ConfigFault> {
    match argv.first() {
        Some(program) if !program.trim().is_empty() => fits(key, span, argv),
        Some(_) | None => Err(ConfigFault::new(span, format!("`{key}` names no program"))),
    }
}

fn arguments(key: &str, list: &Spanned<Vec<String>>) -> Result<Vec<String>, ConfigFault> {
    fits(key, list.span(), list.as_ref())?;
    Ok(list.as_ref().clone())
}

fn fits(key: &str, span: Range<usize>, list: &[String]) -> Result<(), ConfigFault> {
    if list.len() > ARGS_MAX {
        let message = format!("`{key}` has more than {ARGS_MAX} arguments");
        return Err(ConfigFault::new(span, message));
    }
    match list.iter().find_map(|text| faulty_text(text)) {
        Some(what) => Err(ConfigFault::new(span, format!("an argument of `{key}` {what}"))),
        None => Ok(()),
    }
}

fn variables(names: &Spanned<Vec<String>>) -> Result<Vec<String>, ConfigFault> {
    if names.as_ref().len() > ENV_MAX {
        let message = format!("`env` has more than {ENV_MAX} names");
        return Err(ConfigFault::new(names.span(), message));
    }
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &&String| {
        name.len() <= 200
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(is_in_name)
    };
    match names.as_ref().iter().find(|name| !is_name(name)) {
        Some(name) => {
            let message = format!("`{}` is no name of a variable", name.escape_debug());
            let hint = "`env` holds names; their values are taken from where descent is started";
            Err(ConfigFault::new(names.span(), message).hint(hint))
        }
        None => Ok(names.as_ref().clone()),
    }
}

fn silence(text: Spanned<String>) -> Result<Duration, ConfigFault> {
    let length = DurationText::parse(text.as_ref()).map(|read| Duration::from_millis(read.ms));
    let length = length.filter(|length| !length.is_zero() && *length <= SILENCE_MAX);
    length.ok_or_else(|| {
        let message = format!("`{}` is no length of time", text.as_ref().escape_debug());
        let hint = "a number and a unit, of a day at most: \"90s\", \"10m\"";
        ConfigFault::new(text.span(), message).hint(hint)
    })
}

fn price(text: PriceText) -> Result<Price, ConfigFault> {
    let input = money(&text.input)?;
    let cached = |text: &Option<Spanned<String>>| text.as_ref().map_or(Ok(input), money);
    Ok(Price {
        input,
        output: money(&text.output)?,
        cache_read: cached(&text.cache_read)?,
        cache_write: cached(&text.cache_write)?,
    })
}

fn money(text: &Spanned<String>) -> Result<Micros, ConfigFault> {
    price::money(text.as_ref()).ok_or_else(|| {
        let message = format!("`{}` is no price", text.as_ref().escape_debug());
        let hint = "dollars for a million tokens, as text: \"3\", \"0.30\"";
        ConfigFault::new(text.span(), message).hint(hint)
    })
}

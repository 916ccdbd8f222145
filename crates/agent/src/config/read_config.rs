//! The text of a configuration as typed values, each fault with its place.
//!
//! Not here: files, and what is put together from several (`config`).

use std::{
    collections::BTreeMap,
    fmt,
    num::{NonZeroU8, NonZeroU32},
    ops::Range,
    time::Duration,
};

use descent_core::{
    id::AgentName,
    state::{Duty, Micros, Role, fields::DurationText},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use toml::Spanned;

use super::{
    ConfigLayer, agent_table,
    agent_table::{
        Acp, Headless, Modes, PROVIDER_IDLE, Preset, Price, ResolvedAgent, SESSION, Transport,
    },
    fault::{ConfigFault, NAME_HINT, Read, SettingValue, ensure, hinted, is_variable, meant},
    provider::{BaseUrl, KEY_HINT, KeySource, MAX_PARALLEL, Provider, VendorWord, Wire},
    resolve::RoleChoice,
};

const AGENTS_MAX: usize = 50;
const ARGS_MAX: usize = 100;
const ENV_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest silence that may be allowed.
const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const SOURCES: &str = "exactly one of `preset`, `acp`, `headless`, `run` and `provider`";

/// A setting that may be left out, with its place.
type Placed<T> = Option<Spanned<Read<T>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct ConfigText {
    notify: Option<Read<ShellCommand>>,
    #[serde(default)]
    agents: BTreeMap<Spanned<String>, Spanned<AgentText>>,
    #[serde(default)]
    roles: BTreeMap<Spanned<Role>, RoleText>,
}

/// The agent of a role; or a table with it as `agent`, and with agents for single questions of the role.
enum RoleText {
    Agent(AgentName),
    Each(Vec<(Spanned<String>, Read<AgentName>)>),
}

impl<'de> Deserialize<'de> for RoleText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RoleVisitor)
    }
}

struct RoleVisitor;

impl<'de> Visitor<'de> for RoleVisitor {
    type Value = RoleText;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the name of an agent, or a table of them")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<RoleText, E> {
        AgentName::of(name.to_owned()).map(RoleText::Agent).map_err(E::custom)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<RoleText, M::Error> {
        let mut each = Vec::new();
        while let Some(entry) = map.next_entry()? {
            each.push(entry);
        }
        Ok(RoleText::Each(each))
    }
}

impl RoleText {
    /// The agents, each with its duty and its place.
    fn choices(self, role: &Spanned<Role>) -> Result<Vec<(Duty, usize, AgentName)>, ConfigFault> {
        let each = match self {
            Self::Agent(name) => {
                return Ok(vec![((*role.as_ref()).into(), role.span().start, name)]);
            }
            Self::Each(each) => each,
        };
        let of = |key: &str| match key {
            "agent" => Some((*role.as_ref()).into()),
            word => Duty::parse(&format!("{}.{word}", role.as_ref().word())),
        };
        let choice = |(key, name): (Spanned<String>, Read<AgentName>)| match of(key.as_ref()) {
            Some(duty) => Ok((duty, key.span().start, name.0)),
            None => {
                let message = format!("`{}` is not known here", key.as_ref().escape_debug());
                Err(ConfigFault::new(key.span(), message).hint(meant_of(*role.as_ref(), &key)))
            }
        };
        each.into_iter().map(choice).collect()
    }
}

fn meant_of(role: Role, key: &Spanned<String>) -> String {
    let duties = Duty::all().filter(|duty| duty.role == role);
    let known = duties.map(|duty| duty.question.map_or("agent", |question| question.word()));
    meant(key.as_ref(), &known.collect::<Vec<&str>>())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct AgentText {
    preset: Option<Read<&'static Preset>>,
    acp: Option<Read<ProgramArgs>>,
    headless: Option<Read<Headless>>,
    run: Option<Read<ShellCommand>>,
    provider: Option<Spanned<Wire>>,
    base_url: Placed<BaseUrl>,
    model: Placed<VendorWord>,
    key: Placed<KeySource>,
    max_parallel: Option<Spanned<NonZeroU8>>,
    context: Option<Spanned<NonZeroU32>>,
    max_answer: Option<Spanned<NonZeroU32>>,
    effort: Placed<VendorWord>,
    args: Placed<MoreArgs>,
    env: Placed<VariableNames>,
    modes: Option<Spanned<Modes>>,
    first_event: Placed<Duration>,
    idle: Placed<Duration>,
    price: Option<PriceText>,
    transient: Option<Spanned<TransientText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct TransientText {
    #[serde(default)]
    exit: Vec<NonZeroU8>,
    output: Option<Read<OutputPattern>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct PriceText {
    input: Read<Micros>,
    output: Read<Micros>,
    cache_read: Option<Read<Micros>>,
    cache_write: Option<Read<Micros>>,
}

/// `place` names an offset of the text for people.
pub(super) fn parse(
    text: &str,
    place: &dyn Fn(usize) -> String,
) -> Result<ConfigLayer, ConfigFault> {
    let read: ConfigText =
        toml::from_str(text).map_err(|error| ConfigFault::of_toml(&error, text))?;
    if let Some((name, _)) = read.agents.iter().nth(AGENTS_MAX) {
        let message = format!("there are more than {AGENTS_MAX} agents");
        return Err(ConfigFault::new(name.span(), message));
    }
    let agents = read.agents.into_iter().map(|(key, text)| {
        let name = AgentName::of(key.as_ref().clone());
        let name = name.map_err(|words| ConfigFault::of_words(key.span(), &words))?;
        let agent = text.as_ref().resolved(text.span(), &name)?;
        Ok((name, agent))
    });
    let mut roles = Vec::new();
    for (role, text) in read.roles {
        for (duty, at, agent) in text.choices(&role)? {
            roles.push(RoleChoice { duty, agent, said_in: place(at) });
        }
    }
    Ok(ConfigLayer {
        notify: read.notify.map(|command| command.0.0),
        agents: agents.collect::<Result<_, _>>()?,
        roles,
        text: text.to_owned(),
    })
}

fn inner<T>(setting: &Placed<T>) -> Option<&T> {
    setting.as_ref().map(|setting| &setting.as_ref().0)
}

fn span<T>(setting: &Option<Spanned<T>>) -> Option<Range<usize>> {
    setting.as_ref().map(Spanned::span)
}

impl AgentText {
    fn resolved(&self, at: Range<usize>, name: &AgentName) -> Result<ResolvedAgent, ConfigFault> {
        let mut sources = self.sources(name);
        if sources.len() != 1 {
            let what = if sources.is_empty() { "nothing" } else { "several things" };
            let message = format!("agent `{name}` has {what} to start");
            return Err(ConfigFault::new(at, message).hint(SOURCES));
        }
        let transport = sources.remove(0)?;
        if let Some(fault) = self.unused(&transport) {
            return Err(fault);
        }
        let preset = self.preset.as_ref().map(|preset| preset.0);
        let mut agent = ResolvedAgent::new(name.clone(), transport, preset);
        let args = inner(&self.args).map_or_else(Vec::new, |args| args.0.clone());
        match &mut agent.transport {
            Transport::Headless(headless) => headless.args = args,
            Transport::Acp(acp) => {
                acp.argv.extend(args);
                if let Some(given) = self.modes.as_ref().map(Spanned::as_ref) {
                    acp.modes.write = given.write.clone().or(acp.modes.write.take());
                    acp.modes.read = given.read.clone().or(acp.modes.read.take());
                }
            }
            Transport::Shell(_) => {}
            Transport::Model(_) => agent.limits.idle = PROVIDER_IDLE,
        }
        agent.env.extend(inner(&self.env).into_iter().flat_map(|names| names.0.iter().cloned()));
        if let Some(first_event) = inner(&self.first_event) {
            agent.limits.first_event = *first_event;
        }
        if let Some(idle) = inner(&self.idle) {
            agent.limits.idle = *idle;
        }
        agent.price = self.price.as_ref().map(PriceText::price);
        if let Some(text) = &self.transient {
            let text = text.as_ref();
            agent.transient.exit = text.exit.iter().map(|code| i32::from(code.get())).collect();
            agent.transient.output = text.output.as_ref().map(|pattern| pattern.0.0.clone());
        }
        Ok(agent)
    }

    /// All that it says to start.
    fn sources(&self, name: &AgentName) -> Vec<Result<Transport, ConfigFault>> {
        let acp = self.acp.as_ref().map(|argv| Acp { argv: argv.0.0.clone(), ..Acp::default() });
        let provider = self.provider.as_ref().map(|wire| self.provider(name, wire));
        let sources = [
            self.preset.as_ref().map(|preset| Ok(preset.0.transport.clone())),
            acp.map(|acp| Ok(Transport::Acp(acp))),
            self.headless.as_ref().map(|headless| Ok(Transport::Headless(headless.0.clone()))),
            self.run.as_ref().map(|command| Ok(Transport::Shell(command.0.0.clone()))),
            provider.map(|read| read.map(|provider| Transport::Model(Box::new(provider)))),
        ];
        sources.into_iter().flatten().collect()
    }

    /// The fault of a setting that this kind of agent has no use for: it would be believed to hold.
    fn unused(&self, transport: &Transport) -> Option<ConfigFault> {
        let is_model = matches!(transport, Transport::Model(_));
        let is_shell = matches!(transport, Transport::Shell(_));
        let is_acp = matches!(transport, Transport::Acp(_));
        let program = (
            "a program, not with `run` and not with `provider`",
            "take it out; `run` has its arguments in its command, and `key = {env = \"NAME\"}` names a variable",
        );
        let variables = ("a program, not with `provider`", program.1);
        let model = (
            "`provider` alone",
            "take it out; a program gets its model and its key by `args` and `env`",
        );
        let protocol = (
            "an agent of the protocol alone",
            "take it out; `acp = […]`, or a preset such as `claude-acp`, has modes",
        );
        let events = (
            "an agent that prints events, not with `run`",
            "take it out; `attempt_timeout` limits a command",
        );
        let command = ("`run` alone", "take it out; what an agent says of a limit is known");
        let rules = [
            ("args", span(&self.args), !is_model && !is_shell, program),
            ("env", span(&self.env), !is_model, variables),
            ("base_url", span(&self.base_url), is_model, model),
            ("model", span(&self.model), is_model, model),
            ("key", span(&self.key), is_model, model),
            ("max_parallel", span(&self.max_parallel), is_model, model),
            ("context", span(&self.context), is_model, model),
            ("max_answer", span(&self.max_answer), is_model, model),
            ("effort", span(&self.effort), is_model, model),
            ("modes", span(&self.modes), is_acp, protocol),
            ("transient", self.transient.as_ref().map(Spanned::span), is_shell, command),
            ("first_event", span(&self.first_event), !is_shell, events),
            ("idle", span(&self.idle), !is_shell, events),
        ];
        rules.into_iter().find_map(|(key, span, is_used, (with, hint))| {
            let span = span.filter(|_| !is_used)?;
            Some(ConfigFault::new(span, format!("`{key}` goes with {with}")).hint(hint))
        })
    }

    fn provider(&self, name: &AgentName, wire: &Spanned<Wire>) -> Result<Provider, ConfigFault> {
        let fault = |what: String, hint| {
            ConfigFault::new(wire.span(), format!("agent `{name}` {what}")).hint(hint)
        };
        let model = inner(&self.model).ok_or_else(|| {
            let hint = r#"model = "…": the name by which the server knows it"#;
            fault("names no `model`".to_owned(), hint)
        })?;
        let tokens = |count: &Option<Spanned<NonZeroU32>>| {
            count.as_ref().map(|count| u64::from(count.as_ref().get()))
        };
        let max_parallel = self.max_parallel.as_ref().map(|count| count.as_ref().get());
        let vendor = || wire.as_ref().vendor().to_owned();
        let provider = Provider {
            wire: *wire.as_ref(),
            base_url: inner(&self.base_url).map_or_else(vendor, |url| url.0.clone()),
            model: model.0.clone(),
            key: inner(&self.key).cloned(),
            max_parallel: max_parallel.map_or(MAX_PARALLEL, usize::from),
            context: tokens(&self.context),
            max_answer: tokens(&self.max_answer),
            effort: inner(&self.effort).map(|effort| effort.0.clone()),
        };
        if provider.key.is_none() && provider.is_vendor() {
            return Err(fault(
                format!("has no `key`, which {} wants", provider.base_url),
                KEY_HINT,
            ));
        }
        Ok(provider)
    }
}

impl PriceText {
    fn price(&self) -> Price {
        let input = self.input.0;
        let cached = |price: &Option<Read<Micros>>| price.as_ref().map_or(input, |price| price.0);
        Price {
            input,
            output: self.output.0,
            cache_read: cached(&self.cache_read),
            cache_write: cached(&self.cache_write),
        }
    }
}

/// A command for the shell.
struct ShellCommand(String);

impl SettingValue for ShellCommand {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        ensure(!text.trim().is_empty(), || "the command is empty".to_owned())?;
        fits("the command", &text)?;
        Ok(Self(text))
    }
}

/// A regular expression that an output is compared with.
struct OutputPattern(String);

impl SettingValue for OutputPattern {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        fits("the expression", &text)?;
        match regex::Regex::new(&text) {
            Ok(_) => Ok(Self(text)),
            Err(_) => Err("it is no regular expression".to_owned()),
        }
    }
}

fn fits(what: &str, text: &str) -> Result<(), String> {
    ensure(text.len() <= TEXT_BYTES_MAX, || format!("{what} is longer than 16 KiB"))?;
    ensure(!text.contains('\0'), || format!("{what} holds a NUL, which no command can"))
}

/// Arguments of a program.
struct MoreArgs(Vec<String>);

impl SettingValue for MoreArgs {
    type Text = Vec<String>;

    fn of(list: Vec<String>) -> Result<Self, String> {
        ensure(list.len() <= ARGS_MAX, || format!("there are more than {ARGS_MAX} arguments"))?;
        list.iter().try_for_each(|text| fits("an argument", text))?;
        Ok(Self(list))
    }
}

/// A program with its arguments.
struct ProgramArgs(Vec<String>);

impl SettingValue for ProgramArgs {
    type Text = Vec<String>;

    fn of(list: Vec<String>) -> Result<Self, String> {
        let is_named = list.first().is_some_and(|program| !program.trim().is_empty());
        ensure(is_named, || "no program is named".to_owned())?;
        MoreArgs::of(list).map(|list| Self(list.0))
    }
}

impl SettingValue for Headless {
    type Text = Self;

    fn of(headless: Self) -> Result<Self, String> {
        ProgramArgs::of(headless.argv.clone())?;
        let session = headless.session.as_deref().unwrap_or_default();
        for list in [session, &headless.resume, &headless.flags, &headless.write, &headless.read] {
            MoreArgs::of(list.to_vec())?;
        }
        for (key, list) in [("session", session), ("resume", &headless.resume)] {
            let says = list.is_empty() || list.iter().any(|arg| arg.contains(SESSION));
            let message = format!("`{key}` does not say where the id of the session stands");
            ensure(says, || hinted(&message, "write `{session}` there"))?;
        }
        Ok(headless)
    }
}

/// Names of variables.
struct VariableNames(Vec<String>);

impl SettingValue for VariableNames {
    type Text = Vec<String>;

    fn of(names: Vec<String>) -> Result<Self, String> {
        ensure(names.len() <= ENV_MAX, || format!("`env` has more than {ENV_MAX} names"))?;
        if let Some(name) = names.iter().find(|name| !is_variable(name)) {
            let message = format!("`{}` is no name of a variable", name.escape_debug());
            let hint = "`env` holds names; their values are taken from where descent is started";
            return Err(hinted(&message, hint));
        }
        Ok(Self(names))
    }
}

impl SettingValue for AgentName {
    type Text = String;

    fn of(name: String) -> Result<Self, String> {
        let message = format!("`{}` is no name of an agent", name.escape_debug());
        ensure(Self::is_valid(&name), || hinted(&message, NAME_HINT))?;
        Ok(Self::from(name.as_str()))
    }
}

impl SettingValue for &'static Preset {
    type Text = String;

    fn of(name: String) -> Result<Self, String> {
        agent_table::preset(&name).ok_or_else(|| {
            let known: Vec<&str> =
                agent_table::presets().iter().map(|one| one.name.as_str()).collect();
            let message = format!("unknown preset `{}`", name.escape_debug());
            hinted(&message, &meant(&name, &known))
        })
    }
}

impl SettingValue for Duration {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        let length = DurationText::parse(&text).map(|read| Duration::from_millis(read.ms));
        let length = length.filter(|length| !length.is_zero() && *length <= SILENCE_MAX);
        length.ok_or_else(|| {
            let message = format!("`{}` is no length of time", text.escape_debug());
            hinted(&message, "a number and a unit, of a day at most: \"90s\", \"10m\"")
        })
    }
}

impl SettingValue for Micros {
    type Text = String;

    fn of(text: String) -> Result<Self, String> {
        agent_table::money(&text).ok_or_else(|| {
            let message = format!("`{}` is no price", text.escape_debug());
            hinted(&message, "dollars for a million tokens, as text: \"3\", \"0.30\"")
        })
    }
}

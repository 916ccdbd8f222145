//! A configuration as a trust list: all that it can start, and what widens that.
//!
//! Not here: whose file it is (`origin`), and what was allowed (`subject`).

use descent_core::trust::{TrustGroup, TrustItem, TrustList};

use crate::{
    config::{
        Config, ConfigLayer,
        agent::{AgentConfig, AgentSource, Headless, Modes, SESSION},
        transport::Access,
    },
    failure::quoted,
};

/// The list of the project's file; `None` if it is empty.
pub(super) fn of_project(config: Option<&Config>) -> Option<TrustList> {
    let carried = of_layer(&config?.project);
    (!carried.is_empty()).then_some(carried)
}

/// The same of the person's own file: it is shown, and asks nothing.
pub(super) fn of_person(config: Option<&Config>) -> TrustList {
    config.map_or_else(TrustList::default, |config| of_layer(&config.own))
}

pub(super) fn of_layer(layer: &ConfigLayer) -> TrustList {
    let mut items = Vec::new();
    let mut add = |group, at: String, text: String| items.push(TrustItem { group, at, text });
    if let Some(worker) = &layer.worker {
        add(TrustGroup::Worker, String::new(), worker.run.clone());
    }
    if let Some(notify) = &layer.notify {
        add(TrustGroup::Notify, String::new(), notify.clone());
    }
    for (name, agent) in &layer.agents {
        for (what, text) in commands(agent) {
            add(TrustGroup::Agent, format!("{name}{what}"), text);
        }
        for variable in &agent.env {
            add(
                TrustGroup::Setting,
                format!("env of {name}"),
                variable.clone(),
            );
        }
        if let Some(text) = modes(&agent.modes) {
            add(TrustGroup::Setting, format!("modes of {name}"), text);
        }
    }
    for choice in &layer.roles {
        let at = format!("role {}", choice.role.word());
        add(TrustGroup::Setting, at, choice.agent.to_string());
    }
    TrustList::of_items(items)
}

/// The commands of an agent, each with what it is for. A preset stands by its name: its command is the program's own.
fn commands(agent: &AgentConfig) -> Vec<(&'static str, String)> {
    match &agent.source {
        AgentSource::Preset(preset) => {
            let words = ["preset", &preset.name].map(str::to_owned);
            let words = words.into_iter().chain(agent.args.iter().cloned());
            vec![("", line(words))]
        }
        AgentSource::Acp(argv) => vec![("", line(argv.iter().chain(&agent.args).cloned()))],
        AgentSource::Shell(command) => vec![("", command.clone())],
        AgentSource::Headless(headless) => {
            let mut headless = headless.clone();
            headless.args.clone_from(&agent.args);
            of_headless(&headless)
        }
    }
}

fn of_headless(headless: &Headless) -> Vec<(&'static str, String)> {
    let start = headless.start(Access::Write, SESSION);
    let read = headless.start(Access::Read, SESSION);
    let mut found = vec![("", line(start.iter().cloned()))];
    if read != start {
        found.push((" to read", line(read.into_iter())));
    }
    if let Some(again) = headless.go_on(Access::Write, SESSION) {
        found.push((" to go on", line(again.into_iter())));
    }
    found
}

fn line(words: impl Iterator<Item = String>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn modes(modes: &Modes) -> Option<String> {
    let one =
        |name: &str, mode: &Option<String>| mode.as_ref().map(|mode| format!("{name} = {mode}"));
    let said = [one("write", &modes.write), one("read", &modes.read)];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}

//! A provider that is named as a worker: why that is refused, and the lines by which opencode works with that very server.
//!
//! Not here: providers in other roles (`agent`).

use serde_json::{Value, json};

use crate::{
    config::{
        agent::ResolvedAgent,
        provider::{KeySource, Provider, Wire},
    },
    failure::{Failure, exit},
};

/// The name of the server in opencode's own configuration.
const SERVER: &str = "own";

/// The refusal, with all that makes opencode the worker in its place.
pub(super) fn refused(agent: &ResolvedAgent, provider: &Provider) -> Failure {
    let name = &agent.name;
    let message = format!(
        "the agent `{name}` is a provider, which only thinks: it has no tools, and can be no worker yet"
    );
    let hint =
        "opencode can work with this very server: write these lines, then type this command again";
    Failure::new("E-CONFIG", exit::CONFIG, message, hint).with(lines(agent, provider))
}

fn lines(agent: &ResolvedAgent, provider: &Provider) -> Vec<String> {
    let name = format!("{}-worker", agent.name);
    let mut lines =
        vec!["in descent.toml:".to_owned(), format!("  agents.{name}.preset = \"opencode\"")];
    if let Some(KeySource::Env(variable)) = &provider.key {
        lines.push(format!("  agents.{name}.env = [\"{variable}\"]"));
    }
    lines.push(format!("  roles.worker = \"{name}\""));
    lines.push("in ~/.config/opencode/opencode.json:".to_owned());
    let text = serde_json::to_string_pretty(&config(provider)).unwrap_or_default();
    lines.extend(text.lines().map(|line| format!("  {line}")));
    if let Some(KeySource::Command(command)) = &provider.key {
        lines.push(format!(
            "opencode runs no command for a key: put what `{command}` prints in ~/.config/opencode/key (chmod 600)"
        ));
    }
    lines
}

/// The configuration of opencode for that server and model. It holds the place of the key, never the key.
fn config(provider: &Provider) -> Value {
    let model = &provider.model;
    let package = match provider.wire {
        Wire::Messages => "@ai-sdk/anthropic",
        Wire::Chat => "@ai-sdk/openai-compatible",
        Wire::Responses => "@ai-sdk/openai",
    };
    // Its packages want the version in the address.
    let base = match provider.wire {
        Wire::Messages if !provider.base_url.ends_with("/v1") => {
            format!("{}/v1", provider.base_url)
        }
        Wire::Messages | Wire::Chat | Wire::Responses => provider.base_url.clone(),
    };
    let mut options = json!({ "baseURL": base });
    let key = provider.key.as_ref().map(|key| match key {
        KeySource::Env(name) => format!("{{env:{name}}}"),
        KeySource::File(path) => format!("{{file:{}}}", path.display()),
        KeySource::Command(_) => "{file:~/.config/opencode/key}".to_owned(),
    });
    if let Some(key) = key {
        options["apiKey"] = json!(key);
    }
    let server = json!({
        "npm": package,
        "name": SERVER,
        "options": options,
        "models": { (model): { "name": model, "tool_call": true } },
    });
    json!({
        "$schema": "https://opencode.ai/config.json",
        "model": format!("{SERVER}/{model}"),
        "small_model": format!("{SERVER}/{model}"),
        "provider": { SERVER: server },
    })
}

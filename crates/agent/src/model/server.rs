//! A local server, asked about itself: which models it has, and how much fits into a question to Ollama.
//!
//! Facts: Ollama cuts a question that does not fit, silently; it tells `num_ctx` in `/api/show` and `/api/ps`. Other servers
//! refuse such a question.

use std::time::Duration;

use descent_core::event::AgentLack;
use reqwest::{Client, header::HeaderMap};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    ModelError,
    http::apart,
    key::{ProviderKey, ServerTexts},
};
use crate::config::provider::Provider;

/// How long a server may take to tell something about itself.
const TELL_MAX: Duration = Duration::from_secs(5);
const BYTES_MAX: usize = 4 << 20;
const MODELS_MAX: usize = 1_000;
/// The context of Ollama where nothing says another one.
const OLLAMA_CONTEXT: u64 = 4_096;

/// The words of a server about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLook {
    /// Tokens that fit into a question and its answer.
    pub context: Option<u64>,
    /// The models that it lists, if it lists any.
    pub models: Option<Vec<String>>,
}

/// One server, and the way to ask it.
pub(super) struct ServerProbe<'a> {
    pub(super) client: &'a Client,
    pub(super) provider: &'a Provider,
    pub(super) key: Option<&'a ProviderKey>,
}

impl ServerProbe<'_> {
    /// Asks all that a server may tell. A server that tells nothing is no error.
    pub(super) async fn look(&self) -> ServerLook {
        let mut look = ServerLook::default();
        let list = self.of_root("/v1/models").await;
        let texts = ServerTexts::new(self.key);
        look.models = list.as_ref().and_then(|list| models(list, texts));
        if !self.provider.is_vendor() {
            look.context = self.of_ollama().await;
        }
        look
    }

    async fn of_ollama(&self) -> Option<u64> {
        self.of_root("/api/version").await?.get("version")?.as_str()?;
        let body = json!({ "model": self.provider.model });
        let asked = self.client.post(self.at("/api/show")).headers(self.headers()).json(&body);
        let (show, loaded) = tokio::join!(self.tell(asked), self.of_root("/api/ps"));
        let set = show.as_ref().and_then(num_ctx);
        let now = loaded.as_ref().and_then(|list| {
            let model = list.get("models")?.as_array()?.iter().find(|one| {
                let names = ["model", "name"].map(|key| one.get(key).and_then(Value::as_str));
                names.into_iter().flatten().any(|name| self.is_model(name))
            })?;
            model.get("context_length")?.as_u64()
        });
        Some(now.or(set).unwrap_or(OLLAMA_CONTEXT))
    }

    fn is_model(&self, name: &str) -> bool {
        let wanted = &self.provider.model;
        name == wanted || name.strip_suffix(":latest") == Some(wanted)
    }

    fn at(&self, path: &str) -> String {
        let base = &self.provider.base_url;
        format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base))
    }

    fn headers(&self) -> HeaderMap {
        self.provider.wire.headers(self.key)
    }

    async fn of_root(&self, path: &str) -> Option<Value> {
        self.tell(self.client.get(self.at(path)).headers(self.headers())).await
    }

    /// A JSON text that a server tells, if it does so soon.
    async fn tell(&self, request: reqwest::RequestBuilder) -> Option<Value> {
        let told = apart(whole(request)).ok()?;
        timeout(TELL_MAX, told).await.ok()?.ok().flatten()
    }
}

async fn whole(request: reqwest::RequestBuilder) -> Option<Value> {
    let mut response = request.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > BYTES_MAX {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

fn models(list: &Value, texts: ServerTexts<'_>) -> Option<Vec<String>> {
    let models = list.get("data")?.as_array()?.iter().take(MODELS_MAX);
    Some(models.filter_map(|one| Some(texts.words(one.get("id")?.as_str()?))).collect())
}

/// The parameters of a model of Ollama are lines of a name and a value.
fn num_ctx(show: &Value) -> Option<u64> {
    let lines = show.get("parameters")?.as_str()?.lines();
    let mut pairs = lines.filter_map(|line| line.trim().split_once(char::is_whitespace));
    let (_, value) = pairs.find(|(name, _)| *name == "num_ctx")?;
    value.trim().parse().ok()
}

impl Provider {
    /// Refuses a question that the server would cut silently.
    pub(super) fn fits(&self, needed: u64, told: Option<u64>) -> Result<(), ModelError> {
        let Some(there) = self.context.or(told).filter(|there| needed > *there) else {
            return Ok(());
        };
        let hint = match self.context {
            Some(_) => {
                "agents.NAME.context says so: give the server and this setting more, or name a model with more"
            }
            None => {
                "start Ollama with a larger context (OLLAMA_CONTEXT_LENGTH=32768 ollama serve), or make a model with \
                 `PARAMETER num_ctx 32768`; then agents.NAME.context = 32768"
            }
        };
        let words =
            format!("the question has about {needed} tokens with its answer, and {there} fit");
        Err(ModelError::lacks(AgentLack::Context, words, hint))
    }
}

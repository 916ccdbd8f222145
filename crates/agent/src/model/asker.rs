//! Asks a question until there is an answer or none to be had: tries, waits, and what is shared by all questions.
//!
//! Invariant: one throttle a server. The clones of an asker share all. Dropping the future of a question cancels it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use descent_core::event::AgentLack;
use reqwest::Client;
use tokio::sync::OnceCell;

use super::{
    AskContext, ModelAnswer, ModelError, ModelFault, ModelQuestion, ServerLook,
    http::{self, AskTry, TryFault},
    key::ProviderKey,
    retry::{self, Throttle, WAITS_MAX},
    server::ServerProbe,
    wire::estimated,
};
use crate::config::provider::{KeySource, Provider, Wire};
use descent_process::Timer;

/// Tokens that are kept free for an answer, where nothing says how long it may be.
const ANSWER_TOKENS_MIN: u64 = 1_024;

/// How long no question at all goes to a server that takes no more; then one finds out.
const PAUSE_MAX: Duration = Duration::from_secs(3_600);

/// Asks providers. Clones share keys, throttles and what servers told.
#[derive(Debug, Clone, Default)]
pub struct Asker(Arc<SharedAsker>);

#[derive(Debug, Default)]
struct SharedAsker {
    throttles: Mutex<BTreeMap<String, Arc<Throttle>>>,
    keys: Mutex<BTreeMap<KeySource, Arc<OnceCell<Arc<ProviderKey>>>>>,
    clients: Mutex<BTreeMap<bool, Client>>,
    looks: Mutex<BTreeMap<(String, String), ServerLook>>,
    /// Whether a server holds an answer of that model to a schema, or to an object, once it was tried.
    forms: Mutex<BTreeMap<(String, String, bool), bool>>,
}

/// The tries and waits of one question.
struct AskPatience {
    tries: u32,
    waited: Duration,
    since: Timer,
}

impl Asker {
    /// Asks one question. Only waits of a minute in all are waited here.
    pub async fn ask(
        &self,
        context: AskContext<'_>,
        question: &ModelQuestion,
    ) -> Result<ModelAnswer, ModelError> {
        let provider = context.provider;
        let key = self.key(context).await?;
        let mut patience = AskPatience { tries: 0, waited: Duration::ZERO, since: Timer::start() };
        let client = self.client(provider)?;
        let look =
            if provider.is_vendor() { ServerLook::default() } else { self.look(context).await? };
        let answer = provider.max_answer.unwrap_or(ANSWER_TOKENS_MIN);
        let needed = estimated(question.bytes()).saturating_add(answer);
        provider.fits(needed, look.context)?;
        let throttle = locked(&self.0.throttles, |all| {
            let one = all.entry(provider.base_url.clone());
            Arc::clone(one.or_insert_with(|| Arc::new(Throttle::new(provider.max_parallel))))
        });
        loop {
            let permit = throttle.enter(patience.left()).await.map_err(|left| {
                ModelError::limited(Some(http::until(left)), "it said so to another question")
            })?;
            patience.tries += 1;
            let form =
                (provider.base_url.clone(), provider.model.clone(), question.schema.is_some());
            let is_refused = locked(&self.0.forms, |forms| forms.get(&form) == Some(&false));
            // The server shall hold the answer to a form, if the wire has one.
            let has_form = question.schema.is_some() || provider.wire != Wire::Messages;
            let is_held = has_form && !is_refused;
            let learn = |holds| locked(&self.0.forms, |forms| forms.insert(form, holds));
            let one = AskTry {
                client: &client,
                context,
                question,
                key: key.as_deref(),
                is_held,
                number: patience.tries,
            };
            let asked = one.ask().await;
            drop(permit);
            match asked {
                Ok(answer) => {
                    if is_held {
                        learn(true);
                    }
                    return Ok(answer);
                }
                Err(TryFault::NoForm) => drop(learn(false)),
                Err(TryFault::Never(error)) => {
                    // A key that was not taken is read anew at the next question.
                    if let (AgentLack::Key, Some(source)) = (error.lack(), &provider.key) {
                        locked(&self.0.keys, |keys| keys.remove(source));
                    }
                    return Err(error);
                }
                Err(TryFault::Again { error, after }) => {
                    let is_limited = matches!(error.kind, ModelFault::Limited { .. });
                    if let Some(after) = after.filter(|_| is_limited) {
                        throttle.pause(after.min(PAUSE_MAX));
                    }
                    let wait = patience.next(&error, after, context)?;
                    context.observer.waits(wait, &error.to_string());
                    if is_limited {
                        throttle.pause(wait);
                    }
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Whether the server holds an answer to a schema, as far as it was tried.
    pub fn is_structured(&self, provider: &Provider) -> Option<bool> {
        let form = (provider.base_url.clone(), provider.model.clone(), true);
        locked(&self.0.forms, |forms| forms.get(&form).copied())
    }

    /// The words of the server about itself; it is asked once.
    ///
    /// # Errors
    /// If the key cannot be read.
    pub async fn look(&self, context: AskContext<'_>) -> Result<ServerLook, ModelError> {
        let provider = context.provider;
        let place = (provider.base_url.clone(), provider.model.clone());
        if let Some(known) = locked(&self.0.looks, |looks| looks.get(&place).cloned()) {
            return Ok(known);
        }
        let (key, client) = (self.key(context).await?, self.client(provider)?);
        let look = ServerProbe { client: &client, provider, key: key.as_deref() }.look().await;
        // A server that told nothing may not be there yet.
        if look != ServerLook::default() {
            locked(&self.0.looks, |looks| looks.insert(place, look.clone()));
        }
        Ok(look)
    }

    /// Reads the key of a provider, to see that it can be read. A command is not run.
    pub fn try_key(provider: &Provider) -> Result<(), ModelError> {
        provider.key.as_ref().map_or(Ok(()), ProviderKey::is_there)
    }

    /// The key, read once; whoever else wants it waits for that.
    async fn key(&self, context: AskContext<'_>) -> Result<Option<Arc<ProviderKey>>, ModelError> {
        let Some(source) = &context.provider.key else { return Ok(None) };
        let place =
            locked(&self.0.keys, |keys| Arc::clone(keys.entry(source.clone()).or_default()));
        let read =
            async || ProviderKey::read(source, context.programs, context.mark).await.map(Arc::new);
        place.get_or_try_init(read).await.cloned().map(Some)
    }

    fn client(&self, provider: &Provider) -> Result<Client, ModelError> {
        let is_secure = provider.base_url.starts_with("https:");
        locked(&self.0.clients, |clients| {
            if let Some(client) = clients.get(&is_secure) {
                return Ok(client.clone());
            }
            let client = http::client(is_secure)?;
            clients.insert(is_secure, client.clone());
            Ok(client)
        })
    }
}

impl AskPatience {
    fn left(&self) -> Duration {
        WAITS_MAX.saturating_sub(self.waited)
    }

    /// The wait before the next try, or the error where it is too long or one too many.
    fn next(
        &mut self,
        error: &ModelError,
        after: Option<Duration>,
        context: AskContext<'_>,
    ) -> Result<Duration, ModelError> {
        let wait = after.unwrap_or_else(|| retry::own_wait(self.tries));
        let left = match error.kind {
            // It may be starting. To connect takes time too.
            ModelFault::Unreachable { .. } => {
                WAITS_MAX.min(context.limits.first_event).saturating_sub(self.since.elapsed())
            }
            _ => self.left(),
        };
        if self.tries < context.tries_max.min(retry::tries_max(error)) && wait <= left {
            self.waited += wait;
            return Ok(wait);
        }
        Err(match (error.kind, after) {
            // A server that names a time is not broken.
            (ModelFault::Broken | ModelFault::Down, Some(after)) if after > self.left() => {
                ModelError::limited(Some(http::until(after)), &error.words)
            }
            _ => error.clone(),
        })
    }
}

fn locked<T, R>(shared: &Mutex<T>, change: impl FnOnce(&mut T) -> R) -> R {
    // Every change leaves a valid value.
    change(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

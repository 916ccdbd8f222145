//! `descent trust`, and the command as the client of an operation: progress goes to standard error, and a person is asked
//! there whether commands that may be another's may run.
//!
//! Invariant: a yes is never implied, by a flag, a folder or a name. Not here: the gate itself (`ops::trust`).

use std::path::PathBuf;

use clap::Args;
use descent_core::{
    id::{Digest, Lineage, UnixMillis},
    trust::{self as rule, TrustItem},
};
use serde::Serialize;

use super::{Context, End, Failure, clock, exit, phrase, render, runtime};
use crate::render::Bounds;
use descent_agent::config::Config;
use descent_engine::{
    events::EventLine,
    ops::{
        Client,
        trust::{self, TrustQuestion},
    },
};

/// The most that a refusal shows.
const EXCERPT: Bounds = Bounds { items_max: 20, chars_max: 300 };

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Allow without being asked, if the commands have exactly this digest
    #[arg(long, value_name = "DIGEST")]
    hash: Option<String>,
    /// Instead of the state here: a plan that was not made here, before `align` takes it
    #[arg(short = 'f', long = "plan", value_name = "PLAN", conflicts_with = "worker")]
    plan: Option<PathBuf>,
    /// Instead of the state here: the worker of descent.toml alone
    #[arg(long)]
    worker: bool,
}

pub(super) fn trust(context: &Context, flags: &TrustArgs) -> Result<End, Failure> {
    let mut store = None;
    let found = if flags.worker { None } else { context.not_agreed()? };
    let is_found = found.is_some() && flags.plan.is_none();
    let subject = if let Some(path) = flags.plan.as_ref().or(found.as_ref()) {
        trust::question_of_plan(&context.dir, path, &context.top()?, is_found)?
    } else if flags.worker {
        trust::question_of_worker(&context.top()?)?
    } else {
        trust::question_of_state(store.insert(context.store()?))?
    };
    let hash = subject.carried.digest();
    if let Some(text) = &flags.hash {
        hold_to(&subject, text, &hash)?;
    } else if subject.doubts.is_empty() {
        report(context, &subject, "nothing to allow: this is yours, or was allowed before");
        return Ok(End::Code(0));
    } else if context.out.json {
        context.out.json(&output(&subject, false));
        return Ok(End::Code(exit::UNTRUSTED));
    } else {
        context.out.data(&describe(&subject, Bounds::WHOLE).join("\n"));
        if !context.may_ask || context.out.quiet {
            let mut failure = not_trusted(&subject);
            failure.hint = subject.by_hash(&hash);
            return Err(failure);
        }
        if !says_yes(context)? {
            return Err(nothing_allowed(&subject));
        }
    }
    trust::allow(&context.client(None), store.as_mut(), &subject)?;
    report(context, &subject, "allowed");
    Ok(End::Code(0))
}

/// Checks that the commands are those of the given digest.
fn hold_to(subject: &TrustQuestion, text: &str, hash: &Digest) -> Result<(), Failure> {
    let Some(given) = rule::typed_digest(text) else {
        let hint = "--hash sha256:… and 64 hexadecimal digits, as `descent trust` shows it";
        let message = format!("`{}` is no digest", phrase::visible(&phrase::line(text)));
        return Err(Failure::usage(message, hint));
    };
    if given == *hash {
        return Ok(());
    }
    let mut details = render::carried(&subject.carried, EXCERPT, &subject.command);
    details.extend([format!("given  {given}"), format!("here   {hash}")]);
    let message = format!("{} has other commands than the digest was given for", subject.name);
    let hint = format!("look at what changed: {}", subject.command);
    Err(Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint).with(details))
}

/// An error unless a person says yes to the commands shown.
pub(super) fn ask_or_refuse(
    context: &Context,
    subject: &TrustQuestion,
    may_ask: bool,
) -> Result<(), Failure> {
    if !may_ask || context.out.json || context.out.quiet {
        let mut details = describe(subject, EXCERPT);
        let by_hash = subject.by_hash(&subject.carried.digest());
        details.push(format!("where nobody can answer: {by_hash}"));
        return Err(not_trusted(subject).with(details));
    }
    context.out.say(&describe(subject, Bounds::WHOLE).join("\n"));
    if says_yes(context)? { Ok(()) } else { Err(nothing_allowed(subject)) }
}

fn says_yes(context: &Context) -> Result<bool, Failure> {
    let question = "allow all of this to run on this machine, as you?";
    Ok(runtime()?.block_on(context.consents(question)))
}

fn describe(subject: &TrustQuestion, bounds: Bounds) -> Vec<String> {
    let mut lines = vec![format!("{}:", subject.title)];
    lines.extend(subject.doubts.iter().map(|doubt| format!("  {}", phrase::visible(doubt))));
    lines.push("what it can run here, what decides, and what agents are told:".to_owned());
    let carried = render::carried(&subject.carried, bounds, &subject.command);
    lines.extend(carried.into_iter().map(|line| format!("  {line}")));
    if subject.carried.starts_agents() {
        lines.push("nothing walls an agent off: it has your files and your network".to_owned());
    }
    lines.push(format!("digest {}", subject.carried.digest()));
    lines
}

fn not_trusted(subject: &TrustQuestion) -> Failure {
    let why = subject.doubts.first().map(|doubt| format!(": {doubt}")).unwrap_or_default();
    let message = phrase::visible(&format!("{} is not trusted here{why}", subject.name));
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, subject.command.clone())
}

fn nothing_allowed(subject: &TrustQuestion) -> Failure {
    let message = format!("{} was not allowed; nothing of it was run", subject.name);
    let hint = format!("when you know what it does: {}", subject.command);
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

fn report(context: &Context, subject: &TrustQuestion, what: &str) {
    context.answer(&output(subject, true), || {
        format!("{}: {what}\nnext: {}", subject.name, subject.next)
    });
}

/// Everything that can execute, and whether it is allowed: `descent trust --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TrustOutput<'a> {
    schema: &'static str,
    #[cfg_attr(test, schemars(extend("enum" = ["state", "plan", "worker"])))]
    subject: &'static str,
    /// The lineage of a state.
    lineage: Option<&'a Lineage>,
    /// Whether it may run here.
    allowed: bool,
    /// The digest over `carried`, for `--hash`.
    hash: Digest,
    carried: &'a [TrustItem],
    next: String,
}

fn output(subject: &TrustQuestion, is_allowed: bool) -> TrustOutput<'_> {
    let hash = subject.carried.digest();
    TrustOutput {
        schema: "descent/trust/1",
        subject: subject.kind,
        lineage: subject.lineage.as_ref(),
        allowed: is_allowed,
        carried: subject.carried.items(),
        next: if is_allowed { subject.next.to_owned() } else { subject.by_hash(&hash) },
        hash,
    }
}

pub(super) struct CommandClient<'a> {
    context: &'a Context,
    /// Given if the worker is started too: it has to be allowed with the state.
    config: Option<&'a Config>,
    pub(super) may_ask: bool,
    /// A screen is not disturbed.
    is_silent: bool,
}

impl Context {
    pub(super) fn client<'a>(&'a self, config: Option<&'a Config>) -> CommandClient<'a> {
        CommandClient { context: self, config, may_ask: self.may_ask, is_silent: false }
    }

    /// A client that says nothing while it works, and asks nothing: that is for a command that has the terminal.
    pub(super) fn silent_client(&self) -> CommandClient<'_> {
        CommandClient { may_ask: false, is_silent: true, ..self.client(None) }
    }
}

impl Client for CommandClient<'_> {
    fn by(&self) -> String {
        Context::by()
    }

    fn now(&self) -> UnixMillis {
        clock::now()
    }

    fn tell(&self, words: &str) {
        self.context.out.say(words);
    }

    fn event(&self, line: &EventLine<'_>) {
        if !self.is_silent {
            self.context.tell(line);
        }
    }

    fn config(&self) -> Option<&Config> {
        self.config
    }

    fn authorize(&self, question: &TrustQuestion) -> Result<(), Failure> {
        ask_or_refuse(self.context, question, self.may_ask)
    }
}

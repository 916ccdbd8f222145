//! `descent why ATOM`: its choices, attempts and evidence, what its agent is told, and all that an attempt printed.

use clap::Args;
use descent_core::{
    difference::{Difference, Weight},
    doc,
    event::Event,
    id::{AtomId, UnixMillis},
    view,
    view::named::AttemptEnd,
    world::World,
};
use serde::Serialize;

use super::{Context, End, Failure, Line, clock, phrase, surroundings, timeline::event_line};
use crate::render;
use descent_agent::config;
use descent_engine::{
    ops,
    ops::output::{AttemptOutput, OutputSource, PromptReport},
};
use descent_store::{Commit, evidence};
use descent_workspace as workspace;

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The atom's id; without one, the atoms that have something to tell are listed
    atom: Option<String>,
    /// Print all that its newest attempt printed; without an atom, of the one most worth asking about
    #[arg(long)]
    output: bool,
    /// Print what its agent is told: in the attempt that is in flight, else in the next one
    #[arg(long, requires = "atom", conflicts_with = "output")]
    prompt: bool,
}

/// The explanation of one atom: `descent why ATOM --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct WhyOutput {
    #[serde(flatten)]
    why: view::why::Why,
    /// The events of the atom and its changes by commits, as far as they are kept.
    past: Vec<render::StoryLine>,
}

pub(super) fn why(context: &Context, flags: &WhyArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    if flags.output {
        let found = ops::output::output(&mut store, flags.atom.as_deref())?;
        return Ok(print_output(context, &found));
    }
    if let (true, Some(atom)) = (flags.prompt, &flags.atom) {
        let config = config::load(&store.place().project)?;
        let report = ops::output::prompt(&mut store, config, atom, clock::now())?;
        return Ok(print_prompt(context, &report));
    }
    let loaded = store.read()?;
    let world = World::new(loaded.state.clone());
    let Some(asked) = &flags.atom else {
        let asking = view::why::worth_asking(&world);
        let page = || render::worth_asking(&asking, context.out.width());
        return Ok(context.answer_page(&asking, page));
    };
    let id = AtomId::new(asked.as_str());
    let around = surroundings(&store, &world.state);
    let Some(why) = view::why::why(&world, &id, &around) else {
        if let Some(by) = view::why::taken_out_by(&world.state, &id) {
            let message = format!("`{asked}` is no more in the plan: {by} took it out");
            return Err(Failure::usage(message, "descent log tells when, and why"));
        }
        let ids = world.state.all_atoms();
        let near = doc::did_you_mean(asked, ids.keys().map(|id| id.as_str()));
        let mut known: Vec<_> = ids.keys().collect();
        known.sort_by(|one, other| one.cmp_naturally(other));
        let known: Vec<&str> = known.into_iter().take(20).map(|id| id.as_str()).collect();
        let hint = near.unwrap_or_else(|| format!("one of {}", known.join(", ")));
        return Err(Failure::usage(format!("there is no atom `{asked}`"), hint));
    };
    let commits = store.history().commits(&world.state.lineage);
    let past = past(&commits, &id);
    let place = store.place();
    let output = WhyOutput { why, past };
    let mut value = serde_json::to_value(&output).unwrap_or_default();
    evidence::locate(place, &mut value);
    Ok(context.answer_page(&value, || {
        let kind = world.state.objective.constraints.workspace();
        let result = workspace::result_of(&place.project, &world.state.lineage, kind);
        let path = result.and_then(|(path, _)| path).map(|path| path.display().to_string());
        let lies_at = |one: &_| Some(evidence::find(place, one)?.display().to_string());
        let (now, width) = (clock::now(), context.out.width());
        render::why(&output.why, &output.past, path.as_deref(), &lies_at, now, width)
    }))
}

/// The events of one atom, and the changes that a person made to it, as far as their commits are kept.
fn past(commits: &[Commit], atom: &AtomId) -> Vec<render::StoryLine> {
    let mut lines = Vec::new();
    for commit in commits {
        let is_start = |event: &Event| matches!(event, Event::AttemptStarted { .. });
        let events = commit.events.iter();
        let events = events.filter(|event| event.is_about(atom) && !is_start(event));
        let is_of_it = |change: &&Difference| {
            change.of.as_deref() == Some(atom.as_str()) && change.weight == Weight::Main
        };
        let changes = commit.changes.iter().filter(is_of_it);
        let changes = changes.map(|change| change.what.trim_start_matches(": ").to_owned());
        let line = |what| render::StoryLine {
            serial: commit.serial.0,
            at: UnixMillis(commit.at_ms).rfc3339(),
            by: commit.author().to_owned(),
            what,
        };
        lines.extend(events.map(event_line).chain(changes).map(line));
    }
    lines
}

pub(super) fn print_output(context: &Context, found: &AttemptOutput) -> End {
    whole_text(context, found, Some(note(found)), &found.whole)
}

fn print_prompt(context: &Context, report: &PromptReport) -> End {
    let note = report.note.as_deref().map(phrase::line);
    whole_text(context, report, note, report.text.as_bytes())
}

/// Byte for byte, but for a terminal: there control characters are shown, not obeyed.
fn whole_text(
    context: &Context,
    value: &impl Serialize,
    note: Option<String>,
    bytes: &[u8],
) -> End {
    if context.out.json {
        context.out.json(value);
        return End::Code(0);
    }
    if let Some(note) = note {
        context.out.say(&note);
    }
    if !render::is_for_eyes() {
        context.out.bytes(bytes);
    } else if !bytes.is_empty() {
        context.out.lines(String::from_utf8_lossy(bytes).lines().map(Line::of));
    }
    End::Code(0)
}

/// The words for a person beside the text.
fn note(found: &AttemptOutput) -> String {
    let attempt = &found.attempt;
    let is_running = found.ended == AttemptEnd::Running;
    match found.source {
        OutputSource::Log | OutputSource::Evidence if found.whole.is_empty() => {
            format!("{attempt} printed nothing{}", if is_running { " yet" } else { "" })
        }
        OutputSource::Log if is_running => format!("{attempt} is in flight; so far it printed:"),
        OutputSource::Log | OutputSource::Evidence => format!("{attempt} printed:"),
        OutputSource::Setup if is_running => {
            format!("{attempt} has printed nothing yet; `setup` printed before it:")
        }
        OutputSource::Setup => format!("{attempt} printed nothing; `setup` printed before it:"),
        OutputSource::Excerpt => {
            format!("the whole output of {attempt} is gone; the state keeps this of it:")
        }
    }
}

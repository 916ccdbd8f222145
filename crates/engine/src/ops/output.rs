//! The texts of an attempt. Its output is in its log beside the state, else in the side file of its failure, else in the
//! excerpt in the state. Its prompt is the one that it was told, or that the next one would be told.
//!
//! Invariant: nothing is changed by a look. Not here: how they are shown.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use descent_core::{
    id::{AtomId, AttemptId, UnixMillis},
    state::{Intent, State, atom::Body},
    view::{
        named::{self, AttemptEnd, KnownAttempt},
        why,
    },
    world::{World, earlier},
};
pub use descent_minds::prompt::TEMPLATES;
use descent_minds::prompt::{self, NextAttempt, PromptPart, Standing, TreeStart};
use serde::Serialize;

use super::diff::{events, unknown};
use crate::driver::{Agents, PromptRequest, ToldPrompt};
use descent_agent::config::Config;
use descent_store::{StatePlace, Store, evidence};
use descent_system::{
    failure::{Failure, exit},
    files, secrets,
};
use descent_workspace::Workspaces;

/// A log has 8 MiB and a line that says so.
const OUTPUT_BYTES_MAX: u64 = 9 << 20;

/// The place of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    /// The log of the attempt.
    Log,
    /// The log of `setup`, which came before: the attempt itself printed nothing.
    Setup,
    /// The side file of its failure.
    Evidence,
    /// The excerpt in the state: the whole is gone.
    Excerpt,
}

/// All that an attempt printed: `descent log --output ATTEMPT --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptOutput {
    schema: &'static str,
    pub attempt: AttemptId,
    atom: AtomId,
    pub ended: AttemptEnd,
    /// The place of it.
    pub source: OutputSource,
    /// The file; null of an excerpt, and where nothing was printed.
    path: Option<String>,
    /// The length of what was found.
    bytes: usize,
    /// Bytes that are no UTF-8 are replaced.
    text: String,
    /// One command to type next.
    next: String,
    #[serde(skip)]
    pub whole: Vec<u8>,
}

/// The output of an attempt, or of the newest attempt of an atom; without a name, of the atom that is most worth asking
/// about.
pub fn output(store: &mut Store, name: Option<&str>) -> Result<AttemptOutput, Failure> {
    let loaded = store.read()?;
    let state = &loaded.state;
    let known = named::known_attempts(state, &events(store, state));
    let asked = match name {
        Some(name) => AtomId::new(name),
        None => {
            let asking = why::worth_asking(&World::new(state.clone())).atoms.into_iter();
            let mut ids = asking.map(|asked| asked.atom);
            let asked = ids.find(|id| named::newest_of(&known, id).is_some());
            asked.ok_or_else(|| {
                let hint = "name an atom: descent why --output ATOM; descent graph lists them";
                Failure::usage("nothing runs and nothing failed", hint)
            })?
        }
    };
    let attempt = known.get(&AttemptId::new(asked.as_str()));
    match attempt.or_else(|| named::newest_of(&known, &asked)) {
        Some(attempt) => find(store.place(), attempt),
        None if state.all_atoms().contains_key(&asked) => {
            let what = format!("{asked} has not been tried: nothing was printed");
            Err(Failure::usage(what, format!("descent why {asked}")))
        }
        None => Err(unknown(state, &known, asked.as_str(), "atom or attempt")),
    }
}

fn find(place: &StatePlace, attempt: &KnownAttempt) -> Result<AttemptOutput, Failure> {
    let found = |source, path: Option<PathBuf>, bytes: Vec<u8>| {
        let whole = secrets::all().hide_bytes(&bytes).into_owned();
        AttemptOutput {
            schema: "descent/output/1",
            attempt: attempt.id.clone(),
            atom: attempt.atom.clone(),
            ended: attempt.end,
            source,
            path: path.map(|path| path.display().to_string()),
            bytes: whole.len(),
            text: String::from_utf8_lossy(&whole).into_owned(),
            next: format!("descent why {}", attempt.atom),
            whole,
        }
    };
    if let Some(dir) = dir_of(place, &attempt.id) {
        let logs = [("output.log", OutputSource::Log), ("setup.log", OutputSource::Setup)];
        for (name, source) in logs {
            let path = dir.join(name);
            if let Ok(bytes) = files::read(&path, OUTPUT_BYTES_MAX) {
                return Ok(found(source, Some(path), bytes));
            }
        }
        // A log begins with the first byte that is printed.
        return Ok(found(OutputSource::Log, None, Vec::new()));
    }
    // The output of a check is none of the attempt.
    if attempt.is_of_check {
        return Err(gone(attempt));
    }
    let whole = attempt.whole.as_ref();
    if let Some(path) = whole.and_then(|whole| evidence::find(place, whole))
        && let Ok(bytes) = files::read(&path, OUTPUT_BYTES_MAX)
    {
        return Ok(found(OutputSource::Evidence, Some(path), bytes));
    }
    if attempt.excerpt.is_empty() {
        Err(gone(attempt))
    } else {
        let bytes = attempt.excerpt.clone().into_bytes();
        Ok(found(OutputSource::Excerpt, None, bytes))
    }
}

/// The attempt's own directory, if it is there. The id may have been written by a person, so it must be one plain name.
pub(super) fn dir_of(place: &StatePlace, attempt: &AttemptId) -> Option<PathBuf> {
    let mut parts = Path::new(attempt.as_str()).components();
    let (Some(Component::Normal(plain)), None) = (parts.next(), parts.next()) else {
        return None;
    };
    let dir = place.attempts().join(plain);
    files::plain_dir(&dir).ok()?;
    Some(dir)
}

fn gone(attempt: &KnownAttempt) -> Failure {
    let what = format!("what {} printed, if anything, is not kept any more", attempt.id);
    let hint = format!("descent why {} tells what is kept of it", attempt.atom);
    Failure::new("E-GONE", exit::UNAVAILABLE, what, hint)
}

/// Members of a group in a hint at most.
const MEMBERS_MAX: usize = 10;

/// The prompt of an atom: `descent why ATOM --prompt --json`
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptReport {
    schema: &'static str,
    atom: AtomId,
    /// The attempt in flight, else the next one.
    attempt: AttemptId,
    /// Counts from 1 in its context.
    n: u32,
    /// Whether the attempt in flight was told this; else it would be told now.
    told: bool,
    bytes: usize,
    /// Empty of a prompt that was told: only its text is kept.
    parts: Vec<PartOutput>,
    pub text: String,
    /// Why the atom cannot start as it is told here, or which attempt was told this.
    pub note: Option<String>,
    /// One command to type next.
    next: String,
}

/// A part of a prompt
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PartOutput {
    name: &'static str,
    bytes: usize,
    /// Whether something of it was left out.
    cut: bool,
}

impl PromptReport {
    fn of(intent: &Intent, parts: &[PromptPart], text: String, note: Option<String>) -> Self {
        let part = |part: &PromptPart| PartOutput {
            name: part.name,
            bytes: part.text.len(),
            cut: part.is_cut,
        };
        Self {
            schema: "descent/prompt/1",
            atom: intent.atom.clone(),
            attempt: intent.id.clone(),
            n: intent.n,
            told: parts.is_empty(),
            bytes: text.len(),
            parts: parts.iter().map(part).collect(),
            text,
            note,
            next: format!("descent why {}", intent.atom),
        }
    }
}

/// The prompt of this atom at this time.
pub fn prompt(
    store: &mut Store,
    config: Config,
    name: &str,
    now: UnixMillis,
) -> Result<PromptReport, Failure> {
    let loaded = store.read()?;
    let state = &loaded.state;
    let id = AtomId::new(name);
    let Some(atom) = state.atom(&id) else {
        return Err(unknown(state, &BTreeMap::new(), name, "atom"));
    };
    if let Body::All { .. } | Body::Any { .. } = &atom.body {
        return Err(is_a_group(&id, atom.kids()));
    }
    let mut in_flight = state.run.in_flight.iter();
    if let Some(intent) = in_flight.find(|intent| intent.atom == id)
        && let Some(text) = told(store.place(), &intent.id)
    {
        let note = format!("{} is in flight and was told this:", intent.id);
        return Ok(PromptReport::of(intent, &[], text, Some(note)));
    }
    let world = World::new(state.clone());
    let next = prompt::next_attempt(&world, &id);
    let next = next.ok_or_else(|| is_a_group(&id, atom.kids()))?;
    next_prompt(store.place(), &Agents::new(config), next, now)
}

/// The text beside an attempt. The id may have been written by a person, so it must be one plain name.
fn told(place: &StatePlace, attempt: &AttemptId) -> Option<String> {
    let dir = super::output::dir_of(place, attempt)?;
    let bytes = files::read(&dir.join("prompt.md"), prompt::BYTES_MAX as u64).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn next_prompt(
    place: &StatePlace,
    agents: &Agents,
    next: NextAttempt,
    now: UnixMillis,
) -> Result<PromptReport, Failure> {
    let NextAttempt { world, intent, standing } = &next;
    let state = &world.state;
    let changes = earlier::changes(state, intent, None);
    let atom = state.atom(&intent.atom);
    let has_action =
        atom.and_then(|atom| atom.task()).is_some_and(|task| task.spec.action.is_some());
    // Git is asked only for what it has.
    let workspaces = match (changes.is_empty(), &state.run.started_from) {
        (true, Some(_)) if !has_action => Workspaces::of(place, state).ok(),
        (true, _) => None,
        (false, _) => Some(Workspaces::of(place, state)?),
    };
    let start = start(workspaces.as_ref(), state, intent)?;
    let told = ToldPrompt::of(&PromptRequest {
        place,
        workspaces: workspaces.as_ref(),
        world,
        intent,
        now,
        start: &start,
        ending: agents.ending(state, intent),
        tree: &place.project,
        agents,
    });
    let text = secrets::hide(&told.prompt.text()).into_owned();
    Ok(PromptReport::of(intent, &told.prompt.parts, text, note(&intent.atom, standing)))
}

fn start(
    workspaces: Option<&Workspaces>,
    state: &State,
    intent: &Intent,
) -> Result<TreeStart, Failure> {
    let trees = workspaces.and_then(Workspaces::trees);
    let earlier = earlier::begins_with(state, intent);
    match (trees, earlier, &intent.base) {
        (Some(trees), Some(earlier), Some(base)) => Ok(trees.begin_with(&earlier, None, base)?),
        _ => Ok(TreeStart::Clean),
    }
}

/// Why the atom cannot start as it is told here.
fn note(atom: &AtomId, standing: &Standing) -> Option<String> {
    match standing {
        Standing::Ready => None,
        Standing::Waits(waits) => {
            let names: Vec<&str> = waits.iter().map(AtomId::as_str).collect();
            let names = names.join(", ");
            Some(format!("{atom} waits for {names}: this is told with what is there so far"))
        }
        Standing::NotChosen(group) => Some(format!(
            "another choice of {group} is in force: this is told as if {atom} were chosen"
        )),
        Standing::Solved => {
            Some(format!("{atom} is solved: this would be told if it were made again"))
        }
        Standing::Closed => Some(format!(
            "{atom} is not tried any more as it is: this would be told to one more attempt"
        )),
    }
}

fn is_a_group(id: &AtomId, members: &[AtomId]) -> Failure {
    let members = members.iter().take(MEMBERS_MAX).map(AtomId::as_str);
    let members: Vec<&str> = members.collect();
    Failure::usage(
        format!("{id} is a group: the tasks inside it have prompts"),
        format!("one of {}", members.join(", ")),
    )
}

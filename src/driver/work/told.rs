//! The prompt of an attempt, with the files beside it.

use std::path::Path;

use descent_core::{
    id::UnixMillis,
    prompt::{self, EarlierPatch, Ending, INSTRUCTIONS_BYTES_MAX, ProjectText, Prompt},
    prompt::{PromptFiles, PromptInputs, TreeStart},
    state::Intent,
    world::{World, earlier},
};

use super::super::agents::Agents;
use crate::{
    agent::InputFile,
    evidence,
    store::StatePlace,
    survey,
    workspace::{KeptPatch, Workspaces},
};

/// A prompt with the facts that only the shell knows.
#[derive(Debug)]
pub struct ToldPrompt {
    pub prompt: Prompt,
    patches: Vec<KeptPatch>,
}

/// The facts about an attempt that its prompt names.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    pub place: &'a StatePlace,
    /// Without them nothing is told of earlier changes.
    pub workspaces: Option<&'a Workspaces>,
    pub world: &'a World,
    pub intent: &'a Intent,
    pub now: UnixMillis,
    pub start: &'a TreeStart,
    pub ending: Ending,
    /// The tree that is told of where the agent cannot look.
    pub tree: &'a Path,
    pub agents: &'a Agents,
}

impl PromptRequest<'_> {
    /// The project's instructions as the run started from them, unless the agent reads that file by itself. An action is
    /// told nothing.
    fn instructions(&self) -> Option<ProjectText> {
        let (state, intent) = (&self.world.state, self.intent);
        let atom = state.atom(&intent.atom)?;
        let is_plan = atom.plan().is_some();
        atom.task().filter(|task| task.spec.action.is_none())?;
        let trees = self.workspaces.and_then(Workspaces::trees);
        let text = match (&state.run.started_from, trees) {
            (Some(start), Some(trees)) => {
                let (path, text) = trees.words_of_start(&start.commit, &survey::INSTRUCTIONS)?;
                survey::beginning_of(&path, &text, INSTRUCTIONS_BYTES_MAX)
            }
            // It has not begun, or all work in these very files.
            _ => survey::instructions(&self.place.project),
        }?;
        (!self.agents.reads(intent, is_plan, &text.path)).then_some(text)
    }
}

impl ToldPrompt {
    pub fn of(request: &PromptRequest<'_>) -> Self {
        let PromptRequest { place, world, .. } = request;
        let changes = earlier::changes(&world.state, request.intent, None);
        let trees = request.workspaces.and_then(Workspaces::trees);
        let patches = trees.map(|trees| trees.patches(&changes));
        let patches = patches.unwrap_or_default();
        let dir = place.attempts().join(request.intent.id.as_str());
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        let lies_at = |one: &_| Some(evidence::find(place, one)?.display().to_string());
        let is_blind = request.ending == Ending::Answer;
        let instructions = request.instructions();
        let mut words = is_blind.then(|| survey::words_of(request.tree));
        if let (Some(words), Some(text)) = (&mut words, &instructions) {
            words.texts.retain(|one| one.path != text.path);
        }
        let prompt = prompt::attempt(&PromptInputs {
            world,
            intent: request.intent,
            now: request.now,
            files: PromptFiles {
                lies_at: &lies_at,
                patches: &named(&patches, &dir),
                start: request.start,
            },
            project: words.as_ref(),
            instructions: instructions.as_ref(),
            worker: request.agents.worker().as_ref(),
            ending: request.ending,
        });
        Self { prompt, patches }
    }

    /// The files beside the prompt.
    pub fn files(&self) -> Vec<InputFile> {
        let whole = self.prompt.files.iter().map(InputFile::from);
        let patches = self.patches.iter().enumerate();
        let patches = patches
            .map(|(place, patch)| InputFile { name: name(place), bytes: patch.bytes.clone() });
        whole.chain(patches).collect()
    }
}

fn named(patches: &[KeptPatch], dir: &Path) -> Vec<EarlierPatch> {
    let one = |(place, patch): (usize, &KeptPatch)| EarlierPatch {
        attempt: patch.attempt.clone(),
        path: dir.join(name(place)).display().to_string(),
    };
    patches.iter().enumerate().map(one).collect()
}

/// The newest is the first.
fn name(place: usize) -> String {
    format!("earlier-{}.patch", place + 1)
}

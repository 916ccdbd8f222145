//! The prompt of an attempt, with the files beside it.

use std::path::Path;

use descent_core::{
    id::UnixMillis,
    prompt::{self, EarlierPatch, Ending, Prompt, PromptFiles, PromptInputs, TreeStart},
    state::Intent,
    world::{World, earlier},
};

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
        let words = is_blind.then(|| survey::words_of(request.tree));
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
            ending: request.ending,
        });
        Self { prompt, patches }
    }

    /// The files beside the prompt.
    pub fn files(&self) -> Vec<InputFile> {
        let whole = self.prompt.files.iter().map(InputFile::from);
        let patches = self.patches.iter().enumerate();
        let patches = patches.map(|(place, patch)| InputFile {
            name: name(place),
            bytes: patch.bytes.clone(),
        });
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

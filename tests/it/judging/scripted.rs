//! The scripted agent of fixtures/agents/judge: its answers, what it was asked, and what it was told.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::world::World;

/// The newest answer to a question, as the state keeps it.
pub fn kept(world: &World, question: &str) -> Value {
    let answers = world.state()["run"]["judging"]["answers"].clone();
    let mut answers = answers.as_array().into_iter().flatten();
    answers.find(|one| one["question"] == question).cloned().unwrap_or_default()
}

pub struct ScriptedAgent {
    answers: PathBuf,
}

impl ScriptedAgent {
    pub fn new(world: &World) -> Self {
        let answers = world.out("answers");
        fs::create_dir(&answers).unwrap();
        Self { answers }
    }

    /// The line of `descent.toml` that makes an agent this one.
    pub fn run(&self) -> String {
        let judge = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/agents/judge");
        format!("run = \"{judge} {}\"", self.answers.display())
    }

    pub fn says(&self, name: &str, text: &str) {
        fs::write(self.answers.join(name), text).unwrap();
    }

    /// The roles that it was asked in, a line each.
    pub fn asked(&self) -> String {
        fs::read_to_string(self.answers.join("asked")).unwrap_or_default()
    }

    pub fn prompt(&self, role: &str, n: usize) -> String {
        fs::read_to_string(self.answers.join(format!("prompt.{role}.{n}"))).unwrap()
    }
}

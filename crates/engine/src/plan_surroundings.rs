//! Answers to the rules about a plan: the programs, targets of manifests and files that are not there.
//!
//! Invariant: nothing is run or written; in doubt a thing is there. Not here: the rules (`judging` of the core).

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use descent_core::{
    judging::{CommandFacts, PlanFacts, PlanQuestions},
    state::Constraints,
};

use crate::survey;
use descent_agent::config::program::missing_program_in;
use descent_system::files;
use descent_workspace as workspace;

/// The place in which a plan would be carried out.
pub(crate) struct PlanPlace<'a> {
    /// The directory that commands start in.
    pub project: &'a Path,
    pub path: &'a OsStr,
    pub constraints: &'a Constraints,
}

impl PlanPlace<'_> {
    /// The things that are missing, of all that was asked.
    pub fn facts(&self, asked: PlanQuestions) -> PlanFacts {
        let commands = asked.commands.into_iter().map(|command| {
            let facts = CommandFacts {
                missing_program: self.missing_program(&command),
                missing_target: survey::missing_target(self.project, &command),
            };
            (command, facts)
        });
        let lacking = commands.filter(|(_, facts)| *facts != CommandFacts::default());
        let places = self.places();
        let is_there = |path: &str| {
            let mut places = places.iter().map(|place| place.join(path));
            places.any(|path| path.symlink_metadata().is_ok())
        };
        let names = asked.names.into_iter();
        PlanFacts {
            commands: lacking.collect(),
            absent: (asked.paths.into_iter()).filter(|path| !is_there(path)).collect(),
            present: names.filter(|name| is_there(name)).collect(),
            protected: workspace::protected(self.constraints, asked.touched),
            has_setup: self.constraints.setup.run.is_some(),
            holding: Default::default(),
            unmatched: Vec::new(),
        }
    }

    /// The program of a command, or the script that it hands to an interpreter.
    fn missing_program(&self, command: &str) -> Option<String> {
        let program = missing_program_in(self.project, command, self.path);
        let missing = program.or_else(|| survey::missing_script(self.project, command))?;
        // A path that is linked into each workspace may bring it.
        let is_linked = |link: &String| Path::new(&missing).starts_with(link.trim_matches('/'));
        (!self.constraints.link.iter().any(is_linked)).then_some(missing)
    }

    /// Paths are relative to the project, or to the top of its repository.
    fn places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.project.to_owned()];
        places.extend(files::top_of(self.project).map(Path::to_owned));
        places
    }
}

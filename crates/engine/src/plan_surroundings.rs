//! Answers to the rules about a plan: the programs, targets of manifests and files that are not there.
//!
//! Invariant: nothing is run or written; in doubt a thing is there. Not here: the rules (`judging` of the core).

use std::{
    ffi::OsString,
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
pub(crate) struct PlanPlace {
    /// The directory that commands start in. Without one everything counts as being there.
    pub project: Option<PathBuf>,
    pub path: OsString,
    pub constraints: Constraints,
}

impl PlanPlace {
    /// The things that are missing, of all that was asked.
    pub fn facts(&self, asked: PlanQuestions) -> PlanFacts {
        let Some(project) = &self.project else {
            return PlanFacts::default();
        };
        let commands = asked.commands.into_iter().map(|command| {
            let facts = CommandFacts {
                missing_program: self.missing_program(project, &command),
                missing_target: survey::missing_target(project, &command),
            };
            (command, facts)
        });
        let lacking = commands.filter(|(_, facts)| *facts != CommandFacts::default());
        // Paths are relative to the project, or to the top of its repository.
        let places = [Some(project.as_path()), files::top_of(project)];
        let is_there = |path: &str| {
            let mut places = places.iter().flatten().map(|place| place.join(path));
            places.any(|path| path.symlink_metadata().is_ok())
        };
        let names = asked.names.into_iter();
        PlanFacts {
            commands: lacking.collect(),
            absent: (asked.paths.into_iter()).filter(|path| !is_there(path)).collect(),
            present: names.filter(|name| is_there(name)).collect(),
            protected: workspace::protected(&self.constraints, asked.touched),
            has_setup: self.constraints.setup.run.is_some(),
            holding: Default::default(),
            unmatched: Vec::new(),
        }
    }

    /// The program of a command, or the script that it hands to an interpreter.
    fn missing_program(&self, project: &Path, command: &str) -> Option<String> {
        let program = missing_program_in(project, command, &self.path);
        let missing = program.or_else(|| survey::missing_script(project, command))?;
        // A path that is linked into each workspace may bring it.
        let is_linked = |link: &String| Path::new(&missing).starts_with(link.trim_matches('/'));
        (!self.constraints.link.iter().any(is_linked)).then_some(missing)
    }
}

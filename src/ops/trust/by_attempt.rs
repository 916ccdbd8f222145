//! A configuration or a plan that an attempt wrote, which is asked about before it starts anything. A configuration is
//! remembered before a result that holds one is brought home.
//!
//! Invariant: each command and setting is remembered by itself, so that an edit beside it makes none of them a person's.
//! Not here: what a configuration can start (`configured`).

use std::{collections::BTreeSet, os::unix::ffi::OsStrExt, path::Path};

use descent_core::{
    id::{CommitId, Digest},
    trust::{TrustGroup, TrustItem, TrustList},
};

use super::{super::Client, NamedPlan, configured, remember, remember_or_warn};
use crate::{
    config::{self, FILE_BYTES_MAX, FILE_NAME},
    failure::{Failure, exit},
    git::{Git, WrittenText},
    plan_file::{Notation, PlanFile},
    store::{LoadedState, StatePlace},
    trust::{Fact, RecordState, Records},
    workspace::Workspaces,
};

/// Configurations that a result may change.
const FILES_MAX: usize = 100;
/// A larger file is no plan.
const PLAN_BYTES_MAX: u64 = 16 << 20;

/// The two commits between which attempts worked.
#[derive(Debug, Clone, Copy)]
pub struct Attempted<'a> {
    pub git: &'a Git,
    pub start: &'a CommitId,
    pub head: &'a CommitId,
    /// The directory whose configuration counts.
    pub project: &'a Path,
}

impl Attempted<'_> {
    /// Records what attempts wrote into configurations, and gives their paths. Nothing is recorded without a client.
    ///
    /// # Errors
    /// If it cannot be recorded, or is too much.
    pub fn note(&self, client: Option<&dyn Client>) -> Result<Vec<String>, Failure> {
        let linked = self.linked();
        let is_meant = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.eq_ignore_ascii_case(FILE_NAME) || linked.as_deref() == Some(path)
        };
        let files = self.git.written(self.start, self.head, FILE_BYTES_MAX, is_meant)?;
        if files.len() > FILES_MAX {
            return Err(too_many());
        }
        let (mut paths, mut facts) = (Vec::new(), Vec::new());
        for file in &files {
            let before = digests(&file.old);
            let new: Vec<Digest> = digests(&file.new).difference(&before).cloned().collect();
            if !new.is_empty() {
                paths.push(file.path.display().to_string());
                facts.extend(new.into_iter().map(Fact::ByAttempt));
            }
        }
        if let Some(client) = client {
            remember(client, &Records::find(), &facts)?;
        }
        Ok(paths)
    }

    /// The file that the project's configuration is a link to, if it is in the tree.
    fn linked(&self) -> Option<std::path::PathBuf> {
        let file = self.project.join(FILE_NAME).canonicalize().ok()?;
        let top = self.git.top().canonicalize().ok()?;
        file.strip_prefix(top).ok().map(Path::to_owned)
    }
}

/// Whether an attempt wrote something of the project's configuration.
pub(super) fn has_written(project: &Path, carried: &TrustList, records: &Records) -> bool {
    let mut asked = of_list(carried);
    if let Ok(target) = std::fs::read_link(project.join(FILE_NAME)) {
        asked.insert(of_link(target.as_os_str().as_bytes()));
    }
    // A record that is not believed is no reason to be sure.
    let mut asked = asked.into_iter().map(Fact::ByAttempt);
    asked.any(|fact| records.holds(&fact) != RecordState::No)
}

/// The reason to ask about a plan if an attempt of the run in this place wrote it. It is remembered.
pub(super) fn plan_doubt(
    client: &dyn Client,
    plan: &NamedPlan<'_>,
    place: &StatePlace,
    here: Option<&LoadedState>,
    records: &Records,
) -> Option<String> {
    let doubt = Fact::ByAttempt(plan.carried.digest());
    if records.holds(&doubt) == RecordState::No {
        // The repository beside another's state is not opened.
        let here = here.filter(|here| records.hold(&Fact::Lineage(here.state.lineage.clone())))?;
        is_written(plan, place, here)?.then(|| remember_or_warn(client, records, &[doubt]))?;
    }
    Some("is as an attempt of a run wrote it".to_owned())
}

fn is_written(plan: &NamedPlan<'_>, place: &StatePlace, here: &LoadedState) -> Option<bool> {
    let (run, constraints) = (&here.state.run, &here.state.objective.constraints);
    let start = &run.started_from.as_ref()?.commit;
    let workspaces = Workspaces::open(place, &here.state.lineage, constraints).ok()?;
    let git = workspaces.trees()?.git();
    let path = plan.dir.join(plan.path).canonicalize().ok()?;
    let inside = path.strip_prefix(git.top().canonicalize().ok()?).ok()?;
    let has_written = |head: &CommitId| {
        let files = git.written(start, head, PLAN_BYTES_MAX, |path| path == inside);
        let mut files = files.into_iter().flatten();
        let is_it = |path: &Path, text| is_plan(path, text, plan.carried);
        files.any(|file| is_it(&file.path, file.new) && !is_it(&file.path, file.old))
    };
    let heads = [run.head.as_ref(), run.result()];
    Some(heads.into_iter().flatten().any(has_written))
}

fn is_plan(path: &Path, written: WrittenText, carried: &TrustList) -> bool {
    let WrittenText::File(bytes) = written else {
        return false;
    };
    let notation = Notation::of(path, &bytes);
    let plan = PlanFile { name: path.to_owned(), bytes, notation }.plan_or_atoms();
    TrustList::of_plan(&plan.objective, &plan.atoms).digest() == carried.digest()
}

fn digests(written: &WrittenText) -> BTreeSet<Digest> {
    match written {
        WrittenText::Absent => BTreeSet::new(),
        WrittenText::Link(target) => BTreeSet::from([of_link(target)]),
        WrittenText::File(bytes) => {
            // A text with a fault starts nothing.
            let text = String::from_utf8_lossy(bytes);
            let layer = config::of_text(&text).unwrap_or_default();
            of_list(&configured::of_layer(&layer))
        }
    }
}

/// Each item by itself, and all: what is left out may widen the rest.
fn of_list(carried: &TrustList) -> BTreeSet<Digest> {
    if carried.is_empty() {
        return BTreeSet::new();
    }
    let items = carried.items().iter().cloned();
    let each = items.map(|item| TrustList::of_items(vec![item]).digest());
    each.chain([carried.digest()]).collect()
}

fn of_link(target: &[u8]) -> Digest {
    let item = TrustItem {
        group: TrustGroup::Setting,
        at: format!("{FILE_NAME} is a link to"),
        text: String::from_utf8_lossy(target).into_owned(),
    };
    TrustList::of_items(vec![item]).digest()
}

fn too_many() -> Failure {
    let message = format!("the result changes more than {FILES_MAX} files named {FILE_NAME}");
    let hint = "look at them before anything of them runs: descent diff";
    Failure::new("E-NOT-TRUSTED", exit::UNTRUSTED, message, hint)
}

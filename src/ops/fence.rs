//! The programs of a command that starts jobs, behind the fence around the state.
//!
//! Not here: how a fence holds (`process::fence`).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    files::private,
    process::{Fence, Programs, programs},
    store::StatePlace,
    workspace::cache_dir,
};

/// A longer file names no repository.
const LINK_BYTES_MAX: u64 = 8 * 1024;

/// Programs whose jobs cannot write the state of this place, or the project's repository.
#[must_use]
pub fn programs(place: &StatePlace) -> Arc<dyn Programs> {
    let own = [private::state_home(private::variable), private::config_home(private::variable)];
    let own: Vec<PathBuf> = own.into_iter().flatten().collect();
    programs::fenced(Fence::around(
        &place.project,
        [&place.state, place.own()],
        &repository(&place.project),
        &own,
        cache_dir(),
    ))
}

/// The repository of a directory: `.git`, and the directories that a file of that name leads to.
fn repository(project: &Path) -> Vec<PathBuf> {
    let mut found = project.ancestors().map(|dir| dir.join(".git"));
    let Some(at) = found.find(|path| path.exists()) else {
        return Vec::new();
    };
    let led = |file: &Path, key: &str| {
        let text = crate::files::read(file, LINK_BYTES_MAX).ok()?;
        let text = String::from_utf8(text).ok()?;
        Some(file.parent()?.join(text.trim_end().strip_prefix(key)?.trim_start()))
    };
    let own = led(&at, "gitdir:");
    let common = own.as_ref().and_then(|own| led(&own.join("commondir"), ""));
    [Some(at), own, common].into_iter().flatten().collect()
}

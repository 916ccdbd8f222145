//! The facts about a file from which the core tells whose it is: its owner, and what git knows of it.

use std::{io::Read, os::unix::fs::MetadataExt, path::Path};

use descent_core::trust::{self as rule, Facts, Hand, Origin};

use crate::{git::Git, trust};

/// A file that is larger is none that is read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Of a plan, or of `descent.toml`; what is no file (standard input, a pipe) is the person's own doing.
pub(super) fn of(project: &Path, path: &Path) -> Origin {
    let Ok(path) = path.canonicalize() else {
        return Origin::Own;
    };
    let Ok(meta) = path.metadata() else {
        return Origin::Own;
    };
    if !meta.is_file() {
        return Origin::Own;
    }
    let (uid, mode) = (meta.uid(), meta.mode());
    let history = history(project, &path);
    rule::origin(&Facts {
        hand: Hand { uid, mode },
        me: trust::me(),
        history,
    })
}

/// `None` too where git is not there or does not work: a project without git has no committers.
fn history(project: &Path, path: &Path) -> Option<rule::History> {
    let project = Git::open(project).ok()??;
    // A repository inside of this one, a submodule, has a history of its own.
    let git = Git::open(path.parent()?).ok()??;
    let top = project.top().canonicalize().ok()?;
    if !git.top().canonicalize().ok()?.starts_with(top) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    git.history(path, &bytes)
}

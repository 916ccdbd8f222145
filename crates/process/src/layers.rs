//! Directories of a tree that its jobs see in layers (an overlay): one that nobody writes below the tree's own. So a tree
//! begins with a directory that is too large to be copied.
//!
//! A record beside the tree says it for each job that works there, until the tree is made anew. Only in the jobs' own mounts
//! are the layers there: everybody else sees an empty directory, which git ignores.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use serde::{Deserialize, Serialize};

use descent_system::files;

const RECORD: &str = "layers.json";
const RECORD_BYTES_MAX: u64 = 1 << 20;
/// The kernel may still be removing the mounts of the job before.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// One directory of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The directory in the tree.
    pub at: PathBuf,
    pub lower: PathBuf,
}

/// The directory beside a tree in which its own layers lie.
#[must_use]
pub fn place_of(tree: &Path) -> PathBuf {
    let mut place = tree.as_os_str().to_owned();
    place.push(".layers");
    place.into()
}

/// The layers of a tree; none without a record.
#[must_use]
pub fn of_tree(tree: &Path) -> Vec<Layer> {
    let record = files::read(&place_of(tree).join(RECORD), RECORD_BYTES_MAX);
    record.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Makes the tree's own layers, which are empty, and then the record.
///
/// # Errors
/// If the file system refuses.
pub fn make(tree: &Path, layers: &[Layer]) -> io::Result<()> {
    let place = place_of(tree);
    for n in 0..layers.len() {
        for part in ["upper", "work"] {
            files::make_dirs(&own(&place, n, part))?;
        }
    }
    files::write_whole(&place.join(RECORD), &serde_json::to_vec(layers).unwrap_or_default())
}

fn own(place: &Path, n: usize, part: &str) -> PathBuf {
    place.join(n.to_string()).join(part)
}

/// The mounts of a job that works in `cwd`.
pub(super) fn mounts_of(cwd: &Path, cache: &Path) -> Vec<LayerMount> {
    let Some(tree) = layered_tree(cwd, cache) else { return Vec::new() };
    let layers = of_tree(&tree).into_iter().enumerate();
    let own =
        layers.filter(|(_, layer)| layer.at.starts_with(&tree) && layer.lower.starts_with(cache));
    own.filter_map(|(n, layer)| LayerMount::of(&tree, n, layer)).collect()
}

/// The tree of an attempt, or of a check that steers. A verdict that decides sees no layers, and a record elsewhere, such
/// as one in a tree, counts for nothing.
fn layered_tree(cwd: &Path, cache: &Path) -> Option<PathBuf> {
    let parts: Vec<&str> =
        cwd.strip_prefix(cache).ok()?.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
    let depth = match parts.as_slice() {
        ["checks", _, "verify" | "candidate", "tree", ..] => 4,
        [lineage, _, slot, ..] if *lineage != "checks" && slot.starts_with("attempt-") => 3,
        _ => return None,
    };
    Some(parts[..depth].iter().fold(cache.to_owned(), |path, part| path.join(part)))
}

/// Whether the kernel can mount a layer of a tree.
#[must_use]
pub fn may_be_mounted(tree: &Path, layer: &Layer) -> bool {
    LayerMount::of(tree, 0, layer.clone()).is_some()
}

/// The kernel splits its options at commas and colons.
fn as_option(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| !path.contains([',', ':', '\\']))
}

/// A mount for the guard of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LayerMount {
    pub(super) at: PathBuf,
    options: String,
}

impl LayerMount {
    /// The n-th layer of a tree.
    pub(super) fn of(tree: &Path, n: usize, layer: Layer) -> Option<Self> {
        let place = place_of(tree);
        let parts = [&layer.lower, &own(&place, n, "upper"), &own(&place, n, "work")];
        let [lower, upper, work] = parts.map(|path| as_option(path));
        let options = format!("lowerdir={},upperdir={},workdir={}", lower?, upper?, work?);
        Some(Self { at: layer.at, options })
    }

    pub(super) fn put_up(&self, has_users: bool) -> io::Result<()> {
        let own = if has_users { ",userxattr" } else { "" };
        let options = std::ffi::CString::new(format!("{}{own}", self.options))?;
        for _ in 0..TRIES {
            match mount("overlay", &self.at, "overlay", MountFlags::empty(), Some(&*options)) {
                Err(Errno::BUSY) => std::thread::sleep(PAUSE),
                made => return Ok(made?),
            }
        }
        Err(Errno::BUSY.into())
    }
}

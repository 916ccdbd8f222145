//! Directories of build state that git ignores, as a checkout left them after its checks. Trees begin with them, and
//! such a tree is warm. Its verdicts only steer.
//!
//! `<checks>/warm/<n>/` holds them with a record, which is written last: without it nothing there is used. Invariants: they
//! come from a checkout of a head, or at the agreement from the person's directory, and never from an attempt. No single
//! file and no repository is carried, and no path of the tree that it was made in (`tied_paths`).
#![allow(clippy::disallowed_methods)] // door: directories of the cache

mod dir_copy;
mod slot_copies;
mod tied_paths;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    slice,
    sync::{
        Arc, Mutex, OnceLock, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use descent_core::id::CommitId;
use serde::{Deserialize, Serialize};

use super::{Checkout, Leftovers, Result, WorkDir, WorkspaceError, Worktrees, kept, places};
use crate::git::SourceTimes;
use descent_process::{
    layers::{self, Layer},
    layers_work,
};
use descent_system::{files, phrase, space};
use dir_copy::{CopyStamp, CopyStamps, DirList};
use slot_copies::SlotCopies;
use tied_paths::{TreeMove, TreeOrigin};

const RECORD: &str = "record.json";
const RECORD_BYTES_MAX: u64 = 256 << 20;
/// Bytes that are copied at most where copies share no blocks.
pub(super) const COPY_BYTES_MAX: u64 = 4 << 30;
/// The part of the free space that the copies of all trees may take, as a run finds it.
const FREE_PART: u64 = 2;
/// Trees of checks, beside those of attempts.
const CHECK_TREES: u64 = 2;

/// Knowledge of the trees of a lineage about build state, beside its files.
#[derive(Debug, Default)]
pub(super) struct WarmKnowledge {
    /// Held while directories are copied from an image, or an image is replaced.
    images: RwLock<()>,
    /// The newest image, as long as its record is this one: all of it need not be looked at for each tree.
    newest: Mutex<Option<(CopyStamp, Arc<Image>)>>,
    shares_blocks: OnceLock<bool>,
    /// The room on the disk when it was first asked for.
    free_bytes: OnceLock<u64>,
    /// The paths that git ignores or finds changed in a checkout right after its `setup`.
    made_by_setup: Mutex<Option<Vec<PathBuf>>>,
    is_noted: OnceLock<()>,
    layers_work: OnceLock<bool>,
    /// A warm verdict was wrong, so the tree of candidates is made anew before its next use.
    is_candidate_in_doubt: AtomicBool,
}

/// The directories of an image, or of the person's tree.
#[derive(Debug)]
struct Image {
    /// They lie below it.
    top: PathBuf,
    is_persons: bool,
    /// Those of the record that can be carried.
    dirs: Vec<(PathBuf, DirList)>,
    record: ImageRecord,
}

#[derive(Debug, Serialize, Deserialize)]
struct ImageRecord {
    made_in: PathBuf,
    dirs: Vec<PathBuf>,
    times: SourceTimes,
    /// The mark of the `setup` whose results are all here.
    set_up: Option<Vec<u8>>,
}

/// The directories that trees begin with, for a person
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarriedDirs {
    pub dirs: Vec<String>,
    pub bytes: u64,
    pub how: CopyWay,
}

impl CarriedDirs {
    pub fn are_carried(&self) -> bool {
        self.how != CopyWay::TooLarge
    }
}

/// Whether copies in a directory of the cache share blocks with what they are made from.
pub fn copies_share_blocks(dir: &Path) -> bool {
    dir_copy::shares_blocks(dir)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CopyWay {
    /// Copies share blocks.
    Reflink,
    Copy,
    /// Jobs see the directories below their own.
    Overlay,
    /// They are too large to be copied: trees begin without them.
    #[serde(rename = "none")]
    TooLarge,
}

impl Image {
    /// The directories of a record, which lie below `top`.
    fn of(top: PathBuf, mut record: ImageRecord, is_persons: bool) -> Self {
        let origin = TreeOrigin { path: &record.made_in, is_persons };
        let listed = record.dirs.iter().filter_map(|dir| {
            let list = DirList::of(&top, dir, origin)?;
            Some((dir.clone(), list))
        });
        let dirs: Vec<_> = listed.collect();
        for (_, list) in &dirs {
            record.times.newest = record.times.newest.max(list.newest);
        }
        Self { top, is_persons, dirs, record }
    }

    fn bytes(&self) -> u64 {
        self.dirs.iter().fold(0, |sum, (_, list)| sum.saturating_add(list.bytes))
    }
}

impl Worktrees {
    /// Brings a tree to a commit, with the build state of the newest image. It has the mark of the `setup` that need not
    /// run again.
    pub(super) fn bring_warm(&self, root: &Path, commit: &CommitId) -> Result<WorkDir> {
        let _held = self.warm.images.read();
        self.bring_with(root, commit, self.image()?)
    }

    /// The same with the person's own build state, for the files that the commit was made from.
    pub(super) fn bring_as_here(&self, root: &Path, commit: &CommitId) -> Result<WorkDir> {
        let image = if self.is_warm { self.persons_image(commit)? } else { None };
        self.bring_with(root, commit, image)
    }

    fn bring_with(
        &self,
        root: &Path,
        commit: &CommitId,
        image: Option<Arc<Image>>,
    ) -> Result<WorkDir> {
        let way = image.as_ref().map(|image| self.way_of(image));
        let image = image.filter(|_| way != Some(CopyWay::TooLarge));
        let Some(image) = image else {
            return Ok(WorkDir::cold(self.bring(root, commit, Leftovers::RemoveAll, None)?));
        };
        let mut old = self.put_copies_aside(root, &image)?;
        let path = self.bring(root, commit, Leftovers::RemoveAll, Some(&image.record.times))?;
        let trees = TreeMove { from: &image.record.made_in, to: &real(root) };
        let (mut layers, mut copies) = (Vec::new(), SlotCopies::of(&image));
        for (dir, list) in &image.dirs {
            let layer = Layer { at: root.join(dir), lower: image.top.join(dir) };
            if way == Some(CopyWay::Overlay) {
                let is_layer = !list.is_movable && layers::may_be_mounted(root, &layer);
                if is_layer && self.carry(root, dir, || files::make_dirs(&layer.at))?.is_some() {
                    layers.push(layer);
                }
                continue;
            }
            let copy = || {
                let known = old.dirs.remove(dir).filter(|_| {
                    self.copies_of(root).is_ok_and(|at| kept::put_back(&at, root, dir).is_ok())
                });
                let known = known.unwrap_or_default();
                list.copy(&layer.lower, &layer.at, &trees, &known).or_else(|_| {
                    // An attempt may have left what cannot be made good.
                    self.git.remove_worktrees(&layer.at).map_err(io::Error::other)?;
                    list.copy(&layer.lower, &layer.at, &trees, &CopyStamps::new())
                })
            };
            if let Some(stamps) = self.carry(root, dir, copy)? {
                copies.dirs.insert(dir.clone(), stamps);
            }
        }
        // All of them are copied again then.
        let noted = self.note_copies(root, &copies);
        let _ = noted.inspect_err(|error| tracing::info!(%error, "copies are not noted"));
        if !layers.is_empty() {
            layers::make(root, &layers).map_err(WorkspaceError::io(root))?;
        }
        let carried = layers.len() + copies.dirs.len();
        let mark = image.record.set_up.clone().filter(|_| carried == image.dirs.len());
        Ok(WorkDir { is_reused: carried > 0, mark, ..WorkDir::cold(path) })
    }

    /// Makes one directory in a tree, where it is free there and ignored; `None` if it is not there then.
    fn carry<T>(
        &self,
        root: &Path,
        dir: &Path,
        make: impl FnOnce() -> io::Result<T>,
    ) -> Result<Option<T>> {
        if kept::first_missing(root, dir).as_deref() != Some(dir) {
            return Ok(None);
        }
        let made = make();
        if let Err(error) = &made {
            tracing::info!(%error, dir = %dir.display(), "build state is not carried along");
        }
        // Git tells that only of an existing directory.
        let is_ignored = made.is_ok() && self.git.is_ignored(Some(root), dir)?;
        if !is_ignored {
            kept::remove(&root.join(dir))?;
        }
        Ok(made.ok().filter(|_| is_ignored))
    }

    fn way_of(&self, image: &Image) -> CopyWay {
        let way = self.copy_way(image);
        let present = dir_copy::present(self.whole_cache());
        // No file could be newer than build state of the future.
        let why = if present.is_none_or(|present| image.record.times.newest >= present) {
            "it has a time in the future".to_owned()
        } else if way == CopyWay::TooLarge || way == CopyWay::Overlay && image.is_persons {
            let size = phrase::megabytes(image.bytes());
            format!("{size} are too much to be copied here (btrfs and xfs carry any size)")
        } else {
            return way;
        };
        if !image.dirs.is_empty() && self.warm.is_noted.set(()).is_ok() {
            self.note([format!("trees begin without build state: {why}")]);
        }
        CopyWay::TooLarge
    }

    fn copy_way(&self, image: &Image) -> CopyWay {
        let (cache, bytes) = (self.whole_cache(), image.bytes());
        let is_near = !image.is_persons || dir_copy::are_on_one_disk(&image.top, cache);
        if is_near && *self.warm.shares_blocks.get_or_init(|| dir_copy::shares_blocks(cache)) {
            return CopyWay::Reflink;
        }
        let free = self
            .warm
            .free_bytes
            .get_or_init(|| space::free_space(cache).map_or(u64::MAX, |space| space.free_bytes));
        let trees = u64::from(self.slots) + CHECK_TREES;
        if bytes <= self.copy_bytes_max.min(free / FREE_PART / trees) {
            return CopyWay::Copy;
        }
        match *self.warm.layers_work.get_or_init(|| layers_work(cache)) {
            true => CopyWay::Overlay,
            false => CopyWay::TooLarge,
        }
    }

    /// The directories that trees begin with now.
    pub fn carried(&self) -> Result<Option<CarriedDirs>> {
        let _held = self.warm.images.read();
        Ok(self.image()?.map(|image| CarriedDirs {
            dirs: image.dirs.iter().map(|(dir, _)| dir.display().to_string()).collect(),
            bytes: image.bytes(),
            how: self.copy_way(&image),
        }))
    }

    fn image(&self) -> Result<Option<Arc<Image>>> {
        if !self.is_warm {
            return Ok(None);
        }
        let mut all = self.images()?;
        all.sort_by_key(|(n, _)| *n);
        let newest = all.into_iter().rev().find_map(|(_, top)| self.image_at(top));
        Ok(newest.filter(|image| !image.dirs.is_empty()))
    }

    /// `None` without a record.
    fn image_at(&self, top: PathBuf) -> Option<Arc<Image>> {
        let path = top.join(RECORD);
        let (stamp, mut newest) = (CopyStamp::of(&path)?, self.warm.newest.lock().ok()?);
        if let Some((_, image)) = newest.as_ref().filter(|(known, _)| *known == stamp) {
            return Some(image.clone());
        }
        let record = files::read(&path, RECORD_BYTES_MAX).ok()?;
        let record: ImageRecord = serde_json::from_slice(&record).ok()?;
        let is_inside =
            |dir: &PathBuf| dir.components().all(|part| matches!(part, Component::Normal(_)));
        if !record.dirs.iter().all(is_inside) {
            return None;
        }
        let image = Arc::new(Image::of(top, record, false));
        *newest = Some((stamp, image.clone()));
        Some(image)
    }

    /// The images by their numbers, whole or not.
    fn images(&self) -> Result<Vec<(u64, PathBuf)>> {
        let dirs = files::entries(&self.images_root()?).into_iter();
        let number = |dir: &PathBuf| dir.file_name()?.to_str()?.parse().ok();
        Ok(dirs.filter_map(|dir| Some((number(&dir)?, dir))).collect())
    }

    fn images_root(&self) -> Result<PathBuf> {
        Ok(self.checks_root()?.join("warm"))
    }

    /// The person's directories of kinds that a build makes anew.
    fn persons_image(&self, commit: &CommitId) -> Result<Option<Arc<Image>>> {
        let top = self.git.top().to_owned();
        let project = &self.prefix;
        let dirs = self.git.ignored(None)?.into_iter();
        let dirs = dirs.filter(|dir| dir.starts_with(project) && is_build_state(&top.join(dir)));
        let dirs: Vec<PathBuf> = dirs.collect();
        if dirs.is_empty() {
            return Ok(None);
        }
        let times = self.git.source_times(commit, &top, &[])?;
        let record = ImageRecord { made_in: real(&top), dirs, times, set_up: None };
        Ok(Some(Arc::new(Image::of(top, record, true))))
    }

    /// Notes what `setup` made in a checkout: what is carried must have all of it, or `setup` runs again.
    pub(super) fn note_made_by_setup(&self, root: &Path) -> Result<()> {
        let ignored = self.git.ignored(Some(root))?;
        let changed = self.changed_in(root)?;
        if let Ok(mut made) = self.warm.made_by_setup.lock() {
            *made = Some(ignored.into_iter().chain(changed).collect());
        }
        Ok(())
    }

    /// Makes a new image of the build state of a checkout, which is made anew each time. It is moved, or copied if
    /// `setup.keep` names it.
    pub fn keep_warm(&self, which: Checkout, commit: &CommitId) -> Result<()> {
        let root = self.checks(which)?;
        if !self.is_warm || !root.is_dir() {
            return Ok(());
        }
        let linked = self.linked_in(&root);
        let is_free = |dir: &PathBuf| {
            let at = root.join(dir);
            files::plain_dir(&at).is_ok() && !linked.iter().any(|link| link.starts_with(&at))
        };
        let dirs: Vec<PathBuf> =
            self.git.ignored(Some(&root))?.into_iter().filter(is_free).collect();
        let times = self.git.source_times(commit, &root, &self.changed_in(&root)?)?;
        let record = ImageRecord { made_in: real(&root), dirs, times, set_up: None };
        let mut image = Image::of(root, record, false);
        image.record.set_up = self.set_up_within(&image, commit)?;
        let kept = self.replace_images(image);
        // Trees begin cold then.
        let _ = kept.inspect_err(|error| tracing::info!(%error, "build state is not kept"));
        Ok(())
    }

    /// The mark of `setup`, if all that it made lies in the directories of an image.
    fn set_up_within(&self, image: &Image, commit: &CommitId) -> Result<Option<Vec<u8>>> {
        let made = self.warm.made_by_setup.lock().ok().and_then(|mut made| made.take());
        let is_whole = made.is_some_and(|made| {
            made.iter().all(|path| image.dirs.iter().any(|(dir, _)| path.starts_with(dir)))
        });
        if is_whole { self.mark_of_setup(commit) } else { Ok(None) }
    }

    fn replace_images(&self, mut image: Image) -> Result<()> {
        let _held = self.warm.images.write();
        let old = self.images()?;
        let next = old.iter().map(|(n, _)| n + 1).max().unwrap_or_default();
        let top = self.images_root()?.join(next.to_string());
        if !image.dirs.is_empty() {
            places::make_below(self.whole_cache(), &top)?;
        }
        let (from, mut record, count) = (&image.top, image.record, image.dirs.len());
        image.dirs.retain(|(dir, list)| {
            let placed = self.place_in_image(from, &record.made_in, dir, list, &top);
            placed.inspect_err(|error| tracing::info!(%error, "build state is not kept")).is_ok()
        });
        if !image.dirs.is_empty() {
            record.set_up = record.set_up.filter(|_| image.dirs.len() == count);
            record.dirs = image.dirs.into_iter().map(|(dir, _)| dir).collect();
            let record = serde_json::to_vec(&record).unwrap_or_default();
            let path = top.join(RECORD);
            files::write_whole(&path, &record).map_err(WorkspaceError::io(path))?;
        }
        let used = self.layers_in_use()?;
        let is_used = |dir: &Path| used.iter().any(|layer| layer.lower.starts_with(dir));
        old.iter().filter(|(_, dir)| !is_used(dir)).try_for_each(|(_, dir)| kept::remove(dir))
    }

    fn place_in_image(
        &self,
        from: &Path,
        made_in: &Path,
        dir: &PathBuf,
        list: &DirList,
        top: &Path,
    ) -> Result<()> {
        let at = top.join(dir);
        let dirs = slice::from_ref(dir);
        if kept::matching(from, dirs, &self.keep, &self.prefix).is_empty() {
            kept::put_aside(from, top, dirs)?;
            return list.left_out.iter().try_for_each(|gone| kept::remove(&at.join(gone)));
        }
        kept::make_parent(&at)?;
        let stays = TreeMove { from: made_in, to: made_in };
        let copied = list.copy(&from.join(dir), &at, &stays, &CopyStamps::new());
        copied.map(drop).map_err(WorkspaceError::io(at))
    }

    /// As if all were too large to be copied.
    #[cfg(test)]
    pub(crate) fn copy_nothing(&mut self, layers_work: bool) {
        self.copy_bytes_max = 0;
        self.warm = Arc::new(WarmKnowledge {
            shares_blocks: OnceLock::from(false),
            layers_work: OnceLock::from(layers_work),
            ..WarmKnowledge::default()
        });
    }

    fn layers_in_use(&self) -> Result<Vec<Layer>> {
        let mut trees = files::entries(&self.cache);
        trees.push(self.checks(Checkout::Verify)?);
        trees.push(self.checks(Checkout::Candidate)?);
        Ok(trees.iter().flat_map(|tree| layers::of_tree(tree)).collect())
    }

    /// Has the trees with build state be made anew, since a verdict on one differs from the one that decides. A candidate
    /// may be measured just now.
    pub fn forget_warm(&self) -> Result<()> {
        self.warm.is_candidate_in_doubt.store(true, Ordering::Relaxed);
        self.remove_checks(Checkout::Verify).map(drop)
    }

    pub(super) fn takes_doubt(&self, which: Checkout) -> bool {
        which == Checkout::Candidate
            && self.warm.is_candidate_in_doubt.swap(false, Ordering::Relaxed)
    }
}

/// The path of a tree as what works there learns it.
fn real(tree: &Path) -> PathBuf {
    tree.canonicalize().unwrap_or_else(|_| tree.to_owned())
}

/// Whether a directory is of a kind that is made by the build alone.
fn is_build_state(dir: &Path) -> bool {
    let has_objects = || {
        let names = fs::read_dir(dir).into_iter().flatten().flatten();
        names
            .take(1_000)
            .any(|entry| Path::new(&entry.file_name()).extension().is_some_and(|end| end == "o"))
    };
    match dir.file_name().and_then(|name| name.to_str()) {
        Some("target") => dir.join("CACHEDIR.TAG").is_file(),
        Some(".next") => true,
        Some("build" | "obj" | "_build") => has_objects(),
        _ => false,
    }
}

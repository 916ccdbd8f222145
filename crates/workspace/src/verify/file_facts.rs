//! Checks the existence and the content of files.
//!
//! Invariant: nothing outside the directory is read, wherever links lead. For an absence, a link
//! itself counts as a file. A pattern never matches `.git`, nor `.descent` at the top. A search
//! that was given up is an error, so that it neither passes nor fails.

use std::{
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use descent_core::{
    state::{Leaf, check::FileLeaf},
    verdict::{Measurement, MeasurementKind},
};
use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::Pattern;
use descent_system::files;

const CONTENT_BYTES_MAX: u64 = 16 << 20;
/// Maximum of names visited in one walk.
const ENTRIES_MAX: usize = 1_000_000;
/// Maximum of names that an excerpt lists, and of bytes of each.
const LISTED_MAX: usize = 10;
const NAME_BYTES_MAX: usize = 180;
const CHUNK_BYTES: usize = 64 * 1024;

type LookupResult<T> = Result<T, String>;

pub(super) fn measure(
    at: &Path,
    leaf: &Leaf,
    stop: &CancellationToken,
) -> LookupResult<Measurement> {
    let at = &at.canonicalize().map_err(|error| cannot(at, &error))?;
    match leaf {
        Leaf::File(FileLeaf { path, contains, sha256 }) => {
            let content = Content::new(contains.as_deref(), sha256.as_deref())?;
            let mut found = find(at, path, stop)?;
            found.retain(|path| is_fit_to_read(at, path, content.is_asked()));
            let fits = !content.is_asked() || content.is_in_one(&found, stop)?;
            Ok(seen(at, &found, fits))
        }
        Leaf::NotFile(leaf) => Ok(seen(at, &find(at, &leaf.path, stop)?, true)),
        _ => Err("no machine decides this".to_owned()),
    }
}

fn seen(at: &Path, found: &[PathBuf], fits: bool) -> Measurement {
    let name = |path: &PathBuf| {
        let name = path.strip_prefix(at).unwrap_or(path).to_string_lossy().into_owned();
        name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned()
    };
    let mut names: Vec<String> = found.iter().take(LISTED_MAX).map(name).collect();
    if found.len() > LISTED_MAX {
        names.push(format!("… and {} more", found.len() - LISTED_MAX));
    }
    let what = MeasurementKind::Files { found: found.len(), fits };
    Measurement { what, duration_ms: 0, excerpt: names.join("\n"), whole: None }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
}

fn has_ended(stop: &CancellationToken) -> LookupResult<()> {
    if stop.is_cancelled() { Err("the look was given up".to_owned()) } else { Ok(()) }
}

/// The paths that match a path or a glob, links included, sorted.
fn find(at: &Path, path: &str, stop: &CancellationToken) -> LookupResult<Vec<PathBuf>> {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Ok(Vec::new());
            }
        }
    }
    let literal = at.join(&plain);
    match literal.symlink_metadata() {
        Ok(_) => return Ok(vec![literal]),
        Err(error) if is_absence(&error) => {}
        Err(error) => return Err(cannot(&literal, &error)),
    }
    if !path.contains(['*', '?', '[', '{']) {
        return Ok(Vec::new());
    }
    let glob = GlobBuilder::new(&plain.to_string_lossy()).literal_separator(true).build();
    let glob = glob.map_err(|error| format!("'{path}' is no pattern: {}", error.kind()))?;
    let mut found = match walk_start(at, &plain)? {
        Some(start) => matching(at, start, &glob.compile_matcher(), stop)?,
        None => Vec::new(),
    };
    found.sort();
    Ok(found)
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// The deepest directory that the pattern names plainly: no other needs a walk. `None` if it does
/// not exist, or is behind a link.
fn walk_start(at: &Path, plain: &Path) -> LookupResult<Option<PathBuf>> {
    let is_name = |part: &Component<'_>| {
        !part.as_os_str().to_string_lossy().contains(['*', '?', '[', ']', '{', '}', '\\', ','])
    };
    let parents = plain.parent().into_iter().flat_map(Path::components);
    let mut start = at.to_owned();
    for part in parents.take_while(is_name) {
        start.push(part);
        match start.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Ok(None),
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(cannot(&start, &error)),
        }
    }
    Ok(Some(start))
}

/// The paths below `start` that match, by their names in the directory.
fn matching(
    at: &Path,
    start: PathBuf,
    glob: &GlobMatcher,
    stop: &CancellationToken,
) -> LookupResult<Vec<PathBuf>> {
    let (mut dirs, mut found, mut looked) = (vec![start], Vec::new(), 0);
    while let Some(dir) = dirs.pop() {
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => continue,
            Err(error) => return Err(cannot(&dir, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| cannot(&dir, &error))?;
            has_ended(stop)?;
            looked += 1;
            if looked > ENTRIES_MAX {
                return Err(format!("there are more than {ENTRIES_MAX} files to look at"));
            }
            let path = entry.path();
            let name = path.strip_prefix(at).unwrap_or(&path);
            if name.ends_with(".git") || name == Path::new(".descent") {
                continue;
            }
            if glob.is_match(name) {
                found.push(path.clone());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(path);
            }
        }
    }
    Ok(found)
}

/// Whether the path leads to something inside the directory; it must be a file if its content is
/// needed.
fn is_fit_to_read(at: &Path, path: &Path, is_content_asked: bool) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    real.starts_with(at) && real.metadata().is_ok_and(|meta| meta.is_file() || !is_content_asked)
}

/// The content that one file must have.
struct Content {
    contains: Option<Pattern>,
    /// In lower case, without its prefix.
    sha256: Option<String>,
}

impl Content {
    fn new(contains: Option<&str>, sha256: Option<&str>) -> LookupResult<Self> {
        let digest = |text: &str| {
            let text = text.trim().to_ascii_lowercase();
            text.strip_prefix("sha256:").unwrap_or(&text).to_owned()
        };
        let contains = contains.map(Pattern::new).transpose()?;
        Ok(Self { contains, sha256: sha256.map(digest) })
    }

    fn is_asked(&self) -> bool {
        self.contains.is_some() || self.sha256.is_some()
    }

    /// An unreadable file counts only if no other file fits.
    fn is_in_one(&self, found: &[PathBuf], stop: &CancellationToken) -> LookupResult<bool> {
        let mut fault = None;
        for path in found {
            match self.is_in(path, stop) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(why) => fault = Some(why),
            }
        }
        fault.map_or(Ok(false), Err)
    }

    fn is_in(&self, path: &Path, stop: &CancellationToken) -> LookupResult<bool> {
        if let Some(sha256) = &self.sha256
            && digest_of(path, stop)? != *sha256
        {
            return Ok(false);
        }
        match &self.contains {
            Some(pattern) => {
                let content = files::read_linked(path, CONTENT_BYTES_MAX);
                Ok(pattern.is_match(&content.map_err(|error| cannot(path, &error))?))
            }
            None => Ok(true),
        }
    }
}

fn digest_of(path: &Path, stop: &CancellationToken) -> LookupResult<String> {
    let mut file = files::open_linked(path).map_err(|error| cannot(path, &error))?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        has_ended(stop)?;
        match file.read(&mut chunk).map_err(|error| cannot(path, &error))? {
            0 => break,
            count => hash.update(&chunk[..count]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

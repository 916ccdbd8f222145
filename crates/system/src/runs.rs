//! The runs of this account on this machine: a small record for each state on which a run was started.
//!
//! Invariant: nothing depends on a record: it only tells where a state lies. It is believed only if it is a plain file of
//! our own that nobody else can read or write. Not here: how the state stands (`ops::watch`).

use std::{
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
};

use descent_core::id::{Digest, Lineage};
use serde::{Deserialize, Serialize};

use crate::files::{self, private};

/// Records that are kept at most.
pub(crate) const RECORDS_MAX: usize = 1_000;
/// Bytes read of a record at most.
const RECORD_BYTES_MAX: u64 = 16 * 1024;
const SCHEMA: &str = "descent/run-record/1";
/// Digits of a digest in a name: enough to tell places apart.
const DIGEST_DIGITS: usize = 16;
const LINEAGE_CHARS_MAX: usize = 64;

/// The newest run on one state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    schema: String,
    pub lineage: Lineage,
    /// The state file.
    pub state: PathBuf,
    /// When the run was started.
    pub at: String,
    /// The log, if the run is detached.
    pub log: Option<PathBuf>,
}

impl RunRecord {
    pub fn new(lineage: &Lineage, state: &Path, at: String, log: Option<&Path>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            lineage: lineage.clone(),
            state: state.to_owned(),
            at,
            log: log.map(Path::to_owned),
        }
    }

    /// A lineage may come from a stranger's file: anything but a plain one does not become part of a name.
    fn name(&self) -> String {
        let lineage = self.lineage.as_str();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_plain = lineage.len() <= LINEAGE_CHARS_MAX && lineage.chars().all(is_plain);
        let lineage = if is_plain { lineage } else { "other" };
        let whole = serde_json::json!([self.lineage, self.state.to_string_lossy()]);
        let digest = Digest::sha256(whole.to_string().as_bytes());
        let digest = digest.as_str().trim_start_matches("sha256:");
        format!("{lineage}-{}.json", &digest[..DIGEST_DIGITS.min(digest.len())])
    }
}

/// A record, and its file.
#[derive(Debug)]
pub struct FoundRecord {
    pub path: PathBuf,
    pub record: RunRecord,
}

/// The records that could be read.
#[derive(Debug, Default)]
pub struct RecordListing {
    pub found: Vec<FoundRecord>,
    /// Files that were passed over, each with the reason.
    pub odd: Vec<String>,
    /// Files that were not looked at: there are too many.
    pub left_out: usize,
}

/// All records of this account on this machine.
#[derive(Debug)]
pub struct RunRecords {
    dir: Option<PathBuf>,
}

impl RunRecords {
    pub fn find() -> Self {
        Self::of(private::variable)
    }

    fn of(var: impl Fn(&str) -> Option<OsString>) -> Self {
        Self { dir: private::state_home(var).map(|home| home.join("runs")) }
    }

    /// Notes the newest run on its state.
    ///
    /// # Errors
    /// If there is no place for records, or the system refuses.
    pub fn note(&self, record: &RunRecord) -> io::Result<()> {
        let dir = self.dir.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let name = record.name();
        let paths = self.paths();
        if paths.len() >= RECORDS_MAX && !dir.join(&name).exists() {
            self.make_room(paths)?;
        }
        let text = format!("{:#}\n", serde_json::to_value(record)?);
        private::write_loosely(dir, &name, text.as_bytes())
    }

    /// Removes the records of states that are gone, and if that is not enough the oldest.
    fn make_room(&self, paths: Vec<PathBuf>) -> io::Result<()> {
        let is_gone = |path: &PathBuf| {
            let record = self.read_one(path);
            record.map_or(true, |record| record.is_none_or(|record| is_absent(&record.state)))
        };
        let (gone, mut kept): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_gone);
        // The names begin with lineages, which are in the order of their time.
        kept.sort();
        let surplus = (kept.len() + 1).saturating_sub(RECORDS_MAX);
        let oldest = kept.into_iter().take(surplus);
        gone.into_iter().chain(oldest).try_for_each(|path| files::remove(&path))
    }

    pub fn list(&self) -> RecordListing {
        let mut listing = RecordListing::default();
        let mut paths = self.paths();
        paths.sort();
        listing.left_out = paths.len().saturating_sub(RECORDS_MAX);
        for path in paths.into_iter().skip(listing.left_out) {
            match self.read_one(&path) {
                Ok(Some(record)) => listing.found.push(FoundRecord { path, record }),
                // It was removed meanwhile.
                Ok(None) => {}
                Err(why) => listing.odd.push(format!("{}: {why}", path.display())),
            }
        }
        listing
    }

    /// Removes a record whose state is gone. It is only a hint, so no error stops anything.
    pub fn forget(found: &FoundRecord) {
        let _ = files::remove_file(&found.path);
    }

    fn paths(&self) -> Vec<PathBuf> {
        let mut paths = self.dir.as_deref().map(files::entries).unwrap_or_default();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths
    }

    fn read_one(&self, path: &Path) -> Result<Option<RunRecord>, String> {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let Some(bytes) = private::read_private(dir, path, RECORD_BYTES_MAX)? else {
            return Ok(None);
        };
        let record: RunRecord = serde_json::from_slice(&bytes).map_err(|error| not_ours(&error))?;
        if record.schema != SCHEMA || !record.state.is_absolute() {
            return Err(not_ours(&"it says something else"));
        }
        Ok(Some(record))
    }
}

fn not_ours(why: &dyn fmt::Display) -> String {
    format!("it is no record of a run ({why})")
}

/// Whether nothing has the name of that state.
pub fn is_absent(state: &Path) -> bool {
    state.symlink_metadata().is_err_and(|error| private::is_absent(&error))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // plants records
mod tests {
    use super::*;
    use std::fs;

    fn records(home: &Path) -> RunRecords {
        let home = home.as_os_str().to_owned();
        RunRecords::of(|name| (name == "XDG_STATE_HOME").then(|| home.clone()))
    }

    fn record(lineage: &str, state: &Path) -> RunRecord {
        let lineage = Lineage::new(lineage);
        RunRecord::new(&lineage, state, "2026-11-24T22:00:00Z".to_owned(), None)
    }

    #[test]
    fn a_state_has_one_record_and_two_places_of_a_lineage_have_two() {
        let home = tempfile::tempdir().unwrap();
        let records = records(home.path());
        let (one, other) = (record("l", Path::new("/a")), record("l", Path::new("/b")));
        for noted in [&one, &other, &one] {
            records.note(noted).unwrap();
        }
        let mut found = records.list().found;
        found.sort_by(|one, other| one.record.state.cmp(&other.record.state));
        let noted: Vec<RunRecord> = found.into_iter().map(|found| found.record).collect();
        assert_eq!(noted, [one, other]);
    }

    #[test]
    fn a_lineage_of_a_stranger_names_no_other_place() {
        let home = tempfile::tempdir().unwrap();
        let records = records(home.path());
        records.note(&record("../../x", Path::new("/a"))).unwrap();
        let found = records.list().found;
        assert_eq!(found[0].path.parent().unwrap(), home.path().join("descent/runs"));
        assert_eq!(found[0].record.lineage.as_str(), "../../x");
    }

    #[test]
    fn what_is_no_record_is_named_and_passed_over() {
        let home = tempfile::tempdir().unwrap();
        let records = records(home.path());
        records.note(&record("l", Path::new("/a"))).unwrap();
        let dir = home.path().join("descent/runs");
        private::write_private(&dir, "torn.json", b"{").unwrap();
        private::write_private(&dir, "other.json", b"[]").unwrap();
        fs::create_dir(dir.join("dir.json")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.join("link.json")).unwrap();
        fs::write(dir.join("open.json"), "{}").unwrap();
        let listing = records.list();
        assert_eq!(listing.found.len(), 1);
        assert_eq!(listing.odd.len(), 5, "{:?}", listing.odd);
    }

    #[test]
    fn room_is_made_by_those_whose_state_is_gone_and_then_by_the_oldest() {
        let home = tempfile::tempdir().unwrap();
        let records = records(home.path());
        let here = home.path().join("state.json");
        fs::write(&here, "").unwrap();
        let dir = home.path().join("descent/runs");
        let plant = |n: usize, state: &Path| {
            let record = record(&format!("{n:04}"), state);
            let text = serde_json::to_vec(&record).unwrap();
            fs::create_dir_all(&dir).unwrap();
            let path = dir.join(record.name());
            files::write_new(&path, &text).unwrap();
        };
        records.note(&record("9999", &here)).unwrap();
        for n in 1..RECORDS_MAX {
            plant(n, &here);
        }
        records.note(&record("9998", &here)).unwrap();
        let count = || records.list().found.len();
        assert_eq!(count(), RECORDS_MAX);
        let oldest = &records.list().found[0].record.lineage.to_string();
        assert_eq!(oldest, "0002");
        fs::remove_file(&here).unwrap();
        records.note(&record("9997", home.path())).unwrap();
        assert_eq!(count(), 1);
    }
}

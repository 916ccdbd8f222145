//! A tag that every process of a job has, and no other: a number in a limit that nobody uses.
//!
//! The tag is the soft limit on the time that a real-time process may run without a pause. Every
//! fork inherits it and every exec keeps it. A cleared environment, another session and a changed
//! name don't remove it. As a limit it is some 150,000 years. Any process may raise it; a process
//! that sets it itself loses the tag. A server that does work for a job (an editor's window, a pane
//! of a multiplexer) is no fork of the job, and so doesn't have the tag. Not here: what is done
//! with tagged processes (`orphans`).

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::{Digest, Sha256};

/// Set in every tag, so that no limit that a person would choose looks like one.
const FLAG: u64 = 1 << 62;
const HALF_BITS: u32 = 31;
const LINE: &str = "Max realtime timeout";

/// The flag, 31 bits for the owner of the job, 31 bits for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u64);

impl Tag {
    /// The tag of a new job; no two are equal.
    pub fn new(mark: &str) -> Tag {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let job =
            format!("{mark}\n{}\n{n}\n{}", std::process::id(), super::process_table::boot_id());
        Tag(FLAG | half(owner_of(mark)) << HALF_BITS | half(&job))
    }

    /// The tag in the kernel's table; `None` if the process is gone.
    pub fn read(pid: u32) -> Option<Tag> {
        let text = super::process_table::read_whole(&format!("/proc/{pid}/limits"))?;
        let text = std::str::from_utf8(&text).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(LINE))?;
        Tag::from_raw(line.split_ascii_whitespace().next()?.parse().ok()?)
    }

    /// Sets the tag on this process and all that it starts from here on. `None` if the system has
    /// no such limit.
    pub fn set(self) -> Option<TagGuard> {
        #[cfg(target_os = "linux")]
        {
            let before = rustix::process::getrlimit(Resource::Rttime);
            let limit = Rlimit { current: Some(self.0), maximum: before.maximum };
            let is_on = rustix::process::setrlimit(Resource::Rttime, limit).is_ok();
            is_on.then_some(TagGuard { before })
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    pub fn from_raw(raw: u64) -> Option<Tag> {
        (raw & FLAG != 0 && raw < FLAG << 1).then_some(Tag(raw))
    }

    pub fn raw(self) -> u64 {
        self.0
    }

    /// Whether the tag is of a job of the same state file.
    pub(crate) fn is_owned_like(self, mark: &str) -> bool {
        (self.0 & !FLAG) >> HALF_BITS == half(owner_of(mark))
    }
}

/// The state file's part of a mark.
fn owner_of(mark: &str) -> &str {
    mark.split_once('/').map_or(mark, |(owner, _)| owner)
}

fn half(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    let word = digest.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte));
    word >> (u64::BITS - HALF_BITS)
}

/// A tag that is set; dropping it restores the old limit.
#[derive(Debug)]
pub struct TagGuard {
    #[cfg(target_os = "linux")]
    before: Rlimit,
}

impl Drop for TagGuard {
    fn drop(&mut self) {
        // Setting the limit back succeeds whenever setting the tag did.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setrlimit(Resource::Rttime, self.before);
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Tag {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Tag, D::Error> {
        let text = String::deserialize(from)?;
        let raw = u64::from_str_radix(&text, 16).map_err(Error::custom)?;
        Tag::from_raw(raw).ok_or_else(|| Error::custom("this is no tag"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_has_its_own_and_shows_whose_it_is() {
        let (one, two) = (Tag::new("a-1/r/x"), Tag::new("a-1/r/x"));
        assert_ne!(one, two);
        for tag in [one, two] {
            assert!(tag.is_owned_like("a-1/") && tag.is_owned_like("a-1/other"));
            assert!(!tag.is_owned_like("a-2/") && !tag.is_owned_like("a-"));
        }
    }

    #[test]
    fn a_limit_that_a_person_chose_is_no_brand() {
        for raw in [0, 200_000, 1 << 61, u64::MAX] {
            assert_eq!(Tag::from_raw(raw), None, "{raw}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_without_one_shows_none() {
        assert_eq!(Tag::read(1), None);
    }

    #[test]
    fn it_is_kept_as_text() {
        let tag = Tag::new("a/b");
        let text = serde_json::to_string(&tag).unwrap();
        assert_eq!(serde_json::from_str::<Tag>(&text).unwrap(), tag);
        assert!(serde_json::from_str::<Tag>("\"0000000000000001\"").is_err());
    }
}

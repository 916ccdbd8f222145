//! The marks of index entries: links to other repositories, and flags that make git ignore changes.
//!
//! Not here: the content of the working tree (`status`).

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, fields},
    disk,
    status::{GITLINK, OWN_DIR, is_within},
};
use descent_core::id::CommitId;

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) links: Vec<Link>,
    /// Existing files that git was told to take for unchanged.
    pub(super) marked: Vec<Vec<u8>>,
    /// Whether files of this program's own are tracked.
    pub(super) holds_own: bool,
}

/// A commit of another repository, at a path of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) path: Vec<u8>,
    pub(super) commit: CommitId,
}

impl Git {
    /// `call` says which tree and which index. A collapsed directory of a sparse index stays
    /// collapsed.
    pub(super) fn listing(&self, call: Call<'_>) -> Result<Listing, GitError> {
        let tree = call.tree().to_owned();
        let output = call.args(["-s", "-v", "-z", "--sparse"]).ok()?;
        let mut listing = Listing::default();
        for record in fields(&output) {
            let entry = read(record).ok_or(GitError::Odd { verb: "ls-files" })?;
            if entry.mode == GITLINK
                && let Some(id) = as_id(entry.id)
            {
                listing.links.push(Link { path: entry.path.to_vec(), commit: CommitId::new(id) });
            }
            // `h`: assumed to be unchanged; `S`: not looked for.
            let is_marked = entry.tag.is_ascii_lowercase() || entry.tag == b'S';
            if is_marked && is_file(&tree, entry.path) {
                listing.marked.push(entry.path.to_vec());
            }
            listing.holds_own |= is_within(entry.path, OWN_DIR);
        }
        Ok(listing)
    }
}

struct IndexEntry<'a> {
    tag: u8,
    mode: &'a [u8],
    id: &'a [u8],
    path: &'a [u8],
}

/// `H 100644 <id> 0\t<path>`
fn read(record: &[u8]) -> Option<IndexEntry<'_>> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let mut words = record[..tab].split(|byte| *byte == b' ');
    let (tag, mode, id) = (words.next()?, words.next()?, words.next()?);
    Some(IndexEntry { tag: *tag.first()?, mode, id, path: &record[tab + 1..] })
}

/// Whether something other than a directory is there, in the tree itself.
pub(super) fn is_file(tree: &std::path::Path, path: &[u8]) -> bool {
    let path = as_path(path);
    let meta = tree.join(path).symlink_metadata();
    meta.is_ok_and(|meta| !meta.is_dir()) && !disk::is_beyond_symlink(tree, path)
}

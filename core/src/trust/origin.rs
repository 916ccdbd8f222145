//! Whether another person made a file, decided from facts that the shell gathers, so that the rule
//! is a table.
//!
//! Invariant: a missing fact never makes a file look more familiar than git and its owner show.

use alloc::{format, string::String, vec::Vec};

/// Who owns a file, and its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    pub uid: u32,
    pub mode: u32,
}

/// The user who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Me {
    pub uid: u32,
    /// The user for whom root acts.
    pub sudo_uid: Option<u32>,
}

/// Whether the file belongs to an account that is neither ours nor the system's.
pub fn is_another_hand(hand: Hand, me: Me) -> bool {
    let is_mine = hand.uid == me.uid || (me.uid == 0 && me.sudo_uid == Some(hand.uid));
    // Root could change this program too. A file that anybody may write proves nothing.
    let is_roots = hand.uid == 0 && hand.mode & 0o022 == 0;
    !(is_mine || is_roots)
}

/// Git's knowledge about a file that HEAD has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// The file equals what a checkout of HEAD would write.
    pub as_committed: bool,
    /// An e-mail; `None` if git could not tell, in time or at all.
    pub last_committer: Option<String>,
    /// The person's e-mails; empty if none is configured.
    pub mine: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginFacts {
    pub hand: Hand,
    pub me: Me,
    /// `None`: not tracked, or outside of the repository.
    pub history: Option<History>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Own,
    /// The words end a sentence that begins with the file's name.
    Another(String),
}

/// The origin of a file that a person hands to the program or keeps in the project.
pub fn origin(facts: &OriginFacts) -> Origin {
    if is_another_hand(facts.hand, facts.me) {
        return Origin::Another(format!("belongs to another account ({})", facts.hand.uid));
    }
    let Some(history) = &facts.history else {
        return Origin::Own;
    };
    if !history.as_committed || !is_another_committer(history) {
        return Origin::Own;
    }
    match &history.last_committer {
        None => Origin::Another(
            "is as committed, and git cannot tell who committed it (in a shallow clone: git fetch --unshallow)".into(),
        ),
        Some(email) => Origin::Another(format!("is as {email} committed it")),
    }
}

/// Whether the last committer is not the person, or unknown. Without a configured e-mail nobody
/// counts as another.
pub fn is_another_committer(history: &History) -> bool {
    let is_mine = |email: &String| history.mine.iter().any(|own| own.eq_ignore_ascii_case(email));
    !history.mine.is_empty() && !history.last_committer.as_ref().is_some_and(is_mine)
}

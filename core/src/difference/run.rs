//! Describes differences in people's requests to the loop, and in its own notes.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{Comparison, Weight, between, keys, same};
use crate::{
    doc::Node,
    state::{
        Run,
        law::{BlockedRecord, LawRecord},
    },
};

/// Digits of a commit that distinguish it from others.
const COMMIT_CHARS: usize = 12;

impl Comparison<'_> {
    pub(super) fn control(&mut self) {
        let (old, new) = (&self.before.control, &self.after.control);
        if Arc::ptr_eq(old, new) || old.node() == new.node() {
            return;
        }
        let known = self.found.len();
        if old.stop_requested != new.stop_requested {
            let reason = new.stop_reason.as_deref().filter(|_| new.stop_requested);
            let what = match (new.stop_requested, reason) {
                (true, Some(reason)) => format!("a stop was asked for ({})", super::short(reason)),
                (true, None) => "a stop was asked for".to_string(),
                (false, _) => "the stop is obeyed or taken back".to_string(),
            };
            self.note(Weight::Main, what);
        }
        if old.redirect_requested != new.redirect_requested {
            let what = if new.redirect_requested {
                "a redirect was asked for"
            } else {
                "the redirect is obeyed or taken back"
            };
            self.note(Weight::Main, what);
        }
        if known == self.found.len() {
            self.note(Weight::Detail, "the requests changed");
        }
    }

    pub(super) fn notebook(&mut self) {
        if Arc::ptr_eq(&self.before.run, &self.after.run) {
            return;
        }
        let (old, new) = (Arc::clone(&self.before.run), Arc::clone(&self.after.run));
        if old.status != new.status {
            let what = format!("run: {} → {}", old.status.word(), new.status.word());
            self.note(Weight::Main, what.replace('_', " "));
        }
        self.blocked(&old, &new);
        self.flight(&old, &new);
        let left = |run: &Run| run.measure.as_ref().and_then(|measure| measure.attempts.clone());
        if let (was, Some(is)) = (left(&old), left(&new))
            && was.as_ref() != Some(&is)
        {
            let is = is.as_str();
            let plural = if is == "1" { "" } else { "s" };
            self.note(Weight::Left, format!("{is} attempt{plural} left"));
        }
        self.other_keys(&old.node(), &new.node());
    }

    /// At one point of the control law only a person changes what is blocked.
    fn blocked(&mut self, old: &Run, new: &Run) {
        let (Some(old), Some(new)) = (&old.law, &new.law) else {
            return;
        };
        if old.point != new.point {
            return;
        }
        let only = |law: &LawRecord, other: &LawRecord| {
            let known = |one: &&BlockedRecord| other.blocked.iter().any(|two| two.is_about(one));
            let only = law.blocked.iter().filter(|one| !known(one));
            only.map(BlockedRecord::text).collect::<Vec<String>>()
        };
        for (what, texts) in
            [("not blocked any more", only(old, new)), ("blocked again", only(new, old))]
        {
            if !texts.is_empty() {
                self.note(Weight::Main, format!("{what}: {}", texts.join("; ")));
            }
        }
    }

    fn flight(&mut self, old: &Run, new: &Run) {
        for (word, these, others) in
            [("started", &new.in_flight, &old.in_flight), ("ended", &old.in_flight, &new.in_flight)]
        {
            let only = these.iter().filter(|one| others.iter().all(|other| other.id != one.id));
            for intent in only {
                let what = format!("attempt {} {word}", intent.n);
                self.note_of(&intent.atom, Weight::Detail, what);
            }
        }
    }

    fn other_keys(&mut self, old: &Node, new: &Node) {
        for key in keys(old, new) {
            let (was, is) = (old.get(&key), new.get(&key));
            if was.zip(is).is_some_and(|(was, is)| same(was, is)) {
                continue;
            }
            let short = |node: Option<&Node>| {
                let text = node.and_then(Node::as_str).unwrap_or("nothing");
                text.chars().take(COMMIT_CHARS).collect::<String>()
            };
            let what = match key.as_str() {
                "status" => continue,
                "head" => format!("result: {} → {}", short(was), short(is)),
                "started_from" if was.is_some() && is.is_some() => {
                    let commit =
                        |node: Option<&Node>| short(node.and_then(|one| one.get("commit")));
                    self.note(Weight::Main, format!("start: {} → {}", commit(was), commit(is)));
                    continue;
                }
                "in_flight" | "line" | "spent" | "measure" | "judged" | "started_from"
                | "agreed" | "verdicts" => {
                    format!("{}: changed", key.replace('_', " "))
                }
                _ => between(&key, was, is),
            };
            self.note(Weight::Detail, what);
        }
    }
}

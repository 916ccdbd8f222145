//! Digests by which a choice is known again in another run of a project: by what it is, and not by its id.
//!
//! Not here: contexts, which hold the ids and all that is upstream (`active`).

use alloc::{string::String, vec::Vec};

use super::{Graph, Ix, NodeKind};
use crate::id::Digest;

impl Graph {
    /// A digest of the specifications in a choice. Fragments of a planning step inside of it are left out: another run
    /// plans others.
    pub fn choice_digest(&self, choice: Ix) -> Digest {
        self.parts_digest(&[choice])
    }

    /// The same of several parts together, such as those of a fragment.
    pub fn parts_digest(&self, parts: &[Ix]) -> Digest {
        let mut text = String::new();
        let mut todo: Vec<(usize, Ix)> = parts.iter().rev().map(|x| (0, *x)).collect();
        while let Some((depth, x)) = todo.pop() {
            let vertex = self.vertex(x);
            let kind = match vertex.kind {
                NodeKind::Task => "task",
                NodeKind::Plan => "plan",
                NodeKind::All => "all",
                NodeKind::Any => "any",
            };
            text.push_str(&alloc::format!("{depth} {kind} {}\n", vertex.spec));
            if vertex.kind != NodeKind::Plan {
                todo.extend(vertex.kids.iter().rev().map(|kid| (depth + 1, *kid)));
            }
        }
        Digest::of(text.as_bytes())
    }

    /// A digest of the siblings among which is chosen, in any order; of a planning step its own.
    pub fn group_digest(&self, group: Ix) -> Digest {
        if self.vertex(group).kind == NodeKind::Plan {
            return self.choice_digest(group);
        }
        let kids = self.vertex(group).kids.iter();
        let mut digests: Vec<Digest> = kids.map(|kid| self.choice_digest(*kid)).collect();
        digests.sort();
        let texts: Vec<&str> = digests.iter().map(Digest::as_str).collect();
        Digest::of(texts.join("\n").as_bytes())
    }
}

//! Tools and targets that the control law blocks for planners, and a person allows again.
//!
//! Invariant: what failed before is no reason to block it again; a new failure is. Not here: when something is blocked
//! (`law::blocks`).

use super::draft::Draft;
use crate::doc::prelude::*;
use crate::{
    doc::Fault,
    state::{
        State,
        law::{BlockedRecord, LawRecord},
        record::CorrectionType,
    },
};

/// The rule of a text that names nothing that is blocked.
pub const NOT_BLOCKED: &str = "not-blocked";

const AT: &str = "/run/law/blocked";

/// The entries that a text names: by its own words, else the only one of that tool.
pub(super) fn named<'s>(state: &'s State, text: &str) -> Result<Vec<&'s BlockedRecord>, Fault> {
    let text = text.trim();
    let blocked = || state.run.law.iter().flat_map(|law| &law.blocked);
    let exact: Vec<&BlockedRecord> = blocked().filter(|one| one.text() == text).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let of_tool: Vec<&BlockedRecord> = blocked().filter(|one| one.tool == text).collect();
    let message = match of_tool.len() {
        1 => return Ok(of_tool),
        0 => format!("`{text}` is not blocked"),
        many => format!("`{text}` may be any of {many} that are blocked"),
    };
    let all: Vec<String> = blocked().map(BlockedRecord::text).collect();
    let hint = if all.is_empty() {
        "nothing is blocked".to_owned()
    } else {
        format!("blocked: {}", all.join("; "))
    };
    Err(Fault::at(NOT_BLOCKED, AT, message, Some(&hint)))
}

impl Draft<'_> {
    /// Takes entries out.
    pub(super) fn unblock(&mut self, wanted: &[BlockedRecord]) {
        let Some(law) = self.state.run.law.as_ref() else {
            return;
        };
        let is_wanted = |one: &&BlockedRecord| wanted.iter().any(|other| one.is_about(other));
        let gone: Vec<BlockedRecord> = law.blocked.iter().filter(is_wanted).cloned().collect();
        if gone.is_empty() {
            return;
        }
        if let Some(law) = Arc::make_mut(&mut self.state.run).law.as_mut() {
            gone.iter().for_each(|one| take_out(law, one));
        }
        let texts: Vec<String> = gone.iter().map(BlockedRecord::text).collect();
        let what = format!("not blocked any more: {}", texts.join("; "));
        self.correct(CorrectionType::Unblock, what).unblocked = gone;
    }

    /// Blocks as then what a person unblocked or blocked since. Gives what it touched.
    pub(super) fn block_as_in(&mut self, then: &State) -> Vec<BlockedRecord> {
        let newer = self.state.corrections.iter().skip(then.corrections.len());
        let touched: Vec<BlockedRecord> =
            newer.flat_map(|one| one.data.unblocked.iter().cloned()).collect();
        let (now, then) = (&self.state.run.law, &then.run.law);
        let is_in = |law: &Option<LawRecord>, one: &BlockedRecord| {
            let mut all = law.iter().flat_map(|law| &law.blocked);
            all.any(|known| known.is_about(one))
        };
        let is_other = |one: &BlockedRecord| is_in(now, one) != is_in(then, one);
        let mut other: Vec<BlockedRecord> = Vec::new();
        for one in touched {
            if is_other(&one) && !other.iter().any(|known| known.is_about(&one)) {
                other.push(one);
            }
        }
        for one in &other {
            let law = Arc::make_mut(&mut self.state.run).law.as_mut();
            match law {
                Some(law) if is_in(then, one) => law.blocked.push(one.clone()),
                Some(law) => take_out(law, one),
                None => {}
            }
        }
        other
    }
}

/// Takes an entry out with the failures that led to it.
fn take_out(law: &mut LawRecord, one: &BlockedRecord) {
    law.blocked.retain(|known| !known.is_about(one));
    let is_of_it = |failed: &BlockedRecord| {
        failed.tool == one.tool && (one.target.is_none() || failed.target == one.target)
    };
    law.failed.retain(|failed| !is_of_it(failed));
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{
        change::{Redirect, redirect},
        id::{Digest, Lineage, UnixMillis},
        law::blocks,
        plan,
        state::{
            check::Thousandths,
            law::{Directive, FailureMix, Gradient, LawPoint, Loss, SignedThousandths},
        },
    };

    fn pair(tool: &str, target: Option<&str>) -> BlockedRecord {
        BlockedRecord {
            tool: tool.into(),
            target: target.map(Into::into),
            pass: 1,
            because: None,
            atom: None,
            extra: Default::default(),
        }
    }

    fn point(directive: Directive) -> LawPoint {
        LawPoint {
            subject: Digest::of(b""),
            pass: 1,
            loss: Loss {
                d: Thousandths(1_000),
                p: Thousandths(0),
                omega: Thousandths(0),
                l: Thousandths(0),
                extra: Default::default(),
            },
            grad_d: SignedThousandths(0),
            grad_l: SignedThousandths(0),
            gradient: Gradient::Plateau,
            directive,
            prev_directive: None,
            failed_criterion: String::new(),
            failure_class: FailureMix::Mixed,
            rationale: String::new(),
            at: String::new(),
            extra: Default::default(),
        }
    }

    /// The blocked entries after that text was unblocked and another point was taken.
    fn after(blocked: &[BlockedRecord], text: &str, next: Directive) -> Vec<String> {
        let mut state = plan::read(b"{}").into_state(Lineage::new("one"));
        let failed = ["a", "b"].map(|target| pair("cargo test", Some(target)));
        Arc::make_mut(&mut state.run).law = Some(LawRecord {
            point: Some(point(Directive::Refine)),
            failed: failed.into(),
            blocked: blocked.to_vec(),
            ..LawRecord::default()
        });
        let order = Redirect { unblocked: Vec::from([text.to_owned()]), ..Redirect::default() };
        let done = redirect(&state, &order, None, "ada", UnixMillis(0)).expect("a change");
        let mut law = done.state.run.law.clone().expect("a law");
        assert_eq!(law.point, Some(point(Directive::Refine)));
        blocks::block(&mut law, &point(next));
        law.blocked.iter().map(BlockedRecord::text).collect()
    }

    #[test]
    fn what_failed_before_does_not_block_it_again() {
        let both = ["a", "b"].map(|target| pair("cargo test", Some(target)));
        let next = Directive::ChangePath;
        assert_eq!(after(&both, "cargo test a", next), ["cargo test b"]);
        let whole = [pair("cargo test", None)];
        let next = Directive::BreakSymmetry;
        assert_eq!(after(&whole, "cargo test", next), [""; 0]);
        // The other failure of the tool is still one.
        assert_eq!(after(&both, "cargo test a", next), ["cargo test b", "cargo test"]);
    }
}

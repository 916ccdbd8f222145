//! The record of an attempt's outcome, written before anything acts on it. After a crash the next
//! loop uses it instead of repeating the attempt.
//!
//! Invariant: a record that is torn or belongs to another intent is void as a whole.

use super::Outcome;
use crate::doc::prelude::*;
use crate::{
    doc::{self, Limits, Member, Node},
    id::Digest,
    state::{
        Intent, SideEffect,
        fields::{Extra, Findings, Writer},
    },
};

const SCHEMA: &str = "descent/outcome/3";
/// A report has 1 MiB at most, and escaping may make each byte six.
const LIMITS: Limits = Limits { bytes: 8 << 20, depth: 128, nodes: 200_000 };

/// For a longer attempt a sync is worth its cost, which is a hundredth of the attempt.
const LONG_MS: u64 = 1_000;

impl Outcome {
    /// Whether its record must survive a power cut, and not only this process: repeating the
    /// attempt would cost something. `is_paid`: a worker made it, or it is a planner. A short
    /// attempt that only changes its tree is repeated faster than synced.
    pub fn outlasts_power(&self, intent: &Intent, is_paid: bool) -> bool {
        is_paid || intent.effect != SideEffect::Tree || self.duration_ms >= LONG_MS
    }

    /// Its record, with its intent.
    pub fn record_text(&self, intent: &Intent) -> String {
        let mut to = Writer::default();
        to.text("schema", SCHEMA)
            .text("attempt", intent.id.as_str())
            .put("epoch", Node::uint(intent.epoch.0))
            .text("context", intent.context.as_str())
            .text("intent", intent.digest().as_str());
        to.put("outcome", self.node());
        let body = to.finish(&Extra::default());
        let digest = Digest::sha256(doc::canonical(&body).as_bytes());
        let mut members = body.into_members();
        members.push(Member::new("digest", Node::string(digest.as_str())));
        doc::write(&doc::Value::Object(members).into())
    }
}

/// Why a text is no record of this intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Void {
    #[error("it is torn")]
    Torn,
    #[error("it is of another attempt, epoch or context")]
    Foreign,
}

/// The recorded outcome of this very intent.
pub fn read(intent: &Intent, text: &[u8]) -> Result<Outcome, Void> {
    let parsed = doc::parse_bytes(text, &LIMITS);
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let members = node.as_ref().and_then(Node::as_object).ok_or(Void::Torn)?;
    let (seal, body): (Vec<Member>, Vec<Member>) =
        members.iter().cloned().partition(|member| member.key == "digest");
    let body: Node = doc::Value::Object(body).into();
    let digest = Digest::sha256(doc::canonical(&body).as_bytes());
    let sealed = seal.first().and_then(|member| member.node.as_str());
    if sealed != Some(digest.as_str()) {
        return Err(Void::Torn);
    }
    let value = |key: &str| body.get(key).and_then(Node::as_str);
    if value("schema") != Some(SCHEMA) || value("intent") != Some(intent.digest().as_str()) {
        return Err(Void::Foreign);
    }
    let mut found = Findings::default();
    let outcome = Outcome::read(body.get("outcome").ok_or(Void::Torn)?, "/outcome", &mut found);
    outcome.filter(|_| found.faults.is_empty()).ok_or(Void::Torn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::sync::Arc;

    use crate::{
        event::{AgentEnd, AgentLack, AgentReport, Clarity, Misfit, NotTaken, Product},
        id::{AgentName, AtomId, AttemptId, CommitId, Epoch, UnixMillis},
        judging::{CommandFacts, MissingTarget, PlanFacts},
        state::{Micros, Role, SideFile, Tokens, Usage, record::ToolCall},
        verdict::CommandEnd,
    };

    fn intent(epoch: u64, context: &str) -> Intent {
        Intent {
            id: AttemptId::new("A1.3"),
            atom: AtomId::new("A1"),
            context: Digest::sha256(context.as_bytes()),
            epoch: Epoch(epoch),
            effect: SideEffect::Tree,
            base: Some(CommitId::new("b")),
            role: Role::Worker,
            agent: Some(AgentName::new("claude")),
            at: "2026-01-01T00:00:00.000Z".into(),
            ..Intent::default()
        }
    }

    fn facts() -> PlanFacts {
        let lacking = CommandFacts {
            missing_program: Some("frob".into()),
            missing_target: Some(MissingTarget {
                words: "make x".into(),
                manifest: "Makefile".into(),
                makers: Vec::from(["Makefile".into()]),
            }),
        };
        PlanFacts {
            commands: [("frob; make x".into(), lacking)].into(),
            absent: ["a".into()].into(),
            present: ["b".into()].into(),
            has_setup: true,
            protected: ["tests/a".into()].into(),
            holding: Default::default(),
            unmatched: Vec::new(),
        }
    }

    fn outcome(how: CommandEnd, made: Option<Product>) -> Outcome {
        Outcome {
            how,
            may_pass: true,
            duration_ms: 12,
            excerpt: "a \"line\"\n\u{1}".into(),
            whole: Some(SideFile::of(b"a \"line\" and more")),
            last_line: Some("line".into()),
            stdout: Some("{\"atoms\": [\"é\"]}\n".into()),
            shell_faults: Vec::from([("/atoms/a".into(), "no glob".into())]),
            facts: facts(),
            report: Some(AgentReport {
                summary: "done".into(),
                value: Some(Node::from(doc::Value::Number("1.50".into()))),
                artifacts: Vec::from(["x".into()]),
                clarity: Clarity::Partial,
                has_failed: true,
                handoff: None,
                question: Some("which?".into()),
                options: Vec::from(["a".into()]),
                read_as: Vec::from(["`success` \"no\" as false".into()]),
                extra: Extra::default(),
            }),
            report_fault: None,
            misfits: Vec::from([Misfit { at: "/n".into(), message: "it is not \"one\"".into() }]),
            made,
            changed: Arc::new(Vec::from(["src/a.rs".into()])),
            not_taken: NotTaken {
                ignored: "target/ (ignored by git)".into(),
                others: "vendor (a repository of its own)".into(),
            },
            is_warm: true,
            usage: Usage {
                calls: 3,
                tokens: Tokens::new(1_000, 200, 30),
                cost: Some(Micros(120_001)),
                is_estimated: true,
                ..Usage::default()
            },
            tried: Vec::from([ToolCall::new("edit", "src/a.rs")]),
            agent_end: None,
            goes_on: true,
            extra: Extra::default(),
        }
    }

    fn text(intent: &Intent, outcome: Outcome) -> String {
        outcome.record_text(intent)
    }

    #[test]
    fn what_was_recorded_is_read_back_whole() {
        let intent = intent(4, "c");
        for (how, made) in [
            (CommandEnd::Exit(0), Some(Product::Commit(CommitId::new("c1")))),
            (CommandEnd::Exit(0), Some(Product::Unchanged)),
            (CommandEnd::Exit(0), Some(Product::Broken("no tree".into()))),
            (CommandEnd::Exit(3), None),
            (CommandEnd::Signal(9), None),
            (CommandEnd::TimedOut, None),
            (CommandEnd::NotRun("no shell".into()), None),
        ] {
            let before = outcome(how, made);
            let after = read(&intent, text(&intent, before.clone()).as_bytes()).unwrap();
            assert_eq!(alloc::format!("{before:?}").split("span").count(), {
                alloc::format!("{after:?}").split("span").count()
            });
            assert_eq!((&after.how, &after.made), (&before.how, &before.made));
            assert_eq!(after.changed, before.changed);
            assert_eq!(after.not_taken, before.not_taken);
            assert_eq!(text(&intent, after), text(&intent, before));
        }
    }

    #[test]
    fn the_end_of_an_agent_is_read_back_whole() {
        let intent = intent(4, "c");
        let lacking = |variable| AgentEnd::Unavailable {
            kind: AgentLack::Key,
            words: "no key".into(),
            variable,
        };
        for end in [
            AgentEnd::Done,
            AgentEnd::Refused("no".into()),
            AgentEnd::OutOfTurns("200".into()),
            AgentEnd::CutShort("max_answer".into()),
            AgentEnd::Silent { ms: 600_000 },
            AgentEnd::Protocol("no line".into()),
            AgentEnd::Limited { until: None },
            AgentEnd::Limited { until: Some(UnixMillis(1_800_000_000_000)) },
            lacking(None),
            lacking(Some("API_KEY".into())),
        ] {
            let mut before = outcome(CommandEnd::Exit(1), None);
            before.agent_end = Some(end);
            let after = read(&intent, text(&intent, before.clone()).as_bytes()).unwrap();
            assert_eq!(after.agent_end, before.agent_end);
            assert_eq!((after.usage, after.tried), (before.usage, before.tried));
        }
    }

    #[test]
    fn a_record_of_another_epoch_or_context_is_foreign() {
        let mine = intent(4, "c");
        for other in [intent(3, "c"), intent(4, "d")] {
            let recorded = text(&other, outcome(CommandEnd::Exit(0), None));
            assert_eq!(read(&mine, recorded.as_bytes()).unwrap_err(), Void::Foreign);
        }
    }

    #[test]
    fn what_is_paid_long_or_reaches_outside_outlasts_the_power() {
        let outlasts = |effect, duration_ms, is_paid| {
            let mut outcome = outcome(CommandEnd::Exit(0), None);
            outcome.duration_ms = duration_ms;
            let intent = Intent { effect, ..intent(1, "c") };
            outcome.outlasts_power(&intent, is_paid)
        };
        assert!(!outlasts(SideEffect::Tree, 999, false));
        assert!(outlasts(SideEffect::Tree, 1_000, false));
        assert!(outlasts(SideEffect::Tree, 0, true));
        for idempotent in [true, false] {
            assert!(outlasts(SideEffect::External { idempotent }, 0, false));
        }
    }

    #[test]
    fn a_record_that_lost_its_bytes_is_torn() {
        let length = text(&intent(4, "c"), outcome(CommandEnd::Exit(7), None)).len();
        for lost in [Vec::new(), alloc::vec![0; length], alloc::vec![b' '; length]] {
            assert_eq!(read(&intent(4, "c"), &lost).unwrap_err(), Void::Torn);
        }
    }

    #[test]
    fn a_record_cut_off_or_changed_anywhere_is_torn() {
        let mine = intent(4, "c");
        let recorded = text(&mine, outcome(CommandEnd::Exit(7), None));
        for cut in 0..recorded.trim_end().len() {
            assert_eq!(read(&mine, &recorded.as_bytes()[..cut]).unwrap_err(), Void::Torn);
        }
        let changed = recorded.replace("7", "0");
        assert_ne!(changed, recorded);
        assert_eq!(read(&mine, changed.as_bytes()).unwrap_err(), Void::Torn);
    }
}

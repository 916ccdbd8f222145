//! Measures the leaves of checks: exit code, match, number, digest (contract §3).
//!
//! Invariant: a failed measurement has the verdict `unknown`; it never passes or fails. Not here:
//! what a measurement means, and which leaf comes next (the core).

mod files;
#[cfg(test)]
mod tests;
mod text;

use std::{path::Path, time::Duration};

use descent_core::{
    state::{
        Leaf,
        check::{CommandLeaf, FileLeaf, NotCommandLeaf},
        fields::DurationText,
    },
    verdict::{CommandEnd, Measurement, MeasurementKind, Verdict, of_leaf},
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{self, Stopwatch},
    evidence::EvidenceKeeper,
    process::{self, Job, Programs, Reach, WholeOutput, environment::Environment},
};

use files::Wanted;
use text::Pattern;

/// Bytes of standard output that are kept for a search; longer output matches nothing.
const STDOUT_BYTES_MAX: usize = 16 << 20;

/// One command to measure.
struct CommandMeasure<'a> {
    command: &'a str,
    timeout: Option<&'a DurationText>,
    pattern: Option<&'a str>,
    number: Option<&'a str>,
}

/// The setting in which leaves are measured.
#[derive(Debug)]
pub struct MeasureContext<'a> {
    /// The directory.
    pub at: &'a Path,
    pub env: &'a Environment,
    pub programs: &'a dyn Programs,
    /// For leaves without a timeout of their own.
    pub timeout_default: Duration,
    pub mark: &'a str,
    pub cancel: &'a CancellationToken,
    /// Keeps an output that is longer than its excerpt, if the leaf does not pass.
    pub keep: Option<EvidenceKeeper<'a>>,
}

/// Measures one leaf; `None` if it was cancelled. The core reads the measurement of a leaf that no
/// machine decides as `unknown`.
pub async fn measure(leaf: &Leaf, bench: &MeasureContext<'_>) -> Option<Measurement> {
    match leaf {
        Leaf::Command(CommandLeaf { command, timeout, stdout_matches, number, .. }) => {
            let asked = CommandMeasure {
                command,
                timeout: timeout.as_ref(),
                pattern: stdout_matches.as_deref(),
                number: number.as_ref().map(|rule| rule.pattern.as_str()),
            };
            bench.command(leaf, asked).await
        }
        Leaf::NotCommand(NotCommandLeaf { command, timeout, .. }) => {
            let asked =
                CommandMeasure { command, timeout: timeout.as_ref(), pattern: None, number: None };
            bench.command(leaf, asked).await
        }
        Leaf::File(FileLeaf { path, contains, sha256 }) => {
            let (contains, sha256) = (contains.clone(), sha256.clone());
            bench.files(Wanted::File { path: path.clone(), contains, sha256 }).await
        }
        Leaf::NotFile(leaf) => {
            let path = leaf.path.clone();
            bench.files(Wanted::Nothing { path }).await
        }
        Leaf::Quality { .. } | Leaf::Assertion { .. } | Leaf::Newer(_) => {
            Some(unmeasured("no machine decides this", ""))
        }
    }
}

/// For a command that did not run, and for files that cannot be judged.
fn unmeasured(why: impl Into<String>, excerpt: &str) -> Measurement {
    let how = CommandEnd::NotRun(why.into());
    let what = MeasurementKind::Command { how, matched: None, number: None };
    Measurement { what, duration_ms: 0, excerpt: excerpt.to_owned(), whole: None }
}

impl MeasureContext<'_> {
    async fn command(&self, leaf: &Leaf, asked: CommandMeasure<'_>) -> Option<Measurement> {
        let compiled = (asked.pattern.map(Pattern::new).transpose())
            .and_then(|pattern| Ok((pattern, asked.number.map(Pattern::new).transpose()?)));
        let (pattern, number) = match compiled {
            Ok(compiled) => compiled,
            Err(why) => return Some(unmeasured(why, "")),
        };
        let is_searched = pattern.is_some() || number.is_some();
        let job = Job {
            command: self.env.command_in(asked.command, self.at),
            cwd: self.at.to_owned(),
            env: self.env.vars_in(self.at),
            timeout: asked.timeout.map_or(self.timeout_default, |d| Duration::from_millis(d.ms)),
            mark: self.mark.to_owned(),
            input: None,
            whole_stdout_bytes_max: if is_searched { STDOUT_BYTES_MAX } else { 0 },
            log: None,
            reach: Reach::Fenced { out: None },
        };
        let run = || self.programs.run(&job, self.cancel, Box::new(|_| ()));
        let ended = match process::start_patiently(self.cancel, run).await {
            Ok(ended) => ended,
            Err(error) => return Some(unmeasured(format!("{error} ({})", error.hint()), "")),
        };
        let how = match ended.how {
            process::JobEnd::Cancelled => return None,
            process::JobEnd::Exit(code) => CommandEnd::Exit(code),
            process::JobEnd::Signal(signal) => CommandEnd::Signal(signal),
            process::JobEnd::TimedOut => CommandEnd::TimedOut,
        };
        let excerpt = text::excerpt(&ended.output);
        let (matched, number) = search(ended.stdout, pattern, number).await;
        let mut seen = Measurement {
            what: MeasurementKind::Command { how, matched, number },
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            excerpt,
            whole: None,
        };
        if let Some(keep) = &self.keep
            && text::is_cut(&ended.output)
            && of_leaf(leaf, &seen) != Verdict::Pass
        {
            seen.whole = keep.keep(&ended.output.long());
        }
        Some(seen)
    }

    async fn files(&self, wanted: Wanted) -> Option<Measurement> {
        let mut watch = Stopwatch::start(clock::real());
        let (at, stop) = (self.at.to_owned(), self.cancel.child_token());
        let ends = stop.clone();
        let mut looking = tokio::task::spawn_blocking(move || files::measure(&at, &wanted, &ends));
        let looked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            looked = &mut looking => looked.unwrap_or_else(|_| Err("the look broke off".to_owned())),
            () = tokio::time::sleep(self.timeout_default) => Err("the look took too long".to_owned()),
        };
        // Ends a search that nobody waits for any more.
        stop.cancel();
        Some(match looked {
            Err(why) => unmeasured(why, ""),
            Ok(seen) => Measurement {
                what: MeasurementKind::Files { found: seen.found, fits: seen.fits },
                duration_ms: watch.lap_ms(),
                excerpt: seen.excerpt,
                whole: None,
            },
        })
    }
}

async fn search(
    stdout: Option<WholeOutput>,
    pattern: Option<Pattern>,
    number: Option<Pattern>,
) -> (Option<bool>, Option<f64>) {
    let Some(stdout) = stdout.filter(|whole| !whole.truncated) else {
        return (None, None);
    };
    let look = move || {
        let shown = text::without_escapes(&stdout.bytes);
        // A check may be about the colours.
        let has = |pattern: Pattern| pattern.is_match(&shown) || pattern.is_match(&stdout.bytes);
        (pattern.map(has), number.and_then(|number| number.sum(&shown)))
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

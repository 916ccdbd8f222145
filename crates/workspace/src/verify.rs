//! Measures the leaves of checks: exit code, match, number, digest (contract §3).
//!
//! Regular expressions match bytes, so an output need not be UTF-8. `^` and `$` match at the ends
//! of every line: `(?m)` is on, and `(?-m)` turns it off. The end of the last line begins no further line. A number is
//! written as in JSON or with a sign; thousands separators (`1,000`) are not allowed.
//!
//! Invariant: a failed measurement has the verdict `unknown`; it never passes or fails. Not here:
//! what a measurement means, and which leaf comes next (the core).

mod file_facts;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, path::Path, sync::LazyLock, time::Duration};

use descent_core::{
    state::{
        Leaf,
        check::{CommandLeaf, NotCommandLeaf},
        fields::DurationText,
    },
    verdict::{CommandEnd, Measurement, MeasurementKind, Verdict, of_leaf},
};
use regex::bytes::{Regex, RegexBuilder};
use tokio_util::sync::CancellationToken;

use descent_process::{
    self as process, Capture, Job, Programs, Reach, WholeOutput, environment::Environment,
};
use descent_store::evidence::EvidenceKeeper;
use descent_system::clock::{self, Stopwatch};

/// Bytes of standard output that are kept for a search; longer output matches nothing.
const STDOUT_BYTES_MAX: usize = 16 << 20;

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
            let number = number.as_ref().map(|rule| rule.pattern.as_str());
            let patterns = [stdout_matches.as_deref(), number];
            bench.command(leaf, command, timeout.as_ref(), patterns).await
        }
        Leaf::NotCommand(NotCommandLeaf { command, timeout, .. }) => {
            bench.command(leaf, command, timeout.as_ref(), [None; 2]).await
        }
        Leaf::File(_) | Leaf::NotFile(_) => bench.files(leaf.clone()).await,
        Leaf::Quality { .. } | Leaf::Assertion { .. } | Leaf::Newer(_) => {
            Some(unmeasured("no machine decides this"))
        }
    }
}

/// For a command that did not run, and for files that cannot be judged.
fn unmeasured(why: impl Into<String>) -> Measurement {
    let how = CommandEnd::NotRun(why.into());
    let what = MeasurementKind::Command { how, matched: None, number: None };
    Measurement { what, duration_ms: 0, excerpt: String::new(), whole: None }
}

impl MeasureContext<'_> {
    /// `patterns` are what is to be matched, and a number to be found.
    async fn command(
        &self,
        leaf: &Leaf,
        command: &str,
        timeout: Option<&DurationText>,
        patterns: [Option<&str>; 2],
    ) -> Option<Measurement> {
        let compiled = patterns.map(|text| text.map(Pattern::new).transpose());
        let (pattern, number) = match compiled {
            [Ok(pattern), Ok(number)] => (pattern, number),
            [Err(why), _] | [_, Err(why)] => return Some(unmeasured(why)),
        };
        let is_searched = pattern.is_some() || number.is_some();
        let job = Job {
            command: self.env.command_in(command, self.at),
            cwd: self.at.to_owned(),
            env: self.env.vars_in(self.at),
            timeout: timeout.map_or(self.timeout_default, |d| Duration::from_millis(d.ms)),
            mark: self.mark.to_owned(),
            input: None,
            whole_stdout_bytes_max: if is_searched { STDOUT_BYTES_MAX } else { 0 },
            log: None,
            reach: Reach::Fenced { out: None },
        };
        let run = || self.programs.run(&job, None, self.cancel, Box::new(|_| ()));
        let ended = match process::start_patiently(self.cancel, run).await {
            Ok(ended) => ended,
            Err(error) => return Some(unmeasured(format!("{error} ({})", error.hint()))),
        };
        let how = match ended.how {
            process::JobEnd::Cancelled => return None,
            process::JobEnd::Exit(code) => CommandEnd::Exit(code),
            process::JobEnd::Signal(signal) => CommandEnd::Signal(signal),
            process::JobEnd::TimedOut => CommandEnd::TimedOut,
        };
        let excerpt = excerpt(&ended.output);
        let (matched, number) = search(ended.stdout, pattern, number).await;
        let mut seen = Measurement {
            what: MeasurementKind::Command { how, matched, number },
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            excerpt,
            whole: None,
        };
        if let Some(keep) = &self.keep
            && is_cut(&ended.output)
            && of_leaf(leaf, &seen) != Verdict::Pass
        {
            seen.whole = keep.keep(&ended.output.long());
        }
        Some(seen)
    }

    async fn files(&self, leaf: Leaf) -> Option<Measurement> {
        let mut watch = Stopwatch::start(clock::real());
        let (at, stop) = (self.at.to_owned(), self.cancel.child_token());
        let ends = stop.clone();
        let mut looking =
            tokio::task::spawn_blocking(move || file_facts::measure(&at, &leaf, &ends));
        let looked = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            looked = &mut looking => looked.unwrap_or_else(|_| Err("the look broke off".to_owned())),
            () = tokio::time::sleep(self.timeout_default) => Err("the look took too long".to_owned()),
        };
        // Ends a search that nobody waits for any more.
        stop.cancel();
        Some(match looked {
            Err(why) => unmeasured(why),
            Ok(seen) => Measurement { duration_ms: watch.lap_ms(), ..seen },
        })
    }
}

async fn search(
    stdout: Option<WholeOutput>,
    pattern: Option<Pattern>,
    number: Option<Pattern>,
) -> (Option<bool>, Option<f64>) {
    let Some(stdout) = stdout.filter(|whole| !whole.truncated) else { return (None, None) };
    let look = move || {
        let shown = without_escapes(&stdout.bytes);
        // A check may be about the colours.
        let has = |pattern: Pattern| pattern.is_match(&shown) || pattern.is_match(&stdout.bytes);
        (pattern.map(has), number.and_then(|number| number.sum(&shown)))
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

const EXCERPT_BYTES_MAX: usize = 2048;
const HEAD_BYTES: usize = 600;
/// For the line between head and tail.
const GAP_BYTES: usize = 64;

#[derive(Debug)]
struct Pattern(Regex);

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(text).multi_line(true).build();
        let failed = |error: regex::Error| {
            let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            format!("'{text}' is no regular expression: {last}")
        };
        regex.map(Self).map_err(failed)
    }

    /// Whether it matches the bytes, or the same with each CRLF as LF.
    fn is_match(&self, bytes: &[u8]) -> bool {
        let has = |bytes: &[u8]| {
            let is_no_line = |at: usize| at > 0 && at == bytes.len() && bytes.ends_with(b"\n");
            let mut found = self.0.find_iter(bytes);
            found.any(|found| !is_no_line(found.start()))
        };
        has(bytes) || matches!(with_lf(bytes), Cow::Owned(bytes) if has(&bytes))
    }

    /// The sum of what the first group matched; `None` if it matched nothing, or anything that is
    /// no number.
    fn sum(&self, bytes: &[u8]) -> Option<f64> {
        let bytes = with_lf(bytes);
        let found = self.0.captures_iter(&bytes).filter_map(|captures| captures.get(1));
        let numbers = found.map(|found| number(found.as_bytes()));
        let sum = numbers.reduce(|sum, next| Some(sum? + next?))??;
        sum.is_finite().then_some(sum)
    }
}

static CRLF: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\r\n").ok());

/// Colours, other settings of a terminal, and links.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?-u)\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[(][0-9A-Z])";
    Regex::new(text).ok()
});

/// An output as a terminal shows it: a tool may colour it although nobody looks.
fn without_escapes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let escapes = ESCAPES.as_ref();
    escapes.map_or(bytes.into(), |escapes| escapes.replace_all(bytes, &b""[..]))
}

fn with_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    match CRLF.as_ref() {
        Some(crlf) => crlf.replace_all(bytes, &b"\n"[..]),
        None => bytes.into(),
    }
}

fn number(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    // Rust also reads "inf" and "nan".
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    text.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}

/// Whether an excerpt is shorter than the whole.
fn is_cut(output: &Capture) -> bool {
    output.total_bytes() > EXCERPT_BYTES_MAX as u64
}

/// At most 2 KiB: the whole output, or a short head and a longer tail, where failures are reported.
fn excerpt(output: &Capture) -> String {
    if !is_cut(output) {
        return output.excerpt(EXCERPT_BYTES_MAX);
    }
    let (head, tail) = (output.head(), output.tail());
    let head = &head[..head.floor_char_boundary(HEAD_BYTES)];
    let room = EXCERPT_BYTES_MAX - GAP_BYTES - head.len();
    let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room))..];
    let missing = output.total_bytes().saturating_sub((head.len() + tail.len()) as u64);
    format!("{head}\n… {missing} bytes left out …\n{tail}")
}

//! Everything that is printed goes through here: data on standard output, everything else on standard error.
//!
//! Invariant: text from outside reaches the terminal without control characters. A closed pipe is no error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // this is the door

pub mod area;
mod event;
mod graph;
mod issues;
mod patch;
mod report;
mod result;
mod status;
mod style;
mod text;
pub mod watch;
mod why;
mod work;

use std::{
    io::Write,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

pub use event::{describe as describe_event, describe_entry, event, log};
pub use graph::{graph, lines as graph_lines, mermaid};
pub use issues::{ADVICE, findings, findings_in_short, issue_count, issues};
pub use patch::{Bounds, carried, excerpt, patch};
pub use report::{html, junit, markdown};
pub use result::{judged, next_moves, result, row};
pub use status::{StatusNote, status};
pub use style::{Meaning, choose as choose_colour, of_help};
pub use text::{Line, Page};
pub use why::{StoryLine, why, worth_asking};
pub use work::{usage_of_agent, used as usage, work};

use descent_core::{doc::Node, state::limits, view::BoundView};

use descent_system::{
    failure::Failure,
    phrase::{
        age, ago, clean, count, cut, exact_json, json_text, length, line, listed, moment, passes,
        since, time, times, to_the_second, visible,
    },
    secrets,
};

use style::StandardStream;

/// Columns of a view that goes to no terminal.
const PIPE_WIDTH: usize = 110;
/// The least columns of a view, however narrow the terminal.
const WIDTH_MIN: usize = 30;

/// The output of a command and its volume.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
}

impl Out {
    /// Prints the data, byte for byte.
    pub fn raw(self, text: &str) {
        write(StandardStream::Output, text);
    }

    /// Prints the data, in lines.
    pub fn data(self, text: &str) {
        self.page(&Page::of(text));
    }

    pub fn page(self, page: &Page) {
        let is_coloured = is_coloured();
        let advised = if self.quiet { &page.without_advice() } else { page };
        let text = advised.text(is_coloured);
        if !text.is_empty() {
            write(StandardStream::Output, &text);
        }
    }

    /// Prints these lines, whole; without any nothing.
    pub fn lines(self, lines: impl IntoIterator<Item = Line>) {
        let mut page = Page::new(usize::MAX);
        page.extend(lines);
        self.page(&page);
    }

    /// The columns of a page.
    pub fn width(self) -> usize {
        let is_terminal = StandardStream::Output.is_terminal();
        let of_terminal = is_terminal.then(|| area::size_of(std::io::stdout())).flatten();
        of_terminal.map_or(PIPE_WIDTH, |(columns, _)| columns.max(WIDTH_MIN))
    }

    /// Prints data such as a patch unchanged: nothing is added or made visible.
    pub fn bytes(self, bytes: &[u8]) {
        let mut stdout = std::io::stdout();
        note_loss(stdout.write_all(bytes).and_then(|()| stdout.flush()));
    }

    pub fn json(self, value: &impl serde::Serialize) {
        let text = json_text(value);
        let at_place = PLACE.get().and_then(|_| {
            let mut value = serde_json::from_str(&text).ok()?;
            place_in(&mut value, false);
            Some(exact_json(&value))
        });
        write(StandardStream::Output, &at_place.unwrap_or(text));
    }

    /// Prints a message beside the data.
    pub fn say(self, text: &str) {
        if !self.quiet {
            print_aside(&Page::of(text));
        }
    }

    /// Prints a question whose answer is typed after it. Also printed with `--quiet`, because it is waited for.
    pub fn ask(self, text: &str) {
        let mut to = std::io::stderr();
        // If nobody reads it, nobody answers.
        let _ = to.write_all(clean(text).as_bytes()).and_then(|()| to.flush());
    }

    pub fn failure(self, failure: &Failure) {
        if self.json {
            self.json(&failure.output());
        }
        let mut page = Page::new(usize::MAX);
        let head = format!("error[{}]: ", failure.code);
        page.whole(Line::new().put(Meaning::Error, head).plain(&failure.message));
        let details = failure.details.iter().flat_map(|detail| detail.lines());
        details.for_each(|detail| page.whole(Line::indent(2).plain(detail)));
        page.next(&failure.hint);
        print_aside(&page);
    }
}

/// The keys of outputs that hold commands to type next.
const ADVICE_KEYS: [&str; 2] = ["hint", "next"];

/// The options by which a person named the place, and the commands that take them.
static PLACE: OnceLock<(String, Vec<String>)> = OnceLock::new();

/// Repeats these options in each command that is advised from now on.
pub fn advise_at(options: String, commands: Vec<String>) {
    let _ = PLACE.set((options, commands));
}

fn placed(advice: &str) -> String {
    let Some((options, commands)) = PLACE.get() else {
        return advice.to_owned();
    };
    let mut parts = advice.split("descent ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.split(|c: char| !c.is_ascii_lowercase()).next();
        text += "descent ";
        if commands.iter().any(|command| Some(command.as_str()) == word) {
            text += options;
        }
        text += part;
    }
    text
}

/// Places the advice in a value: the texts below a key of `ADVICE_KEYS`.
fn place_in(value: &mut serde_json::Value, is_advice: bool) {
    match value {
        serde_json::Value::String(text) if is_advice => *text = placed(text),
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(|item| place_in(item, is_advice));
        }
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                place_in(member, ADVICE_KEYS.contains(&key.as_str()));
            }
        }
        _ => {}
    }
}

fn print_aside(page: &Page) {
    let text = page.text(StandardStream::Errors.is_coloured());
    write(StandardStream::Errors, &text);
}

/// Whether standard output is coloured.
pub fn is_coloured() -> bool {
    StandardStream::Output.is_coloured()
}

/// Whether standard output is read by a person: it goes to a terminal, or is to be coloured as for one.
pub fn is_for_eyes() -> bool {
    StandardStream::Output.is_terminal() || is_coloured()
}

/// The output of tracing: above the live area, like everything else.
#[derive(Debug, Clone, Copy)]
pub struct TraceWriter;

impl Write for TraceWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut area = area::lock();
        area.erase();
        let written = std::io::stderr().write(bytes);
        // A line may come in pieces.
        if bytes.ends_with(b"\n") {
            area.draw();
        }
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Whether data could not be written although somebody still reads.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether data of this command was lost on its way.
pub fn data_was_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn write(to: StandardStream, text: &str) {
    let text = &*secrets::hide(text);
    let mut area = area::lock();
    if to.is_terminal() {
        area.erase();
    }
    let written = to.write(text);
    area.draw();
    note_loss(written);
}

fn note_loss(written: std::io::Result<()>) {
    // A reader that has gone wants no more.
    if written.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// The work that is left at most, in words.
#[derive(Debug)]
pub struct BoundWords {
    /// With those that changes of the plan may add.
    pub attempts: String,
    /// Questions to judges; empty without any.
    pub questions: String,
    /// The parts of limits that are kept for the final answer; empty without any.
    pub kept: String,
    /// Everything but attempts.
    rest: String,
    has_changes: bool,
}

impl BoundWords {
    pub fn of(bound: &BoundView) -> Self {
        let counts = [&bound.attempts, &bound.verdicts, &bound.starts].map(limits::plain);
        let changes = bound.changes.as_ref();
        let changes = changes.map(|more| (more.left, limits::plain(&more.attempts_each)));
        let words = Self::new(counts, changes, bound.consults.as_ref().map(limits::plain));
        let kept = [(bound.kept.model_calls, "model call"), (bound.kept.tokens, "token")];
        let kept = kept.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(n, what));
        match kept.collect::<Vec<String>>().join(" and ") {
            kept if kept.is_empty() => words,
            kept => Self { kept: format!("; {kept} kept for the final answer"), ..words },
        }
    }

    /// The counts are those of attempts, verdicts and starts; each change may add so many attempts.
    fn new(
        [attempts, verdicts, starts]: [String; 3],
        changes: Option<(u32, String)>,
        consults: Option<String>,
    ) -> Self {
        let mut attempts = count(attempts, "attempt");
        let has_changes = changes.is_some();
        if let Some((left, each)) = changes {
            let changes = count(left, "change");
            attempts +=
                &format!("; and up to {each} more for each of at most {changes} of the plan");
        }
        let questions = consults.map(|some| count(some, "question") + " to judging agents");
        let questions = questions.unwrap_or_default();
        let judges = event::behind(", ", &questions);
        let (verdicts, starts) = (count(verdicts, "verdict"), count(starts, "start"));
        Self {
            attempts,
            questions,
            kept: String::new(),
            rest: format!("{verdicts} ({starts} with retries{judges})"),
            has_changes,
        }
    }

    pub fn sentence(&self) -> String {
        let and = if self.has_changes { "; " } else { " and " };
        format!("ends after at most {}{and}{}{}", self.attempts, self.rest, self.kept)
    }
}

fn field<'n>(node: &'n Node, key: &str) -> &'n str {
    node.get(key).and_then(Node::as_str).unwrap_or("")
}

/// The members of a list.
fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_array).unwrap_or_default()
}

//! `descent memory`: the lessons of earlier runs of this project, to look at, change and forget.
//!
//! Not here: what a run learns, and what it is given (`ops::memory`).

use clap::{Args, Subcommand};
use descent_core::{
    id::LessonId,
    memory::counts,
    state::{Lesson, LessonKind},
};
use serde::Serialize;

use super::{ALIGN, Context, End, Failure, Line, Meaning, Page, clock, phrase, runtime};
use descent_engine::ops::memory::{self, ProjectLessons};

/// Columns of an id, of a kind and of an age.
const ID_WIDTH: usize = 6;
const KIND_WIDTH: usize = 10;
const AGE_WIDTH: usize = 10;

#[derive(Debug, Args)]
#[command(
    long_about = "The lessons of earlier runs of this project: which choices stand in a result for which the base case held, and which failed for good.\n\nThey change the order in which choices are tried, and are told to planners and workers; they exclude nothing. They lie outside of the repository, for this account alone. `run --no-memory` and the constraint memory=off do without."
)]
pub struct MemoryArgs {
    #[command(subcommand)]
    action: Option<MemoryAction>,
}

#[derive(Debug, Subcommand)]
enum MemoryAction {
    /// List the lessons (without a word, too)
    List,
    /// Forget one lesson
    Forget {
        /// Such as m12
        id: String,
    },
    /// Forget all lessons
    Clear {
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// Lessons of earlier runs: `descent memory --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct MemoryOutput<'a> {
    schema: &'static str,
    result: MemoryResult,
    /// The file of the lessons; there may be none.
    path: String,
    /// All lessons; those that are left.
    lessons: Vec<LessonOutput<'a>>,
    /// How many lessons were forgotten.
    forgotten: usize,
    next: &'a str,
}

#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum MemoryResult {
    Listed,
    Forgotten,
}

/// A lesson of earlier runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LessonOutput<'a> {
    #[serde(flatten)]
    lesson: &'a Lesson,
    /// Whether runs are given it: a failure counts from the second run on that saw it.
    counts: bool,
}

pub(super) fn memory(context: &Context, flags: MemoryArgs) -> Result<End, Failure> {
    let project = context.top()?;
    match flags.action.unwrap_or(MemoryAction::List) {
        MemoryAction::List => {
            let known = listed(context, memory::list(&project)?);
            tell(context, &known, MemoryResult::Listed, 0, |page| list(page, &known));
        }
        MemoryAction::Forget { id } => {
            let id = LessonId::new(id);
            listed(context, memory::list(&project)?);
            memory::forget(&project, &id)?;
            let known = memory::list(&project)?;
            let words = format!("{id} is forgotten");
            tell(context, &known, MemoryResult::Forgotten, 1, |page| page.push(Line::of(words)));
        }
        MemoryAction::Clear { yes } => return clear(context, &project, yes),
    }
    Ok(End::Code(0))
}

fn clear(context: &Context, project: &std::path::Path, yes: bool) -> Result<End, Failure> {
    let known = listed(context, memory::list(project)?);
    if !yes && !known.lessons.is_empty() {
        let lessons = phrase::count(known.lessons.len(), "lesson");
        let question = format!("forget {lessons} of {}?", project.display());
        if !context.may_ask || !runtime()?.block_on(context.consents(&question)) {
            let hint = "descent memory clear -y does it without asking";
            return Err(Failure::usage("nothing was forgotten", hint));
        }
    }
    let count = memory::clear(project)?;
    let words = format!("{} forgotten", phrase::count(count, "lesson"));
    let left = memory::list(project)?;
    tell(context, &left, MemoryResult::Forgotten, count, |page| page.push(Line::of(words)));
    Ok(End::Code(0))
}

/// Tells what could not be used before what could.
fn listed(context: &Context, known: ProjectLessons) -> ProjectLessons {
    let note = known.note.iter();
    note.for_each(|note| context.out.say(&format!("warning: {}", phrase::clean(note))));
    known
}

fn tell(
    context: &Context,
    known: &ProjectLessons,
    result: MemoryResult,
    forgotten: usize,
    words: impl FnOnce(&mut Page),
) {
    let next = match known.lessons.first() {
        Some(_) => "descent memory forget ID",
        None if matches!(context.place(), Ok(None)) => ALIGN,
        None => "descent run",
    };
    let output = |lesson| LessonOutput { lesson, counts: counts(lesson) };
    let output = MemoryOutput {
        schema: "descent/memory/1",
        result,
        path: known.path.display().to_string(),
        lessons: known.lessons.iter().map(output).collect(),
        forgotten,
        next,
    };
    context.answer_page(&output, || {
        let mut page = Page::new(context.out.width());
        words(&mut page);
        page.next(next);
        page
    });
}

fn list(page: &mut Page, known: &ProjectLessons) {
    if known.lessons.is_empty() {
        page.push(Line::of("nothing is remembered of earlier runs of this project"));
    }
    for one in &known.lessons {
        let age = phrase::since(&one.last, clock::now()).map(phrase::age);
        let age = age.map_or_else(String::new, |age| format!("{age} ago"));
        let (meaning, word) = match one.kind {
            LessonKind::MustNot => (Meaning::Fail, "must not"),
            LessonKind::Prefer => (Meaning::Pass, "prefer"),
            LessonKind::Note => (Meaning::Plain, "note"),
        };
        let (meaning, until) = match counts(one) {
            true => (meaning, ""),
            false => (Meaning::Dim, "; counts when one more run sees it"),
        };
        let head = Line::new().strong(one.id.as_str()).pad(ID_WIDTH);
        let head = head.put(meaning, word).pad(ID_WIDTH + KIND_WIDTH);
        let left = ID_WIDTH + KIND_WIDTH + AGE_WIDTH;
        let head = head.dim(age).pad(left);
        page.push(head.plain(&one.lesson));
        page.push(Line::indent(left).dim(&one.because).dim(until));
    }
}

//! `descent report`: the whole run as one text, for a pull request, a CI, a program or a browser.
//!
//! Invariant: it only reads the state, so that it may run beside a loop, and the same state gives the same bytes. Not
//! here: what a report says (`view` of the core), its formats (`render`).

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use descent_core::{
    view::report::{self, Report},
    world::World,
};

use super::{End, audit, context::Context};
use crate::{
    failure::{Failure, exit, lack_of},
    files::{self, Odd},
    ops,
    render::{self, Line, Page},
    secrets,
    store::StatePlace,
};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// How it is written: Markdown, or as --json does, or for the test view of a CI, or for a browser [default: md]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Write it to this file, whatever file is there
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only what a person should know of the run: it moves without coming nearer, a tool fails again and again, a judge or a lesson was wrong
    #[arg(long, conflicts_with_all = ["format", "output"])]
    audit: bool,
    /// With --audit: exit with 1 if there is a finding
    #[arg(long, requires = "audit")]
    exit_code: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Md,
    Json,
    Junit,
    Html,
}

pub(super) fn report(context: &Context, flags: &ReportArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    if flags.audit {
        let report = ops::audit::audit(&store, &World::new(loaded.state.clone()));
        return Ok(audit::print(context, &report, flags.exit_code));
    }
    let seen = ops::seen(&context.client(None), &store, &loaded);
    let report = report::report(&World::new(seen.state));
    let format = match (flags.format, context.out.json) {
        (Some(format), _) => format,
        (None, true) => ReportFormat::Json,
        (None, false) => ReportFormat::Md,
    };
    let file = flags.output.as_deref().filter(|file| *file != Path::new("-"));
    if let Some(file) = file {
        let path = context.dir.join(file);
        write(store.place(), &path, &written(&report, format))?;
        tell(context, &report, &path);
    } else if context.out.json {
        context.out.json(&report);
    } else {
        context.out.raw(&written(&report, format));
    }
    Ok(End::Code(0))
}

/// Without the last line feed.
fn written(report: &Report, format: ReportFormat) -> String {
    let text = match format {
        ReportFormat::Md => render::markdown(report),
        ReportFormat::Json => return render::json_text(report),
        ReportFormat::Junit => render::junit(report),
        ReportFormat::Html => render::html(report),
    };
    secrets::hide(&text).into_owned()
}

fn write(place: &StatePlace, path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    let refused = |why: String| {
        let message = format!("the report cannot be written to {shown}: {why}");
        let hint = "name another file: descent report -o FILE; or let the shell write it: descent report > FILE";
        Failure::new("E-IO", exit::IO, message, hint)
    };
    if place.holds(path) {
        return Err(refused("that is the state, or a file of descent's own beside it".to_owned()));
    }
    files::write_named(path, format!("{text}\n").as_bytes()).map_err(|error| {
        let why = match Odd::of(&error) {
            Some(odd) => format!("it {}", odd.what),
            None => error.to_string(),
        };
        refused(why).lacking(lack_of(&error))
    })
}

/// A program that asked for JSON gets the report itself too.
fn tell(context: &Context, report: &Report, path: &Path) {
    if context.out.json {
        return context.out.json(report);
    }
    let mut page = Page::new(usize::MAX);
    page.whole(Line::of(format!("written: {}", path.display())));
    if let Some(next) = report.next.first() {
        page.next(next);
    }
    context.out.page(&page);
}

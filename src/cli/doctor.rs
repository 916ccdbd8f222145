//! `descent doctor`: the diagnosis of this machine, and the next command. `descent clean`: removes the leftovers of ended
//! runs, and names those that it keeps.

use clap::Args;
use serde::Serialize;

use super::{ALIGN, Context, End, Failure, Line, Meaning, Page, exit, phrase};
use descent_engine::ops::{
    self,
    clean::CleanReport,
    doctor::{Finding, Health, diagnose},
};
use descent_process::programs;
use descent_store::StatePlace;
use descent_workspace::{Leftover, LeftoverPlace};

/// Columns of the page.
const WIDTH: usize = 80;
/// Columns of the names.
const NAME_WIDTH: usize = 15;
/// Agents that are named at most as those that cannot work.
const NAMES_MAX: usize = 3;

/// The fitness of the machine: `descent doctor --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DoctorOutput {
    schema: &'static str,
    /// Nothing is missing or unusable that a run needs.
    can_run: bool,
    place: String,
    findings: Vec<Finding>,
    next: &'static str,
}

pub(super) fn doctor(context: &Context) -> Result<End, Failure> {
    let place = match context.place()? {
        Some(place) => place,
        None => StatePlace::at(&context.top()?, context.state.as_deref()),
    };
    let findings = diagnose(&place, &*programs::real());
    let can_run = !findings.iter().any(|one| is_bad(one.health));
    let output = DoctorOutput {
        schema: "descent/doctor/1",
        can_run,
        place: place.project.display().to_string(),
        findings,
        next: match (can_run, place.state.exists()) {
            (false, _) => "descent doctor",
            (true, true) => "descent status",
            (true, false) => ALIGN,
        },
    };
    context.answer_page(&output, || page(&output));
    Ok(End::Code(if can_run { 0 } else { exit::UNAVAILABLE }))
}

fn is_bad(health: Health) -> bool {
    matches!(health, Health::Missing | Health::Unusable)
}

fn page(output: &DoctorOutput) -> Page {
    let mut page = Page::new(WIDTH);
    let findings = &output.findings;
    findings.iter().for_each(|finding| row(&mut page, finding));
    page.gap();
    let bad = findings.iter().filter(|one| is_bad(one.health));
    let bad: Vec<&str> = bad.map(|one| one.name.as_ref()).collect();
    let refused = match bad.iter().all(|name| name.starts_with("agent ")) {
        true => format!("{} cannot work here, all else can", phrase::listed(&bad, NAMES_MAX)),
        false => "descent cannot run here".to_owned(),
    };
    let degraded = findings.iter().filter(|one| one.health == Health::Degraded).count();
    let things = |n: usize| phrase::count(n, "thing");
    let (meaning, words) = match (bad.len(), degraded) {
        (0, 0) => (Meaning::Pass, "descent can run here".to_owned()),
        (0, n) => (Meaning::Pass, format!("descent can run here; {} could be better", things(n))),
        (n, _) => (Meaning::Fail, format!("{refused}: {} to mend, then look again", things(n))),
    };
    page.prose(Line::new(), meaning, &words);
    page.next(output.next);
    page
}

fn row(page: &mut Page, finding: &Finding) {
    let (meaning, mark) = match finding.health {
        Health::Ok => (Meaning::Pass, "ok"),
        Health::Degraded => (Meaning::Unknown, "degraded"),
        Health::Unusable => (Meaning::Fail, "unusable"),
        Health::Missing => (Meaning::Fail, "missing"),
    };
    let head = Line::new()
        .plain(finding.name.as_ref())
        .pad(NAME_WIDTH)
        .put(meaning, mark)
        .pad(NAME_WIDTH + 10);
    let left = head.width();
    page.wrapped(head, Meaning::Plain, &finding.found, 3);
    if let Some(means) = finding.means {
        page.wrapped(Line::indent(left), Meaning::Dim, means, 3);
    }
    if let Some(mend) = &finding.mend {
        let to = Line::indent(left).dim("mend: ");
        // A command that is to be typed is not broken.
        if to.width() + mend.len() <= WIDTH {
            page.whole(to.put(Meaning::Next, mend));
        } else {
            page.wrapped(to, Meaning::Next, mend, 3);
        }
    }
}

#[derive(Debug, Args)]
#[command(
    long_about = "Remove what ended runs left: workspaces in the cache, repositories beside the state that no state names any more, and references to your commits that runs started from.\n\nOf a run whose state is in place only workspaces go, where it has ended and its result was applied: they are made anew when they are needed. A run that was archived before its result was applied is kept and named; --unapplied removes it too."
)]
pub struct CleanArgs {
    /// Show what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Also remove results that were not applied, and states that a run saved when its directory went
    #[arg(long)]
    unapplied: bool,
}

/// The leftovers of ended runs: `descent clean --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CleanOutput<'a> {
    schema: &'static str,
    /// Nothing was removed.
    dry_run: bool,
    /// The leftovers that go, by lineage.
    removed: &'a [Leftover],
    /// The leftovers that stay, because their results were not applied.
    kept: &'a [Leftover],
    /// The size on the disk of all that goes.
    bytes: u64,
    next: &'static str,
}

pub(super) fn clean(context: &Context, flags: &CleanArgs) -> Result<End, Failure> {
    let found = context.place()?;
    let is_agreed = found.is_some();
    let place = found.unwrap_or_else(|| StatePlace::at(&context.dir, context.state.as_deref()));
    let report = ops::clean::clean(&place, flags.unapplied, flags.dry_run)?;
    let next = after_clean(flags, &report, is_agreed);
    let output = CleanOutput {
        schema: "descent/clean/1",
        dry_run: flags.dry_run,
        removed: &report.removed,
        kept: &report.kept,
        bytes: report.bytes,
        next,
    };
    if !context.out.json && !flags.dry_run && context.out.quiet {
        return Ok(End::Code(0));
    }
    Ok(context.answer(&output, || format!("{}\nnext: {next}", clean_text(flags, &report, &place))))
}

fn clean_text(flags: &CleanArgs, report: &CleanReport, place: &StatePlace) -> String {
    let mut text = String::new();
    let done = if flags.dry_run { "removable" } else { "removed" };
    for left in report.removed.iter().flat_map(|one| &one.left) {
        let what = match left {
            LeftoverPlace::Trees(dir) => format!("workspaces  {}", dir.display()),
            LeftoverPlace::Repository(dir) => format!("repository  {}", dir.display()),
            LeftoverPlace::References(name) => format!("references  {name}/*"),
        };
        text += &format!("{done:<9} {what}\n");
    }
    for one in &report.kept {
        let project = one.project.as_deref().unwrap_or(&place.project);
        let (lineage, project) = (&one.lineage, project.display());
        let why = match &one.saved_state {
            Some(path) => format!("its state was saved as {}", path.display()),
            None => "its result was not applied".to_owned(),
        };
        text += &format!("kept      {lineage}, of {project}: {why}\n");
    }
    if report.removed.is_empty() {
        return text + "nothing is left of ended runs that could be removed";
    }
    let runs = phrase::count(report.removed.len(), "ended run");
    let verb = if flags.dry_run { "would be" } else { "was" };
    let size = (report.bytes > 0).then(|| format!(", {}", phrase::megabytes(report.bytes)));
    text + &format!("what {runs} left {verb} removed{}", size.unwrap_or_default())
}

fn after_clean(flags: &CleanArgs, report: &CleanReport, is_agreed: bool) -> &'static str {
    let is_left = flags.dry_run && !report.removed.is_empty();
    match (is_left, report.kept.is_empty()) {
        (true, _) if flags.unapplied => "descent clean --unapplied",
        (true, _) => "descent clean",
        (false, false) => "descent clean -n --unapplied",
        (false, true) if is_agreed => "descent status",
        (false, true) => ALIGN,
    }
}

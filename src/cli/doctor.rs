//! `descent doctor`: the diagnosis of this machine as a page or JSON, and the next command.

use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    ops::doctor::{Finding, Health, diagnose},
    process::programs,
    render::{Line, Meaning, Page},
    store::StatePlace,
};

/// Columns of the page.
const WIDTH: usize = 80;
/// Columns of the names.
const NAME_WIDTH: usize = 15;

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
    let count = |is_meant: fn(Health) -> bool| {
        let meant = findings.iter().filter(|one| is_meant(one.health));
        meant.count()
    };
    let missing = count(is_bad);
    let degraded = count(|health| health == Health::Degraded);
    let next = if missing > 0 {
        "descent doctor"
    } else if place.state.exists() {
        "descent status"
    } else {
        "descent align --help"
    };
    let output = DoctorOutput {
        schema: "descent/doctor/1",
        can_run: missing == 0,
        place: place.project.display().to_string(),
        findings,
        next,
    };
    context.answer_page(&output, || page(&output.findings, missing, degraded, next));
    let code = if missing == 0 { 0 } else { exit::UNAVAILABLE };
    Ok(End::Code(code))
}

fn is_bad(health: Health) -> bool {
    matches!(health, Health::Missing | Health::Unusable)
}

fn page(findings: &[Finding], missing: usize, degraded: usize, next: &str) -> Page {
    let mut page = Page::new(WIDTH);
    for finding in findings {
        row(&mut page, finding);
    }
    page.gap();
    let things = |n: usize| if n == 1 { "thing" } else { "things" };
    let mut bad = findings.iter().filter(|one| is_bad(one.health));
    let refused = if bad.all(|one| one.name.starts_with("agent ")) {
        "no agent can run here, shell steps can"
    } else {
        "descent cannot run here"
    };
    page.push(match (missing, degraded) {
        (0, 0) => Line::new().put(Meaning::Pass, "descent can run here"),
        (0, n) => Line::new()
            .put(Meaning::Pass, "descent can run here")
            .plain(format!("; {n} {} could be better", things(n))),
        (n, _) => Line::new()
            .put(Meaning::Fail, refused)
            .plain(format!(": {n} {} to mend, then look again", things(n))),
    });
    page.next(next);
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

//! `descent doctor`: the abilities of the machine, tried in the very places that a run uses, with their consequences
//! and remedies. It works without a state too, and leaves nothing behind.

mod disk;
mod machine;
mod tools;

pub(super) use disk::size;
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    failure::{Failure, exit},
    render::{Line, Meaning, Page},
    store::StatePlace,
};

/// Columns of the page.
const WIDTH: usize = 80;
/// Columns of the names.
const NAME_WIDTH: usize = 15;

/// The state of one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Ok,
    /// A run works without it, or with a part of it.
    Degraded,
    /// No run works without it.
    Missing,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    name: &'static str,
    health: Health,
    /// The observation.
    found: String,
    /// Its consequence, if something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    means: Option<&'static str>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            health: Health::Ok,
            found: found.into(),
            means: None,
            mend: None,
        }
    }

    fn degraded(name: &'static str, found: impl Into<String>, means: &'static str) -> Self {
        Self {
            health: Health::Degraded,
            means: Some(means),
            ..Self::ok(name, found)
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, means: &'static str) -> Self {
        Self {
            health: Health::Missing,
            ..Self::degraded(name, found, means)
        }
    }

    fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }
}

pub(super) fn doctor(context: &Context) -> Result<End, Failure> {
    let place = context
        .place()?
        .unwrap_or_else(|| StatePlace::at(&context.dir, context.state.as_deref()));
    let findings: Vec<Finding> = [
        disk::findings(&place),
        tools::findings(&place),
        machine::findings(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let worst = |health| findings.iter().filter(|one| one.health == health).count();
    let (missing, degraded) = (worst(Health::Missing), worst(Health::Degraded));
    let next = if missing > 0 {
        "descent doctor"
    } else if place.state.exists() {
        "descent status"
    } else {
        "descent align --help"
    };
    if context.out.json {
        context.out.json(&serde_json::json!({
            "schema": "descent/doctor/1",
            "can_run": missing == 0,
            "place": place.project.display().to_string(),
            "findings": findings,
            "next": next,
        }));
    } else {
        context
            .out
            .page(&page(&findings, (missing, degraded), next));
    }
    let code = if missing == 0 { 0 } else { exit::UNAVAILABLE };
    Ok(End::Code(code))
}

fn page(findings: &[Finding], (missing, degraded): (usize, usize), next: &str) -> Page {
    let mut page = Page::new(WIDTH);
    for finding in findings {
        row(&mut page, finding);
    }
    page.gap();
    let things = |n: usize| if n == 1 { "thing" } else { "things" };
    page.push(match (missing, degraded) {
        (0, 0) => Line::new().put(Meaning::Pass, "descent can run here"),
        (0, n) => Line::new()
            .put(Meaning::Pass, "descent can run here")
            .plain(format!("; {n} {} could be better", things(n))),
        (n, _) => Line::new()
            .put(Meaning::Fail, "descent cannot run here")
            .plain(format!(": {n} {} to mend, then look again", things(n))),
    });
    page.next(next);
    page
}

fn row(page: &mut Page, finding: &Finding) {
    let (meaning, mark) = match finding.health {
        Health::Ok => (Meaning::Pass, "ok"),
        Health::Degraded => (Meaning::Unknown, "degraded"),
        Health::Missing => (Meaning::Fail, "missing"),
    };
    let head = Line::new()
        .plain(finding.name)
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

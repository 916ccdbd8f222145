//! Verdicts and ratings in words.

use descent_core::{
    event::Event,
    law as control_law,
    state::{JudgedBy, Role, record::CorrectionType},
    verdict::Verdict,
};

use super::{NAMES_MAX, taken};
use crate::render::{count, law::arrow, line, listed};

pub(super) fn answered(event: &Event) -> String {
    let Event::Consulted { role, agent, about, ms, score, holds, because, .. } = event else {
        return String::new();
    };
    let (about, because, ms) = (line(about), line(because), taken("in", Some(*ms)));
    match score {
        Some(score) => {
            let verdict = match holds {
                Some(true) => "enough",
                Some(false) | None => "too little",
            };
            format!("{about}: {score}, {verdict} ({agent}{ms}): {because}")
        }
        None if *role == Role::Judge => {
            format!("{about}: no rating ({agent}{ms}): {because}")
        }
        None if because.is_empty() => format!("{about} ({agent}{ms})"),
        None => format!("{about}: of no use ({agent}{ms}): {because}"),
    }
}

/// A plan that was looked at: advice, not proof.
pub(super) fn plan_judged(event: &Event) -> String {
    let Event::Judged { atom, by, agent, high, medium, low, unplaced, again, because } = event
    else {
        return String::new();
    };
    let counts = [(high, "high"), (medium, "medium"), (low, "low")].map(|(count, word)| {
        let is_some = *count > 0;
        is_some.then(|| format!("{count} {word}"))
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let issues = match high + medium + low {
        0 => "no issue was found".to_owned(),
        all => format!("{} ({})", count(all, "issue"), counts.join(", ")),
    };
    if *by == JudgedBy::Nobody {
        let found = match high + medium + low {
            0 => String::new(),
            _ => format!("; by rules {issues}"),
        };
        return format!("the plan of {atom}: not judged by a model: {}{found}", line(because));
    }
    let by = match (by, agent) {
        (JudgedBy::Model, Some(agent)) => format!("by rules and {agent}"),
        _ => "by rules".to_owned(),
    };
    let again = if *again { "; it is planned again before anything of it is tried" } else { "" };
    let beside = match unplaced {
        0 => String::new(),
        n => format!(", and {} of nothing in it", count(n, "issue")),
    };
    format!("the plan of {atom}: {issues}{beside}, {by}{again}")
}

pub(super) fn checked(event: &Event) -> String {
    let Event::BaseCase { verdict, awaits, again, open, held, of, unmeasured, to_rate, .. } = event
    else {
        return String::new();
    };
    if let Some(what) = awaits {
        return format!("all else holds; a person decides: {}", line(what));
    }
    if let Some(what) = again {
        let what = line(what);
        return format!("the base case could not be decided by: {what}; it is asked again");
    }
    if let Some(what) = to_rate {
        return format!("all else holds; a judge rates at the end: {}", line(what));
    }
    let mut text = format!("the base case {}", holds(*verdict));
    if let (Some(held), Some(of), Verdict::Fail) = (held, of, verdict) {
        let rest = unmeasured.map(|rest| format!(", {rest} not measured"));
        let rest = rest.unwrap_or_default();
        text += &format!(" ({held} of {}{rest})", count(*of, "check"));
    }
    if !open.is_empty() {
        text += &format!("; still open: {}", listed(open, NAMES_MAX));
    }
    text
}

fn holds(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "holds",
        Verdict::Fail => "does not hold yet",
        Verdict::Unknown => "could not be decided; it is asked again",
    }
}

/// A pass that was looked at: advice, not proof.
pub(super) fn assessed(event: &Event) -> String {
    let Event::Assessed { agent, converged, codes, because } = event else {
        return String::new();
    };
    let codes = codes.join(", ");
    match converged {
        None => format!("not assessed by a model: {} ({codes})", line(because)),
        Some(true) => format!("{agent} sees nothing missing ({codes}), advice"),
        Some(false) => format!("{agent} finds that it did not converge ({codes}), advice"),
    }
}

pub(super) fn law_point(event: &Event) -> String {
    let Event::Law { d, p, omega, l, gradient, grad_d, directive, because, .. } = event else {
        return String::new();
    };
    let change = grad_d.as_ref();
    let change = change.map(|change| format!(" {} {change}", arrow(*gradient)));
    let change = change.unwrap_or_default();
    format!(
        "D {d}{change}  P {p}  Ω {omega}  L {l}  {}: {}; {}",
        directive.word(),
        control_law::meaning(*directive),
        line(because)
    )
}

/// A correction, in a word.
pub(super) fn correction(kind: Option<CorrectionType>) -> &'static str {
    match kind {
        Some(CorrectionType::Confirmation) => "answered",
        Some(CorrectionType::Resolution) => "resolved",
        Some(CorrectionType::Undo) => "undone",
        Some(CorrectionType::Guidance) => "guided",
        Some(CorrectionType::Unblock) => "unblocked",
        Some(
            CorrectionType::ObjectiveChange
            | CorrectionType::DagAdjustment
            | CorrectionType::ConstraintChange
            | CorrectionType::StartChange
            | CorrectionType::BindingsOverride,
        )
        | None => "edited",
    }
}

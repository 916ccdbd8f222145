//! Verdicts and ratings in words.

use descent_core::{event::Event, verdict::Verdict};

use super::{NAMES_MAX, names, taken};
use crate::render::{count, line, listed};

pub(super) fn answered(event: &Event) -> String {
    let Event::Consulted {
        agent,
        about,
        ms,
        score,
        holds,
        because,
        ..
    } = event
    else {
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
        None => format!("{about}: no rating ({agent}{ms}): {because}"),
    }
}

pub(super) fn checked(event: &Event) -> String {
    let Event::BaseCase {
        verdict,
        awaits,
        again,
        open,
        held,
        of,
        unmeasured,
        to_rate,
        ..
    } = event
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
        text += &format!("; still open: {}", listed(&names(open), NAMES_MAX));
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

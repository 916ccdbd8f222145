//! Plans, verdicts and ratings in words.

use descent_core::{
    event::Event,
    law as control_law,
    state::{
        JudgedBy, Question,
        record::{CorrectionType, ReplanPlace},
    },
    verdict::Verdict,
};

use super::{NAMES_MAX, behind, taken};
use crate::render::{
    count,
    issues::{arrow, by_severity},
    line, listed,
};

/// The events about plans, verdicts and ratings; `event::describe` has the others.
pub(super) fn describe(event: &Event) -> (&'static str, String) {
    match event {
        Event::Consulted { question, agent, about, ms, score, holds, words, because, .. } => {
            let (about, because, ms) = (line(about), line(because), taken("in", Some(*ms)));
            let words = match score {
                Some(score) => {
                    let verdict = if *holds == Some(true) { "enough" } else { "too little" };
                    format!("{about}: {score}, {verdict} ({agent}{ms}): {because}")
                }
                None if *question == Question::Rate => {
                    format!("{about}: no rating ({agent}{ms}): {because}")
                }
                None if because.is_empty() => {
                    format!("{about} ({agent}{ms}){}", behind(": ", &line(words)))
                }
                None => format!("{about}: of no use ({agent}{ms}): {because}"),
            };
            ("answered", words)
        }
        Event::Judged { atom, by, agent, high, medium, low, unplaced, again, because } => {
            let issues = match high + medium + low {
                0 => "no issue was found".to_owned(),
                _ => by_severity([*high, *medium, *low]),
            };
            if *by == JudgedBy::Nobody {
                let found = if high + medium + low > 0 { &issues } else { "" };
                let (because, found) = (line(because), behind("; by rules ", found));
                let words = format!("the plan of {atom}: not judged by a model: {because}{found}");
                return ("judged", words);
            }
            let by = match (by, agent) {
                (JudgedBy::Model, Some(agent)) => format!("by rules and {agent}"),
                _ => "by rules".to_owned(),
            };
            let again =
                if *again { "; it is planned again before anything of it is tried" } else { "" };
            let beside = match unplaced {
                0 => String::new(),
                n => format!(", and {} of nothing in it", count(n, "issue")),
            };
            ("judged", format!("the plan of {atom}: {issues}{beside}, {by}{again}"))
        }
        Event::Law { d, p, omega, l, gradient, grad_d, directive, because, .. } => {
            let change = grad_d.as_ref();
            let change = change.map(|change| format!(" {} {change}", arrow(*gradient)));
            let (change, because) = (change.unwrap_or_default(), line(because));
            let (word, meaning) = (directive.word(), control_law::meaning(*directive));
            let words =
                format!("D {d}{change}  P {p}  Ω {omega}  L {l}  {word}: {meaning}; {because}");
            ("law", words)
        }
        Event::Planned { atom, ms, parts, atoms, differs, in_spite_of, .. } => {
            let atoms = atoms.map(|atoms| format!("{}: ", count(atoms, "atom")));
            let what = atoms.unwrap_or_default() + &parts.join(", ");
            // The lessons that spoke against it.
            let lessons = listed(in_spite_of, NAMES_MAX);
            let lessons = behind("; its last attempt, so taken in spite of ", &lessons);
            let (time, differs) = (taken("in", *ms), behind("; ", &line(differs)));
            ("planned", format!("{atom}{time}: {what}{differs}{lessons}"))
        }
        Event::Replanned { atom, place, because, refused, by, atoms, removed, changes_left } => {
            let because = line(because);
            let left = match changes_left {
                0 => "it was the last change".to_owned(),
                left => format!("{} left", count(left, "change")),
            };
            let atom = atom.as_ref().map_or("", |atom| atom.as_str());
            let words = match place {
                ReplanPlace::Choice => format!("{atom} is one more choice, and plans"),
                ReplanPlace::Atom => format!("{atom} becomes a step that plans"),
                ReplanPlace::Round => format!("{atom} plans once more"),
                ReplanPlace::Root => format!("{atom} plans what is missing"),
                ReplanPlace::Delta => {
                    let removed = removed.iter().map(|id| format!("without {id}"));
                    let atoms = atoms.iter().map(ToString::to_string);
                    let atoms: Vec<String> = atoms.chain(removed).collect();
                    let by = by.as_ref().map_or("a refiner", |by| by.as_str());
                    let atoms = listed(&atoms, NAMES_MAX);
                    let words = format!("{by} changes the plan ({atoms}; {left}): {because}");
                    return ("replanned", words);
                }
                ReplanPlace::Nowhere => format!("no change is admitted: {}", line(refused)),
            };
            let colon = if *place == ReplanPlace::Nowhere { ";" } else { ":" };
            ("replanned", format!("{words}{colon} {because}; {left}"))
        }
        Event::BaseCase { verdict, awaits, again, open, held, of, unmeasured, to_rate, .. } => {
            let words = if let Some(what) = awaits {
                format!("all else holds; a person decides: {}", line(what))
            } else if let Some(what) = again {
                let what = line(what);
                format!("the base case could not be decided by: {what}; it is asked again")
            } else if let Some(what) = to_rate {
                format!("all else holds; a judge rates at the end: {}", line(what))
            } else {
                let holds = match verdict {
                    Verdict::Pass => "holds",
                    Verdict::Fail => "does not hold yet",
                    Verdict::Unknown => "could not be decided; it is asked again",
                };
                let rest = unmeasured.map(|rest| format!(", {rest} not measured"));
                let held = held.zip(*of).filter(|_| *verdict == Verdict::Fail);
                let held = held.map(|(held, of)| {
                    format!(" ({held} of {}{})", count(of, "check"), rest.unwrap_or_default())
                });
                let open = behind("; still open: ", &listed(open, NAMES_MAX));
                format!("the base case {holds}{}{open}", held.unwrap_or_default())
            };
            ("checked", words)
        }
        _ => ("noted", String::new()),
    }
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

//! One line for each event of a run.

use descent_core::{event::Event, verdict::Verdict};

use super::{Line, count, line, time};

/// Columns of the word that a line begins with.
const WORD_WIDTH: usize = 10;

/// A line for an event, and one for each value that gave way; none for events that only a program needs.
pub fn event(event: &Event, width: usize) -> Vec<Line> {
    let lost: &[String] = match event {
        Event::Corrected { lost, .. } => lost,
        _ => &[],
    };
    let below = |what: &String| Line::new().pad(WORD_WIDTH).plain(line(what)).cut(width);
    let head = head(event, width).into_iter();
    head.chain(lost.iter().map(below)).collect()
}

fn head(event: &Event, width: usize) -> Option<Line> {
    let words = words(event)?;
    // The word has a column of its own.
    let column = words
        .char_indices()
        .nth(WORD_WIDTH)
        .map_or(words.len(), |(at, _)| at);
    let (word, what) = words.split_at(column);
    let head = Line::new().word(word.trim_end()).pad(WORD_WIDTH);
    Some(head.plain(what).cut(width))
}

/// An effect that may or may not have happened.
pub(super) fn doubted(atom: &str, attempt: &str, why: &str) -> String {
    let stop = if why.is_empty() { "" } else { "; " };
    format!("{atom}: {why}{stop}nobody knows whether the effect of {attempt} happened")
}

/// The parts that a phase left open when its budget ended.
pub(super) fn dropped<T: std::borrow::Borrow<str>>(
    atom: &str,
    limit: &str,
    is_partial: bool,
    missing: &[T],
) -> String {
    let missing = super::listed(missing, 6);
    let budget = match limit {
        "time" => "the time of its budget is over",
        _ => "the attempts of its budget are over",
    };
    match is_partial {
        true => format!("{atom}: {budget}; it is gone on with without {missing}"),
        false => format!("{atom}: {budget} with {missing} open: this plan failed"),
    }
}

/// The most important words come first: the end may be cut off.
fn words(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted {
            attempts_left,
            verdicts_left,
            starts_left,
            ..
        } => {
            format!(
                "run       at most {} and {} on the whole ({} with every retry), then it ends",
                count(attempts_left, "attempt"),
                count(verdicts_left, "verdict"),
                count(starts_left, "start")
            )
        }
        Event::AttemptStarted {
            atom,
            n,
            of,
            description,
            ..
        } => {
            format!(
                "start     {atom}, attempt {n} of {of}: {}",
                line(description)
            )
        }
        Event::Solved {
            atom,
            ms,
            files,
            summary,
            ..
        } => {
            let what = if files.is_empty() {
                line(summary)
            } else {
                format!("changed {}", files.join(", "))
            };
            format!("solved    {atom} in {}: {what}", time(*ms))
        }
        Event::Planned {
            atom,
            ms,
            parts,
            atoms,
            ..
        } => {
            let what = count(atoms, "atom");
            let parts = parts.join(", ");
            format!("planned   {atom} in {}: {what}: {parts}", time(*ms))
        }
        Event::PlannedAgain { atom, because, .. } => {
            format!(
                "replanned {atom}: nothing is left of its plan, {}",
                line(because)
            )
        }
        Event::PhaseOver {
            atom,
            limit,
            is_partial,
            missing,
        } => format!(
            "dropped   {}",
            dropped(atom.as_str(), limit, *is_partial, missing)
        ),
        Event::AttemptFailed {
            atom,
            ms,
            class,
            reason,
            attempts_left,
            ..
        } => {
            let left = if *attempts_left == 0 {
                "no attempt left".to_owned()
            } else {
                format!("{attempts_left} left")
            };
            format!(
                "failed    {atom} after {} ({class}; {left}): {}",
                time(*ms),
                line(reason)
            )
        }
        Event::Transient {
            atom,
            retry,
            of,
            wait_ms,
            ..
        } => {
            format!(
                "transient {atom}: a passing failure, costs no attempt; retry {retry} of {of} in {}",
                time(*wait_ms)
            )
        }
        Event::Adopted { atom, .. } => {
            format!("adopted   {atom}: it had ended before the loop was cut off")
        }
        Event::Interrupted { atom, why, .. } => {
            format!("ended     {atom}: {why}; it costs no attempt")
        }
        Event::Repair {
            atom,
            repair,
            of,
            why,
        } if repair > of => {
            let why = line(why);
            format!("failed    {atom}: no repair is left of {of} (max_repairs), and {why}")
        }
        Event::Repair {
            atom,
            repair,
            of,
            why,
        } => format!("repair    {atom}: {} (repair {repair} of {of})", line(why)),
        Event::InDoubt { attempt, atom, why } => {
            let what = doubted(atom.as_str(), attempt.as_str(), why);
            format!("in doubt  {what}")
        }
        Event::Discarded { attempt } => format!("discarded {attempt}: its result came too late"),
        Event::Chosen {
            group,
            choice,
            untried,
        } => format!(
            "chosen    {group} = {choice} ({} untried)",
            count(untried, "other")
        ),
        Event::Refuted { failed, .. } => {
            format!(
                "rejected  all atoms are solved, and a check failed: {}",
                line(&failed.join("; "))
            )
        }
        Event::Backtracked { changes, because } => {
            let change = |change: &descent_core::event::ChoiceChange| match &change.from {
                Some(from) => format!("{}: {from} → {}", change.group, change.to),
                None => format!("{} = {}", change.group, change.to),
            };
            let changes: Vec<String> = changes.iter().map(change).collect();
            format!("switched  {} because {}", changes.join(", "), line(because))
        }
        Event::Parked { atom } => format!("set aside {atom}: kept for when its choices come back"),
        Event::Revived { atom } => {
            format!("reused    {atom}: its choices are back, no new attempt")
        }
        Event::Forgotten { atom } => {
            format!("forgotten {atom}: the repository lost the result that was kept of it")
        }
        Event::Rebuilt {
            kept, taken_back, ..
        } => {
            let gone: Vec<&str> = taken_back
                .iter()
                .map(descent_core::id::AtomId::as_str)
                .collect();
            let gone = if gone.is_empty() {
                "nothing".to_owned()
            } else {
                gone.join(", ")
            };
            let stays = match kept {
                1 => "1 commit stays".to_owned(),
                kept => format!("{kept} commits stay"),
            };
            format!("removed   {gone} from the result: {}", stays)
        }
        Event::BaseCase {
            awaits: Some(what), ..
        } => format!("checked   all else holds; a person decides: {}", line(what)),
        Event::BaseCase {
            again: Some(what), ..
        } => format!(
            "checked   the base case could not be decided by: {}; it is asked again",
            line(what)
        ),
        Event::BaseCase { verdict, open, .. } if !open.is_empty() => {
            let open: Vec<&str> = open.iter().map(descent_core::id::AtomId::as_str).collect();
            let open = super::listed(&open, 6);
            format!(
                "checked   the base case {}; still open: {open}",
                holds(*verdict)
            )
        }
        Event::BaseCase { verdict, .. } => {
            format!("checked   the base case {}", holds(*verdict))
        }
        Event::Disagreed { checks } => format!(
            "differs   in a fresh checkout, which is the one that counts: {}",
            line(&checks.join("; "))
        ),
        Event::Unsteady { checks } => format!(
            "unsteady  failed at align and holds now on the same files: {}",
            line(&checks.join("; "))
        ),
        Event::Corrected { what, effects, .. } => {
            let effects = if effects.is_empty() {
                String::new()
            } else {
                format!(" → {}", effects.join("; "))
            };
            format!("edited    {}{effects}", line(what))
        }
        Event::Retired { request } => {
            format!("retired   request {request}: it was for an earlier run")
        }
        Event::Ended { .. } => return None,
    })
}

fn holds(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "holds",
        Verdict::Fail => "does not hold yet",
        Verdict::Unknown => "could not be decided; it is asked again",
    }
}

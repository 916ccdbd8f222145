//! Asks for missing parts on a terminal: the answers become flags, as if they had been typed.
//!
//! Invariant: nothing is written and no process is started here, so a person who leaves leaves nothing behind.

use std::{path::Path, sync::Arc};

use descent_core::{
    graph::validate::MissingPart,
    state::{State, Workspace},
};

use crate::{
    config::Config,
    failure::{Failure, exit, quoted},
    ops::{agents, align::survey_of},
    render::{self, Out},
    survey::{Proposal, Survey},
};

use super::{
    super::ask::{self, ListAnswer},
    AlignArgs, proposals,
    reading::DraftText,
};

/// Checks and steps at most that are asked for.
const ANSWERS_MAX: usize = 20;

const GOAL_HELP: &str =
    "One sentence that is true at the end, such as: the parser accepts an empty input.";
const WHY_HELP: &str =
    "The workers read it where the goal leaves a choice open, such as: users send empty files.";
const CHECK_HELP: &str = "A shell command that runs at the top of the project, such as cargo test -q. Exit code 0 says that the goal is\nreached; nothing else does.";
const STEP_HELP: &str = "TEXT=COMMAND runs a shell command, such as format=cargo fmt. TEXT alone is a task for the worker, which is an\nagent. The checks decide whether it was done.";
const PROTECT_HELP: &str = "An attempt that changes one of these files fails. A glob such as tests/** names all files below a directory.";
pub(super) const NEEDS_HELP: &str = "Each attempt works in a new copy of what git keeps. A link shares a path of yours with it, such as node_modules;\nsetup is a command that runs in it first, such as npm ci.";

/// Asks for each missing part; `Err` if the person left.
pub(super) fn fill(
    out: Out,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
    top: &Path,
    config: &Config,
) -> Result<(), Failure> {
    let lacks = |part| missing.contains(&part);
    let survey = survey_of(top);
    words(out, flags, missing)?;
    if proposals::wants_checks(missing) {
        flags.check.extend(checks(out, &survey.checks)?);
    }
    if lacks(MissingPart::Work) {
        let goal = flags.goal.clone().unwrap_or_default();
        flags.step.extend(steps(out, config, &goal)?);
    }
    // A plan states its own goal.
    if flags.plan.is_none() {
        options(out, flags, &survey)?;
    }
    out.say("");
    Ok(())
}

/// Asks for the words that only a person has: the goal, and why.
pub(super) fn words(
    out: Out,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
) -> Result<(), Failure> {
    let lacks = |part| missing.contains(&part);
    if !std::mem::replace(&mut flags.is_asked, true) {
        out.say("A few questions first; Ctrl-C leaves, and nothing is kept.");
    }
    if lacks(MissingPart::Goal) {
        let question = "What shall be reached?  (GOAL)";
        flags.goal = Some(needed(out, question, GOAL_HELP)?);
    }
    if lacks(MissingPart::Why) {
        flags.why = Some(needed(out, "Why is it wanted?  (--why)", WHY_HELP)?);
    }
    Ok(())
}

/// Asks for the workspace in a large directory; `Err` if the person left.
pub(super) fn workspace(out: Out, holds: &str, largest: &str) -> Result<Workspace, Failure> {
    out.say(&format!("\n{holds}. Where shall attempts work?  (--set workspace=…)"));
    out.say("  1. shadow: each on a copy of all of them, kept in the cache");
    out.say("  2. shared: here, in place; what a choice that is given up did is not undone");
    out.say(&format!(
        "1 or 2; or Ctrl-C, and again with what need not be copied: --link {largest}"
    ));
    for _ in 0..ANSWERS_MAX {
        match answer(out, NEEDS_HELP)?.as_str() {
            "1" | "shadow" => return Ok(Workspace::Shadow),
            "2" | "shared" => return Ok(Workspace::Shared),
            _ => out.say("1 or 2."),
        }
    }
    Err(left())
}

/// Asks for another setup where it failed; `Err` with all answers if the person left. A proposal is decided on again.
pub(super) fn another_setup(
    out: Out,
    flags: &mut AlignArgs,
    mut state: State,
) -> Result<State, Failure> {
    if flags.draft.is_some() {
        return Ok(state);
    }
    out.say("\nWhich setup command instead?  (--setup)  Enter: none.");
    let reply = answer(out, NEEDS_HELP).map_err(|_| left_with(flags))?;
    flags.set.retain(|pair| !pair.starts_with("setup.run="));
    flags.setup = Some(reply).filter(|reply| !reply.is_empty());
    let constraints = &mut Arc::make_mut(&mut state.objective).constraints;
    constraints.setup.run.clone_from(&flags.setup);
    Ok(state)
}

/// A failure after answers, with all of them as a command line.
pub(super) fn with_answers(mut failure: Failure, flags: &AlignArgs) -> Failure {
    if flags.is_asked && !failure.hint.contains("descent align") {
        failure.details.push(proposals::again(left(), flags).hint);
    }
    failure
}

pub(super) fn left() -> Failure {
    Failure::new(
        "E-NOT-ALIGNED",
        exit::NOT_ALIGNED,
        "nothing was agreed",
        "align again when it is right",
    )
}

/// The same after an answer, with all that was typed as a command line.
pub(super) fn left_with(flags: &AlignArgs) -> Failure {
    let mut left = proposals::again(left(), flags);
    if let Some(DraftText::Edited(file)) = &flags.draft {
        let path = &file.name;
        left.details.push(format!("what you typed is kept in {}", path.display()));
        left.hint = format!("go on from there: descent align -f {}", quoted(path));
    }
    left
}

/// The answer to a question; the end of the input means leaving.
fn answer(out: Out, help: &str) -> Result<String, Failure> {
    ask::helped(out, help).ok_or_else(|| {
        out.say("");
        left()
    })
}

/// Asks until there is an answer.
fn needed(out: Out, question: &str, help: &str) -> Result<String, Failure> {
    out.say(&format!("\n{question}"));
    for _ in 0..ANSWERS_MAX {
        let reply = answer(out, help)?;
        if !reply.is_empty() {
            return Ok(reply);
        }
        out.say("It cannot be left out.");
    }
    Err(left())
}

/// A numbered list of offers, each with its origin.
pub(super) fn numbered(proposals: &[Proposal]) -> String {
    let width = proposals.iter().map(|one| one.text.chars().count()).max();
    let width = width.unwrap_or(0).min(40);
    let one = |(at, proposal): (usize, &Proposal)| {
        let text = render::line(&proposal.text);
        format!("  {}. {text:<width$}  ({})", at + 1, proposal.from)
    };
    let lines = proposals.iter().enumerate().map(one);
    lines.collect::<Vec<_>>().join("\n")
}

fn checks(out: Out, proposals: &[Proposal]) -> Result<Vec<String>, Failure> {
    out.say("\nWhich command passes when it is reached, and fails until then?  (--check)");
    if !proposals.is_empty() {
        out.say(&numbered(proposals));
        out.say("Enter takes 1; or numbers, such as 1,2; or a command of your own.");
    }
    let mut found = Vec::new();
    for _ in 0..ANSWERS_MAX {
        let (texts, is_own) = chosen(out, proposals, CHECK_HELP)?;
        match (texts.is_empty() && found.is_empty(), proposals.first()) {
            (true, Some(first)) => return Ok(vec![first.text.clone()]),
            (true, None) => {
                out.say("It cannot be left out: any shell command that ends with 0 then.");
            }
            (false, _) => {
                found.extend(texts);
                if !is_own {
                    return Ok(found);
                }
                out.say("Another one?  Enter: no.");
            }
        }
    }
    Ok(found)
}

fn steps(out: Out, config: &Config, goal: &str) -> Result<Vec<String>, Failure> {
    out.say("\nWhat is to be done first?  (--step)");
    match config.worker_line() {
        Some(worker) => {
            let worker = render::line(&worker);
            out.say(&format!("TEXT for the worker ({worker}),"));
            out.say("or TEXT=COMMAND for a shell command.  Enter: the goal itself, by the worker.");
        }
        None => {
            out.say("TEXT=COMMAND for a shell command, or TEXT for a worker.");
            out.say("No worker is named yet; in descent.toml this does it:");
            for line in agents::example() {
                out.say(&format!("  {line}"));
            }
            out.say("Enter: the goal itself, by the worker that you will name.");
        }
    }
    let mut found = Vec::new();
    for _ in 0..ANSWERS_MAX {
        let reply = answer(out, STEP_HELP)?;
        if reply.is_empty() {
            break;
        }
        found.push(reply);
        out.say("And then?  Enter: nothing more.");
    }
    if found.is_empty() {
        // A goal with `=` in it is no shell command.
        found.push(goal.replace('=', " = ").replace("  ", " "));
    }
    Ok(found)
}

fn options(out: Out, flags: &mut AlignArgs, survey: &Survey) -> Result<(), Failure> {
    let is_set = |key: &str| flags.set.iter().any(|pair| pair.starts_with(key));
    let (protect, needs) = (is_set("protected="), is_set("link=") || is_set("setup="));
    if !protect && flags.protect.is_empty() && !survey.protected.is_empty() {
        out.say("\nWhich files judge the work, so that no attempt may change them?  (--protect)");
        out.say(&numbered(&survey.protected));
        out.say("Enter: none; or numbers, such as 1,2; or a glob.");
        flags.protect = chosen(out, &survey.protected, PROTECT_HELP)?.0;
    }
    let has_none = flags.link.is_empty() && flags.setup.is_none() && !needs;
    let offers: Vec<Proposal> = survey.link.iter().chain(&survey.setup).cloned().collect();
    if has_none && !offers.is_empty() {
        out.say("\nWhat does a fresh copy of the project need?  (--link PATH, --setup COMMAND)");
        let links = survey.link.len();
        let shown: Vec<Proposal> = named(&offers, links);
        out.say(&numbered(&shown));
        out.say("Enter: nothing; or numbers, such as 1; or a setup command.");
        for text in chosen(out, &offers, NEEDS_HELP)?.0 {
            if survey.link.iter().any(|link| link.text == text) {
                flags.link.push(text);
            } else {
                flags.setup = Some(joined(flags.setup.take(), &text));
            }
        }
    }
    Ok(())
}

/// Names links and setups by their flags, so that a list of both is plain.
pub(super) fn named(offers: &[Proposal], links: usize) -> Vec<Proposal> {
    let one = |(at, offer): (usize, &Proposal)| Proposal {
        text: if at < links {
            format!("--link {}", quoted(&offer.text))
        } else {
            format!("--setup {}", quoted(&offer.text))
        },
        from: offer.from.clone(),
    };
    offers.iter().enumerate().map(one).collect()
}

/// Joins two setups into one command.
pub(super) fn joined(before: Option<String>, more: &str) -> String {
    match before {
        None => more.to_owned(),
        Some(before) => format!("{before} && {more}"),
    }
}

/// The texts that were chosen, none for Enter; and whether it is the person's own one.
fn chosen(out: Out, proposals: &[Proposal], help: &str) -> Result<(Vec<String>, bool), Failure> {
    for _ in 0..ANSWERS_MAX {
        match ask::taken(&answer(out, help)?, proposals.len()) {
            ListAnswer::Text(text) if text.is_empty() => break,
            ListAnswer::Text(text) => return Ok((vec![text], true)),
            ListAnswer::Items(places) => {
                let texts = places.into_iter().map(|at| proposals[at].text.clone());
                return Ok((texts.collect(), false));
            }
            ListAnswer::Wrong(number) => out.say(&format!("There is no {number} in the list.")),
        }
    }
    Ok((Vec::new(), false))
}

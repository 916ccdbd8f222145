//! Asks for missing parts on a terminal: the answers become flags, as if they had been typed. Also proposals from the
//! project itself, and the command line that would make an agreement complete.
//!
//! Invariant: nothing is written, started or adopted here: a proposal is typed by a person or not at all. A person who
//! leaves leaves nothing behind.

use std::{path::Path, sync::Arc};

use descent_core::{
    graph::validate::MissingPart,
    state::{Constraints, State},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::ask::{self, ListAnswer},
    AlignArgs, preview,
    reading::{PlanOrigin, PlanText, missing_of_step},
};
use crate::render::Out;
use descent_agent::config::Config;
use descent_engine::{
    ops::{
        agents,
        align::{not_aligned, survey_of},
        aligner::Aligner,
        compare::CheckoutComparison,
    },
    survey::{Proposal, Survey},
};
use descent_system::{
    clock,
    failure::{Failure, exit, quoted},
    phrase,
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
const NEEDS_HELP: &str = "Each attempt works in a new copy of what git keeps. A link shares a path of yours with it, such as node_modules;\nsetup is a command that runs in it first, such as npm ci.";

/// Asks for each missing part; `Err` if the person left.
pub(super) fn fill(
    out: Out,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
    top: &Path,
    config: &Config,
) -> Result<(), Failure> {
    let survey = survey_of(top);
    words(out, flags, missing)?;
    if wants_checks(missing) {
        flags.check.extend(checks(out, &survey.checks)?);
    }
    if missing.contains(&MissingPart::Work) {
        let goal = flags.goal.clone().unwrap_or_default();
        flags.step.extend(steps(out, config, &goal)?);
    }
    // A plan states its own goal, and `do` asks for nothing that can wait.
    if flags.plan.is_none() && flags.errand.is_none() {
        options(out, flags, &survey)?;
    }
    out.say("");
    Ok(())
}

/// Fills in what `do` takes for granted: the worker does what the sentence says, because it was asked for.
pub(super) fn presume(flags: &mut AlignArgs, missing: &[MissingPart], config: &Config) {
    let Some(goal) = flags.goal.clone().filter(|_| flags.errand.is_some()) else { return };
    if missing.contains(&MissingPart::Why) {
        flags.why = Some(goal.clone());
    }
    if missing.contains(&MissingPart::Work) && config.worker_line().is_some() {
        flags.step.push(step_of(&goal).to_owned());
    }
}

/// The goal as a step: in one, a shell command follows `=`.
fn step_of(goal: &str) -> &str {
    if goal.contains('=') { "reach the goal" } else { goal }
}

/// Asks for the words that only a person has: the goal, and why.
pub(super) fn words(
    out: Out,
    flags: &mut AlignArgs,
    missing: &[MissingPart],
) -> Result<(), Failure> {
    if !std::mem::replace(&mut flags.is_asked, true) {
        out.say("A few questions first; Ctrl-C leaves, and nothing is kept.");
    }
    if missing.contains(&MissingPart::Goal) {
        let question = "What shall be reached?  (GOAL)";
        flags.goal = Some(needed(out, question, GOAL_HELP)?);
    }
    if missing.contains(&MissingPart::Why) {
        flags.why = Some(needed(out, "Why is it wanted?  (--why)", WHY_HELP)?);
    }
    Ok(())
}

/// Asks for another setup where it failed; `Err` with all answers if the person left. A proposal is decided on again.
pub(super) fn another_setup(
    out: Out,
    flags: &mut AlignArgs,
    mut state: State,
) -> Result<State, Failure> {
    if flags.has_draft() {
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
    if flags.is_asked && !failure.hint.contains(command(flags)) {
        failure.details.push(typed_again(flags));
    }
    failure
}

pub(super) fn left() -> Failure {
    let (message, hint) = ("nothing was agreed", "align again when it is right");
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint)
}

/// The same after an answer, with all that was typed as a command line.
pub(super) fn left_with(flags: &AlignArgs) -> Failure {
    let mut left = left();
    left.hint = typed_again(flags);
    if let Some(PlanText { file, from: PlanOrigin::Edited }) = &flags.text {
        let path = &file.name;
        left.details.push(format!("what you typed is kept in {}", path.display()));
        left.hint = from_there(flags, path);
    }
    left
}

/// The hint that a kept text can be taken up.
pub(super) fn from_there(flags: &AlignArgs, kept: &Path) -> String {
    format!("go on from there: {} -f {}", command(flags), quoted(kept))
}

/// The answer to a question; the end of the input means leaving.
fn answer(out: Out, help: &str) -> Result<String, Failure> {
    ask::helped(out, help).ok_or_else(|| {
        out.say("");
        left()
    })
}

/// Asks until an answer can be taken; `Err` if the person left.
fn until<T>(out: Out, help: &str, mut take: impl FnMut(String) -> Option<T>) -> Result<T, Failure> {
    for _ in 0..ANSWERS_MAX {
        if let Some(taken) = take(answer(out, help)?) {
            return Ok(taken);
        }
    }
    Err(left())
}

fn needed(out: Out, question: &str, help: &str) -> Result<String, Failure> {
    out.say(&format!("\n{question}"));
    until(out, help, |reply| {
        if reply.is_empty() {
            out.say("It cannot be left out.");
        }
        Some(reply).filter(|reply| !reply.is_empty())
    })
}

/// A numbered list of offers, each with its origin.
fn numbered(proposals: &[Proposal]) -> String {
    let width = proposals.iter().map(|one| one.text.chars().count()).max();
    let width = width.unwrap_or(0).min(40);
    let one = |(at, proposal): (usize, &Proposal)| {
        let text = phrase::line(&proposal.text);
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
        if !texts.is_empty() || !found.is_empty() {
            found.extend(texts);
            if !is_own {
                break;
            }
            out.say("Another one?  Enter: no.");
        } else if let Some(first) = proposals.first() {
            return Ok(vec![first.text.clone()]);
        } else {
            out.say("It cannot be left out: any shell command that ends with 0 then.");
        }
    }
    Ok(found)
}

fn steps(out: Out, config: &Config, goal: &str) -> Result<Vec<String>, Failure> {
    out.say("\nWhat is to be done first?  (--step)");
    match config.worker_line() {
        Some(worker) => {
            let worker = phrase::line(&worker);
            out.say(&format!(
                "TEXT for the worker ({worker}),\nor TEXT=COMMAND for a shell command.  Enter: the goal itself, by the worker."
            ));
        }
        None => {
            let lines = agents::example().join("\n  ");
            out.say(&format!(
                "TEXT=COMMAND for a shell command, or TEXT for a worker.\nNo worker is named yet; in descent.toml this does it:\n  {lines}\nEnter: the goal itself, by the worker that you will name."
            ));
        }
    }
    let mut found = Vec::new();
    for _ in 0..ANSWERS_MAX {
        let reply = answer(out, STEP_HELP)?;
        if reply.is_empty() {
            break;
        }
        if let Some(missing) = missing_of_step(&reply) {
            out.say(&format!("It has no {missing}: TEXT=COMMAND, or TEXT for the worker."));
            continue;
        }
        found.push(reply);
        out.say("And then?  Enter: nothing more.");
    }
    if found.is_empty() {
        found.push(step_of(goal).to_owned());
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
        out.say(&numbered(&named(&offers, &survey.link)));
        out.say("Enter: nothing; or numbers, such as 1; or a setup command.");
        let texts = chosen(out, &offers, NEEDS_HELP)?.0;
        add_needs(texts, &survey.link, &mut flags.link, &mut flags.setup);
    }
    Ok(())
}

/// Names links and setups by their flags, so that a list of both is plain.
fn named(offers: &[Proposal], links: &[Proposal]) -> Vec<Proposal> {
    let one = |offer: &Proposal| {
        let flag = if links.contains(offer) { "--link" } else { "--setup" };
        let text = format!("{flag} {}", quoted(&offer.text));
        Proposal { text, from: offer.from.clone() }
    };
    offers.iter().map(one).collect()
}

/// The texts that were chosen, none for Enter; and whether it is the person's own one.
fn chosen(out: Out, proposals: &[Proposal], help: &str) -> Result<(Vec<String>, bool), Failure> {
    until(out, help, |reply| taken(out, &reply, proposals))
}

/// The same from one reply; `None` where it names what is not in the list.
fn taken(out: Out, reply: &str, proposals: &[Proposal]) -> Option<(Vec<String>, bool)> {
    match ask::taken(reply, proposals.len()) {
        ListAnswer::Text(text) if text.is_empty() => Some((Vec::new(), false)),
        ListAnswer::Text(text) => Some((vec![text], true)),
        ListAnswer::Items(places) => {
            let texts = places.into_iter().map(|at| proposals[at].text.clone());
            Some((texts.collect(), false))
        }
        ListAnswer::Wrong(number) => {
            out.say(&format!("There is no {number} in the list."));
            None
        }
    }
}

/// Takes links as such, and all else as a command of `setup`.
fn add_needs(
    texts: Vec<String>,
    links: &[Proposal],
    to: &mut Vec<String>,
    setup: &mut Option<String>,
) {
    for text in texts {
        if links.iter().any(|link| link.text == text) {
            to.push(text);
        } else {
            *setup = Some(match setup.take() {
                None => text,
                Some(before) => format!("{before} && {text}"),
            });
        }
    }
}

/// Shows the difference of a fresh checkout, and offers files that it lacks as `link` or `setup`; whether something was
/// taken into the constraints.
pub(super) async fn mend_checkout(
    out: Out,
    top: &Path,
    constraints: &mut Constraints,
    comparison: &CheckoutComparison,
    cancel: &CancellationToken,
) -> bool {
    out.say("Some checks end otherwise in a fresh checkout, where a run makes them:");
    for (here, fresh) in comparison.here.iter().zip(&comparison.fresh) {
        if here.verdict != fresh.verdict {
            preview::two(here, fresh).iter().for_each(|line| out.say(&line.text(false)));
        }
    }
    let links = &comparison.links;
    let mut offers = links.clone();
    offers.extend(survey_of(top).setup);
    // A command that was taken before and did not help is not offered again.
    let setup = constraints.setup.run.clone();
    offers.retain(|offer| setup.as_deref().is_none_or(|setup| !setup.contains(&offer.text)));
    if offers.is_empty() {
        out.say("What a fresh one needs can be made by a command.  (--setup COMMAND)");
        out.say("Enter: go on as it is; or a setup command.");
    } else {
        out.say("It has only what git keeps. What does it need of the rest?");
        out.say(&numbered(&named(&offers, links)));
        out.say("Enter: go on as it is; or numbers, such as 1; or a setup command.");
    }
    loop {
        let reply = tokio::select! {
            reply = ask::in_background(out, "> ") => reply,
            () = cancel.cancelled() => None,
        };
        let Some(reply) = reply else { return false };
        if reply == "?" {
            out.say(NEEDS_HELP);
        } else if let Some((texts, _)) = taken(out, &reply, &offers) {
            let is_any = !texts.is_empty();
            add_needs(texts, links, &mut constraints.link, &mut constraints.setup.run);
            return is_any;
        }
    }
}

/// Whether a person is asked for checks: there are none, or no machine decides any.
pub(super) fn wants_checks(missing: &[MissingPart]) -> bool {
    missing.iter().any(|part| matches!(part, MissingPart::BaseCase | MissingPart::MachineLeaf))
}

/// The gate's refusal with possible values, and a command line to paste.
pub(super) fn complete(
    missing: &[MissingPart],
    flags: &AlignArgs,
    top: &Path,
    config: &Config,
) -> Failure {
    let mut refusal = not_aligned(missing);
    let survey = if wants_checks(missing) { survey_of(top) } else { Survey::default() };
    for (flag, proposals) in [
        ("--check", &survey.checks),
        ("--protect", &survey.protected),
        ("--link", &survey.link),
        ("--setup", &survey.setup),
    ] {
        let line =
            |one: &Proposal| format!("could be: {flag} {} ({})", quoted(&one.text), one.from);
        refusal.details.extend(proposals.iter().map(line));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_worker = config.worker_line().is_some() || !agents::installed(&path).is_empty();
    refusal.hint = command_line(missing, flags, &survey, has_worker);
    let proposer = Aligner::of(config, top, clock::now()).ok().flatten();
    refusal.details.push(match &proposer {
        Some(one) => format!("at a terminal, `{}` proposes what is missing", one.asked.agent.name),
        None => format!(
            "an agent of descent.toml proposes what is missing: {}",
            agents::example().join(" and ")
        ),
    });
    refusal
}

/// All answers as a command line, so that they need not be typed again.
fn typed_again(flags: &AlignArgs) -> String {
    format!("change what is not right: {}", command_line(&[], flags, &Survey::default(), true))
}

/// The typed command with missing parts filled in: by the first proposal, else by a word in capitals.
fn command_line(
    missing: &[MissingPart],
    flags: &AlignArgs,
    survey: &Survey,
    worker: bool,
) -> String {
    let mut words = vec![command(flags).to_owned()];
    for (flag, _, mut texts) in typed(flags) {
        let word = match flag {
            "" if missing.contains(&MissingPart::Goal) => "GOAL",
            "--why " if missing.contains(&MissingPart::Why) => "WHY",
            "--check " if wants_checks(missing) => {
                survey.checks.first().map_or("COMMAND", |first| &first.text)
            }
            "--step " if missing.contains(&MissingPart::Work) && worker => "WHAT TO DO",
            "--step " if missing.contains(&MissingPart::Work) => "WHAT TO DO=COMMAND",
            _ => "",
        };
        let is_presumed = flags.errand.is_some() && matches!(flag, "--why " | "--step ");
        let presumed = flags.goal.as_deref().filter(|_| is_presumed);
        texts.retain(|text| !text.trim().is_empty() && Some(text.as_str()) != presumed);
        texts.extend(Some(word.to_owned()).filter(|word| !word.is_empty()));
        words.extend(texts.iter().map(|text| format!("{flag}{}", quoted(text))));
    }
    let bare = [("--force", flags.force), ("-y", flags.yes), ("-n", flags.dry_run)];
    let bare = bare.iter().filter(|(_, is_given)| *is_given);
    words.extend(bare.map(|(flag, _)| (*flag).to_owned()));
    words.join(" ")
}

/// The command that was typed.
fn command(flags: &AlignArgs) -> &'static str {
    if flags.errand.is_some() { "descent do" } else { "descent align" }
}

/// The flags that say a part of the agreement, each with its words for an agent, where it has some, and its texts.
fn typed(flags: &AlignArgs) -> [(&'static str, &'static str, Vec<String>); 13] {
    let one = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    let plan = flags.plan.as_ref().map(|plan| plan.display().to_string());
    [
        ("", "", one(&flags.goal)),
        ("-f ", "", one(&plan)),
        ("--why ", "", one(&flags.why)),
        ("--deliver ", "deliverables", one(&flags.deliver)),
        ("--done ", "definition of done", one(&flags.done)),
        ("--check ", "a check of the base case", flags.check.clone()),
        ("--step ", "a step", flags.step.clone()),
        ("--plan-with ", "planned by the agent", one(&flags.plan_with)),
        ("--pattern ", "", one(&flags.pattern.clone().flatten())),
        ("--set ", "a constraint", flags.set.clone()),
        ("--protect ", "protected", flags.protect.clone()),
        ("--link ", "shared by every working copy", flags.link.clone()),
        ("--setup ", "run in each new working copy", one(&flags.setup)),
    ]
}

/// The parts that were typed as flags, for an agent.
pub(super) fn given(flags: &AlignArgs) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, what, texts) in typed(flags).into_iter().filter(|(_, what, _)| !what.is_empty()) {
        lines.extend(texts.iter().map(|text| format!("{what}: {text}")));
    }
    lines
}

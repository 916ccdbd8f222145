//! Proposals from the project itself, and the command line that would make an agreement complete.
//!
//! Invariant: nothing is adopted here. A proposal in a command line is typed by a person or not at all.

use std::path::Path;

use descent_core::graph::validate::MissingPart;

use crate::{
    failure::{Failure, quoted},
    ops::align::{not_aligned, survey_of},
    survey::{Proposal, Survey},
};

use super::AlignArgs;

/// Whether a person is asked for checks: there are none, or no machine decides any.
pub(super) fn wants_checks(missing: &[MissingPart]) -> bool {
    missing.iter().any(|part| matches!(part, MissingPart::BaseCase | MissingPart::MachineLeaf))
}

/// The gate's refusal with possible values, and a command line to paste.
pub(super) fn complete(
    missing: &[MissingPart],
    flags: &AlignArgs,
    top: &Path,
    worker: bool,
) -> Failure {
    let wants_checks = wants_checks(missing);
    let mut refusal = not_aligned(missing);
    let survey = if wants_checks { survey_of(top) } else { Survey::default() };
    let line = command_line(missing, flags, &survey, worker);
    let mut put = |flag: &str, proposals: &[Proposal]| {
        let lines = proposals.iter().map(|proposal| {
            let text = quoted(&proposal.text);
            format!("could be: {flag} {text} ({})", proposal.from)
        });
        refusal.details.extend(lines);
    };
    put("--check", &survey.checks);
    put("--protect", &survey.protected);
    put("--link", &survey.link);
    put("--setup", &survey.setup);
    refusal.hint = line;
    refusal
}

/// The refusal after a no, with all answers as a command line, so that they need not be typed again.
pub(super) fn again(mut refusal: Failure, flags: &AlignArgs) -> Failure {
    let line = command_line(&[], flags, &Survey::default(), true);
    refusal.hint = format!("change what is not right: {line}");
    refusal
}

/// The typed command with missing parts filled in: by the first proposal, else by a word in capitals.
fn command_line(
    missing: &[MissingPart],
    flags: &AlignArgs,
    survey: &Survey,
    worker: bool,
) -> String {
    let lacks = |part| missing.contains(&part);
    let mut words = vec!["descent align".to_owned()];
    let goal = flags.goal.as_deref();
    if goal.is_some_and(|goal| !goal.trim().is_empty()) || lacks(MissingPart::Goal) {
        let goal = goal.filter(|goal| !goal.trim().is_empty());
        words.push(quoted(goal.unwrap_or("GOAL")));
    }
    let mut put = |flag: &str, text: &str| words.push(format!("{flag} {}", quoted(text)));
    if let Some(plan) = &flags.plan {
        put("-f", &plan.display().to_string());
    }
    if lacks(MissingPart::Why) {
        put("--why", "WHY");
    } else if let Some(why) = &flags.why {
        put("--why", why);
    }
    for (flag, text) in [("--deliver", &flags.deliver), ("--done", &flags.done)] {
        text.iter().for_each(|text| put(flag, text));
    }
    flags.check.iter().for_each(|check| put("--check", check));
    if wants_checks(missing) {
        let first = survey.checks.first();
        put("--check", first.map_or("COMMAND", |first| &first.text));
    }
    flags.step.iter().for_each(|step| put("--step", step));
    if let Some(agent) = &flags.plan_with {
        put("--plan-with", agent);
    }
    if let Some(Some(name)) = &flags.pattern {
        put("--pattern", name);
    }
    if lacks(MissingPart::Work) {
        put("--step", if worker { "WHAT TO DO" } else { "WHAT TO DO=COMMAND" });
    }
    for (flag, texts) in
        [("--set", &flags.set), ("--protect", &flags.protect), ("--link", &flags.link)]
    {
        texts.iter().for_each(|text| put(flag, text));
    }
    flags.setup.iter().for_each(|setup| put("--setup", setup));
    for (flag, is_given) in [("--force", flags.force), ("-y", flags.yes), ("-n", flags.dry_run)] {
        if is_given {
            words.push(flag.to_owned());
        }
    }
    words.join(" ")
}

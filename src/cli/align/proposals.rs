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
    let given = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    let or_missing = |part, word: &str, given: Vec<String>| {
        if missing.contains(&part) { vec![word.to_owned()] } else { given }
    };
    let goal = flags.goal.clone().filter(|goal| !goal.trim().is_empty());
    let plan = flags.plan.as_ref().map(|plan| plan.display().to_string());
    let (mut checks, mut steps) = (flags.check.clone(), flags.step.clone());
    if wants_checks(missing) {
        let first = survey.checks.first();
        checks.push(first.map_or("COMMAND", |first| &first.text).to_owned());
    }
    let step = if worker { "WHAT TO DO" } else { "WHAT TO DO=COMMAND" };
    steps.extend(or_missing(MissingPart::Work, step, Vec::new()));
    let texts = [
        ("", or_missing(MissingPart::Goal, "GOAL", given(&goal))),
        ("-f ", given(&plan)),
        ("--why ", or_missing(MissingPart::Why, "WHY", given(&flags.why))),
        ("--deliver ", given(&flags.deliver)),
        ("--done ", given(&flags.done)),
        ("--check ", checks),
        ("--step ", steps),
        ("--plan-with ", given(&flags.plan_with)),
        ("--pattern ", given(&flags.pattern.clone().flatten())),
        ("--set ", flags.set.clone()),
        ("--protect ", flags.protect.clone()),
        ("--link ", flags.link.clone()),
        ("--setup ", given(&flags.setup)),
    ];
    let texts = texts
        .iter()
        .flat_map(|(flag, texts)| texts.iter().map(move |text| format!("{flag}{}", quoted(text))));
    let bare = [("--force", flags.force), ("-y", flags.yes), ("-n", flags.dry_run)];
    let bare = bare.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| (*flag).to_owned());
    let words: Vec<String> =
        std::iter::once("descent align".to_owned()).chain(texts).chain(bare).collect();
    words.join(" ")
}

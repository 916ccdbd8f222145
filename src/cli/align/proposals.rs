//! What the project itself proposes, and the command line that would make an agreement complete.
//!
//! Invariant: nothing is adopted here. What is filled into a command line is typed by a person or not at all.

use std::path::Path;

use crate::{
    failure::{Failure, quoted},
    git::Git,
    survey::{self, Proposal, Survey},
};

use super::AlignArgs;

/// Looks at the project; what git ignores is asked of git, where there is one.
pub(super) fn of(top: &Path) -> Survey {
    let git = Git::open(top).ok().flatten();
    let prefix = git
        .as_ref()
        .and_then(|git| {
            let top = top.canonicalize().ok()?;
            Some(top.strip_prefix(git.top()).ok()?.to_owned())
        })
        .unwrap_or_default();
    let is_ignored = |path: &str| {
        let git = git.as_ref();
        git.is_some_and(|git| git.is_ignored(&prefix.join(path)).unwrap_or(false))
    };
    survey::survey(top, &is_ignored)
}

/// Whether the start gate's refusal names that part of the agreement.
pub(super) fn lacks(refusal: &Failure, part: MissingPart) -> bool {
    let lead = format!("{}:", part.pointer());
    refusal.details.iter().any(|line| line.starts_with(&lead))
}

/// What the gate asks a person for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingPart {
    Goal,
    Why,
    Checks,
    Work,
}

impl MissingPart {
    fn pointer(self) -> &'static str {
        match self {
            MissingPart::Goal => "/objective/goal",
            MissingPart::Why => "/objective/background_intent",
            MissingPart::Checks => "/objective/base_case",
            MissingPart::Work => "/work_graph/atoms",
        }
    }
}

/// The gate's refusal with what could be given, and a command line to paste.
pub(super) fn complete(
    mut refusal: Failure,
    flags: &AlignArgs,
    top: &Path,
    worker: bool,
) -> Failure {
    let wants_checks = lacks(&refusal, MissingPart::Checks);
    if wants_checks {
        // Both are rendered from the checks, unless written.
        let rendered = ["/objective/deliverables:", "/objective/definition_of_done:"];
        let is_rendered = |line: &String| rendered.iter().any(|lead| line.starts_with(lead));
        refusal.details.retain(|line| !is_rendered(line));
    }
    let survey = if wants_checks {
        of(top)
    } else {
        Survey::default()
    };
    let line = command_line(&refusal, flags, &survey, worker);
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

/// The refusal of whoever said no, with all that was answered as a command line: to be changed, not to be said anew.
pub(super) fn again(mut refusal: Failure, flags: &AlignArgs) -> Failure {
    let line = command_line(&refusal, flags, &Survey::default(), true);
    refusal.hint = format!("change what is not right: {line}");
    refusal
}

/// What was typed, with what is missing filled in: by the first proposal, else by a word in capitals.
fn command_line(refusal: &Failure, flags: &AlignArgs, survey: &Survey, worker: bool) -> String {
    let mut words = vec!["descent align".to_owned()];
    let goal = flags.goal.as_deref();
    if goal.is_some_and(|goal| !goal.trim().is_empty()) || lacks(refusal, MissingPart::Goal) {
        let goal = goal.filter(|goal| !goal.trim().is_empty());
        words.push(quoted(goal.unwrap_or("GOAL")));
    }
    let mut put = |flag: &str, text: &str| words.push(format!("{flag} {}", quoted(text)));
    if let Some(plan) = &flags.plan {
        put("-f", &plan.display().to_string());
    }
    if lacks(refusal, MissingPart::Why) {
        put("--why", "WHY");
    } else if let Some(why) = &flags.why {
        put("--why", why);
    }
    for (flag, text) in [("--deliver", &flags.deliver), ("--done", &flags.done)] {
        text.iter().for_each(|text| put(flag, text));
    }
    flags.check.iter().for_each(|check| put("--check", check));
    if lacks(refusal, MissingPart::Checks) {
        let first = survey.checks.first();
        put("--check", first.map_or("COMMAND", |first| &first.text));
    }
    flags.step.iter().for_each(|step| put("--step", step));
    if lacks(refusal, MissingPart::Work) {
        put(
            "--step",
            if worker {
                "WHAT TO DO"
            } else {
                "WHAT TO DO=COMMAND"
            },
        );
    }
    for (flag, texts) in [
        ("--set", &flags.set),
        ("--protect", &flags.protect),
        ("--link", &flags.link),
    ] {
        texts.iter().for_each(|text| put(flag, text));
    }
    flags.setup.iter().for_each(|setup| put("--setup", setup));
    for (flag, is_given) in [
        ("--force", flags.force),
        ("-y", flags.yes),
        ("-n", flags.dry_run),
    ] {
        if is_given {
            words.push(flag.to_owned());
        }
    }
    words.join(" ")
}

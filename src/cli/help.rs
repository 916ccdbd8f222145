//! The help: the groups of commands, and an example for each.
//!
//! Invariant: every command is in one group.

use clap::{ColorChoice, Command, CommandFactory};

use super::Cli;
use crate::render::{self, Line, Meaning, Page};

/// Columns of the help.
const WIDTH: usize = 80;

/// Groups in the order of a day's work.
const GROUPS: [(&str, &[&str]); 5] = [
    ("start", &["align", "run", "wait", "apply"]),
    ("steer", &["redirect", "stop", "guide", "skip", "retry", "confirm"]),
    ("look", &["status", "watch", "graph", "why", "diff", "log", "report"]),
    ("file", &["edit", "validate", "undo", "migrate"]),
    ("more", &["verify", "doctor", "trust", "memory", "clean"]),
];

/// Groups whose commands are named without a word on each.
const NAMED_ONLY: [&str; 2] = ["file", "more"];

/// One typical call of each command.
const EXAMPLES: [(&str, &str); 27] = [
    (
        "align",
        "descent align \"the tests pass\" --why \"releases wait for it\" \\\n      --check \"make test\" --step \"mend the parser=./mend-parser.sh\"",
    ),
    ("run", "descent run --apply"),
    ("wait", "descent wait --timeout 8h && descent apply"),
    ("apply", "descent apply"),
    ("stop", "descent stop --reason \"the plan was wrong\""),
    (
        "redirect",
        "descent redirect \"JWT is not wanted\" --select auth=session --set max_attempts=4",
    ),
    ("guide", "descent guide \"the port is 8443 now\" --for deploy"),
    ("skip", "descent skip docs --reason \"written by hand\""),
    ("retry", "descent retry parser"),
    ("confirm", "descent confirm \"the page looks right\""),
    ("status", "descent status --exit-code"),
    ("watch", "descent watch"),
    ("graph", "descent graph --format mermaid"),
    ("why", "descent why parser"),
    ("diff", "descent diff parser.3 --stat"),
    ("log", "descent log -n 20"),
    ("report", "descent report | gh pr create -F - -t \"the parser\""),
    ("undo", "descent undo -n"),
    ("edit", "descent edit"),
    ("validate", "descent validate plan.yaml"),
    ("migrate", "descent migrate -n .claude/aot-loop-state.md"),
    ("verify", "descent verify && git push"),
    ("memory", "descent memory"),
    ("doctor", "descent doctor"),
    ("clean", "descent clean -n"),
    ("dev", "descent dev completions bash > ~/.local/share/bash-completion/completions/descent"),
    ("trust", "descent trust"),
];

/// The options of every command in few lines: a command's own help has them in full.
const OPTIONS: [(&str, &str); 3] = [
    ("-C DIR, --state FILE", "start elsewhere, or with another state file"),
    ("--json, -q, -v", "for a program; only what was asked for; more"),
    ("--color, --no-input", "auto, always or never; never ask, draw nothing that moves"),
];

/// The command line as it is parsed, with its help.
pub(super) fn command() -> Command {
    let mut command = Cli::command().color(ColorChoice::Auto).styles(render::of_help());
    command = command.mut_subcommands(|one| {
        let example = EXAMPLES.iter().find(|(name, _)| *name == one.get_name());
        match example {
            Some((_, example)) => one.after_help(format!("Example:\n  {example}")),
            None => one,
        }
    });
    // Written whole, because clap would wrap styled lines again.
    let whole = whole(&command);
    command.override_help(whole)
}

/// The overview: every command with its line, by group.
fn whole(command: &Command) -> String {
    let about = |one: &Command| one.get_about().map(ToString::to_string).unwrap_or_default();
    let known: Vec<(String, String)> = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(|one| (one.get_name().to_owned(), about(one)))
        .collect();
    let column = known.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let mut page = Page::new(WIDTH);
    page.wrapped(Line::new(), Meaning::Plain, &about(command), 2);
    page.push(Line::new().strong("Usage: ").plain("descent [OPTIONS] [COMMAND]"));
    page.gap();
    for (group, names) in GROUPS {
        let listed = names.iter();
        let listed = listed.filter_map(|name| known.iter().find(|(known, _)| known == name));
        let head = |text: &str| Line::new().strong(text).pad(7);
        if NAMED_ONLY.contains(&group) {
            let names: Vec<&str> = listed.map(|(name, _)| name.as_str()).collect();
            page.wrapped(head(group), Meaning::Next, &names.join(", "), 2);
            continue;
        }
        let mut heading = Some(group);
        for (name, about) in listed {
            let head = head(heading.take().unwrap_or_default());
            let name = Line::new().put(Meaning::Next, name).pad(column);
            page.wrapped(head.then(name), Meaning::Plain, about, 2);
        }
    }
    page.gap();
    for (options, about) in OPTIONS {
        page.push(Line::new().put(Meaning::Next, options).pad(22).plain(about));
    }
    let more = "`descent help COMMAND` has the options of a command, and an example.";
    page.push(Line::of(more));
    page.text(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = command();
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = one.get_name();
            let places = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(places, 1, "`{name}` stands in {places} groups of src/cli/help.rs");
        }
    }

    #[test]
    fn every_command_shows_an_example_that_can_be_parsed() {
        for one in command().get_subcommands() {
            let name = one.get_name();
            let (_, example) = EXAMPLES
                .iter()
                .find(|(known, _)| *known == name)
                .unwrap_or_else(|| panic!("`{name}` has no example in src/cli/help.rs"));
            assert!(example.starts_with(&format!("descent {name}")), "{example}");
        }
    }

    #[test]
    fn the_help_names_every_option_that_all_commands_have_and_fits_a_screen() {
        let mut command = command();
        let text = command.render_help().to_string();
        for one in command.get_arguments().filter(|one| one.is_global_set()) {
            let long = one.get_long().map(|long| format!("--{long}"));
            let short = one.get_short().map(|short| format!("-{short}"));
            let is_named = |name: Option<String>| name.is_some_and(|name| text.contains(&name));
            assert!(is_named(long) || is_named(short), "{one} is not in:\n{text}");
        }
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}

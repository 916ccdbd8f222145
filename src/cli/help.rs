//! The help: the groups of commands, and an example for each. Also the fault of a command line that cannot be read, and
//! the command that was probably meant.
//!
//! Invariant: every command is in one group.

use clap::{
    ColorChoice, Command, CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};
use descent_core::doc::suggest;

use super::{Cli, Failure, Line, Meaning, Page, quoted, render};

/// Columns of the help.
const WIDTH: usize = 80;

/// Groups in the order of a day's work.
const GROUPS: [(&str, &[&str]); 5] = [
    ("start", &["do", "align", "run", "wait", "apply", "demo"]),
    ("steer", &["redirect", "stop", "guide", "skip", "retry", "confirm"]),
    ("look", &["status", "watch", "graph", "why", "diff", "log", "report"]),
    ("file", &["edit", "validate", "undo", "migrate"]),
    ("more", &["verify", "doctor", "trust", "memory", "clean"]),
];

/// Groups whose commands are named without a word on each.
const NAMED_ONLY: [&str; 2] = ["file", "more"];

/// One typical call of each command.
const EXAMPLES: [(&str, &str); 29] = [
    ("do", "descent do \"the parser accepts an empty input\""),
    (
        "align",
        "descent align \"the tests pass\" --why \"releases wait for it\" \\\n      --check \"make test\" --step \"mend the parser=./mend-parser.sh\"",
    ),
    ("run", "descent run --apply"),
    ("wait", "descent wait --timeout 8h && descent apply"),
    ("apply", "descent apply"),
    ("demo", "descent demo"),
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
pub(super) fn command_line() -> Command {
    let mut command = Cli::command().color(ColorChoice::Auto).styles(render::of_help());
    command = command.mut_subcommands(|one| {
        match EXAMPLES.iter().find(|(name, _)| *name == one.get_name()) {
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
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let column = names.map(|name| name.len()).max().unwrap_or(0) + 2;
    let mut page = Page::new(WIDTH);
    page.wrapped(Line::new(), Meaning::Plain, &about(command), 2);
    page.push(Line::new().strong("Usage: ").plain("descent [OPTIONS] [COMMAND]"));
    page.gap();
    for (group, names) in GROUPS {
        let head = |text: &str| Line::new().strong(text).pad(7);
        if NAMED_ONLY.contains(&group) {
            page.wrapped(head(group), Meaning::Next, &names.join(", "), 2);
            continue;
        }
        for (n, name) in names.iter().enumerate() {
            let head = head(if n == 0 { group } else { "" });
            let about = command.find_subcommand(name).map(about).unwrap_or_default();
            let name = Line::new().put(Meaning::Next, name).pad(column);
            page.wrapped(head.then(name), Meaning::Plain, &about, 2);
        }
    }
    page.gap();
    for (options, about) in OPTIONS {
        page.push(Line::new().put(Meaning::Next, options).pad(22).plain(about));
    }
    page.push(Line::of("`descent help COMMAND` has the options of a command, and an example."));
    page.text(true)
}

/// Other programs' names for the commands here.
const MEANT: [(&[&str], &str); 17] = [
    (&["list", "ls", "info", "state"], "descent status"),
    (&["logs", "history", "events"], "descent log"),
    (&["again", "rerun"], "descent retry"),
    (&["hint", "tell", "say"], "descent guide"),
    (&["start", "resume", "continue", "go"], "descent run"),
    (&["init", "new", "goal", "create"], "descent align"),
    (&["abort", "cancel", "kill", "pause", "quit"], "descent stop"),
    (&["changes", "patch"], "descent diff"),
    (&["merge", "commit", "accept", "land"], "descent apply"),
    (&["check", "test"], "descent verify"),
    (&["explain"], "descent why"),
    (&["follow", "tail", "top"], "descent watch"),
    (&["version"], "descent --version"),
    (&["tree", "plan", "atoms"], "descent graph"),
    (&["revert", "reset", "rollback"], "descent undo"),
    (&["gc", "prune", "remove", "rm"], "descent clean"),
    (&["config", "constraints", "set"], "descent status --constraints"),
];

/// Commands that became a mode of another: the command to type, where `{}` is the old one's argument, and its name.
const MOVED: [(&str, &str, &str); 9] = [
    ("ps", "descent status --all", ""),
    ("show", "descent log {}", "SERIAL"),
    ("prompt", "descent why {} --prompt", "ATOM"),
    ("fork", "descent undo --into {}", "FILE"),
    ("resolve", "descent confirm {}", "ATTEMPT"),
    ("judge", "descent validate {}", "PLAN"),
    ("audit", "descent report --audit", ""),
    ("schema", "descent dev schema {}", "NAME"),
    ("completions", "descent dev completions {}", "SHELL"),
];

/// Commands whose one argument is a text.
const TEXTS: [(&str, &str); 2] = [("align", "goal"), ("redirect", "reason")];

/// Commands that show once what `watch` follows.
const LOOKS: [&str; 3] = ["status", "graph", "why"];

/// Whether an option asks for what `watch` does.
pub(super) fn follows(option: &str) -> bool {
    ["-f", "--follow", "-w", "--watch", "--live"].contains(&option)
}

pub(super) fn failure(error: &Error, typed: &[String]) -> Failure {
    let known = command_line();
    let command = typed.iter().find(|word| known.find_subcommand(word).is_some());
    match error.kind() {
        ErrorKind::InvalidSubcommand => no_such_command(error, typed),
        ErrorKind::UnknownArgument => unknown_argument(error, command, typed),
        _ => Failure::usage(first_line(error), help_of(command)),
    }
}

/// Reads a text of a flag, and refuses an empty one: mostly an empty variable of a script.
pub(super) fn filled(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is an empty text") } else { Ok(text.to_owned()) }
}

fn no_such_command(error: &Error, typed: &[String]) -> Failure {
    let name = context(error, ContextKind::InvalidSubcommand).unwrap_or_default();
    if let Some((_, now, argument)) = MOVED.iter().find(|(old, ..)| *old == name) {
        let mut after = after(typed, &name);
        let given = after.find(|word| !word.starts_with('-'));
        let given = given.map_or((*argument).to_owned(), quoted);
        // `resolve --retry` was the answer that an effect did not happen.
        let is_no = |word: &String| ["--retry", "--no"].contains(&word.as_str());
        let denies = name == "resolve" && typed.iter().any(is_no);
        let hint = format!("{}{}", now.replace("{}", &given), if denies { " --no" } else { "" });
        return Failure::usage(format!("there is no command `{name}` any more"), hint);
    }
    let meant = MEANT.iter().find(|(names, _)| names.contains(&name.as_str()));
    let known = command_line();
    let similar = suggest(&name, known.get_subcommands().map(Command::get_name));
    let hint = match (meant, similar) {
        (Some((_, command)), _) => (*command).to_owned(),
        (None, Some(similar)) => format!("descent {similar}"),
        (None, None) => "descent --help".to_owned(),
    };
    Failure::usage(format!("there is no command `{name}`"), hint)
}

fn unknown_argument(error: &Error, command: Option<&String>, typed: &[String]) -> Failure {
    let argument = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let what = format!("unexpected argument `{argument}`");
    let of_text = TEXTS.iter().find(|(name, _)| command.is_some_and(|command| command == name));
    if let Some((name, text)) = of_text.filter(|_| !argument.starts_with('-')) {
        let what = format!("{what}: a {text} of several words stands in quotes");
        let words: Vec<&str> =
            after(typed, name).take_while(|word| !word.starts_with('-')).collect();
        return Failure::usage(what, format!("descent {name} \"{}\"", words.join(" ")));
    }
    if command.is_some_and(|name| LOOKS.contains(&name.as_str())) && follows(&argument) {
        return Failure::usage(what, "descent watch");
    }
    let constraint = argument.trim_start_matches('-').replace('-', "_");
    if let Some(command) = command
        && ["align", "redirect", "run"].contains(&command.as_str())
        && argument.starts_with("--")
        && super::constraints::names().any(|known| known == constraint)
    {
        return Failure::usage(what, format!("descent {command} --set {constraint}=VALUE"));
    }
    let similar = context(error, ContextKind::SuggestedArg);
    let similar = similar.map(|similar| format!("did you mean `{similar}`? "));
    Failure::usage(what, similar.unwrap_or_default() + &help_of(command))
}

/// The words after the command.
fn after<'w>(typed: &'w [String], command: &str) -> impl Iterator<Item = &'w str> {
    let words = typed.iter().map(String::as_str);
    words.skip_while(move |word| *word != command).skip(1)
}

fn help_of(command: Option<&String>) -> String {
    match command {
        Some(command) => format!("descent help {command}"),
        None => "descent --help".to_owned(),
    }
}

/// Its first sentence, with the list that belongs to it, such as the missing arguments.
pub(super) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let lines = sentence.lines().map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    line.trim_start_matches("error: ").to_owned()
}

/// Clap lists several suggestions with the most similar one last.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(many) => many.last().cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = command_line();
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = one.get_name();
            let places = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(places, 1, "`{name}` stands in {places} groups of src/cli/help.rs");
        }
    }

    #[test]
    fn every_command_shows_an_example_that_can_be_parsed() {
        for one in command_line().get_subcommands() {
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
        let mut command = command_line();
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
        command_line().debug_assert();
    }
}

//! A command line that cannot be read: its fault, and the command that was probably meant.

use clap::{
    Command,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};
use descent_core::doc::suggest;

use super::help;
use crate::failure::Failure;

/// Other programs' names for the commands here.
const MEANT: [(&[&str], &str); 16] = [
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
    let command = typed.iter().find(|word| is_command(word));
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
        let given = words(typed, &name);
        let given = if given.is_empty() { (*argument).to_owned() } else { given };
        // `resolve --retry` was the answer that an effect did not happen.
        let denies = name == "resolve" && typed.iter().any(|word| word == "--retry");
        let hint = format!("{}{}", now.replace("{}", &given), if denies { " --no" } else { "" });
        return Failure::usage(format!("there is no command `{name}` any more"), hint);
    }
    let meant = MEANT.iter().find(|(names, _)| names.contains(&name.as_str()));
    let known = help::command();
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
        return Failure::usage(what, format!("descent {name} \"{}\"", words(typed, name)));
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

/// The bare words after the command, up to the first option.
fn words(typed: &[String], command: &str) -> String {
    let words = typed.iter().skip_while(|word| *word != command).skip(1);
    let words = words.take_while(|word| !word.starts_with('-'));
    let words: Vec<&str> = words.map(String::as_str).collect();
    words.join(" ")
}

fn is_command(word: &str) -> bool {
    let known = help::command();
    known.get_subcommands().any(|one| one.get_name() == word)
}

fn help_of(command: Option<&String>) -> String {
    match command {
        Some(command) => format!("descent help {command}"),
        None => "descent --help".to_owned(),
    }
}

/// Its first sentence, with the list that belongs to it, such as the missing arguments.
fn first_line(error: &Error) -> String {
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

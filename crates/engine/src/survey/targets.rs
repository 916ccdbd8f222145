//! Targets that a command names and no manifest has: `make`, `npm run` and `cargo test --test`.
//!
//! Invariant: in doubt a target is there: a manifest that includes others, a pattern, an option that leads elsewhere.

use std::path::Path;

use descent_core::judging::MissingTarget;

use super::Reader;

/// The target that the first command of a shell text names, if it is sure not to be there.
pub fn missing_target(project: &Path, command: &str) -> Option<MissingTarget> {
    let words = first_command(command)?;
    let reader = Reader::open(project)?;
    match words.as_slice() {
        ["make", rest @ ..] => of_make(&reader, rest),
        ["npm", "run" | "run-script", rest @ ..] => of_npm(&reader, rest),
        ["npm", "test" | "t"] => of_npm(&reader, &["test"]),
        ["cargo", "test" | "t", rest @ ..] => of_cargo(&reader, rest),
        _ => None,
    }
}

/// The words of the first command of a plain text; anything that a shell would read otherwise gives none.
fn first_command(command: &str) -> Option<Vec<&str>> {
    let end = ["&&", "||", ";", "|", "\n", " 2>", " >", " #"]
        .iter()
        .filter_map(|mark| command.find(mark))
        .min()
        .unwrap_or(command.len());
    let first = &command[..end];
    let words = plain_words(first)?.into_iter();
    Some(words.skip_while(is_assignment).collect())
}

/// The words of a command that is one program with its arguments.
fn plain_words(command: &str) -> Option<Vec<&str>> {
    let is_plain = |c: char| c.is_alphanumeric() || " \t-_./:=,+@".contains(c);
    let is_one = command.chars().all(is_plain);
    is_one.then(|| command.split_whitespace().collect())
}

fn is_assignment(word: &&str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_of_name))
}

const INTERPRETERS: &[&str] = &["sh", "bash", "dash", "python", "python3", "node", "ruby", "perl"];

/// The script that a command hands to an interpreter, if it is sure not to be there.
pub fn missing_script(project: &Path, command: &str) -> Option<String> {
    let words = first_command(command)?;
    let [program, script, ..] = words.as_slice() else {
        return None;
    };
    // A word without a dot or a slash may be found elsewhere.
    let is_path = script.contains(['/', '.']) && !script.starts_with(['/', '-', '.']);
    let is_there = || project.join(script).symlink_metadata().is_ok();
    (INTERPRETERS.contains(program) && is_path && !is_there()).then(|| (*script).to_owned())
}

fn missing(words: String, manifest: &str, makers: &[String]) -> Option<MissingTarget> {
    Some(MissingTarget { words, manifest: manifest.to_owned(), makers: makers.to_vec() })
}

/// Options of make without a value that change nothing about the targets.
const MAKE_FLAGS: &[&str] = &[
    "-s",
    "-k",
    "-B",
    "-n",
    "--silent",
    "--quiet",
    "--keep-going",
    "--always-make",
    "--no-print-directory",
];

/// The files of make, in the order in which it looks for them.
const MAKE_FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

fn of_make(reader: &Reader, words: &[&str]) -> Option<MissingTarget> {
    let mut files = MAKE_FILES.into_iter();
    let (file, text) = files.find_map(|file| Some((file, reader.read(file)?)))?;
    let is_plain =
        |word: &&str| MAKE_FLAGS.contains(word) || word.starts_with("-j") || !word.starts_with('-');
    if !words.iter().all(is_plain) || words.contains(&"-j") {
        return None;
    }
    let targets = words.iter().filter(|word| !word.starts_with('-') && !word.contains('='));
    let text = text.replace("\\\n", " ");
    // A file that is included, or a rule that is computed, may have it.
    let is_open = text.lines().any(|line| {
        let first = line.split_whitespace().next().unwrap_or_default();
        let computes = ["$(eval", "$(call"];
        matches!(first, "include" | "-include" | "sinclude")
            || computes.iter().any(|word| line.contains(word))
    });
    let has_rule_of = |target: &str| {
        text.lines().filter(|line| !line.starts_with('\t')).any(|line| {
            let line = line.trim_start();
            let (names, rest) = line.split_once(':').unwrap_or_default();
            let is_pattern = names.contains(['%', '$']);
            let is_phony =
                names.trim() == ".PHONY" && rest.split_whitespace().any(|name| name == target);
            is_rule_of(line, target) || is_pattern || is_phony
        })
    };
    let may_be_built_in = |target: &str| {
        let stem = target.rsplit('/').next().unwrap_or(target);
        let stem = stem.split('.').next().unwrap_or(stem);
        reader.any_file(|name| name.split('.').next() == Some(stem))
    };
    let mut lost = targets.filter(|target| {
        !has_rule_of(target)
            && !may_be_built_in(target)
            && !reader.is_dir(target)
            && !text.contains(".DEFAULT")
    });
    let target = lost.next().filter(|_| !is_open)?;
    let files = MAKE_FILES.iter().chain([target]);
    let makers: Vec<String> = files.map(|file| (*file).to_owned()).collect();
    missing(format!("make {target}"), file, &makers)
}

/// Whether a line of a makefile is a rule for that target.
pub(super) fn is_rule_of(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    // `x := 1` sets a variable, and a recipe begins with a tab.
    !line.starts_with(['\t', '#', ' '])
        && !rest.starts_with('=')
        && !rest.starts_with(":=")
        && targets.split_whitespace().any(|name| name == target)
}

fn of_npm(reader: &Reader, words: &[&str]) -> Option<MissingTarget> {
    let own = words.iter().take_while(|word| **word != "--");
    let own: Vec<&str> = own.copied().collect();
    let [script] = own.as_slice() else {
        return None;
    };
    // It starts `server.js` without a script too.
    if script.starts_with('-') || *script == "start" || *script == "restart" || *script == "env" {
        return None;
    }
    let package: serde_json::Value = serde_json::from_str(&reader.read("package.json")?).ok()?;
    let scripts = package.get("scripts").and_then(serde_json::Value::as_object);
    let has = scripts.is_some_and(|scripts| scripts.contains_key(*script));
    (!has).then(|| missing(format!("npm run {script}"), "package.json", &[]))?
}

fn of_cargo(reader: &Reader, words: &[&str]) -> Option<MissingTarget> {
    let own: Vec<&str> = words.iter().take_while(|word| **word != "--").copied().collect();
    let leads_elsewhere = ["-p", "--package", "--manifest-path", "--workspace", "--all", "-C"];
    if own.iter().any(|word| leads_elsewhere.iter().any(|one| word.starts_with(one))) {
        return None;
    }
    let at = own.iter().position(|word| *word == "--test")?;
    let name = own.get(at + 1).filter(|name| !name.starts_with('-'))?;
    let text = reader.read("Cargo.toml")?;
    let is_simple =
        !text.contains("[workspace") && !text.contains("[[test]]") && !text.contains("autotests");
    let files = [format!("tests/{name}.rs"), format!("tests/{name}/main.rs")];
    let is_there = files.iter().any(|file| reader.is_file(file));
    let words = format!("cargo test --test {name}");
    (is_simple && !is_there).then(|| missing(words, "Cargo.toml", &files))?
}

//! `descent dev`: JSON Schemas, completion scripts for shells, and the man pages. Help does not list it.
#![allow(clippy::disallowed_methods)] // door: the man pages, in the directory that a person names

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use descent_core::id::AtomId;

use super::{
    End, constraints,
    context::Context,
    help,
    schema::{self, SchemaArgs},
};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub struct DevArgs {
    #[command(subcommand)]
    what: Dev,
}

#[derive(Debug, Subcommand)]
enum Dev {
    /// Print a JSON Schema, for editors and programs; without a name list them
    Schema(SchemaArgs),
    /// Print the completions for a shell
    Completions { shell: Target },
    /// Print the main man page
    Man {
        /// Write a page for each command into DIR instead
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
    /// For the scripts: the atoms of this state, a line each
    #[value(hide = true)]
    Atoms,
    /// For the scripts: the constraints that `--set` takes
    #[value(hide = true)]
    Constraints,
}

/// Completes names that the command line alone does not contain.
const OF_BASH: &str = r#"
_descent_names() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    if [[ "$before" == --set ]]; then
        COMPREPLY=($(compgen -W "$("$1" dev completions constraints 2>/dev/null)" -- "$word"))
        compopt -o nospace 2>/dev/null
    elif [[ "$before" =~ ^(why|skip|retry|--for)$ && "$word" != -* ]]; then
        COMPREPLY=($(compgen -W "$("$1" dev completions atoms 2>/dev/null)" -- "$word"))
    else
        _descent "$@"
    fi
}
complete -F _descent_names -o bashdefault -o default descent"#;
const OF_FISH: &str = r#"
complete -c descent -n "__fish_seen_subcommand_from why skip retry" -f -a "(descent dev completions atoms 2>/dev/null)"
complete -c descent -n "__fish_seen_subcommand_from align run" -l set -x -a "(descent dev completions constraints 2>/dev/null)""#;
const OF_ZSH: &str = r#"
_descent_atoms() {
    local -a names=(${(f)"$(descent dev completions atoms 2>/dev/null)"})
    compadd -a names
}
_descent_constraints() {
    local -a names=(${(f)"$(descent dev completions constraints 2>/dev/null)"})
    compadd -S '' -a names
}"#;

pub(super) fn dev(context: &Context, flags: &DevArgs) -> Result<End, Failure> {
    match &flags.what {
        Dev::Schema(flags) => schema::schema(context, flags)?,
        Dev::Completions { shell: Target::Atoms } => atoms(context),
        Dev::Completions { shell } => completions(context, *shell),
        Dev::Man { to } => manual(context, to.as_deref())?,
    }
    Ok(End::Code(0))
}

fn completions(context: &Context, target: Target) {
    let shell = match target {
        Target::Bash => Shell::Bash,
        Target::Elvish => Shell::Elvish,
        Target::Fish => Shell::Fish,
        Target::PowerShell => Shell::PowerShell,
        Target::Zsh => Shell::Zsh,
        Target::Atoms | Target::Constraints => {
            let names: Vec<String> = constraints::names().map(|name| format!("{name}=")).collect();
            return context.out.raw(&names.join("\n"));
        }
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "descent", &mut script);
    let script = with_names(shell, &String::from_utf8_lossy(&script));
    context.out.raw(script.trim_end());
}

/// A script that asks this program for the names of atoms and constraints.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{}\n{OF_BASH}", script.trim_end()),
        Shell::Fish => format!("{}\n{OF_FISH}", script.trim_end()),
        Shell::Zsh => {
            let (head, rest) = script.split_once('\n').unwrap_or((script, ""));
            let rest = rest.lines().map(|line| {
                let names = match line.trim_start() {
                    line if line.starts_with("'::atom --") => ":_descent_atoms'",
                    line if line.starts_with("'*--set=") => ":_descent_constraints'",
                    _ => ":_default'",
                };
                line.replace(":_default'", names)
            });
            let rest: Vec<String> = rest.collect();
            format!("{head}\n{OF_ZSH}\n{}", rest.join("\n"))
        }
        _ => script.to_owned(),
    }
}

/// Prints nothing if there is no readable state: a person is typing.
fn atoms(context: &Context) {
    let loaded = context.store().ok().and_then(|mut store| store.read().ok());
    let atoms = loaded.map(|loaded| loaded.state.all_atoms().into_keys().cloned().collect());
    let mut atoms: Vec<AtomId> = atoms.unwrap_or_default();
    atoms.sort_by(AtomId::cmp_naturally);
    if !atoms.is_empty() {
        let names: Vec<&str> = atoms.iter().map(AtomId::as_str).collect();
        context.out.raw(&names.join("\n"));
    }
}

fn manual(context: &Context, to: Option<&Path>) -> Result<(), Failure> {
    let mut pages = pages()?;
    let Some(dir) = to else {
        let (_, page) = pages.swap_remove(0);
        context.out.raw(String::from_utf8_lossy(&page).trim_end());
        return Ok(());
    };
    let dir = context.dir.join(dir);
    let failed = |error| {
        Failure::io(&format!("the man pages cannot be written to {}", dir.display()), &error)
    };
    std::fs::create_dir_all(&dir).map_err(failed)?;
    for (name, page) in &pages {
        std::fs::write(dir.join(name), page).map_err(failed)?;
    }
    context.out.say(&format!(
        "wrote {} pages to {}\nnext: man -l {}",
        pages.len(),
        dir.display(),
        dir.join("descent.1").display()
    ));
    Ok(())
}

/// The main page first, then one for each command.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut whole = help::command();
    whole.build();
    let mut commands = vec![whole.clone()];
    let named =
        whole.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    commands.extend(named.cloned());
    let render = |command: clap::Command| {
        let man = clap_mangen::Man::new(command);
        let name = man.get_filename();
        let mut page = Vec::new();
        let failed = |error| Failure::bug(format!("the page {name} cannot be made: {error}"));
        man.render(&mut page).map_err(failed)?;
        Ok((name, page))
    };
    commands.into_iter().map(render).collect()
}

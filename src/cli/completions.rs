//! `descent completions`: what shells need to complete the command line, and the man pages.
#![allow(clippy::disallowed_methods)] // door: the man pages, in the directory that a person names

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::{End, context::Context, help};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell; `man` for the manual
    shell: Target,
    /// With man: write a page for each command into DIR, instead of the main page to standard output
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
    Man,
}

pub(super) fn completions(context: &Context, flags: &CompletionsArgs) -> Result<End, Failure> {
    let shell = match flags.shell {
        Target::Bash => Shell::Bash,
        Target::Elvish => Shell::Elvish,
        Target::Fish => Shell::Fish,
        Target::PowerShell => Shell::PowerShell,
        Target::Zsh => Shell::Zsh,
        Target::Man => return manual(context, flags.to.as_deref()),
    };
    if flags.to.is_some() {
        let hint = "descent completions man --to DIR; for a shell redirect the output";
        return Err(Failure::usage("--to is for man pages", hint));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "descent", &mut script);
    context.out.raw(String::from_utf8_lossy(&script).trim_end());
    Ok(End::Code(0))
}

fn manual(context: &Context, to: Option<&Path>) -> Result<End, Failure> {
    let mut pages = pages()?;
    let Some(dir) = to else {
        let (_, page) = pages.swap_remove(0);
        context.out.raw(String::from_utf8_lossy(&page).trim_end());
        return Ok(End::Code(0));
    };
    let dir = context.dir.join(dir);
    let failed = |error| {
        Failure::io(
            &format!("the man pages cannot be written to {}", dir.display()),
            &error,
        )
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
    Ok(End::Code(0))
}

/// The main page first, then one a command.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut whole = help::command();
    whole.build();
    let mut commands = vec![whole.clone()];
    let named = whole
        .get_subcommands()
        .filter(|one| !one.is_hide_set() && one.get_name() != "help");
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

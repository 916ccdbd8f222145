//! `descent dev`: JSON Schemas, completion scripts for shells, and the man pages. Help does not list it.

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::{
    End,
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
    Completions { shell: Shell },
    /// Print the man page of a command, or the main one
    Man { command: Option<String> },
}

pub(super) fn dev(context: &Context, flags: &DevArgs) -> Result<End, Failure> {
    match &flags.what {
        Dev::Schema(flags) => schema::schema(context, flags)?,
        Dev::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut help::command(), "descent", &mut script);
            context.out.raw(String::from_utf8_lossy(&script).trim_end());
        }
        Dev::Man { command } => context.out.raw(&page(command.as_deref())?),
    }
    Ok(End::Code(0))
}

/// The man page of the named command.
fn page(name: Option<&str>) -> Result<String, Failure> {
    let mut whole = help::command();
    whole.build();
    let command = match name {
        None => Some(&whole),
        Some(name) => whole.find_subcommand(name),
    };
    let name = name.unwrap_or_default();
    let Some(command) = command else {
        return Err(Failure::usage(format!("there is no command `{name}`"), "descent --help"));
    };
    let mut page = Vec::new();
    let made = clap_mangen::Man::new(command.clone()).render(&mut page);
    made.map_err(|error| Failure::bug(format!("the page {name} cannot be made: {error}")))?;
    Ok(String::from_utf8_lossy(&page).trim_end().to_owned())
}

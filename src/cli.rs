//! The command line: the commands and their flags, and which file answers each.

mod agree;
mod align;
mod apply;
mod ask;
mod asking;
mod constraints;
mod context;
mod demo;
mod do_goal;
mod doctor;
mod edit;
mod help;
mod live;
mod log;
mod memory;
mod migrate;
mod redirect;
mod report;
mod run;
mod schema;
mod status;
mod steer;
mod stop;
mod timeline;
mod trust;
mod undo;
mod verify;
mod watch;
mod why;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use descent_core::change::Steering;

// The names that most commands need: each file below takes them from here.
use crate::render::{self, Line, Meaning, Out, Page};
use context::{ALIGN, Context, interruptible, runtime, signals, surroundings};
use descent_system::{
    clock,
    failure::{Failure, exit, quoted},
    phrase,
    signal::{self, Signal},
};

/// Hand a goal to agents and walk away: it ends when a machine says that it holds.
#[derive(Debug, Parser)]
#[command(name = "descent", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "For every command")]
struct Global {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// The state file, instead of .descent/state.json in this directory or above
    #[arg(long, value_name = "FILE", global = true)]
    state: Option<PathBuf>,
    /// One JSON value on standard output (`run`: one a line)
    #[arg(long, global = true)]
    json: bool,
    /// Never ask, and draw nothing that moves (so too when CI is set)
    #[arg(long, global = true)]
    no_input: bool,
    // It is looked for before anything is parsed (`render::choose_colour`); here it is named and checked.
    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are heeded too
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto, global = true)]
    color: ColorChoice,
    /// Say more (twice: still more)
    #[arg(short, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Say only what was asked for
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The whole way: agree on a goal, run, look at the result, apply it
    #[command(long_about = do_goal::ABOUT)]
    Do(Box<do_goal::DoArgs>),
    /// Agree on a goal, on its checks and on the work
    Align(Box<align::AlignCommand>),
    /// Start the loop, or resume it
    Run(run::RunArgs),
    /// Wait until the run has ended, and end as it did
    Wait(run::WaitArgs),
    /// Ask the running loop to end
    Stop(stop::StopArgs),
    /// Change the agreement, the work or its results in one commit
    Redirect(Box<redirect::RedirectArgs>),
    /// Say something to those who work on an atom
    Guide(steer::GuideArgs),
    /// Count an atom as done without doing it
    #[command(long_about = steer::ABOUT_SKIP)]
    Skip(steer::AtomsArgs),
    /// Try an atom again that failed
    #[command(long_about = steer::ABOUT_RETRY)]
    Retry(steer::AtomsArgs),
    /// Say that an assertion holds, or that an effect happened
    Confirm(steer::ConfirmArgs),
    /// Look at a run, live
    #[command(long_about = watch::ABOUT)]
    Watch,
    /// Show how things are here, or on this machine
    Status(status::StatusArgs),
    /// Change the state in your editor, also while a loop runs
    Edit,
    /// Look for what is wrong with the state file, or a plan
    Validate(migrate::ValidateArgs),
    /// Take over the state file of an AoT loop
    Migrate(migrate::MigrateArgs),
    /// Evaluate the base case now: 0 it holds, 1 it does not
    Verify(verify::VerifyArgs),
    /// Show what the result, an atom or an attempt changes
    Diff(apply::DiffArgs),
    /// Bring the result home: files, a branch or a patch
    Apply(apply::ApplyArgs),
    /// Show descent at work, in three scenes of some seconds
    #[command(long_about = demo::ABOUT)]
    Demo(demo::DemoArgs),
    /// Explain an atom: choices, attempts, evidence, prompt
    Why(why::WhyArgs),
    /// Look at commands from elsewhere, and allow them
    Trust(trust::TrustArgs),
    /// Show the work graph
    Graph(status::GraphArgs),
    /// Show what happened, and the state at a commit
    Log(log::LogArgs),
    /// Write the whole run as one text: md, junit, html, json
    Report(report::ReportArgs),
    /// Go back to an earlier state, or try another way beside
    Undo(undo::UndoArgs),
    /// Look at what earlier runs of the project learnt, and change it
    Memory(memory::MemoryArgs),
    /// Look at what this machine lacks, and how to mend it
    Doctor,
    /// Remove what ended runs left behind
    Clean(doctor::CleanArgs),
    /// JSON Schemas, completions of shells and man pages
    #[command(hide = true)]
    Dev(schema::DevArgs),
}

/// How a command ended without an error.
#[derive(Debug, Clone, Copy)]
pub enum End {
    Code(u8),
    /// It ended in order, and the process then ends by the signal that asked for it.
    Signal(Signal),
}

pub fn main() -> ExitCode {
    render::choose_colour(std::env::args_os());
    let parsed = help::command_line().try_get_matches().and_then(|matches| {
        let name = matches.subcommand_name().unwrap_or("status").to_owned();
        Cli::from_arg_matches(&matches).map(|cli| (cli, name))
    });
    let (cli, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return not_understood(&error),
    };
    tell_more(cli.global.verbose);
    let out =
        Out { json: cli.global.json, quiet: cli.global.quiet, verbose: cli.global.verbose > 0 };
    match answer(cli, out, &name) {
        Ok(End::Code(_)) if render::data_was_lost() => {
            let hint = "look at where the output goes (a full disk?); nothing else was affected";
            let failure = Failure::new("E-IO", exit::IO, "the output cannot be written", hint);
            out.failure(&failure);
            ExitCode::from(failure.exit)
        }
        Ok(End::Code(code)) => ExitCode::from(code),
        Ok(End::Signal(signal)) => signal::die_by(signal),
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit)
        }
    }
}

/// Prints help and version if asked for. All else is a usage error, as JSON if a program asked for that.
fn not_understood(error: &clap::Error) -> ExitCode {
    if error.exit_code() == 0 {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let typed = std::env::args_os().skip(1);
    let typed: Vec<String> = typed.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let failure = help::failure(error, &typed);
    let out = Out { json: typed.iter().any(|arg| arg == "--json"), quiet: false, verbose: false };
    out.failure(&failure);
    ExitCode::from(failure.exit)
}

/// The place that was named, to be repeated in what is advised.
fn repeat_place(global: &Global) {
    let named = [("-C", &global.dir), ("--state", &global.state)];
    let named = named.iter().filter_map(|(option, path)| Some((option, path.as_ref()?)));
    let options: String =
        named.map(|(option, path)| format!("{option} {} ", quoted(path))).collect();
    if !options.is_empty() {
        let commands = Cli::command();
        let names = commands.get_subcommands().map(|command| command.get_name().to_owned());
        render::advise_at(options, names.collect());
    }
}

fn answer(cli: Cli, out: Out, name: &str) -> Result<End, Failure> {
    repeat_place(&cli.global);
    let context = Context::new(&cli.global, out, name)?;
    match cli.command {
        None => status::bare(&context),
        Some(Command::Align(flags)) => align::align(&context, flags.flags()),
        Some(Command::Do(flags)) => do_goal::run_errand(&context, *flags),
        Some(Command::Run(flags)) => run::run(&context, &flags),
        Some(Command::Wait(flags)) => run::wait(&context, &flags),
        Some(Command::Stop(flags)) => stop::stop(&context, flags),
        Some(Command::Redirect(flags)) => redirect::redirect(&context, &flags),
        Some(Command::Guide(flags)) => steer::guide(&context, &flags),
        Some(Command::Skip(flags)) => steer::atoms(&context, Steering::Skip, &flags),
        Some(Command::Retry(flags)) => steer::atoms(&context, Steering::Retry, &flags),
        Some(Command::Confirm(flags)) => steer::confirm(&context, &flags),
        Some(Command::Watch) => watch::watch(&context),
        Some(Command::Status(flags)) => status::status(&context, &flags),
        Some(Command::Validate(flags)) => migrate::validate(&context, &flags),
        Some(Command::Edit) => edit::edit(&context),
        Some(Command::Migrate(flags)) => migrate::migrate(&context, &flags),
        Some(Command::Verify(flags)) => verify::verify(&context, &flags),
        Some(Command::Diff(flags)) => apply::diff(&context, &flags),
        Some(Command::Apply(flags)) => apply::apply(&context, &flags),
        Some(Command::Demo(flags)) => demo::demo(&context, &flags),
        Some(Command::Why(flags)) => why::why(&context, &flags),
        Some(Command::Trust(flags)) => trust::trust(&context, &flags),
        Some(Command::Graph(flags)) => status::graph(&context, &flags),
        Some(Command::Log(flags)) => log::log(&context, &flags),
        Some(Command::Report(flags)) => report::report(&context, &flags),
        Some(Command::Undo(flags)) => undo::undo(&context, &flags),
        Some(Command::Memory(flags)) => memory::memory(&context, flags),
        Some(Command::Doctor) => doctor::doctor(&context),
        Some(Command::Clean(flags)) => doctor::clean(&context, &flags),
        Some(Command::Dev(flags)) => schema::dev(&context, &flags),
    }
}

fn tell_more(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::ERROR,
        1 => tracing::Level::INFO,
        _ => tracing::Level::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| render::TraceWriter)
        .without_time();
    // A second subscriber cannot be set; there is none.
    let _ = subscriber.try_init();
}

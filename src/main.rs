//! descent: hand a goal to agents and walk away. Parses, dispatches, prints, and ends with the contract's exit code.

mod agent;
mod cli;
mod clock;
mod config;
mod driver;
mod events;
mod evidence;
mod failure;
mod files;
mod git;
mod heartbeat;
mod judging;
mod model;
mod ops;
mod phrase;
mod plan_file;
mod process;
mod render;
mod runs;
mod secrets;
mod shape;
mod shell_words;
mod signal;
mod space;
mod store;
mod survey;
mod trust;
mod verify;
#[cfg(test)]
#[path = "../tests/records.rs"]
mod whole_records;
mod workspace;

#[cfg(test)]
#[path = "../tests/it/steer/heeded.rs"]
mod heeded;
#[cfg(test)]
#[path = "../tests/it/support/passed_over.rs"]
mod passed_over;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = process::guard::run_if_guard() {
        return code;
    }
    #[cfg(target_os = "linux")]
    process::guard::pass_nothing_on();
    if process::detached::begin() {
        signal::outlive_hangups();
    }
    signal::outlive_the_file_limit();
    cli::main()
}

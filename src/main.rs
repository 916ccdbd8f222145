//! descent: hand a goal to agents and walk away. Parses, dispatches, prints, and ends with the contract's exit code.

mod cli;
mod render;
#[cfg(test)]
#[path = "../tests/records.rs"]
mod whole_records;

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = descent_process::guard::run_if_guard() {
        return code;
    }
    #[cfg(target_os = "linux")]
    descent_process::guard::pass_nothing_on();
    if descent_process::detached::begin() {
        descent_system::signal::outlive_hangups();
    }
    descent_system::signal::outlive_the_file_limit();
    cli::main()
}

//! One page as one session of `sh`, in a world of its own.
//!
//! Invariant: nothing of the machine reaches it but PATH. It has a deadline, and the processes of its group are ended.
//! Not here: its expected output.

use std::{
    fs::{self, File},
    os::unix::{fs::symlink, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use regex::Regex;
use tempfile::TempDir;

use super::blocks::{Page, What};

/// Far more than a page takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

pub struct Outcome {
    /// Its home directory is written `~`.
    pub output: String,
    pub code: i32,
}

/// Runs a page; gives the outcome of each step, as far as it got.
pub fn run(page: &Page) -> Vec<Outcome> {
    let root = TempDir::new().expect("a temporary directory");
    let home = root.path().canonicalize().expect("its path");
    fs::create_dir(home.join(".bin")).expect("a directory");
    let program = home.join(".bin/descent");
    symlink(env!("CARGO_BIN_EXE_descent"), program).expect("the program");
    let config =
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n";
    fs::write(home.join(".gitconfig"), config).expect("git's configuration");
    fs::write(home.join(".session"), script(page)).expect("the session");
    // It grows all the time, and the home directory may be the project.
    let beside = TempDir::new().expect("a temporary directory");
    let said = beside.path().join("said");
    let out = File::create(&said).expect("a file for the output");
    let mut child = start(&home, out);
    wait(&mut child);
    let bytes = fs::read(&said).expect("the output");
    let text = String::from_utf8_lossy(&bytes);
    outcomes(&text.replace(&home.display().to_string(), "~"))
}

fn start(home: &Path, out: File) -> Child {
    crate::steer::heeded::heed_signals();
    let path = path();
    let both = out.try_clone().expect("a second handle");
    Command::new("sh")
        .arg(home.join(".session"))
        .env_clear()
        .env("PATH", format!("{}:{path}", home.join(".bin").display()))
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("USER", "ada")
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PAGER", "cat")
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(both)
        .process_group(0)
        .spawn()
        .expect("sh starts")
}

/// PATH without directories that may not be entered: a shell reports those differently than missing files.
fn path() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).filter(|dir| fs::metadata(dir.join(".")).is_ok());
    let path = std::env::join_paths(dirs).expect("what was a path");
    path.to_string_lossy().into_owned()
}

fn wait(child: &mut Child) {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("our child").is_none() && Instant::now() < deadline {
        std::thread::sleep(LOOK);
    }
    let group = i32::try_from(child.id()).ok();
    if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

/// The steps. After each comes a line with its number and exit code, behind a character that no document has.
fn script(page: &Page) -> String {
    let mut text = String::new();
    for (index, step) in page.steps.iter().enumerate() {
        match &step.what {
            What::Shown { command, .. } | What::Hidden(command) => text.push_str(command),
            What::File { path, text: file } => text.push_str(&format!(
                "mkdir -p \"$(dirname '{path}')\" && cat >'{path}' <<'END OF THE FILE'\n{file}END OF THE FILE\n\
                 case \"$(head -c 2 '{path}')\" in '#!') chmod +x '{path}' ;; esac"
            )),
        }
        text.push_str(&format!("\nprintf '\\n\\036%d %d\\n' {index} $?\n"));
    }
    text
}

fn outcomes(said: &str) -> Vec<Outcome> {
    let mark = Regex::new("\n\u{1e}[0-9]+ ([0-9]+)\n").expect("a pattern");
    let mut found = Vec::new();
    let mut from = 0;
    for hit in mark.captures_iter(said) {
        let whole = hit.get(0).expect("a hit");
        found.push(Outcome {
            output: said[from..whole.start()].to_owned(),
            code: hit[1].parse().unwrap_or(-1),
        });
        from = whole.end();
    }
    found
}

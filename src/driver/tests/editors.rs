//! The hands of a person, for the race: real editors as processes, and saves as editors make them.
#![allow(clippy::disallowed_methods)] // tests

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::FileExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How an edit reaches the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Editor {
    Sed,
    Rename,
    InPlace,
    SlowInPlace,
    /// Opened long before it writes, without emptying the file first.
    Late,
    Vim,
    VimInPlace,
    Nano,
}

pub(super) fn has(program: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) {
    let status = command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm")
        .env("HOME", "/nonexistent")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// Replaces one line, the one that holds `mark`, by the editor itself, in the file as the editor finds it.
pub(super) fn replace_line(editor: Editor, path: &Path, mark: &str, line: &str) {
    let substitute = format!("s/^.*{mark}.*$/{line}/");
    let file = path.display();
    match editor {
        Editor::Sed => run(Command::new("sed").arg("-i").arg(&substitute).arg(path)),
        Editor::Rename => run(Command::new("sh").arg("-c").arg(format!(
            "sed '{substitute}' '{file}' > '{file}.mine' && mv '{file}.mine' '{file}'"
        ))),
        Editor::InPlace => run(Command::new("sh").arg("-c").arg(format!(
            "new=$(sed '{substitute}' '{file}') && printf '%s\\n' \"$new\" > '{file}'"
        ))),
        Editor::Vim => vim(path, &substitute, "no"),
        Editor::VimInPlace => vim(path, &substitute, "yes"),
        Editor::Nano => nano(path, mark, line),
        Editor::SlowInPlace | Editor::Late => unreachable!("BUG: no program"),
    }
}

fn vim(path: &Path, substitute: &str, backupcopy: &str) {
    run(Command::new("vim")
        .args(["-es", "-u", "NONE", "-i", "NONE", "-n", "-N"])
        .args([
            "-c",
            &format!("set backupcopy={backupcopy} backupdir=. nofsync"),
        ])
        .args([
            "-c",
            substitute.replacen("s/", "%s/", 1).as_str(),
            "-c",
            "w!",
            "-c",
            "qa!",
        ])
        .arg(path)
        .stdin(Stdio::null()));
}

/// Types into nano: to the line, cut it, type the new one, save, whatever nano asks.
fn nano(path: &Path, mark: &str, line: &str) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let size = rustix::termios::Winsize {
        ws_row: 24,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&person, size).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || {
        Stdio::from(
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(&name)
                .unwrap(),
        )
    };
    let mut person = File::from(person);
    let text = fs::read_to_string(path).unwrap_or_default();
    let Some(number) = text.lines().position(|line| line.contains(mark)) else {
        return;
    };
    let mut child = Command::new("nano")
        .args(["--ignorercfiles", &format!("+{},1", number + 1)])
        .arg(path)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm")
        .env("HOME", "/nonexistent")
        .stdin(terminal())
        .stdout(terminal())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let screen = Arc::new(Mutex::new(String::new()));
    let (mut from, to) = (person.try_clone().unwrap(), Arc::clone(&screen));
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut block) {
            to.lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&block[..n]));
        }
    });
    let until = Instant::now() + Duration::from_secs(20);
    let ends = |child: &mut Child| {
        if Instant::now() > until {
            let _ = child.kill();
            panic!("nano does not end: {:?}", screen.lock().unwrap());
        }
        child.try_wait().unwrap().is_some()
    };
    // Before it has drawn its keys the terminal is not its own yet.
    while !ends(&mut child) && !screen.lock().unwrap().contains("Exit") {
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = person.write_all(format!("\x0b{line}\r\x0f\r").as_bytes());
    // `y` where nano asks because the file changed, else it is typed; then it leaves, whatever was typed.
    while !ends(&mut child) {
        let _ = person.write_all(b"y\x18n");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Saves a whole text as it stands in a buffer.
pub(super) fn save(editor: Editor, path: &Path, text: &str) {
    match editor {
        Editor::SlowInPlace => {
            let mut file = File::create(path).unwrap();
            for chunk in text.as_bytes().chunks(text.len() / 4 + 1) {
                file.write_all(chunk).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Editor::Late => {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            file.write_all_at(text.as_bytes(), 0).unwrap();
            file.set_len(text.len() as u64).unwrap();
        }
        Editor::InPlace | Editor::VimInPlace => fs::write(path, text).unwrap(),
        Editor::Sed | Editor::Rename | Editor::Vim | Editor::Nano => {
            let beside = path.with_extension("mine");
            fs::write(&beside, text).unwrap();
            fs::rename(&beside, path).unwrap();
        }
    }
}

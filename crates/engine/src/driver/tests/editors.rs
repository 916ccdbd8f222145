//! A person's saves, for the race: real editors as processes, and saves as editors make them.
#![allow(clippy::disallowed_methods)] // tests

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{FileExt, MetadataExt},
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
    /// Opened long before the write, without emptying the file first.
    Late,
    Vim,
    VimInPlace,
    Nano,
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

/// Replaces the line that begins with `mark`, by the editor itself, in the file as the editor finds it.
pub(super) fn replace_line(editor: Editor, path: &Path, mark: &str, line: &str) {
    let substitute = format!("s/^{mark}.*$/{line}/");
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

/// Saves from vim like a person: if vim asks because the file changed since it was read, the answer is yes.
///
/// Without a terminal vim takes silence for a no, writes nothing and reports success.
fn vim(path: &Path, substitute: &str, backupcopy: &str) {
    let options = format!("set backupcopy={backupcopy} backupdir=. nofsync");
    let everywhere = format!("%{substitute}");
    let mut vim = Seat::at(
        Command::new("vim")
            .args(["-u", "NONE", "-i", "NONE", "-n", "-N"])
            .args(["-c", &options, "-c", &everywhere, "-c", "w!"])
            .arg(path),
        "vt100",
    );
    while !vim.has_ended() {
        let shown = vim.shown_since_last();
        assert!(!shown.contains("E486"), "vim found no such line: {shown:?}");
        if shown.contains("(y/n)") {
            vim.types("y");
        } else if shown.contains(" written") {
            vim.types("\r:qa!\r");
        } else if shown.contains("E949") {
            // The file changed during the write: vim did not touch it, and reports that.
            vim.types("\r:w!\r");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Types into nano: goes to the line, cuts it, types the new one and saves, whatever nano asks.
fn nano(path: &Path, mark: &str, line: &str) {
    let text = fs::read_to_string(path).unwrap();
    let number = text.lines().position(|line| line.starts_with(mark)).unwrap();
    let mut nano = Seat::at(
        Command::new("nano").args(["--ignorercfiles", &format!("+{},1", number + 1)]).arg(path),
        "xterm",
    );
    // Before it has drawn its keys, it does not control the terminal yet.
    while !nano.has_ended() && !nano.shown_since_last().contains("Exit") {
        std::thread::sleep(Duration::from_millis(2));
    }
    nano.types(&format!("\x0b{line}\r\x0f\r"));
    // `y` answers if nano asks because the file changed; otherwise it is typed. Then it leaves, whatever was typed.
    while !nano.has_ended() {
        nano.types("y\x18n");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program at a terminal of its own.
struct Seat {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    /// Bytes on the screen at the last typing.
    seen: usize,
    until: Instant,
}

impl Seat {
    fn at(command: &mut Command, term: &str) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&person, size).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
        let mut both = OpenOptions::new();
        both.read(true).write(true);
        let terminal = || Stdio::from(both.open(&name).unwrap());
        let child = command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", term)
            .env("HOME", "/nonexistent")
            .stdin(terminal())
            .stdout(terminal())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keys = File::from(person);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut block) {
                let text = String::from_utf8_lossy(&block[..n]);
                to.lock().unwrap().push_str(&text);
            }
        });
        Self { child, keys, screen, seen: 0, until: Instant::now() + Duration::from_secs(60) }
    }

    fn has_ended(&mut self) -> bool {
        if Instant::now() > self.until {
            let _ = self.child.kill();
            panic!("the editor does not end: {:?}", self.screen.lock().unwrap());
        }
        self.child.try_wait().unwrap().is_some()
    }

    fn shown_since_last(&self) -> String {
        self.screen.lock().unwrap()[self.seen..].to_owned()
    }

    fn types(&mut self, keys: &str) {
        self.seen = self.screen.lock().unwrap().len();
        // It may just have ended.
        let _ = self.keys.write_all(keys.as_bytes());
    }
}

/// Saves one text into the file that was opened before others got its name, and another one over the name at the moment
/// when the first gets it again. Returns whether that moment was seen.
pub(super) fn save_two(
    path: &Path,
    late: impl Fn(&str) -> String,
    over: impl Fn(&str) -> String,
) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let own = file.metadata().unwrap().ino();
    let mut text = String::new();
    (&file).read_to_string(&mut text).unwrap();
    let is_named = || fs::metadata(path).is_ok_and(|named| named.ino() == own);
    let until = Instant::now() + Duration::from_secs(10);
    while is_named() {
        assert!(Instant::now() < until, "no commit");
        std::thread::sleep(Duration::from_micros(100));
    }
    let text = late(&text);
    file.write_all_at(text.as_bytes(), 0).unwrap();
    file.set_len(text.len() as u64).unwrap();
    drop(file);
    let mut buffer = String::new();
    while !is_named() && Instant::now() < until {
        if let Ok(now) = fs::read_to_string(path) {
            buffer = now;
        }
    }
    save(Editor::Rename, path, &over(&buffer));
    Instant::now() < until
}

/// Saves the whole text of a buffer.
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

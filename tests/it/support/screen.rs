//! A terminal for one call of the program: a pty, and its screen in the end.
//!
//! Not here: the expected content of the screen.

use std::{
    fs::File,
    io::Read,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::world::{World, wait_for_or};

/// The last sequence of each drawing of the live view.
const DRAWN: &str = "\x1b[J";

pub struct Terminal {
    child: Child,
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    master: OwnedFd,
}

/// The end of a call in a terminal: its whole output, and the screen that it left.
pub struct Shown {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub written: String,
    pub screen: Vec<String>,
}

impl Shown {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}", self.written);
        self
    }

    pub fn text(&self) -> String {
        self.screen.join("\n")
    }

    pub fn is_coloured(&self) -> bool {
        self.written.contains("\x1b[3") || self.written.contains("\x1b[1m")
    }
}

impl Terminal {
    /// Starts it with the pty as its standard input, output and error.
    pub fn start(world: &World, columns: u16, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = world.command(args);
        command.envs(env.iter().copied());
        Self::of(command, columns)
    }

    pub fn of(mut command: Command, columns: u16) -> Self {
        if command.get_envs().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm-256color");
        }
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        let side = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        // Otherwise the command would keep the slave open, and the reader would never see an end.
        drop(command);
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (to, mut from) = (Arc::clone(&bytes), File::from(master.try_clone().unwrap()));
        let reader = std::thread::spawn(move || {
            let mut block = [0; 4096];
            // Closing the last slave ends it, with an error.
            while let Ok(n @ 1..) = from.read(&mut block) {
                to.lock().unwrap().extend_from_slice(&block[..n]);
            }
        });
        Self { child, bytes, reader: Some(reader), master }
    }

    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    #[track_caller]
    pub fn wait_for(&self, words: &str) {
        wait_for_or(words, || self.written().contains(words), || self.written());
    }

    /// Types the answer to a question, once its prompt is there: what is typed before is told before it.
    #[track_caller]
    pub fn answers(&self, question: &str, line: &str) {
        let is_asked = || {
            let written = self.written();
            let rest = written.rsplit_once(question).map(|(_, rest)| rest);
            rest.is_some_and(|rest| question.ends_with("] ") || rest.contains("\n> "))
        };
        wait_for_or(question, is_asked, || self.written());
        self.types(line);
    }

    pub fn types(&self, line: &str) {
        rustix::io::write(&self.master, format!("{line}\n").as_bytes()).unwrap();
    }

    /// Presses these keys, without an Enter.
    pub fn presses(&self, keys: &str) {
        rustix::io::write(&self.master, keys.as_bytes()).unwrap();
    }

    /// Waits for the end of a program that draws a whole screen, and gives its code and all that it wrote.
    pub fn left(mut self) -> (Option<i32>, String) {
        let mut status = None;
        let mut has_ended = || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        };
        wait_for_or("the end", &mut has_ended, String::new);
        self.reader.take().unwrap().join().unwrap();
        (status.unwrap().code(), self.written())
    }

    /// The screen as it is drawn now, once it satisfies `is_meant`; only whole drawings are looked at.
    #[track_caller]
    pub fn drawn(&self, is_meant: impl Fn(&str) -> bool) -> String {
        let mut drawn = String::new();
        wait_for_or(
            "a drawing",
            || {
                let written = self.written();
                drawn = written
                    .rsplit_once(DRAWN)
                    .map_or(String::new(), |(whole, _)| screen(whole).join("\n"));
                is_meant(&drawn)
            },
            || self.written(),
        );
        drawn
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn end(mut self) -> Shown {
        let mut status = None;
        wait_for_or(
            "the end",
            || {
                status = self.child.try_wait().unwrap();
                status.is_some()
            },
            || String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned(),
        );
        self.reader.take().unwrap().join().unwrap();
        let (status, written) = (status.unwrap(), self.written());
        Shown { code: status.code(), signal: status.signal(), screen: screen(&written), written }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The screen of such a terminal, with as many rows as are needed. It knows only the sequences that the program may
/// use.
fn screen(written: &str) -> Vec<String> {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if rows.len() == row {
                    rows.push(Vec::new());
                }
            }
            '\x1b' => {
                assert_eq!(chars.next(), Some('['), "an unknown sequence in {written:?}");
                let mut number = String::new();
                let last = loop {
                    match chars.next().expect("a whole sequence") {
                        digit @ ('0'..='9' | ';') => number.push(digit),
                        last => break last,
                    }
                };
                match last {
                    'A' => row -= number.parse().unwrap_or(1),
                    'K' => rows[row].truncate(column),
                    'J' => {
                        rows[row].truncate(column);
                        rows.truncate(row + 1);
                    }
                    'm' => {}
                    other => panic!("an unknown sequence, {number}{other}, in {written:?}"),
                }
            }
            c => {
                if rows[row].len() <= column {
                    rows[row].resize(column + 1, ' ');
                }
                rows[row][column] = c;
                column += 1;
            }
        }
    }
    let rows = rows.into_iter();
    rows.map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

//! A terminal with a person at it: the program's standard input and error, and what the person types.
//!
//! Not here: the program's questions. The output of a child must fit into a pipe. Ctrl-C is sent as the signal that it
//! is: the test's terminal controls nothing.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};

use crate::world::{Ran, World, wait_for, wait_for_or};

/// Runs the program at a terminal; types `answer` once `question` is seen there.
#[track_caller]
pub fn answered(command: &mut Command, question: &str, answer: &str) -> Ran {
    let (mut person, terminal) = open();
    let mut read = person.try_clone().expect("the terminal again");
    let seen = Arc::new(Mutex::new(String::new()));
    let to = Arc::clone(&seen);
    let reader = std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(n @ 1..) = read.read(&mut block) {
            let text = String::from_utf8_lossy(&block[..n]).into_owned();
            to.lock().expect("unpoisoned").push_str(&text);
        }
    });
    let again = || Stdio::from(terminal.try_clone().expect("the terminal again"));
    command.stdin(again()).stderr(again()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let shown = || seen.lock().expect("unpoisoned").clone();
    wait_for_or(question, || shown().contains(question), shown);
    person.write_all(answer.as_bytes()).expect("typed");
    let mut status = None;
    let mut has_ended = || {
        status = child.try_wait().expect("our child");
        status.is_some()
    };
    wait_for_or("its end", &mut has_ended, shown);
    let status = status.expect("it has ended");
    let mut stdout = String::new();
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_to_string(&mut stdout).expect("UTF-8");
    // Once its other ends are closed, the terminal can be read to its end.
    command.stdin(Stdio::null()).stderr(Stdio::null());
    drop(terminal);
    reader.join().expect("it read");
    Ran { code: status.code(), signal: status.signal(), stdout, stderr: shown() }
}

fn open() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&person).expect("granted");
    unlockpt(&person).expect("unlocked");
    let name = ptsname(&person, Vec::new()).expect("its name");
    let name = name.into_string().expect("UTF-8");
    let terminal = OpenOptions::new().read(true).write(true).open(name);
    (File::from(person), terminal.expect("its other end"))
}

/// A terminal for a longer dialogue: the program's output in order, and answers one by one.
pub struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// How much of the screen was read.
    read: usize,
}

impl Terminal {
    pub fn start(world: &World, args: &[&str]) -> Self {
        Self::of(world.command(args))
    }

    pub fn of(mut command: Command) -> Self {
        let (keys, other) = open();
        let again = || Stdio::from(other.try_clone().expect("the terminal again"));
        let child = command
            .stdin(again())
            .stdout(again())
            .stderr(again())
            .spawn()
            .expect("the program starts");
        // The command holds this side open as long as it lives.
        drop((command, other));
        let mut from = keys.try_clone().expect("another handle");
        let screen = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut block) {
                to.lock().expect("unpoisoned").extend_from_slice(&block[..n]);
            }
        });
        Self { child, keys, screen, reader, read: 0 }
    }

    /// All that was on the screen, with the line ends of a file.
    pub fn screen(&self) -> String {
        let bytes = self.screen.lock().expect("unpoisoned").clone();
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    }

    /// Waits until these words come after all earlier awaited ones.
    #[track_caller]
    pub fn sees(&mut self, words: &str) -> &mut Self {
        let (read, mut found) = (self.read, None);
        wait_for_or(
            words,
            || {
                let screen = self.screen();
                let new = screen.get(read..).unwrap_or_default();
                found = new.find(words).map(|at| read + at + words.len());
                found.is_some()
            },
            || self.screen(),
        );
        self.read = found.expect("found");
        self
    }

    pub fn types(&mut self, line: &str) -> &mut Self {
        self.keys.write_all(format!("{line}\n").as_bytes()).expect("typed");
        self
    }

    /// Ctrl-D at the beginning of a line.
    pub fn ends_input(&mut self) -> &mut Self {
        self.keys.write_all(&[4]).expect("typed");
        self
    }

    pub fn interrupt(&mut self) -> &mut Self {
        self.signal(rustix::process::Signal::INT)
    }

    pub fn signal(&mut self, signal: rustix::process::Signal) -> &mut Self {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("it lives");
        self
    }

    #[track_caller]
    pub fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        wait_for("the program's end", || {
            status = self.child.try_wait().expect("our child");
            status.is_some()
        });
        wait_for("the last of what it said", || self.reader.is_finished());
        status.expect("ended")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

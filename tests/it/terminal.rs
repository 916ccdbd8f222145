//! A terminal with a person at it: the program's standard input and error, and what the person types.
//!
//! Not here: what the program asks. What a child prints must fit into a pipe.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use crate::world::{Ran, wait_for_or};

/// Runs the program at a terminal; types `answer` once `question` is seen there.
#[track_caller]
pub fn answered(command: &mut Command, question: &str, answer: &str) -> Ran {
    let (mut person, terminal) = open();
    let mut read = person.try_clone().expect("the terminal again");
    let seen = Arc::new(Mutex::new(String::new()));
    let to = Arc::clone(&seen);
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(n @ 1..) = read.read(&mut block) {
            let text = String::from_utf8_lossy(&block[..n]).into_owned();
            to.lock().expect("unpoisoned").push_str(&text);
        }
    });
    let again = || Stdio::from(terminal.try_clone().expect("the terminal again"));
    command
        .stdin(again())
        .stderr(again())
        .stdout(Stdio::piped());
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
    Ran {
        code: status.code(),
        signal: status.signal(),
        stdout,
        stderr: shown(),
    }
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

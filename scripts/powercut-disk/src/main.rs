//! A disk that remembers every write and flush, and the images that a power cut could have left.
//!
//! For `scripts/powercut` alone, which explains each command.
#![allow(clippy::disallowed_methods)] // a tool beside the program: it has no doors

mod facts;
mod image;
mod log;
mod serve;

use std::{io, path::Path, process::ExitCode};

const USAGE: &str = "powercut-disk serve CONTENT LOG MOUNTPOINT | stamp LOG | look LOG STATE \
    | cuts LOG FACTS COUNT SEED | image LOG CUT SEED DISK | told FACTS CUT | value FILE POINTER | ending STATE";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("powercut-disk {}: {error}", args.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> io::Result<()> {
    let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
    match *args {
        ["serve", content, log, at] => {
            serve::serve(Path::new(content), Path::new(log), Path::new(at))
        }
        ["stamp", log] => facts::stamp(Path::new(log)),
        ["look", log, state] => facts::look(Path::new(log), Path::new(state)),
        ["cuts", log, facts, count, seed] => {
            let facts = facts::read(Path::new(facts))?;
            image::cuts(Path::new(log), &facts, number(count)?, number(seed)?)
        }
        ["image", log, cut, seed, disk] => {
            image::make(Path::new(log), number(cut)?, number(seed)?, Path::new(disk))
        }
        ["told", facts, cut] => {
            facts::told(&facts::read(Path::new(facts))?, number(cut)?);
            Ok(())
        }
        ["value", file, pointer] => facts::value(Path::new(file), pointer),
        ["ending", state] => facts::ending(Path::new(state)),
        _ => Err(io::Error::other(USAGE)),
    }
}

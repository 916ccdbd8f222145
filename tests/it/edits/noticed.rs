//! How soon a running loop notices that a person saved the state file: by events of the file system, and by looking.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

/// As many saves as the figures are taken from, unless `DESCENT_SOAK_SAVES` says otherwise.
const SAVES: usize = 60;
const PATIENCE: Duration = Duration::from_secs(60);

/// A run at rest, whose first atom waits for `go`, and when each edit of its file was told as a correction.
struct Listening {
    world: World,
    run: Child,
    corrected: mpsc::Receiver<Instant>,
}

fn listening() -> Listening {
    let world = World::new();
    let (at, go) = (world.out("at"), world.out("go"));
    let (at, go) = (at.display(), go.display());
    let first = format!("touch {at}; until [ -e {go} ]; do sleep 0.1; done");
    let atoms = json!({"A1": task(&first), "A2": after(&["A1"], "echo word-0000 > log")});
    world.align(&plan(&["test -e log"], json!({}), atoms));
    let mut command: Command = world.command(&["run", "--json"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let (tell, corrected) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let at = Instant::now();
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if event["event"] == "corrected" && tell.send(at).is_err() {
                return;
            }
        }
    });
    world.wait_for_file("at");
    Listening { world, run, corrected }
}

impl Listening {
    /// The present text with the word of the `n`-th save: as long as it was.
    fn text(&self, n: usize) -> String {
        let text = self.world.state_text();
        let (head, tail) = text.split_once("word-").expect("the word");
        format!("{head}word-{n:04}{}", &tail[4..])
    }

    #[track_caller]
    fn noticed_since(&self, saved: Instant) -> Duration {
        let told = self.corrected.recv_timeout(PATIENCE);
        told.expect("the edit is noticed").duration_since(saved)
    }

    fn end(mut self) {
        self.world.touch("go");
        assert!(self.run.wait().unwrap().success());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

#[test]
#[allow(clippy::print_stderr)] // the figures
fn saves_over_the_name_and_in_place_are_noticed_by_events_and_not_by_looking() {
    let it = listening();
    let path = it.world.state_path();
    let said = std::env::var("DESCENT_SOAK_SAVES");
    let saves = said.map_or(SAVES, |said| said.parse().expect("a number of saves"));
    let mut took: Vec<Duration> = (1..=saves)
        .map(|n| {
            let (text, saved) = (it.text(n), Instant::now());
            match n % 2 {
                0 => it.world.save(&text),
                _ => fs::write(&path, &text).unwrap(),
            }
            it.noticed_since(saved)
        })
        .collect();
    took.sort();
    let (p50, p99) = (took[saves / 2], took[saves * 99 / 100]);
    eprintln!(
        "{saves} saves, from before the save to the event of `run --json`: p50 {:.1} ms, p99 {:.1} ms",
        p50.as_secs_f64() * 1e3,
        p99.as_secs_f64() * 1e3
    );
    // By looking alone each of them takes a second.
    assert!(p50 < Duration::from_millis(500), "{took:?}");
    it.end();
}

#[test]
fn a_write_without_event_time_or_length_of_its_own_is_found_by_looking() {
    let it = listening();
    let (path, elsewhere) = (it.world.state_path(), it.world.out("same-file"));
    // As through a memory map: an event has the directory that the file was opened in, and its times are put back.
    fs::hard_link(&path, &elsewhere).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let (text, saved) = (it.text(7), Instant::now());
    fs::write(&elsewhere, text).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&elsewhere).unwrap();
    file.set_modified(modified).unwrap();
    drop(file);
    it.noticed_since(saved);
    assert!(it.world.state_text().contains("word-0007"));
    it.end();
}

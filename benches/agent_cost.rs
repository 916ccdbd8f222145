//! What descent adds to an agent that is talked with: the time from an attempt's intent to its prompt, memory, and the
//! length of a prompt when much is solved.
//!
//! `agent_cost DESCENT DIRECTORY STEPS SESSIONS`: measures in projects of its own there. The agent is this program too
//! (`agent_cost acp|claude FILE`): it starts within a millisecond, answers at once, and writes down when its first prompt
//! came, or stays in its turn. To know, not to pass or fail.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, clippy::panic)] // a measurement

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, UNIX_EPOCH},
};

use serde_json::{Value, json};

const LOOK_AGAIN: Duration = Duration::from_micros(100);
/// Calls of `descent why --prompt` for a median.
const PROMPTS: usize = 21;
const WAIT_MAX: Duration = Duration::from_secs(60);
const ANSWER: &str = r#"{"success": true, "summary": "done", "value": null, "artifacts": [], "clarity": "CLEAR", "handoff": null}"#;

fn main() {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["acp", file, rest @ ..] => answer_acp(Path::new(file), rest.contains(&"stays")),
        ["claude", file, ..] => answer_claude(Path::new(file)),
        [descent, dir, steps, sessions] => {
            let bench = Bench { descent, dir: Path::new(dir) };
            for protocol in ["acp", "claude"] {
                bench.starts(protocol, steps.parse().unwrap());
            }
            bench.memory(sessions.parse().unwrap());
            for is_chain in [true, false] {
                bench.prompt(is_chain);
            }
        }
        _ => println!("agent_cost DESCENT DIRECTORY STEPS SESSIONS"),
    }
}

fn now_ns() -> u128 {
    UNIX_EPOCH.elapsed().unwrap().as_nanos()
}

fn note_prompt(file: &Path) {
    let came = now_ns();
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{came}").unwrap();
}

fn say(message: &Value) {
    let mut stdout = io::stdout().lock();
    // A reader that is gone needs no answer.
    let _ = writeln!(stdout, "{message}").and_then(|()| stdout.flush());
}

fn messages() -> impl Iterator<Item = Value> {
    let lines = io::stdin().lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(&line).ok())
}

fn answer_acp(file: &Path, stays: bool) {
    for message in messages() {
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": format!("s{}", std::process::id())}),
            Some("session/prompt") => {
                note_prompt(file);
                if stays {
                    continue;
                }
                let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ANSWER}});
                let update = json!({"sessionId": message["params"]["sessionId"], "update": chunk});
                say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": update}));
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }
}

fn answer_claude(file: &Path) {
    for message in messages() {
        if message["type"] != "user" {
            continue;
        }
        note_prompt(file);
        let content = json!([{"type": "text", "text": ANSWER}]);
        say(&json!({"type": "assistant", "message": {"model": "none", "content": content}}));
        say(&json!({"type": "result", "subtype": "success", "is_error": false, "result": ANSWER}));
    }
}

struct Bench<'a> {
    descent: &'a str,
    dir: &'a Path,
}

impl Bench<'_> {
    /// An empty project with that configuration.
    fn project(&self, name: &str, config: &str) -> PathBuf {
        let dir = self.dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
            git.arg("-C").arg(&dir).args(who).args(args);
            assert!(git.status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "start"]);
        // One that git has is asked about.
        fs::write(dir.join("descent.toml"), config).unwrap();
        dir
    }

    /// The configuration in which this program is the worker.
    fn own_worker(&self, name: &str, protocol: &str, how: &str) -> String {
        let own = std::env::current_exe().unwrap().display().to_string();
        let argv = json!([own, protocol, self.prompts(name), how]);
        let agent = match protocol {
            "acp" => format!("acp = {argv}"),
            _ => format!("headless = {{events = \"claude-stream-json\", argv = {argv}}}"),
        };
        format!("[agents.bench]\n{agent}\n[roles]\nworker = \"bench\"\n")
    }

    fn align(&self, project: &Path, workspace: &str, atoms: &Value) {
        let plan = json!({
            "objective": {
                "goal": "measure",
                "background_intent": "to measure",
                "base_case": {"all": [{"command": "test -e never"}]},
                "constraints": {"max_parallel_agents": 3, "max_attempts": 1, "workspace": workspace},
            },
            "work_graph": {"atoms": atoms},
        });
        let path = project.with_extension("json");
        fs::write(&path, plan.to_string()).unwrap();
        let mut align = self.command(project);
        align.args(["align", "-y", "-f"]).arg(&path);
        assert!(align.status().unwrap().success());
    }

    fn prompts(&self, name: &str) -> String {
        let file = self.dir.join(format!("{name}.prompts"));
        file.display().to_string()
    }

    fn command(&self, project: &Path) -> Command {
        let mut command = Command::new(self.descent);
        command.arg("-C").arg(project).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// From each intent to the prompt of its attempt, in a chain.
    fn starts(&self, protocol: &str, steps: usize) {
        let dir = self.project(protocol, &self.own_worker(protocol, protocol, "answers"));
        let atoms = atoms(steps, true, |n| json!({"description": format!("step {n}")}));
        self.align(&dir, "git", &atoms);
        let is_over = Arc::new(AtomicBool::new(false));
        let commits = commits(&dir, Arc::clone(&is_over));
        let _ = self.command(&dir).arg("run").status().unwrap();
        is_over.store(true, Ordering::SeqCst);
        let commits = commits.join().unwrap();
        let prompts = fs::read_to_string(self.prompts(protocol)).unwrap();
        let prompts: Vec<u128> = prompts.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(prompts.len(), steps);
        // The intent is in the last commit before the prompt.
        let mut times: Vec<f64> = prompts
            .iter()
            .map(|came| {
                let intent = commits.iter().rfind(|commit| *commit < came).unwrap();
                (came - intent) as f64 / 1e6
            })
            .collect();
        // Around the tenth step, and around the last.
        let [early, late] = [5, steps - 11].map(|from| median(&times[from..from + 11]));
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times[(steps * part).div_ceil(100).clamp(1, steps) - 1];
        println!(
            "{protocol:<8}  p50 {:>5.1} ms  p90 {:>5.1} ms  max {:>5.1} ms  (goal: p50 50 ms)   {early:.1} ms at 10 solved, {late:.1} ms at {}: {:.2}  (goal: 1.3)",
            at(50),
            at(90),
            at(100),
            steps - 6,
            late / early,
        );
    }

    /// Our processes while so many agents are in their turns.
    fn memory(&self, sessions: usize) {
        let dir = self.project("memory", &self.own_worker("memory", "acp", "stays"));
        let atoms = atoms(sessions, false, |n| json!({"description": format!("part {n}")}));
        self.align(&dir, "git", &atoms);
        let mut run = self.command(&dir).arg("run").spawn().unwrap();
        let until = Instant::now() + WAIT_MAX;
        let prompts = self.prompts("memory");
        while fs::read_to_string(&prompts).unwrap_or_default().lines().count() < sessions {
            assert!(Instant::now() < until, "the agents did not come up");
            thread::sleep(Duration::from_millis(5));
        }
        // What a start allocates for a moment is not what a session holds.
        thread::sleep(Duration::from_secs(1));
        let (count, kib) = self.ours(&run);
        println!(
            "{sessions} ACP sessions: {:.1} MiB in {count} processes of ours, what they share counted once  (goal: 60 MiB)",
            kib as f64 / 1024.0
        );
        let _ = self.command(&dir).arg("stop").status();
        run.wait().unwrap();
    }

    /// A prompt at 200 solved atoms beside that at 10.
    fn prompt(&self, is_chain: bool) {
        let shape = if is_chain { "chain" } else { "fan-in" };
        let [few, many] = [10, 200].map(|count| self.told(shape, count, is_chain));
        println!(
            "a prompt in a {shape:<7} {:>6} bytes at 10 solved, {:>6} at 200: {:.2}  (goal: 1.3)   `descent why --prompt` {:.1} ms, {:.1} ms",
            few.0,
            many.0,
            many.0 as f64 / few.0 as f64,
            few.1,
            many.1,
        );
    }

    /// The bytes of the last atom's prompt, and the median of its milliseconds from a start of the program to its end.
    fn told(&self, shape: &str, count: usize, is_chain: bool) -> (usize, f64) {
        let dir = self.project(
            &format!("{shape}-{count}"),
            "agents.worker.run = \"true\"\nroles.worker = \"worker\"\n",
        );
        let report = json!({
            "summary": "What was done here, and in which files it was done. ".repeat(4),
            "handoff": "The next one minds the edge of the table. ".repeat(3),
        });
        let run = format!("echo '{report}' > $DESCENT_RESULT");
        let mut all = atoms(
            count,
            is_chain,
            |n| json!({"description": format!("step {n}"), "action": {"run": run}}),
        );
        self.align(&dir, "shared", &all);
        let _ = self.command(&dir).arg("run").status().unwrap();
        let first = if is_chain { count - 1 } else { 0 };
        let before: Vec<String> = (first..count).map(id).collect();
        all["Z"] = json!({"description": "the last", "depends_on": before});
        self.align(&dir, "shared", &all);
        let mut times: Vec<f64> = Vec::new();
        let mut bytes = 0;
        for _ in 0..PROMPTS {
            let since = Instant::now();
            let mut prompt = self.command(&dir);
            prompt.args(["why", "Z", "--prompt"]).stdout(Stdio::piped());
            let told = prompt.output().unwrap();
            times.push(since.elapsed().as_secs_f64() * 1e3);
            assert!(told.status.success());
            bytes = told.stdout.len();
        }
        (bytes, median(&times))
    }

    /// The loop and its guards, and their proportional memory.
    fn ours(&self, run: &Child) -> (usize, u64) {
        let own = fs::metadata(self.descent).unwrap();
        let is_ours = |pid: &String| {
            let exe = fs::metadata(format!("/proc/{pid}/exe"));
            *pid == run.id().to_string()
                || exe.is_ok_and(|exe| (exe.dev(), exe.ino()) == (own.dev(), own.ino()))
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let ours: Vec<String> = pids.filter(is_ours).collect();
        let kib = ours.iter().map(|pid| proportional_kib(pid)).sum();
        (ours.len(), kib)
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn id(n: usize) -> String {
    format!("A{n:04}")
}

/// So many atoms, each after the one before it or none.
fn atoms(count: usize, is_chain: bool, atom: impl Fn(usize) -> Value) -> Value {
    let with_deps = |n: usize| {
        let mut atom = atom(n);
        let before: Vec<String> =
            n.checked_sub(1).filter(|_| is_chain).map(id).into_iter().collect();
        atom["depends_on"] = json!(before);
        (id(n), atom)
    };
    Value::Object((0..count).map(with_deps).collect())
}

fn proportional_kib(pid: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The times of all commits: another file has the name of the state.
fn commits(project: &Path, is_over: Arc<AtomicBool>) -> thread::JoinHandle<Vec<u128>> {
    let state = project.join(".descent/state.json");
    thread::spawn(move || {
        let ino = || fs::metadata(&state).map(|meta| meta.ino()).ok();
        let (mut known, mut times) = (ino(), Vec::new());
        while !is_over.load(Ordering::SeqCst) {
            let now = ino();
            if now.is_some() && now != known {
                times.push(now_ns());
                known = now;
            }
            thread::sleep(LOOK_AGAIN);
        }
        times
    })
}

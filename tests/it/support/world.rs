//! A world of its own for one test: a home, a cache, a git repository, a place outside of it, and the program in it.
//!
//! Invariant: nothing of the machine reaches the program but PATH; every wait has a deadline; processes of a test are
//! gone when its world is. Not here: the expected behaviour of the program.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, OnceLock},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{kept::Kept, whole_records};

/// Far more than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(4);

pub use crate::{
    agree::plans::{after, plan, task, with},
    described::described,
    kept::listing,
    processes::{long_nap, processes},
};

pub struct World {
    root: TempDir,
}

/// The end of one call of the program.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "no `{words}` in:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn shows(self, words: &str) -> Self {
        assert!(self.stdout.contains(words), "no `{words}` in:\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .map(described)
            .unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }

    /// Every line of `run --json`, each a value with its schema.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let lines = self
            .stdout
            .lines()
            .map(|line| described(serde_json::from_str(line).expect("a line is JSON")));
        lines.inspect(|line| assert!(line["schema"].is_string(), "{line}")).collect()
    }

    /// The final result: the last line.
    #[track_caller]
    pub fn result(&self) -> Value {
        let lines = self.lines();
        let last = lines.last().expect("a result").clone();
        assert_eq!(last["schema"], "descent/result/1", "{}", self.stderr);
        last
    }

    /// The number of events of a kind.
    pub fn count(&self, event: &str) -> usize {
        self.lines().iter().filter(|line| line["event"] == event).count()
    }
}

/// Copies a program by a process of its own: no other test's child holds the copy open for writing when it is started.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let mut copy = Command::new("cp");
    assert!(copy.arg(from.as_ref()).arg(to).status().unwrap().success());
}

/// The program at work beside the test.
pub struct Running {
    child: Child,
    pub stdout: Arc<Mutex<Vec<u8>>>,
    pub stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    pub fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (stdout, one) = drain(child.stdout.take().expect("a pipe"));
        let (stderr, two) = drain(child.stderr.take().expect("a pipe"));
        Self { child, stdout, stderr, readers: vec![one, two] }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> String {
        text(&self.stderr)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid =
            i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("the program lives");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_some()
    }

    /// kill -9, whether it has ended already or not.
    pub fn kill(mut self) -> Ran {
        let _ = self.child.kill();
        self.wait()
    }

    pub fn wait(&mut self) -> Ran {
        let status = self.ended();
        // A process that it left behind may keep a pipe open: a fault to find, not to wait for.
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        Ran {
            code: status.code(),
            signal: status.signal(),
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
        }
    }

    fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("the program did not end:\n{}\n{}", text(&self.stdout), text(&self.stderr));
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, JoinHandle<()>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&seen);
    let reader = std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(n @ 1..) = pipe.read(&mut block) {
            to.lock().expect("unpoisoned").extend_from_slice(&block[..n]);
        }
    });
    (seen, reader)
}

fn text(bytes: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.lock().expect("unpoisoned")).into_owned()
}

impl World {
    /// A repository with one commit of one file. It is made once, and put into each world.
    pub fn new() -> Self {
        static FIRST: OnceLock<Kept> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            let world = Self::without_commits();
            world.write("a.txt", "hello\n");
            world.commit_all("first");
            Kept::of(&world.repo())
        });
        let world = Self::bare();
        first.put(&world.repo());
        world
    }

    pub fn without_commits() -> Self {
        let world = Self::bare();
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "user.name", "Ada"]);
        world.git(&["config", "user.email", "ada@example.org"]);
        world
    }

    /// An empty directory, no repository.
    pub fn bare() -> Self {
        crate::steer::heeded::heed_signals();
        let root = TempDir::new().expect("a temporary directory");
        for dir in ["home", "cache", "repo", "out", "bin"] {
            fs::create_dir(root.path().join(dir)).expect("a directory");
        }
        Self { root }
    }

    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the world's root")
    }

    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// A place outside of the repository: nothing undoes a file there.
    pub fn out(&self, name: &str) -> PathBuf {
        self.root().join("out").join(name)
    }

    pub fn cache(&self) -> PathBuf {
        self.root().join("cache")
    }

    pub fn state_path(&self) -> PathBuf {
        self.repo().join(".descent/state.json")
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.repo().join(name), text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repo().join(name)).expect("a file")
    }

    /// A file that an attempt left outside; empty if it left none.
    pub fn left(&self, name: &str) -> String {
        fs::read_to_string(self.out(name)).unwrap_or_default()
    }

    pub fn touch(&self, name: &str) {
        fs::write(self.out(name), "").expect("a marker");
    }

    /// A program of the test's own, first on PATH where `with_own_programs` is used.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.root().join("bin").join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    }

    pub fn bare_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.root().join("home"))
            .env("XDG_CACHE_HOME", self.cache())
            .env("USER", "ada");
        command.current_dir(self.repo()).stdin(Stdio::null());
        command
    }

    pub fn git(&self, args: &[&str]) -> String {
        let output = self.bare_command("git").args(args).output().expect("git");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A commit of every file.
    pub fn commit_all(&self, words: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", words]);
    }

    /// Deletes all but the state file: sidecars and workspaces.
    pub fn run_away_with_sidecars(&self) {
        let beside = fs::read_dir(self.repo().join(".descent")).expect("the sidecars");
        for path in beside.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                fs::remove_dir_all(&path).expect("a directory");
            } else if path != self.state_path() {
                fs::remove_file(&path).expect("a file");
            }
        }
        fs::remove_dir_all(self.cache()).expect("the cache");
    }

    pub fn repository(&self) -> PathBuf {
        let lineage = self.state()["lineage"].clone();
        let lineage = lineage.as_str().expect("a lineage");
        self.repo().join(".descent/state.json.d/repository").join(lineage)
    }

    pub fn ours(&self, args: &[&str]) -> String {
        let dir = self.repository();
        self.git(&[&["--git-dir", &dir.to_string_lossy()], args].concat())
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare_command(env!("CARGO_BIN_EXE_descent"));
        command.args(args);
        command
    }

    pub fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(args))
    }

    pub fn descent(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// Runs the program in another directory than the project's.
    pub fn descent_in(&self, dir: &Path, args: &[&str]) -> Ran {
        let mut command = self.bare_command(env!("CARGO_BIN_EXE_descent"));
        command.args(args).current_dir(dir);
        Running::of(command).wait()
    }

    pub fn plan(&self, plan: &Value) -> String {
        let path = self.root().join("plan.json");
        fs::write(&path, serde_json::to_vec_pretty(plan).expect("JSON")).expect("the plan");
        path.display().to_string()
    }

    #[track_caller]
    pub fn align(&self, plan: &Value) {
        self.try_align(plan).expect(0);
    }

    pub fn try_align(&self, plan: &Value) -> Ran {
        self.descent(&["align", "-y", "-f", &self.plan(plan)])
    }

    /// `run --json`, to its end.
    pub fn run(&self) -> Ran {
        self.descent(&["run", "--json"])
    }

    pub fn state_bytes(&self) -> Vec<u8> {
        fs::read(self.state_path()).expect("the state file")
    }

    pub fn state_text(&self) -> String {
        String::from_utf8(self.state_bytes()).expect("UTF-8")
    }

    /// The state as whole records.
    pub fn state(&self) -> Value {
        whole_records::whole(&self.file())
    }

    /// The state as it is written.
    pub fn file(&self) -> Value {
        serde_json::from_slice(&self.state_bytes()).expect("the state is JSON")
    }

    /// Saves whole records as most editors do.
    pub fn save_records(&self, records: &Value) {
        self.save(&whole_records::file(records).to_string());
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        self.descent(&["status", "--json"]).expect(0).json()
    }

    /// Saves as most editors do: another file, then its name.
    pub fn save(&self, text: &str) {
        let beside = self.repo().join(".descent/.edited");
        fs::write(&beside, text).expect("the edit");
        fs::rename(&beside, self.state_path()).expect("the edit takes the name");
    }

    #[track_caller]
    pub fn replace_in_state(&self, from: &str, to: &str) {
        let text = self.state_text();
        assert!(text.contains(from), "no `{from}` in:\n{text}");
        self.save(&text.replace(from, to));
    }

    /// The worktree that holds the result.
    pub fn result_file(&self, name: &str) -> String {
        let path = self.status()["workspace"]["path"].as_str().expect("a result").to_owned();
        fs::read_to_string(Path::new(&path).join(name)).unwrap_or_default()
    }

    #[track_caller]
    pub fn wait_for_file(&self, name: &str) {
        wait_for(name, || self.out(name).exists());
    }
}

#[track_caller]
pub fn wait_for(what: &str, holds: impl FnMut() -> bool) {
    wait_for_or(what, holds, String::new);
}

/// `why` describes the state after a wait in vain.
#[track_caller]
pub fn wait_for_or(what: &str, mut holds: impl FnMut() -> bool, why: impl Fn() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for: {what}\n{}", why());
        std::thread::sleep(LOOK);
    }
}

/// Nothing differs from before, by name. Objects of git that nobody names are left out, because its own sweeping takes
/// them. So is its directory of our refs if it is empty again.
#[track_caller]
pub fn assert_same(dir: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) {
    let is_object = |path: &Path| path.to_string_lossy().contains("/.git/objects");
    let is_seen = |path: &&PathBuf| !is_object(path) && !path.ends_with(".git/refs/descent");
    let now = listing(dir);
    let names = now.keys().chain(before.keys()).filter(is_seen);
    let other: Vec<&PathBuf> = names.filter(|path| now.get(*path) != before.get(*path)).collect();
    assert!(other.is_empty(), "{other:?}");
}

/// Ends all processes of this world: tests that kill a run leave its children behind.
impl Drop for World {
    fn drop(&mut self) {
        let root = self.root();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let is_here =
                fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&root));
            let pid = entry
                .file_name()
                .to_string_lossy()
                .parse()
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            if let (true, Some(pid)) = (is_here, pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

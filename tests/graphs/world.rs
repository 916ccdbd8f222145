//! A directory, a cache and a place outside of both for one graph, and the graph as a plan of shell actions.
//!
//! A task makes `made/ID` in its workspace, so the file is in a tree exactly while the task is part of it. Each attempt
//! first writes a list of the files that it sees to the place outside, which nothing takes back.
//!
//! Invariant: nothing of the machine reaches the program but PATH; every wait has a deadline.

use crate::whole_records;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::model::{Ids, Ix, Kind, Model, Node};
use crate::kept::Kept;

/// Far more than a graph takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(2);

pub struct World {
    root: TempDir,
    workspace: Workspace,
}

/// The workspace of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspace {
    /// In a repository.
    Git,
    /// In a directory without a repository.
    Shadow,
}

impl Workspace {
    /// Seeds alternate.
    pub fn of(seed: u64) -> Self {
        match seed % 2 {
            0 => Self::Git,
            _ => Self::Shadow,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Shadow => "shadow",
        }
    }
}

/// How one call of the program ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The last value that it printed.
    pub fn last(&self) -> Value {
        self.stdout
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or(Value::Null)
    }
}

/// The interpreter itself: a version manager's script in its place takes longer than the reader.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let mut asked = Command::new("python3");
        let output = asked.args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        Some(path.trim().to_owned()).filter(|path| !path.is_empty())
    };
    PYTHON.get_or_init(ask).as_deref()
}

impl World {
    pub fn new(workspace: Workspace) -> Self {
        let world = Self { root: TempDir::new().expect("a temporary directory"), workspace };
        for dir in ["home", "cache", "out", "repo/made"] {
            fs::create_dir_all(world.path(dir)).expect("a directory");
        }
        fs::write(world.path("repo/made/.keep"), "").expect("a file");
        if workspace == Workspace::Git {
            static FIRST: OnceLock<Kept> = OnceLock::new();
            let first = FIRST.get_or_init(|| {
                world.commit();
                Kept::of(&world.path("repo"))
            });
            first.put(&world.path("repo"));
        }
        world
    }

    fn commit(&self) {
        self.git(&["init", "-q", "--template=", "-b", "main"]);
        fs::write(self.path("repo/.git/config"), CONFIG).expect("git's configuration");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "first"]);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("USER", "ada");
        command
            .env("GRAPH_OUT", self.path("out"))
            .env("GRAPH_STATE", self.path("repo/.descent/state.json"));
        command.current_dir(self.path("repo")).stdin(Stdio::null()).args(args);
        command
    }

    /// The repository that the results are in.
    fn repository(&self) -> PathBuf {
        let state = self.state();
        let lineage = state["lineage"].as_str().expect("a lineage");
        self.path("repo/.descent/state.json.d/repository").join(lineage)
    }

    /// Git on the results.
    pub fn git_on_results(&self, args: &[&str]) -> String {
        let repository = self.repository().display().to_string();
        self.git(&[&["--git-dir", &repository], args].concat())
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self.command("git", args).output().expect("git");
        // 1: `git grep` found nothing.
        let is_well = output.status.code().is_some_and(|code| code < 2);
        assert!(is_well, "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn descent(&self, args: &[&str]) -> Ran {
        let mut child = self.start(args);
        self.ended(&mut child)
    }

    /// `run`, killed (-9) so long after so many lines of output; without a code, unless it had ended before.
    pub fn run_killed(&self, lines: usize, after: Duration) -> Ran {
        let mut child = self.start(&["run", "--json"]);
        let begun = Instant::now();
        while fs::read_to_string(self.path("stdout")).unwrap_or_default().lines().count() < lines {
            if child.try_wait().expect("our child").is_some() || begun.elapsed() > PATIENCE {
                break;
            }
            std::thread::sleep(LOOK);
        }
        std::thread::sleep(after);
        let _ = child.kill();
        let code = child.wait().expect("our child").code();
        self.ran(code)
    }

    fn start(&self, args: &[&str]) -> Child {
        let to = |name: &str| File::create(self.path(name)).expect("a file");
        let mut command = self.command(env!("CARGO_BIN_EXE_descent"), args);
        command.stdout(to("stdout")).stderr(to("stderr")).spawn().expect("the program starts")
    }

    fn ended(&self, child: &mut Child) -> Ran {
        let begun = Instant::now();
        let code = loop {
            if let Some(status) = child.try_wait().expect("our child") {
                break status.code();
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            std::thread::sleep(LOOK);
        };
        self.ran(code)
    }

    fn ran(&self, code: Option<i32>) -> Ran {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        Ran { code, stdout: read("stdout"), stderr: read("stderr") }
    }

    /// The output of the example reader for the state file; `None` without Python.
    pub fn read_by_example(&self) -> Option<Ran> {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/read_state.py");
        let state = self.path("repo/.descent/state.json");
        let args = [example.display().to_string(), "--json".into(), state.display().to_string()];
        let output = self.command(python()?, &args.each_ref().map(String::as_str)).output().ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Some(Ran { code: output.status.code(), stdout, stderr })
    }

    pub fn align(&self, model: &Model) -> Ran {
        let path = self.path("plan.json");
        let plan = plan(model, self.workspace);
        fs::write(&path, plan.to_string()).expect("the plan");
        self.descent(&["align", "--json", "-y", "-f", &path.display().to_string()])
    }

    pub fn state(&self) -> Value {
        let bytes = fs::read(self.path("repo/.descent/state.json")).expect("the state file");
        whole_records::whole(&serde_json::from_slice(&bytes).expect("the state is JSON"))
    }

    /// One line for each attempt: its atom, its number, the files that it saw.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("out/log")).unwrap_or_default()
    }

    /// The state file as each attempt saw it, in order.
    pub fn states_seen(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("out/states")).unwrap_or_default();
        serde_json::Deserializer::from_str(&text)
            .into_iter()
            .map(|state| whole_records::whole(&state.expect("a whole state")))
            .collect()
    }
}

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      [user]\n\tname = Ada\n\temail = ada@example.org\n";

fn plan(model: &Model, workspace: Workspace) -> Value {
    let written = (0..model.nodes.len()).filter(|x| !model.is_proposed(*x));
    json!({
        "objective": {
            "goal": "what is wanted is made",
            "background_intent": "to see whether it can be",
            "base_case": {"command": base_case(model)},
            "constraints": {
                // Brute force knows no planner that has to obey.
                "law": "show",
                "max_attempts": model.attempts_max,
                "max_parallel_agents": model.slots,
                "planning": {"changes": 1000, "atoms": 1000},
                "workspace": workspace.word(),
                "env": ["GRAPH_OUT", "GRAPH_STATE"],
            },
        },
        "work_graph": {"atoms": atoms(model, written)},
    })
}

fn atoms(model: &Model, which: impl Iterator<Item = Ix>) -> serde_json::Map<String, Value> {
    let nodes = which.map(|x| &model.nodes[x]);
    nodes.map(|node| (node.id.clone(), atom(model, node))).collect()
}

/// Prints the choice after those that were planned before in this context, which its prompt names.
fn planner(model: &Model, node: &Node) -> String {
    let mut script = "case $(grep -c '^- the plan of ' \"$DESCENT_PROMPT\") in\n".to_owned();
    for (n, kid) in node.kids.iter().enumerate() {
        let inside = model.subtree(*kid).into_iter().filter(|x| {
            let innermost = model.above(*x).find(|y| model.nodes[*y].is_planned);
            innermost.map(|y| &model.nodes[y].id) == Some(&node.id)
        });
        let fragment = json!({"atoms": atoms(model, inside)});
        let at = if n + 1 == node.kids.len() { "*".to_owned() } else { n.to_string() };
        script += &format!("{at}) cat <<'END'\n{fragment}\nEND\n;;\n");
    }
    script + "esac"
}

fn atom(model: &Model, node: &Node) -> Value {
    let (kids, deps) = (model.names(&node.kids), model.names(&node.deps));
    match node.kind {
        Kind::Any if node.is_planned => json!({
            "kind": "plan", "depends_on": deps, "action": {"run": planner(model, node)},
        }),
        Kind::Any => json!({
            "kind": "any", "choices": kids, "depends_on": deps,
            "speculative": node.is_speculative,
        }),
        Kind::All => json!({"kind": "all", "parts": kids, "depends_on": deps}),
        Kind::Task => {
            let mut task =
                json!({"kind": "task", "depends_on": deps, "action": {"run": action(model, node)}});
            if node.is_checked {
                task["checks"] = json!({"command": format!("[ -e made/{} ]", node.id)});
            }
            task
        }
    }
}

fn action(model: &Model, node: &Node) -> String {
    let id = &node.id;
    let (goes_wrong, at) = match (node.is_checked, node.succeeds_at) {
        (true, at) => (format!("{{ echo wrong >made/wrong-{id}; exit 0; }}"), at),
        (false, at) => ("exit 1".to_owned(), at),
    };
    let mut conditions =
        vec![at.map_or("false".to_owned(), |n| format!("[ \"$DESCENT_ATTEMPT\" -ge {n} ]"))];
    conditions.extend(model.names(&node.needs).iter().map(|z| format!("[ -e made/{z} ]")));
    let look = format!(
        "echo \"{id} $DESCENT_ATTEMPT\" made/* >>\"$GRAPH_OUT/log\"; \
                cat \"$GRAPH_STATE\" >>\"$GRAPH_OUT/states\""
    );
    format!("{look}; {{ {}; }} || {goes_wrong}; echo {id} >>made/{id}", conditions.join(" && "))
}

fn base_case(model: &Model) -> String {
    let mut conditions: Vec<String> = Vec::new();
    conditions.extend(model.names(&model.wanted).iter().map(|x| format!("[ -e made/{x} ]")));
    conditions.extend(model.names(&model.unwanted).iter().map(|x| format!("[ ! -e made/{x} ]")));
    if model.wants_whole {
        let wholes = model
            .selections()
            .iter()
            .map(|s| listing(model, &model.live_tasks(s)))
            .collect::<Vec<_>>();
        conditions.push(format!(
            "case \"$(echo made/*)\" in {}) true;; *) false;; esac",
            wholes.join("|")
        ));
    }
    conditions.join(" && ")
}

/// A pattern of `case`: the files as a glob lists them.
fn listing(model: &Model, files: &Ids) -> String {
    let mut names = model.names(files);
    names.sort_unstable();
    let paths: Vec<String> = names.iter().map(|name| format!("made/{name}")).collect();
    format!("'{}'", paths.join(" "))
}

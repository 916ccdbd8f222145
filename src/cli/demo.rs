//! `descent demo`: three scenes of this very program in a temporary directory, each claim checked.
//!
//! Invariant: nothing of the person's settings is read, nothing is written outside of the directory, and no process is
//! left. A claim that does not hold ends the demo, and keeps the directory.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use anstream::adapter::strip_str;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    ALIGN, Context, End, Failure, Line, Meaning, Page, ask, exit, interruptible, quoted, render,
};
use descent_agent::config::program::{ProgramLook, find_program};
use descent_process::tool::{self, Tool, ToolError, ToolOutput};
use descent_system::files;
use descent_workspace::git::{Git, GitError};

/// Variables that are passed on; HOME and all else of the person's is not.
const PASSED: [&str; 8] =
    ["PATH", "LANG", "LC_ALL", "TERM", "TZ", "USER", "LOGNAME", "DESCENT_ENDING"];
/// How long one command may take.
const COMMAND_MAX: Duration = Duration::from_secs(60);
/// Time between two looks at what a command printed.
const LOOK: Duration = Duration::from_millis(20);
/// Time in which a process that was left behind would act.
const QUIET: Duration = Duration::from_millis(400);
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// The state of the scene that is edited.
const STATE: &str = "edited/.descent/state.json";
const OTHER_GIT: &str = "install git 2.40 or later, then `descent demo`";
/// Makes the repository of a scene. Its first commit has the name of the directory: lessons are kept by first commits.
const REPOSITORY: &str = "git init -q -b main && git config user.name Demo \
    && git config user.email demo@localhost && git commit -q --allow-empty -m \"${PWD##*/}\"";

pub(super) const ABOUT: &str = "Show descent at work: liars are caught, a `kill -9` loses nothing, and a person steers by hand.\n\nIt needs git and a shell: no agent, no login, no network. All of it happens in a temporary directory, with real commands of this very program. Each claim is checked; one that does not hold ends the demo loudly with 1, and keeps the directory.";

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the temporary directory, and say where it is
    #[arg(long)]
    keep: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DemoClaim {
    scene: &'static str,
    claim: &'static str,
    holds: bool,
}

/// The claims of the demo: `descent demo --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DemoOutput<'a> {
    schema: &'static str,
    /// Every claim holds; else the last one does not.
    holds: bool,
    claims: &'a [DemoClaim],
    /// The directory of the demo, if it was kept.
    kept: Option<String>,
    next: &'static str,
}

pub(super) fn demo(context: &Context, flags: &DemoArgs) -> Result<End, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if find_program("git", &path) == ProgramLook::Missing {
        return Err(Failure::new("E-GIT", exit::UNAVAILABLE, "git is not on the PATH", OTHER_GIT));
    }
    let failed = |error| Failure::io("the directory of the demo cannot be made", &error);
    let made = tempfile::Builder::new().prefix("descent-demo-").tempdir().map_err(failed)?;
    let mut stage = Stage::new(context, made.path())?;
    let played = match interruptible(async |cancel| Ok(stage.play(cancel).await))? {
        Ok(played) => played,
        Err(signal) => return Ok(End::Signal(signal)),
    };
    let holds = played.is_ok();
    if let Err(Some(failure)) = played {
        return Err(failure);
    }
    let kept = (flags.keep || !holds).then(|| made.keep().display().to_string());
    let claims = &stage.claims;
    let (schema, next) = ("descent/demo/1", if holds { ALIGN } else { "descent doctor" });
    let output = DemoOutput { schema, holds, claims, kept, next };
    context.answer_page(&output, || {
        let mut page = Page::new(usize::MAX);
        page.push(Line::new());
        page.extend(holds.then(|| Line::new().strong("All of this held.")));
        let kept = output.kept.as_ref().map(quoted);
        page.extend(kept.map(|dir| Line::of(format!("the directory of the demo is kept: {dir}"))));
        page.next(next);
        page
    });
    Ok(End::Code(if holds { 0 } else { exit::NOT_SO }))
}

/// The error is empty when a claim did not hold, or a signal came.
type SceneResult<T = ()> = Result<T, Option<Failure>>;

struct Stage<'a> {
    context: &'a Context,
    /// This program.
    program: PathBuf,
    dir: PathBuf,
    scene: &'static str,
    env: Vec<(OsString, OsString)>,
    cancel: CancellationToken,
    claims: Vec<DemoClaim>,
    commands: usize,
    /// The output of the last command so far, without colours.
    seen: String,
}

/// A command of a scene.
struct DemoCommand {
    task: JoinHandle<Result<ToolOutput, ToolError>>,
    log: PathBuf,
    is_shown: bool,
    /// Bytes of its output that were read.
    read: usize,
}

impl<'a> Stage<'a> {
    fn new(context: &'a Context, dir: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::io("the directory of the demo cannot be used", &error);
        let dir = dir.canonicalize().map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        let colour = if render::is_coloured() { "CLICOLOR_FORCE" } else { "NO_COLOR" };
        let set = [(colour, "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
        let passed = PASSED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let set = set.into_iter().map(|(name, value)| (name, value.into()));
        let env = passed.chain(set).map(|(name, value)| (name.into(), value));
        let mut env: Vec<(OsString, OsString)> = env.collect();
        // Beside a project itself some fences let nothing be made.
        for (name, place) in [("HOME", "home"), ("TMPDIR", "tmp"), ("DEMO_DIR", "outside")] {
            files::make_dirs(&dir.join(place)).map_err(failed)?;
            env.push((name.into(), dir.join(place).into()));
        }
        let (cancel, claims, seen) = (CancellationToken::new(), Vec::new(), String::new());
        Ok(Self { context, program, dir, scene: "", env, cancel, claims, commands: 0, seen })
    }

    async fn play(&mut self, cancel: CancellationToken) -> SceneResult {
        self.cancel = cancel;
        let about = "Three scenes in a temporary directory; shell commands play the agents.";
        self.tell([Line::of(about)]);
        let played = async {
            self.liars().await?;
            self.pause().await?;
            self.killed().await?;
            self.pause().await?;
            self.edited().await
        };
        let played = played.await;
        // The runtime waits for a command that goes on.
        played.inspect_err(|_| tool::cut_off())
    }

    async fn liars(&mut self) -> SceneResult {
        let about = "One agent does nothing, one cheats, one works. Each of them says: all done!";
        self.open("liars", ["1/3 not fooled", about, include_str!("demo/liars.yaml")]).await?;
        let code = self.show("descent align -f ../liars.yaml -y").await?;
        let fail = self.says("fail 2 + 3") && self.says("fail 10 + 4");
        self.claim("agreed; both checks of the goal fail today", code == Some(0) && fail)?;
        self.pause().await?;
        let code = self.show("descent run").await?;
        self.claim("the agent that does nothing fails its check", self.says("failed lazy"))?;
        let is_removed = self.says("solved cheat") && self.says("removed cheat");
        let claim = "the cheat passes its own check, but not the goal's: it is taken back";
        self.claim(claim, is_removed)?;
        let works = self.says("solved honest") && code == Some(0);
        self.claim("the third does the work: verified in a fresh checkout (exit 0)", works)?;
        let is_kept = self.read("liars/sum.sh").is_empty();
        self.claim("your own files stay as they are until `descent apply`", is_kept)
    }

    async fn killed(&mut self) -> SceneResult {
        let about = "Three letters are sent. While the second is written, `kill -9` ends the loop.";
        self.open("killed", ["2/3 not lost", about, include_str!("demo/killed.yaml")]).await?;
        self.quietly("descent align -f ../killed.yaml -y").await?;
        let mut run = self.start("descent run", true);
        let holds = self.follow(&mut run, |stage| stage.is_in("start second")).await?;
        self.claim("letter 1 is sent, letter 2 is being written", holds)?;
        self.quietly("descent status --json").await?;
        let status: Value = serde_json::from_str(&self.seen).unwrap_or_default();
        // It may have said more meanwhile.
        self.follow(&mut run, |_| true).await?;
        self.show(&format!("kill -9 {}", status["heartbeat"]["pid"])).await?;
        let is_dead = self.end(run).await?.is_none() && self.read("outside/outbox") == "letter 1\n";
        self.claim("the loop is dead, in the middle of its work", is_dead)?;
        self.write("outside/killed-go", "")?;
        let code = self.show("descent run").await?;
        let goes_on = code == Some(0) && self.says("ended second: the loop was cut off");
        self.claim("the same command goes on, and completes (exit 0)", goes_on)?;
        tokio::time::sleep(QUIET).await;
        self.show("cat ../outside/outbox").await?;
        let is_once = self.seen == "letter 1\nletter 2\nletter 3\n";
        self.claim("nothing is lost, nothing done twice, no process left behind", is_once)
    }

    async fn edited(&mut self) -> SceneResult {
        let about =
            "A person edits the state file of a loop at work, and forgets a quotation mark.";
        self.open("edited", ["3/3 yours to steer", about, include_str!("demo/edited.yaml")])
            .await?;
        self.quietly("descent align -f ../edited.yaml -y").await?;
        let mut run = self.start("descent run", true);
        let holds = self.follow(&mut run, |stage| stage.is_in("start board")).await?;
        self.claim("the first of two steps is at work", holds)?;
        let (broken, place) = self.edit("echo Welcome >sign\"", "echo Bienvenue >sign")?;
        let holds = self.follow(&mut run, |stage| stage.seen.contains(&place)).await?;
        self.claim("the loop says where the mark is missing, by line and column", holds)?;
        self.claim("it writes nothing over the person's text", self.read(STATE) == broken)?;
        self.edit("echo Bienvenue >sign", "echo Bienvenue >sign\"")?;
        let holds = self.follow(&mut run, |stage| stage.says("edited")).await?;
        self.claim("the mark is back, and the edit is taken up", holds)?;
        self.write("outside/edited-go", "")?;
        let is_one = self.end(run).await? == Some(0) && self.seen.contains("2 attempts\n");
        self.claim("nothing was restarted: the same run completes (exit 0)", is_one)?;
        self.show("descent apply").await?;
        self.show("cat sign").await?;
        self.claim("the result is what the person wrote", self.seen == "Bienvenue\n")
    }

    /// Waits for the person at a terminal.
    async fn pause(&self) -> SceneResult {
        let out = self.context.out;
        if self.context.may_ask && !out.json {
            tokio::select! {
                _ = ask::in_background(out, "\n(Enter goes on) ") => {}
                () = self.cancel.cancelled() => return Err(None),
            }
        }
        Ok(())
    }

    /// Makes the repository of a scene, with the plan beside it.
    async fn open(&mut self, scene: &'static str, says: [&str; 3]) -> SceneResult {
        let [title, about, plan] = says;
        self.scene = scene;
        let title = Line::new().strong(format!("--- {title} ---"));
        self.tell([Line::new(), title, Line::of(about)]);
        self.write(&format!("{scene}.yaml"), plan)?;
        let made = files::make_dirs(&self.dir.join(scene));
        made.map_err(|error| Failure::io("a directory cannot be made", &error))?;
        self.quietly(REPOSITORY).await?;
        // It refuses a git that is too old.
        match Git::open(&self.dir.join(scene)) {
            Ok(_) => Ok(()),
            Err(error @ GitError::TooOld { .. }) => {
                Err(Some(Failure { hint: OTHER_GIT.into(), ..Failure::from(error) }))
            }
            Err(error) => Err(Some(error.into())),
        }
    }

    /// Changes the state as an editor does. Returns the whole text, and the place of the change as a fault names it.
    fn edit(&self, from: &str, to: &str) -> Result<(String, String), Failure> {
        let text = self.read(STATE).replacen(from, to, 1);
        self.write(STATE, &text)?;
        let changed = text.lines().enumerate().find(|(_, line)| line.contains(to));
        let (at, line) = changed.unwrap_or_default();
        self.tell([Line::new().put(Meaning::Next, "(in an editor) ").plain(line.trim())]);
        Ok((text, format!("state.json:{}:", at + 1)))
    }

    /// Whether the step that was started is in the middle of its work.
    fn is_in(&self, start: &str) -> bool {
        self.says(start) && self.dir.join(format!("outside/{}-begun", self.scene)).exists()
    }

    fn read(&self, name: &str) -> String {
        let bytes = files::read_some(&self.dir.join(name), OUTPUT_BYTES_MAX).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let written = files::write_whole(&self.dir.join(name), text.as_bytes());
        written.map_err(|error| Failure::io(name, &error))
    }

    fn tell(&self, lines: impl IntoIterator<Item = Line>) {
        if !self.context.out.json {
            self.context.out.lines(lines);
        }
    }

    /// Says that it holds, else ends the demo with what was seen.
    fn claim(&mut self, claim: &'static str, holds: bool) -> SceneResult {
        self.claims.push(DemoClaim { scene: self.scene, claim, holds });
        if holds {
            self.tell([Line::indent(2).put(Meaning::Pass, "✓ ").plain(claim)]);
            return Ok(());
        }
        let head = Line::new().put(Meaning::Error, "THIS DID NOT HOLD: ").strong(claim);
        self.tell([head, Line::of("what was seen last:")]);
        self.tell(self.seen.lines().map(|line| Line::indent(2).plain(line)));
        Err(None)
    }

    /// Starts a command in the project, as a person would type it.
    fn start(&mut self, line: &str, is_shown: bool) -> DemoCommand {
        if is_shown {
            self.tell([Line::new().put(Meaning::Next, format!("$ {line}"))]);
        }
        self.commands += 1;
        self.seen.clear();
        let log = self.dir.join(format!("output-{}", self.commands));
        let typed = match line.strip_prefix("descent ") {
            Some(arguments) => format!("exec \"$0\" {arguments}"),
            None => line.to_owned(),
        };
        let script = format!("exec >\"$1\" 2>&1\n{typed}");
        let tool = Tool {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), self.program.clone().into(), log.clone().into()],
            env: self.env.clone(),
            cwd: self.dir.join(self.scene),
            stdin: None,
            wait_max: COMMAND_MAX,
            ends_with_us: true,
        };
        let task = tokio::task::spawn_blocking(move || tool::run_tool(&tool));
        DemoCommand { task, log, is_shown, read: 0 }
    }

    async fn show(&mut self, line: &str) -> SceneResult<Option<i32>> {
        let command = self.start(line, true);
        self.end(command).await
    }

    /// Runs a command whose output is of no interest, unless it fails.
    async fn quietly(&mut self, line: &str) -> SceneResult {
        let command = self.start(line, false);
        match self.end(command).await? {
            Some(0) => Ok(()),
            _ => self.claim("the scene can be prepared", false),
        }
    }

    /// Waits for the end of a command. Returns its exit code.
    async fn end(&mut self, mut command: DemoCommand) -> SceneResult<Option<i32>> {
        self.follow(&mut command, |_| false).await?;
        let ran = command.task.await.map_err(Failure::bug)?;
        let ran = ran.inspect_err(|error| self.seen += &error.to_string());
        Ok(ran.ok().and_then(|ran| ran.status.code()))
    }

    /// Prints what a command prints, until it is so, or the command has ended.
    async fn follow(
        &mut self,
        command: &mut DemoCommand,
        is_so: impl Fn(&Self) -> bool,
    ) -> SceneResult<bool> {
        loop {
            let is_over = command.task.is_finished();
            let bytes = files::read_some(&command.log, OUTPUT_BYTES_MAX).unwrap_or_default();
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            if command.is_shown && !self.context.out.json && whole > command.read {
                self.context.out.bytes(&bytes[command.read..whole]);
            }
            command.read = whole;
            self.seen = strip_str(&String::from_utf8_lossy(&bytes)).to_string();
            let holds = is_so(self);
            if holds || is_over {
                return Ok(holds);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.cancel.cancelled() => return Err(None),
            }
        }
    }

    /// Whether a line was seen that begins with these words.
    fn says(&self, words: &str) -> bool {
        let mut lines = self.seen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|line| line.join(" ").starts_with(words))
    }
}

//! The methods that end a job for good, and whether they work on this machine.
//!
//! From the strongest to the weakest, they are:
//! - a PID namespace, whose end makes the kernel end everything in it;
//! - a control group, which one write kills;
//! - a guard, which adopts every orphan of the job.
//!
//! The first two have a guard too, and a namespace also has a control group if one is available. The method is chosen
//! by trial once per process: a test job that leaves something behind is run with it.
//!
//! A PID namespace is chosen automatically only if it needs no user namespace. Inside a user
//! namespace, files of other users appear as `nobody`. Then ssh refuses its configuration, sudo
//! does not work, and no file can be given to another group of the person.
#![allow(clippy::disallowed_methods)] // door: a process to try a method out, and how long it takes

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Leaf};
use super::guard::{self, GuardTask, Isolation};
use super::guard::{FenceTask, FenceWay};
use super::guard_report::GuardReport;
use super::layers::{self, Layer, LayerMount};
use super::tag::Tag;
use super::{orphans, registry};
use descent_system::failure::{Failure, exit};

/// The variable that names a method, for people whom the strongest one harms.
const METHOD_VARIABLE: &str = "DESCENT_ENDING";
/// Leaves a process behind that holds the output open, and exits with an unusual status.
const TRIAL: &str = r#"sleep 600 &
[ -z "$DESCENT_LAYERED" ] || [ -e "$DESCENT_LAYERED" ] || exit 43
[ -n "$DESCENT_CLOSED" ] && mkdir "$DESCENT_CLOSED/x" 2>/dev/null && exit 43
[ -n "$DESCENT_USERS" ] && ssh -G localhost 2>&1 | grep -q "Bad owner" && exit 43
exit 42"#;
const TRIAL_STATUS: i32 = 42 << 8;
/// The trial wrote where the fence is, saw no layers, or ssh does not work behind it.
const TRIAL_LOOSE: i32 = 43 << 8;
const TRIAL_CLOSED: &str = "DESCENT_CLOSED";
/// A file that the job sees if its layers are there.
const TRIAL_LAYERED: &str = "DESCENT_LAYERED";
const TRIAL_FILE: &str = "file";
/// In a user namespace ssh may refuse the system's settings: their owner has no name there.
const TRIAL_USERS: &str = "DESCENT_USERS";
const TRIAL_MARK: &str = "trial";
const TRIAL_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_micros(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    Namespace,
    Cgroup,
    Guard,
    /// Only the process group: a process that leaves the group is lost. The fallback if nothing
    /// else works.
    Group,
}

impl Method {
    const WISHES: [Method; 3] = [Method::Namespace, Method::Cgroup, Method::Guard];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Namespace => "namespace",
            Method::Cgroup => "cgroup",
            Method::Guard => "guard",
            Method::Group => "group",
        }
    }
}

/// One method, and the reason if it does not work here.
#[derive(Debug)]
pub struct MethodProbe {
    pub method: Method,
    pub why_not: Option<String>,
}

impl MethodProbe {
    #[must_use]
    pub fn text(&self) -> String {
        let how = self.why_not.as_deref().unwrap_or("works here");
        format!("{}: {how}", self.method.name())
    }
}

/// Tries every method, the strongest first: for a person who asks what works here.
#[must_use]
pub fn methods() -> Vec<MethodProbe> {
    let tries = Method::WISHES.map(|method| {
        let why_not = choose(&candidates(Some(method))).err();
        MethodProbe { method, why_not }
    });
    tries.into()
}

/// Prepares for the first job: this process becomes a subreaper and the method is chosen.
///
/// # Errors
/// If the requested method does not exist or does not work here.
pub fn prepare() -> Result<(), Failure> {
    if let Err(error) = orphans::become_subreaper() {
        tracing::warn!(%error, "orphans of jobs go to init instead of here");
    }
    check_requested()
}

/// # Errors
/// If the requested method does not exist or does not work here.
pub fn check_requested() -> Result<(), Failure> {
    choice().as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Whether jobs can see directories of a tree in layers, where trees lie in that directory.
#[must_use]
pub fn layers_work(dir: &Path) -> bool {
    let works = chosen().try_layers(dir);
    works.inspect_err(|error| tracing::info!(%error, "no layers")).unwrap_or(false)
}

#[derive(Debug, Clone)]
pub struct JobEnding {
    pub method: Method,
    walls: Isolation,
    /// The parent group of the groups of jobs.
    below: Option<PathBuf>,
    /// How a fence holds here; `None` before the trial, and where none does.
    pub fence: Option<FenceWay>,
}

const GROUP: &JobEnding = &JobEnding::of(Method::Group, Isolation::None);

pub fn chosen() -> &'static JobEnding {
    choice().as_ref().unwrap_or(GROUP)
}

fn choice() -> &'static Result<JobEnding, Failure> {
    static CHOICE: OnceLock<Result<JobEnding, Failure>> = OnceLock::new();
    CHOICE.get_or_init(|| {
        let wish = requested()?;
        match choose(&candidates(wish)) {
            Ok(ending) => {
                tracing::info!(method = ending.method.name(), "how jobs are ended");
                Ok(ending)
            }
            Err(why) if wish.is_none() => {
                tracing::warn!(why, "a program that leaves its process group may outlive its end");
                Ok(GROUP.clone())
            }
            Err(why) => Err(refused(format!("it does not work here: {why}"))),
        }
    })
}

fn requested() -> Result<Option<Method>, Failure> {
    let Some(wish) = std::env::var_os(METHOD_VARIABLE).filter(|wish| !wish.is_empty()) else {
        return Ok(None);
    };
    let method = Method::WISHES.into_iter().find(|method| wish == *method.name());
    method.map(Some).ok_or_else(|| refused("it is none of namespace, cgroup and guard".to_owned()))
}

fn refused(why: String) -> Failure {
    let wish = std::env::var_os(METHOD_VARIABLE).unwrap_or_default();
    let message = format!("{METHOD_VARIABLE}={}: {why}", wish.to_string_lossy());
    let hint = format!("unset {METHOD_VARIABLE}: then the strongest method that works is taken");
    let mut failure = Failure::new("E-ENDING", exit::UNAVAILABLE, message, hint);
    failure.details = methods().iter().map(MethodProbe::text).collect();
    failure
}

/// The strongest first.
fn candidates(wish: Option<Method>) -> Vec<JobEnding> {
    let below = cgroup::own_group();
    let walled = |walls| {
        let bare = JobEnding::of(Method::Namespace, walls);
        // The variant without a group comes last: the group may be what does not work.
        let grouped = below.clone().map(|below| JobEnding { below: Some(below), ..bare.clone() });
        grouped.into_iter().chain([bare])
    };
    let guarded = JobEnding::of(Method::Guard, Isolation::None);
    let grouped = below.is_some().then(|| JobEnding {
        below: below.clone(),
        ..JobEnding::of(Method::Cgroup, Isolation::None)
    });
    match wish {
        Some(Method::Namespace) => {
            walled(Isolation::Pids).chain(walled(Isolation::PidsAndUsers)).collect()
        }
        Some(Method::Cgroup) => grouped.into_iter().collect(),
        Some(Method::Guard | Method::Group) => vec![guarded],
        None => walled(Isolation::Pids).chain(grouped).chain([guarded]).collect(),
    }
}

/// The first method that works, with the fence that holds in it, or why the last does not.
fn choose(candidates: &[JobEnding]) -> Result<JobEnding, String> {
    if cfg!(not(target_os = "linux")) {
        return Err("this system has none of it".to_owned());
    }
    let mut why = "no control group of the second version can be reached".to_owned();
    for ending in candidates {
        match ending.try_fenced() {
            Ok(fence) => return Ok(JobEnding { fence, ..ending.clone() }),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

impl JobEnding {
    const fn of(method: Method, walls: Isolation) -> Self {
        Self { method, walls, below: None, fence: None }
    }

    /// Makes the control group of one job. If no more groups can be made, the job goes without one.
    pub(crate) fn make_leaf(&self, tag: Tag) -> Option<Leaf> {
        let made = Leaf::make(self.below.as_ref()?, tag);
        made.inspect_err(|error| tracing::warn!(%error, "a job has no control group")).ok()
    }

    /// The command that starts a job, without its directory and environment, and the guard's end of
    /// the socket. The reading end of the job's standard input goes along.
    pub fn command(
        &self,
        command: &str,
        tag: Tag,
        leaf: Option<&Leaf>,
        input: &mut Option<OwnedFd>,
        fence: Option<FenceTask>,
    ) -> io::Result<(Command, Option<UnixStream>)> {
        if self.method == Method::Group {
            let mut shell = Command::new(super::SHELL);
            shell
                .arg("-c")
                .arg(command)
                .stdin(input.take().map_or_else(Stdio::null, Stdio::from))
                .process_group(0);
            return Ok((shell, None));
        }
        let (ours, its) = UnixStream::pair()?;
        let task = GuardTask {
            tag,
            walls: self.walls,
            cgroup: leaf.map(|leaf| leaf.path().to_owned()),
            has_input: input.is_some(),
            fence,
        };
        let mut program = Command::new(guard::PROGRAM);
        program
            .arg0(guard::NAME)
            .arg(guard::task_argument(&task))
            .env(guard::COMMAND, command)
            .stdin(OwnedFd::from(its))
            .process_group(0);
        Ok((program, Some(ours)))
    }

    /// The ways to put up a fence with this method, the best first. Root has no use for a user namespace: there it could
    /// not work with the files of others any more.
    fn fence_ways(&self) -> &'static [FenceWay] {
        match self.walls {
            Isolation::None if geteuid().is_root() => &[FenceWay::Landlock],
            Isolation::None => &[FenceWay::UserMounts, FenceWay::Landlock],
            Isolation::Pids | Isolation::PidsAndUsers => &[FenceWay::Mounts],
        }
    }

    /// Tries it with a fence around an empty directory, and gives the first that holds. A fence that cannot be put up
    /// says nothing of the method.
    fn try_fenced(&self) -> io::Result<Option<FenceWay>> {
        let dir = tempfile::tempdir()?;
        let closed = vec![dir.path().canonicalize()?];
        for way in self.fence_ways() {
            let task = FenceTask { closed: closed.clone(), ..FenceTask::empty(*way) };
            if let Ok(Some(way)) = self.try_out(Some(task)) {
                return Ok(Some(way));
            }
        }
        self.try_out(None)
    }

    fn try_layers(&self, dir: &Path) -> io::Result<bool> {
        let Some(way) = self.fence.filter(|way| *way != FenceWay::Landlock) else {
            return Ok(false);
        };
        let dir = tempfile::tempdir_in(dir)?;
        let [tree, lower] = ["tree", "lower"].map(|name| dir.path().join(name));
        fs::create_dir(&tree)?;
        fs::create_dir(&lower)?;
        fs::write(lower.join(TRIAL_FILE), b"")?;
        let layer = Layer { at: tree.clone(), lower };
        layers::make(&tree, std::slice::from_ref(&layer))?;
        let Some(mount) = LayerMount::of(&tree, 0, layer) else { return Ok(false) };
        let task = FenceTask { layers: vec![mount], ..FenceTask::empty(way) };
        Ok(self.try_out(Some(task))?.is_some())
    }

    /// Runs a job that leaves something behind, and checks that it is gone; gives the fence if it held.
    fn try_out(&self, fence: Option<FenceTask>) -> io::Result<Option<FenceWay>> {
        let tag = Tag::new(TRIAL_MARK);
        let leaf = self.below.as_ref().map(|below| Leaf::make(below, tag)).transpose()?;
        let tried = self.run_trial(tag, leaf.as_ref(), fence);
        if let Some(leaf) = &leaf {
            leaf.end();
        }
        tried
    }

    fn run_trial(
        &self,
        tag: Tag,
        leaf: Option<&Leaf>,
        fence: Option<FenceTask>,
    ) -> io::Result<Option<FenceWay>> {
        let (left, held) = io::pipe()?;
        let way = fence.as_ref().map(|fence| fence.way);
        let closed = fence.iter().flat_map(|fence| fence.closed.clone()).next();
        let layered = fence.iter().flat_map(|fence| &fence.layers).next();
        let layered = layered.map(|layer| layer.at.join(TRIAL_FILE)).unwrap_or_default();
        let (mut command, control) = self.command(TRIAL, tag, leaf, &mut None, fence)?;
        command.env(TRIAL_LAYERED, layered);
        command.env(TRIAL_CLOSED, closed.unwrap_or_default());
        let has_users = way == Some(FenceWay::UserMounts);
        command.env(TRIAL_USERS, if has_users { "1" } else { "" });
        command.stdout(held).stderr(Stdio::null());
        let (mut child, _registered) =
            registry::spawn(false, || command.spawn().map(|child| (child.id(), child)))?;
        // The command holds the other end of the pipe.
        drop(command);
        let begun = control.as_ref().map(|control| guard::begin(control, None));
        let ended = begun.transpose().and_then(|_| wait(&mut child));
        if let Err(error) = ended {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        let way = match control.and_then(GuardReport::read) {
            Some(GuardReport::Ended(TRIAL_STATUS)) => way,
            Some(GuardReport::Ended(TRIAL_LOOSE)) => None,
            Some(GuardReport::Failed(error)) => return Err(error),
            end => return Err(io::Error::other(format!("its trial ended oddly: {end:?}"))),
        };
        let mut fds = [PollFd::from_borrowed_fd(left.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        if fds[0].revents().contains(PollFlags::HUP) {
            return Ok(way);
        }
        Err(io::Error::other("a process outlived its trial"))
    }
}

fn wait(child: &mut Child) -> io::Result<()> {
    let until = Instant::now() + TRIAL_MAX;
    while child.try_wait()?.is_none() {
        if Instant::now() >= until {
            return Err(io::Error::other("its trial did not end"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

//! Jobs as they run: real shells, real escapes.
//!
//! Every program here tells its process id in a file, so that a test asks the kernel about exactly
//! that one, and waits for what it needs to have happened.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

mod starts;
mod stops;
mod sweeps;
mod talks;

const LONG: Duration = Duration::from_secs(60);

struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        prepare().unwrap();
        World { directory: tempfile::tempdir().unwrap() }
    }

    fn job(&self, command: &str) -> Job {
        Job {
            command: command.to_owned(),
            cwd: self.directory.path().to_owned(),
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            timeout: LONG,
            mark: unique("job"),
            input: None,
            whole_stdout_bytes_max: 0,
            log: None,
            reach: Reach::Account,
        }
    }

    fn pid(&self, name: &str) -> u32 {
        pid_told(self.directory.path(), name)
    }
}

/// Our id of a process here that told its own, which may be of a namespace; 0 when it is gone.
fn pid_told(directory: &Path, name: &str) -> u32 {
    let told = eventually(|| {
        let text = std::fs::read_to_string(directory.join(name)).ok()?;
        Some(text.strip_suffix('\n')?.to_owned())
    });
    let is_it = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        ids.is_some_and(|ids| ids.split_whitespace().last() == Some(&told))
            && std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == directory)
    };
    process_table::every_pid().into_iter().find(is_it).unwrap_or(0)
}

fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}-{}-{what}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "did not happen within 20 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_alive(pid: u32) -> bool {
    process_table::entry(pid).is_some_and(|one| !one.is_zombie)
}

/// Starts `program` in a session of its own, waits until its id stands in the file `name`.
fn daemon(name: &str, program: &str) -> String {
    format!(
        "{program} sh -c 'echo $$ >{name}; exec sleep 60' &\n\
         while [ ! -s {name} ]; do sleep 0.01; done\n"
    )
}

async fn run_it(job: &Job) -> JobResult {
    run(job, None, None, &CancellationToken::new(), |_| {}).await.unwrap()
}

#[tokio::test]
async fn a_job_reads_its_input_to_the_end_and_may_leave_it_unread() {
    let world = World::new();
    let with_input = |command: &str| Job { input: Some(vec![b'x'; 1 << 20]), ..world.job(command) };
    let ended = run_it(&with_input("wc -c </dev/stdin; echo out; echo err >&2")).await;
    assert_eq!(ended.how, JobEnd::Exit(0));
    let said = ended.output.tail();
    assert_eq!(said.trim_start(), "1048576\nout\nerr\n");
    let unread = run_it(&with_input("exit 3")).await;
    assert_eq!(unread.how, JobEnd::Exit(3));
}

#[tokio::test]
async fn an_exit_code_or_a_signal_is_told_as_it_was() {
    let world = World::new();
    for (command, expected) in [
        ("exit 0", JobEnd::Exit(0)),
        ("exit 75", JobEnd::Exit(75)),
        ("no-such-program-at-all", JobEnd::Exit(127)),
        ("kill -9 $$", JobEnd::Signal(9)),
        ("kill -TERM $$", JobEnd::Signal(15)),
    ] {
        assert_eq!(run_it(&world.job(command)).await.how, expected, "{command}");
    }
}

#[tokio::test]
async fn a_job_sees_its_directory_its_environment_its_mark_and_no_input() {
    let world = World::new();
    let job = world.job("cat; pwd -P; echo \"$DESCENT_MARK\"; env | wc -l");
    let ended = run_it(&job).await;
    let cwd = world.directory.path().canonicalize().unwrap();
    let expected = format!("{}\n{}\n", cwd.display(), job.mark);
    // PATH, the mark, and what the shell adds (PWD, perhaps SHLVL and _).
    let count: u32 = ended.output.last_line().unwrap().parse().unwrap();
    assert!(ended.output.head().starts_with(&expected), "{}", ended.output.head());
    assert!((2..=5).contains(&count), "{count}");
}

#[tokio::test]
async fn a_job_that_is_dropped_before_its_end_is_reaped() {
    let world = World::new();
    let never = CancellationToken::new();
    let endless = world.job("sleep 600");
    let begun = AtomicU32::new(0);
    let running = run(&endless, None, None, &never, |started| {
        begun.store(started.pid, Ordering::Relaxed);
    });
    let _ = tokio::time::timeout(Duration::from_millis(50), running).await;
    let pid = begun.into_inner();
    while process_table::entry(pid).is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn both_streams_are_kept_in_order_and_logged() {
    let world = World::new();
    let log = world.directory.path().join("log");
    let job = Job { log: Some(log.clone()), ..world.job("echo a; echo b >&2; echo c") };
    let ended = run_it(&job).await;
    assert_eq!(ended.output.head(), "a\nb\nc\n");
    assert!(ended.stdout.is_none());
    assert_eq!(std::fs::read_to_string(log).unwrap(), "a\nb\nc\n");
}

#[tokio::test]
async fn standard_output_comes_apart_when_it_was_asked_for() {
    let world = World::new();
    let job = Job { whole_stdout_bytes_max: 3, ..world.job("echo a; echo b >&2; echo c") };
    let ended = run_it(&job).await;
    assert_eq!(ended.stdout, Some(WholeOutput { bytes: b"a\nc".to_vec(), truncated: true }));
    assert_eq!(ended.output.total_bytes(), 6);
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_in_bounded_memory() {
    let world = World::new();
    let before = resident_kib();
    let command = "yes 0123456 | head -c 200000000";
    let ended = run_it(&Job { whole_stdout_bytes_max: 1000, ..world.job(command) }).await;
    assert_eq!(ended.output.total_bytes(), 200_000_000);
    assert_eq!(ended.stdout.unwrap().bytes.len(), 1000);
    assert!(resident_kib() < before + 60_000, "{} -> {}", before, resident_kib());
}

/// The highest it ever was, so that nothing in between is missed.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_timeout_leaves_no_survivor_in_other_sessions() {
    let world = World::new();
    let command = daemon("one", "setsid") + &daemon("two", "setsid setsid") + "sleep 60";
    let job = world.job(&command);
    let cancel = CancellationToken::new();
    // The clock of a loaded machine: the timeout must come after both have told their ids.
    let ended =
        run(&Job { timeout: Duration::from_secs(2), ..job }, None, None, &cancel, |_| {}).await;
    assert_eq!(ended.unwrap().how, JobEnd::TimedOut);
    assert!(!is_alive(world.pid("one")) && !is_alive(world.pid("two")));
}

#[tokio::test]
async fn a_daemon_that_holds_the_pipe_neither_delays_nor_survives() {
    let world = World::new();
    for program in ["", "setsid", "nohup", "env -i setsid", "env -i sh -mc '\"$@\" & ' x"] {
        let job = world.job(&(daemon("pid", program) + "echo done; exit 3"));
        let ended = run_it(&job).await;
        assert_eq!(ended.how, JobEnd::Exit(3), "{program}");
        assert_eq!(ended.output.last_line().unwrap(), "done");
        assert!(!is_alive(world.pid("pid")), "{program}");
        assert!(ended.duration < Duration::from_secs(5), "{program}");
        std::fs::remove_file(world.directory.path().join("pid")).unwrap();
    }
}

#[tokio::test]
async fn an_orphan_without_any_sign_ends_with_its_job_while_an_elder_one_goes_on() {
    let world = World::new();
    let silent = "env -i setsid sh -c 'echo $$ >pid; exec sleep 60 >/dev/null 2>&1' \
                  >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.01; done";
    let elder = world.job("while [ ! -e over ]; do sleep 0.01; done");
    let no_cancel = CancellationToken::new();
    let (started, is_started) = tokio::sync::oneshot::channel();
    let elder = run(&elder, None, None, &no_cancel, |_| started.send(()).unwrap());
    let younger = async {
        is_started.await.unwrap();
        run_it(&world.job(silent)).await;
        let survived = is_alive(world.pid("pid"));
        std::fs::write(world.directory.path().join("over"), "").unwrap();
        survived
    };
    let (elder, survived) = tokio::join!(elder, younger);
    assert!(!survived);
    assert_eq!(elder.unwrap().how, JobEnd::Exit(0));
}

#[tokio::test]
async fn the_end_of_one_job_leaves_another_and_its_daemons_alone() {
    let world = World::new();
    let other = world.job(&(daemon("pid", "setsid") + "while [ ! -e over ]; do sleep 0.01; done"));
    let no_cancel = CancellationToken::new();
    let other = run(&other, None, None, &no_cancel, |_| {});
    let one = async {
        let path = world.directory.path().to_owned();
        let pid = tokio::task::spawn_blocking(move || pid_told(&path, "pid"));
        let pid: u32 = pid.await.unwrap();
        run_it(&world.job(&daemon("mine", "setsid"))).await;
        assert!(!is_alive(world.pid("mine")));
        let survived = is_alive(pid);
        std::fs::write(world.directory.path().join("over"), "").unwrap();
        survived
    };
    let (other, survived) = tokio::join!(other, one);
    assert!(survived);
    assert_eq!(other.unwrap().how, JobEnd::Exit(0));
    assert!(!is_alive(world.pid("pid")));
}

#[tokio::test]
async fn a_process_that_starts_itself_again_and_again_comes_to_its_end() {
    let world = World::new();
    std::fs::write(
        world.directory.path().join("again"),
        "echo $$ >pid.new; mv pid.new pid; setsid sh ./again & exit 0",
    )
    .unwrap();
    run_it(&world.job("sh ./again; sleep 0.2")).await;
    let path = world.directory.path().join("pid");
    let last = std::fs::read_to_string(&path).unwrap();
    assert!(!is_alive(world.pid("pid")));
    // Nobody writes the file any more.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), last);
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_processes_leave_no_zombies() {
    let world = World::new();
    // The orphan ends while its job goes on: nobody but the guard can wait for it.
    let orphan = "(setsid sh -c 'echo $$ >pid; while [ ! -e end ]; do sleep 0.01; done' &)\n";
    let job = world.job(&format!("{orphan}while [ ! -e go ]; do sleep 0.01; done"));
    let at = |name: &str| world.directory.path().join(name);
    let looking = async {
        let pid = tokio::task::block_in_place(|| world.pid("pid"));
        assert!(is_alive(pid));
        std::fs::write(at("end"), "").unwrap();
        tokio::task::block_in_place(|| {
            eventually(|| process_table::entry(pid).is_none().then_some(()))
        });
        std::fs::write(at("go"), "").unwrap();
    };
    let (ended, ()) = tokio::join!(run_it(&job), looking);
    assert_eq!(ended.how, JobEnd::Exit(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_of_a_job_whose_guard_was_killed_is_reaped() {
    let world = World::new();
    let job = world.job("echo $$ >pid; exec sleep 60");
    let killing = async {
        let command = tokio::task::block_in_place(|| world.pid("pid"));
        let guard = process_table::entry(command).unwrap().parent;
        let guard = process_table::to_pid(guard).unwrap();
        rustix::process::kill_process(guard, rustix::process::Signal::KILL).unwrap();
        command
    };
    let (ended, command) = tokio::join!(run_it(&job), killing);
    assert_eq!(ended.how, JobEnd::Signal(9));
    assert_eq!(process_table::entry(command), None, "a zombie is left");
}

#[tokio::test]
async fn a_cancelled_job_is_gone_within_100_ms() {
    let world = World::new();
    let mut took = Vec::new();
    for _ in 0..5 {
        let cancel = CancellationToken::new();
        let job = world.job(&(daemon("pid", "setsid") + "sleep 60"));
        let cancelling = async {
            let path = world.directory.path().to_owned();
            let pid = tokio::task::spawn_blocking(move || pid_told(&path, "pid"));
            let pid: u32 = pid.await.unwrap();
            cancel.cancel();
            (pid, Instant::now())
        };
        let (ended, (pid, since)) =
            tokio::join!(run(&job, None, None, &cancel, |_| {}), cancelling);
        took.push(since.elapsed());
        assert_eq!(ended.unwrap().how, JobEnd::Cancelled);
        assert!(!is_alive(pid));
        std::fs::remove_file(world.directory.path().join("pid")).unwrap();
    }
    // Most of five: other tests load the machine.
    took.sort();
    assert!(took[2] < Duration::from_millis(100), "{took:?}");
}

#[tokio::test]
async fn a_job_that_was_cancelled_before_it_began_is_not_started() {
    let world = World::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = run(&world.job("touch was-here"), None, None, &cancel, |_| panic!("started"))
        .await
        .unwrap();
    assert_eq!(ended.how, JobEnd::Cancelled);
    assert!(!world.directory.path().join("was-here").exists());
}

#[tokio::test]
async fn a_dropped_future_ends_its_job() {
    let world = World::new();
    let job = world.job(&(daemon("pid", "setsid") + "echo $$ >leader; sleep 60"));
    let no_cancel = CancellationToken::new();
    let running = run(&job, None, None, &no_cancel, |_| {});
    let path = world.directory.path().join("leader");
    let is_up = tokio::task::spawn_blocking(move || {
        eventually(|| std::fs::read_to_string(&path).ok()?.strip_suffix('\n').map(|_| ()));
    });
    tokio::select! {
        _ = running => panic!("it sleeps"),
        up = is_up => up.unwrap(),
    }
    let since = Instant::now();
    let (leader, daemon) = (world.pid("leader"), world.pid("pid"));
    let gone = move || eventually(|| (!is_alive(leader) && !is_alive(daemon)).then_some(()));
    tokio::task::spawn_blocking(gone).await.unwrap();
    // By the drop itself, not by the thread that looks after it.
    assert!(since.elapsed() < timeouts::REAP_MAX);
}

#[tokio::test]
async fn what_was_started_is_told_as_the_kernel_knows_it() {
    let world = World::new();
    let mut told = None;
    let mut known = None;
    let job = world.job("true");
    let note = |started: &JobRecord| {
        known = process_table::entry(started.pid);
        told = Some(started.clone());
    };
    run(&job, None, None, &CancellationToken::new(), note).await.unwrap();
    let (told, known) = (told.unwrap(), known.unwrap());
    assert_eq!((told.pid, told.start_ticks), (known.pid, known.start_ticks));
    assert_eq!(known.parent, std::process::id());
    assert_eq!(told.mark, job.mark);
    assert_eq!(told.boot_id.len(), 36);
    assert!(told.tag.is_owned_like(&job.mark));
    assert_eq!(told.method, methods::chosen().method);
}

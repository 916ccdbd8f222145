//! Attempts as they run: real shells.
#![allow(clippy::disallowed_methods)] // door: tests

pub(super) mod recorded;

use super::*;
use descent_core::{
    event::{AgentEnd, Clarity},
    id::{AtomId, AttemptId, Digest, Epoch},
    state::{Action, Extra, Role, SideEffect},
};
use descent_process::{self as process, JobRecord};
use std::{fs, os::unix::fs::PermissionsExt};

struct World {
    dir: tempfile::TempDir,
    intent: Intent,
}

/// The second attempt at an atom.
pub(super) fn intent() -> Intent {
    Intent {
        id: AttemptId::new("A1.7"),
        atom: AtomId::new("A1"),
        context: Digest::sha256(b"c"),
        choices: Default::default(),
        epoch: Epoch(0),
        n: 2,
        effect: SideEffect::Tree,
        base: None,
        role: Role::Worker,
        agent: None,
        reserved: Default::default(),
        at: String::new(),
        turn: None,
        extra: Extra::default(),
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir, intent: intent() }
    }

    fn attempt(&self, command: &str) -> AttemptJob<'_> {
        AttemptJob {
            prompt: "do it\n".into(),
            bindings: "{}\n".into(),
            context: JobContext {
                intent: &self.intent,
                maker: Maker::Action {
                    action: Action {
                        run: command.into(),
                        transient: None,
                        extra: Default::default(),
                    },
                    env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())].into(),
                },
                cwd: self.dir.path().join("work"),
                dir: self.own(),
                started: self.started(),
                timeout: Duration::from_secs(60),
                env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())].into(),
                programs: &process::programs::REAL_PROGRAMS,
                mark: format!("test-agent-{}", self.dir.path().display()),
                slot: None,
            },
            files: Vec::new(),
            setup: None,
            session: None,
            usage: LiveUsage::default(),
            keep: None,
            shape: None,
            budget: None,
            question: None,
        }
    }

    fn own(&self) -> PathBuf {
        self.dir.path().join("attempts/A1.7")
    }

    fn started(&self) -> PathBuf {
        self.dir.path().join("attempts/slot-0.json")
    }

    async fn outcome(&self, command: &str) -> Outcome {
        let never = CancellationToken::new();
        make(self.attempt(command), &never).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn an_attempt_finds_its_inputs_and_its_report_comes_back() {
    let world = World::new();
    let outcome = world
        .outcome(
            r#"cat "$DESCENT_PROMPT" "$DESCENT_BINDINGS"; echo "$DESCENT_ATOM $DESCENT_ATTEMPT";
               printf '{"summary": "did", "clarity": "BLOCKED"}' > "$DESCENT_RESULT"; exit 3"#,
        )
        .await;
    assert_eq!(outcome.how, CommandEnd::Exit(3));
    assert_eq!(outcome.excerpt, "do it\n{}\nA1 2\n");
    assert_eq!(outcome.last_line.as_deref(), Some("A1 2"));
    let report = outcome.report.unwrap();
    assert!(
        report.summary == "did"
            && report.clarity == Clarity::Blocked
            && outcome.report_fault.is_none()
    );
    let mode =
        |name: &str| fs::metadata(world.own().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("prompt.md"), mode("bindings.json")), (0o600, 0o600));
    let started = fs::read(world.started()).unwrap();
    let started: JobRecord = serde_json::from_slice(&started).unwrap();
    assert_eq!(started.mark, world.attempt("").context.mark);
}

#[tokio::test]
async fn the_report_of_an_earlier_attempt_is_nobodys() {
    let world = World::new();
    world.outcome(r#"echo '{"summary": "old"}' > "$DESCENT_RESULT""#).await;
    let outcome = world.outcome("exit 0").await;
    assert!(outcome.report.is_none() && outcome.report_fault.is_none());
}

#[tokio::test]
async fn what_ran_is_noted_over_what_had_the_slot_before_however_long_that_was() {
    let world = World::new();
    world.outcome("exit 0").await;
    let noted = || serde_json::from_slice::<JobRecord>(&fs::read(world.started()).unwrap());
    let first = noted().unwrap();
    fs::write(world.started(), "x".repeat(5000)).unwrap();
    world.outcome("exit 0").await;
    assert_ne!(noted().unwrap(), first);
    let victim = world.dir.path().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    fs::remove_file(world.started()).unwrap();
    std::os::unix::fs::symlink(&victim, world.started()).unwrap();
    world.outcome("exit 0").await;
    assert!(noted().is_ok());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
}

#[tokio::test]
async fn a_log_is_made_by_the_first_output_and_is_never_an_earlier_ones() {
    let world = World::new();
    let log = world.own().join("output.log");
    world.outcome("echo said").await;
    assert_eq!(fs::read_to_string(&log).unwrap(), "said\n");
    world.outcome("exit 0").await;
    assert!(!log.exists());
}

#[tokio::test]
async fn an_outcome_is_found_again_whether_it_was_synced_or_not() {
    let world = World::new();
    let outcome = world.outcome("exit 3").await;
    let attempts = world.dir.path().join("attempts");
    for is_paid in [false, true, false] {
        record(&world.own(), &world.intent, &outcome, is_paid).unwrap();
        let found = finished(&attempts, &world.intent).unwrap();
        assert_eq!(found.how, CommandEnd::Exit(3));
    }
    fs::write(world.own().join(directory::OUTCOME), "").unwrap();
    assert!(finished(&attempts, &world.intent).is_none());
}

#[tokio::test]
async fn inputs_are_not_written_through_links_of_an_earlier_attempt() {
    let world = World::new();
    let victim = world.dir.path().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    let link = format!(
        r#"for f in "$DESCENT_PROMPT" "$DESCENT_BINDINGS" "$DESCENT_RESULT"; do
             ln -sf '{}' "$f"; done"#,
        victim.display()
    );
    world.outcome(&link).await;
    world.outcome("cat \"$DESCENT_PROMPT\"").await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
}

#[tokio::test]
async fn files_beside_a_prompt_are_anew_and_none_lies_elsewhere() {
    let world = World::new();
    let never = CancellationToken::new();
    let with = |name: &str, command: &str| AttemptJob {
        files: vec![InputFile { name: name.into(), bytes: b"told\n".to_vec() }],
        ..world.attempt(command)
    };
    let elsewhere = world.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    // The attempt puts a link in the place of the folder.
    let link = format!(
        r#"cd "$(dirname "$DESCENT_PROMPT")" && rm -r bindings && ln -s '{}' bindings"#,
        elsewhere.display()
    );
    for (name, command) in [("bindings/A.json", &*link), ("bindings/B.json", "true")] {
        let made = make(with(name, command), &never).await.unwrap().unwrap();
        assert_eq!(made.how, CommandEnd::Exit(0), "{}", made.excerpt);
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let told = |name: &str| fs::read_to_string(world.own().join(name)).unwrap_or_default();
    assert_eq!(told("bindings/B.json"), "told\n");
    assert_eq!(told("bindings/A.json"), "", "that of the earlier attempt");
    for name in ["../x", "bindings/../../x", "/x", "a/b/c", "bindings/..", ""] {
        let refused = make(with(name, "true"), &never).await.unwrap_err();
        assert!(matches!(refused, AgentError::Unwritable { .. }), "{name}");
    }
}

#[tokio::test]
async fn a_result_that_is_no_plain_small_file_is_a_fault_and_never_waited_for() {
    let world = World::new();
    for (command, part) in [
        (r#"mkfifo "$DESCENT_RESULT""#, "not a regular file"),
        (r#"mkdir "$DESCENT_RESULT""#, "not a regular file"),
        (r#"ln -s /etc/passwd "$DESCENT_RESULT""#, "not a regular file"),
        (r#"head -c 1048577 /dev/zero > "$DESCENT_RESULT""#, "larger than 1 MiB"),
        (r#"echo nonsense > "$DESCENT_RESULT""#, "no JSON to use: 1:"),
    ] {
        let outcome = world.outcome(command).await;
        assert_eq!(outcome.how, CommandEnd::Exit(0), "{command}");
        assert!(outcome.report.is_none());
        let fault = outcome.report_fault.unwrap();
        assert!(fault.contains(part), "{fault}");
    }
}

#[tokio::test]
async fn setup_runs_first_and_its_failure_is_the_attempts() {
    let world = World::new();
    let never = CancellationToken::new();
    let with = |setup: &str, command: &str| AttemptJob {
        setup: Some(setup.into()),
        ..world.attempt(command)
    };
    let fine = make(with("echo dep > dep", "cat dep"), &never).await.unwrap().unwrap();
    assert_eq!((fine.how, fine.excerpt.as_str()), (CommandEnd::Exit(0), "dep\n"));
    let bad = make(with("echo no net; exit 4", "touch ran"), &never).await.unwrap().unwrap();
    assert_eq!(bad.how, CommandEnd::NotRun("setup failed: exit 4: no net".into()));
    assert!(!world.dir.path().join("work/ran").exists());
}

#[tokio::test]
async fn ends_that_are_no_exit_are_told_apart() {
    let world = World::new();
    assert_eq!(world.outcome("kill -9 $$").await.how, CommandEnd::Signal(9));
    let never = CancellationToken::new();
    let mut short = world.attempt("sleep 60");
    short.context.timeout = Duration::from_millis(50);
    assert_eq!(make(short, &never).await.unwrap().unwrap().how, CommandEnd::TimedOut);
    let mut gone = world.attempt("true");
    gone.context.cwd = world.dir.path().join("gone");
    let how = make(gone, &never).await.unwrap().unwrap().how;
    assert!(matches!(&how, CommandEnd::NotRun(why) if why.contains("is not there")), "{how:?}");
}

#[tokio::test]
async fn a_cancelled_attempt_has_no_outcome() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let attempt = world.attempt("touch \"$DESCENT_RESULT\"; sleep 60");
    let result = world.own().join("out/result.json");
    let stop = async {
        while !result.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(make(attempt, &cancel), stop);
    assert!(outcome.unwrap().is_none());
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_an_error() {
    let world = World::new();
    fs::write(world.dir.path().join("attempts"), "a file").unwrap();
    let error = make(world.attempt("true"), &CancellationToken::new()).await.unwrap_err();
    let failure = Failure::from(error);
    assert_eq!((&*failure.code, failure.exit), ("E-IO", 74));
}

#[tokio::test]
async fn nothing_is_written_through_a_link_in_place_of_the_directory_of_attempts() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), world.dir.path().join("attempts")).unwrap();
    let error = make(world.attempt("true"), &CancellationToken::new()).await.unwrap_err();
    assert_eq!(Failure::from(error).code, "E-IO");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_is_in_flight_is_kept_however_old_it_looks() {
    let world = World::new();
    let attempts = world.dir.path().join("attempts");
    fs::create_dir(&attempts).unwrap();
    let of = |name: &str| attempts.join(name);
    fs::create_dir(of("A1.7")).unwrap();
    fs::create_dir(of("old")).unwrap();
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    for name in ["A1.7", "old"] {
        fs::File::open(of(name)).unwrap().set_modified(past).unwrap();
    }
    (0..KEPT_MAX).for_each(|n| fs::create_dir(of(&format!("B.{n}"))).unwrap());
    remove_old(&attempts, std::slice::from_ref(&world.intent));
    assert!(of("A1.7").is_dir() && !of("old").exists());
    assert_eq!(fs::read_dir(&attempts).unwrap().count(), KEPT_MAX + 1);
}

#[test]
fn an_agent_that_a_signal_stopped_ended_for_that() {
    let mut heard = heard::HeardSoFar::default();
    let result = process::JobResult {
        how: process::JobEnd::Signal(21),
        duration: Duration::ZERO,
        output: process::Capture::default(),
        stdout: None,
    };
    let is_timed_out = false;
    let talked = talk::Talked { is_timed_out, result };
    conversation::end_without_word(&mut heard, &talked, false);
    let Some(AgentEnd::Protocol(words)) = heard.end else {
        panic!("{:?}", heard.end);
    };
    assert!(words.contains("asked at a terminal"), "{words}");
}

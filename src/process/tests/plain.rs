//! Commands that start without a shell, and what nobody can tell from one with a shell.

use std::os::unix::fs::PermissionsExt;

use super::*;

impl World {
    fn program(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn with(&self, command: &str, env: &[(&str, &str)]) -> Job {
        let env = env.iter().map(|(name, value)| (name.into(), value.into()));
        Job { env: env.collect(), ..self.job(command) }
    }
}

/// A program that tells what it was given by whoever started it. It looks at its signals itself, for
/// a shell holds them back while it starts a program.
const SEEN: &str = "#!/bin/sh\n\
    while read -r line; do case $line in Sig[BIC]*) echo \"$line\";; esac; done </proc/$$/status\n\
    echo \"parent $(cat /proc/$PPID/comm 2>/dev/null)\"\n\
    tr '\\0' '\\n' </proc/$$/environ\n\
    tr '\\0' ' ' </proc/$$/cmdline\n";

#[tokio::test]
async fn a_plain_command_has_no_shell_above_it_and_what_a_shell_gives() {
    let world = World::new();
    world.program("seen", SEEN);
    let plain = run_it(&world.with("./seen a=b", &[("PATH", "/usr/bin:/bin")])).await;
    let by_shell = run_it(&world.with("./seen 'a=b'", &[("PATH", "/usr/bin:/bin")])).await;
    let (plain, by_shell) = (plain.output.head(), by_shell.output.head());
    let cwd = world.directory.path().canonicalize().unwrap();
    assert!(plain.contains(&format!("\nPWD={}\n", cwd.display())), "{plain}");
    assert!(plain.ends_with("/bin/sh ./seen a=b "), "{plain}");
    assert!(!plain.contains("parent sh\n") && !plain.contains("parent dash\n"), "{plain}");
    // Some shells add more, and some are gone by then.
    let signals = |text: &str| text[..text.find("parent").unwrap()].to_owned();
    assert_eq!(signals(&plain), signals(&by_shell));
}

#[tokio::test]
async fn a_stale_directory_does_not_reach_a_plain_command() {
    let world = World::new();
    let env = [("PATH", "/usr/bin:/bin"), ("PWD", "/stale"), ("OLDPWD", "/x")];
    let ended = run_it(&world.with("env", &env)).await;
    let said = ended.output.head();
    assert!(!said.contains("PWD=/stale"), "{said}");
}

#[tokio::test]
async fn a_program_is_found_on_the_path_of_the_job_and_in_its_directory() {
    let world = World::new();
    std::fs::create_dir(world.directory.path().join("sub")).unwrap();
    world.program("here", "#!/bin/sh\necho \"$0\"\n");
    world.program("sub/below", "#!/bin/sh\necho \"$0\"\n");
    world.program("sub/here", "#!/bin/sh\necho wrong\n");
    // A directory and a file without the right are passed over.
    std::fs::create_dir_all(world.directory.path().join("odd/here")).unwrap();
    for (command, path, expected) in [
        ("here", "", "here\n"),
        ("here", "odd::/bin", "here\n"),
        ("here", "sub:", "wrong\n"),
        ("below", ":/bin:sub", "sub/below\n"),
        ("./here", "/nowhere", "./here\n"),
        ("sub/below x", "/nowhere", "sub/below\n"),
    ] {
        let ended = run_it(&world.with(command, &[("PATH", path)])).await;
        let got = (ended.how, ended.output.head());
        assert_eq!(got, (JobEnd::Exit(0), expected.to_owned()), "{command} on {path}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_plainly_is_told_by_the_shell() {
    let world = World::new();
    world.program("bare", "echo \"bare $1\"\n");
    world.program("odd", "#!/no/such/interpreter\n");
    std::fs::write(world.directory.path().join("text"), "echo x\n").unwrap();
    let ended = run_it(&world.job("./bare one")).await;
    assert_eq!((ended.how, ended.output.head().as_str()), (JobEnd::Exit(0), "bare one\n"));
    for (command, code) in [
        ("no-such-program x", 127),
        ("./no-such-program", 127),
        ("./odd", 127),
        ("./text", 126),
        ("/", 126),
    ] {
        let plain = run_it(&world.job(command)).await;
        let by_shell = run_it(&world.job(&format!("{command} ;"))).await;
        assert_eq!(plain.how, by_shell.how, "{command}");
        assert_eq!(plain.output.head(), by_shell.output.head(), "{command}");
        assert_eq!(plain.how, JobEnd::Exit(code), "{command}");
    }
}

#[tokio::test]
async fn a_plain_command_that_a_signal_ends_is_told_as_by_a_shell() {
    let world = World::new();
    world.program("dies", "#!/bin/sh\nkill -$1 $$\n");
    for (command, code) in [("./dies 9", 137), ("./dies 15", 143), ("sh ./dies 6", 134)] {
        assert_eq!(run_it(&world.job(command)).await.how, JobEnd::Exit(code), "{command}");
    }
    let input = Job { input: Some(b"in".to_vec()), ..world.job("cat") };
    assert_eq!(run_it(&input).await.output.head(), "in");
    let short = Job { timeout: Duration::from_millis(50), ..world.job("sleep 600") };
    assert_eq!(run_it(&short).await.how, JobEnd::TimedOut);
}

//! Starts that fail: each names its cause, and one that may pass is tried again.

use super::*;

#[test]
fn each_cause_of_the_system_is_named_and_those_that_may_pass_are_known() {
    use rustix::io::Errno;
    for (errno, lacks) in [
        (Errno::AGAIN, true),
        (Errno::NOMEM, true),
        (Errno::MFILE, true),
        (Errno::NFILE, true),
        (Errno::TOOBIG, false),
        (Errno::NOENT, false),
        (Errno::ACCESS, false),
        (Errno::PERM, false),
    ] {
        let error = SpawnError::from_spawn(errno.into(), Path::new("/"));
        let words = io::Error::from(errno).to_string();
        assert!(error.to_string().ends_with(&words), "{error}");
        assert_eq!(error.lack().is_some(), lacks, "{error}");
    }
    let killed = io::Error::new(io::ErrorKind::UnexpectedEof, "it was killed");
    for (error, lacks) in [
        (io::Error::from_raw_os_error(0), false),
        (io::Error::from_raw_os_error(-1), false),
        (io::Error::other("no rule"), false),
        (killed, true),
    ] {
        let words = error.to_string();
        let error = SpawnError::from_spawn(error, Path::new("/"));
        assert!(error.to_string().ends_with(&words), "{error}");
        assert_eq!(error.lack().is_some(), lacks, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_lacks_something_is_tried_again_and_not_for_ever() {
    let refused = || SpawnError::NoRoom(io::Error::from_raw_os_error(11));
    for (failing, expected) in [(0, Some(1)), (2, Some(3)), (100, None)] {
        let mut tries = 0;
        let cancel = CancellationToken::new();
        let started = start_patiently(&cancel, || {
            tries += 1;
            std::future::ready((tries > failing).then_some(tries).ok_or_else(refused))
        });
        assert_eq!(started.await.ok(), expected);
    }
    let mut tries = 0;
    let _ = start_patiently(&CancellationToken::new(), || {
        tries += 1;
        std::future::ready(Err::<(), _>(SpawnError::NoShell))
    })
    .await;
    assert_eq!(tries, 1);
}

#[tokio::test]
async fn what_no_shell_can_start_ends_with_its_words() {
    let world = World::new();
    let program = |name: &str, text: &str, mode: u32| {
        let path = world.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).unwrap();
    };
    program("closed", "#!/bin/sh\n", 0o644);
    program("lost", "#!/nowhere/sh\n", 0o755);
    std::fs::create_dir(world.directory.path().join("folder")).unwrap();
    for (command, code, words) in [
        ("./closed", 126, "ermission denied"),
        ("./folder", 126, ""),
        ("./lost", 127, "not found"),
        ("./gone", 127, "not found"),
    ] {
        let ended = run_it(&world.job(command)).await;
        assert_eq!(ended.how, JobEnd::Exit(code), "{command}");
        let told = ended.output.head();
        assert!(told.contains(words) && !told.is_empty(), "{command}: {told}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_said_with_its_cause() {
    let world = World::new();
    let refused = async |job: Job| {
        run(&job, None, None, &CancellationToken::new(), |_| panic!("started")).await.unwrap_err()
    };
    let nowhere = Job { cwd: world.directory.path().join("gone"), ..world.job("true") };
    assert!(matches!(refused(nowhere).await, SpawnError::NoDirectory(_)));
    let endless = world.job(&"x".repeat(4 * 1024 * 1024));
    let too_long = refused(endless).await;
    assert!(matches!(too_long, SpawnError::TooLong(_)));
    assert!(too_long.to_string().contains("Argument list too long"), "{too_long}");
    assert!(matches!(refused(world.job("echo \0")).await, SpawnError::Nul(_)));
    // A log that cannot be cleared away.
    let file = world.directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let log = Some(file.join("log"));
    let unlogged = Job { log, ..world.job("true") };
    assert!(matches!(refused(unlogged).await, SpawnError::Log { .. }));
}

#[tokio::test]
async fn jobs_of_a_tree_see_its_layers_and_what_the_last_one_left_in_them() {
    let world = World::new();
    let cache = world.directory.path().canonicalize().unwrap();
    let tree = cache.join("lineage/project/attempt-0");
    let image = cache.join("image");
    std::fs::create_dir_all(tree.join("build")).unwrap();
    std::fs::create_dir_all(image.join("deep")).unwrap();
    std::fs::write(image.join("deep/o"), "built\n").unwrap();
    std::fs::write(image.join("gone"), "x\n").unwrap();
    let layer = layers::Layer { at: tree.join("build"), lower: image.clone() };
    layers::make(&tree, &[layer]).unwrap();
    if !layers_work(&cache) {
        println!("skipped: no overlay in the mounts of a job here");
        return;
    }
    let fence =
        Fence::around(&cache.join("none"), [&cache.join("none/x"); 2], &[], &[], Some(cache));
    for (command, expected) in [
        ("cat build/deep/o && echo mine > build/deep/o && rm build/gone", "built\n"),
        ("cat build/deep/o && ls build && rm -r build/deep", "mine\ndeep\n"),
        ("ls -A build", ""),
    ] {
        let reach = Reach::Fenced { out: None };
        let job = Job { cwd: tree.clone(), reach, ..world.job(command) };
        let ended = run(&job, Some(&fence), None, &CancellationToken::new(), |_| ()).await.unwrap();
        assert_eq!((ended.how, ended.output.tail().trim_start()), (JobEnd::Exit(0), expected));
    }
    assert_eq!(std::fs::read_dir(tree.join("build")).unwrap().count(), 0, "nobody else sees them");
    for elsewhere in ["checks/x/pristine/tree", "lineage/project/attempt-0/sub/attempt-1"] {
        let tree = world.directory.path().canonicalize().unwrap().join(elsewhere);
        std::fs::create_dir_all(tree.join("build")).unwrap();
        layers::make(&tree, &[layers::Layer { at: tree.join("build"), lower: image.clone() }])
            .unwrap();
        let job = Job { cwd: tree, reach: Reach::Fenced { out: None }, ..world.job("ls -A build") };
        let ended = run(&job, Some(&fence), None, &CancellationToken::new(), |_| ()).await.unwrap();
        assert_eq!(ended.output.tail().trim_start(), "", "{elsewhere}");
    }
    assert_eq!(std::fs::read_to_string(image.join("deep/o")).unwrap(), "built\n");
}

//! Build state in trees: which directories are carried, with which times, and what is never carried.

use std::os::unix::{
    ffi::OsStrExt,
    fs::{MetadataExt, PermissionsExt},
    net::UnixListener,
};

use super::*;
use descent_process::layers;
use descent_system::files;

fn modified(path: impl AsRef<Path>) -> std::time::SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// Fills a fresh checkout of the commit, and keeps what it has for later trees.
fn kept(w: &Worktrees, commit: &CommitId, fill: impl FnOnce(&Path)) -> PathBuf {
    let room = w.for_checks(Checkout::Pristine, Some(commit), Warmth::Cold).unwrap();
    fill(&room.path);
    w.keep_warm(Checkout::Pristine, commit).unwrap();
    room.path
}

fn slot(w: &Worktrees, commit: &CommitId, warmth: Warmth) -> WorkDir {
    w.for_attempt(0, Some(commit), warmth).unwrap()
}

#[test]
fn an_attempt_begins_with_what_a_pristine_checkout_built_and_never_with_an_attempts() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    assert!(!slot(&w, &base, Warmth::Warm).is_reused, "nothing is kept yet");
    kept(&w, &base, |top| put(top.join("build/o"), "built\n"));
    for _ in 0..2 {
        let room = slot(&w, &base, Warmth::Warm);
        assert!(room.is_reused);
        assert_eq!(read(room.path.join("build/o")), "built\n");
        put(room.path.join("build/o"), "spoiled\n");
        put(room.path.join("build/more"), "more\n");
    }
    assert!(!slot(&w, &base, Warmth::Warm).path.join("build/more").exists());
    let cold = slot(&w, &base, Warmth::Cold);
    assert!(!cold.is_reused && !cold.path.join("build").exists());
    let candidate = w.for_checks(Checkout::Candidate, Some(&base), Warmth::Warm).unwrap();
    assert!(candidate.is_reused && candidate.path.join("build/o").exists());
    let off = Constraints { warm: Some(WarmUse::Off), ..Constraints::default() };
    assert!(!slot(&world.open(&off), &base, Warmth::Warm).is_reused);
}

#[test]
fn unchanged_files_have_the_time_of_the_build_and_changed_ones_are_newer() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let other = clean(change(&w, &base, &base, "a.txt", "two\n")).0;
    let early = std::time::Duration::from_secs(1_000_000);
    kept(&w, &base, |top| {
        for path in ["a.txt", "sub/s.txt"] {
            files::set_time(&top.join(path), Some(early)).unwrap();
        }
        put(top.join("tests/t.sh"), "changed by a check\n");
        put(top.join("build/o"), "built\n");
    });
    let room = slot(&w, &other, Warmth::Warm).path;
    let built = modified(room.join("build/o"));
    assert!(modified(room.join("sub/s.txt")) < built);
    assert!(modified(room.join("a.txt")) > built, "its content is another");
    assert!(modified(room.join("tests/t.sh")) > built, "the build saw another content");
    assert_eq!(world.git(&["-C", room.to_str().unwrap(), "status", "--porcelain"]), "");
    // Git compares sizes, and times by the second.
    let time = modified(room.join("sub/s.txt")).duration_since(std::time::UNIX_EPOCH).unwrap();
    let other_text = "X".repeat(read(room.join("sub/s.txt")).len());
    fs::write(room.join("sub/s.txt"), other_text).unwrap();
    files::set_time(&room.join("sub/s.txt"), Some(time)).unwrap();
    assert_eq!(w.changed_in_slot(0).unwrap(), [Path::new("sub/s.txt")]);
    let room = slot(&w, &base, Warmth::Warm).path;
    assert!(modified(room.join("a.txt")) < modified(room.join("build/o")), "it is as it was then");
    let cold = slot(&w, &base, Warmth::Cold).path;
    assert!(modified(cold.join("a.txt")) > built && modified(cold.join("sub/s.txt")) > built);
}

#[test]
fn what_holds_the_path_of_its_tree_or_a_repository_stays_behind() {
    let world = World::new();
    put(world.top().join(".gitignore"), "build/\ncmake/\ndeps/\nabs/\nrepo/\nfixed/\n.env\n");
    world.commit();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    kept(&w, &base, |top| {
        put(top.join("build/deep/o"), "o\n");
        fs::hard_link(top.join("build/deep/o"), top.join("build/twin")).unwrap();
        symlink("deep/o", top.join("build/link")).unwrap();
        UnixListener::bind(top.join("build/socket")).unwrap();
        put(top.join("cmake/CMakeCache.txt"), "x\n");
        put(top.join("deps/x.d"), &format!("x.o: {}/x.h\n", top.display()));
        put(top.join("repo/.git/HEAD"), "x\n");
        fs::create_dir(top.join("abs")).unwrap();
        symlink("/usr/bin", top.join("abs/link")).unwrap();
        put(top.join(".env"), "SECRET=1\n");
        // As a container's account leaves them; only another account is held up.
        for dir in ["fixed", "fixed/in"] {
            put(top.join(dir).join("o"), "o\n");
        }
        fs::set_permissions(top.join("fixed"), fs::Permissions::from_mode(0o555)).unwrap();
    });
    let room = slot(&w, &base, Warmth::Warm).path;
    assert_eq!(read(room.join("build/link")), "o\n");
    let inode = |name: &str| fs::metadata(room.join("build").join(name)).unwrap().ino();
    assert_eq!(inode("twin"), inode("deep/o"));
    for gone in ["build/socket", "cmake", "deps", "repo", "abs", ".env"] {
        assert!(room.join(gone).symlink_metadata().is_err(), "{gone}");
    }
}

#[test]
fn an_image_that_is_not_whole_or_of_the_future_is_not_used() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let fill = |top: &Path| put(top.join("build/o"), "built\n");
    let pristine = kept(&w, &base, fill);
    let images = pristine.ancestors().nth(2).unwrap().join("warm");
    let record = images.join("0/record.json");
    fs::rename(&record, images.join("0/half")).unwrap();
    assert!(!slot(&w, &base, Warmth::Warm).is_reused);
    kept(&w, &base, |top| {
        fill(top);
        let late = std::time::Duration::from_secs(20_000_000_000);
        files::set_time(&top.join("build/o"), Some(late)).unwrap();
    });
    assert!(!slot(&w, &base, Warmth::Warm).is_reused);
    kept(&w, &base, fill);
    assert!(slot(&w, &base, Warmth::Warm).is_reused);
    assert_eq!(files::entries(&images).len(), 1, "older images are removed");
}

#[test]
fn setup_is_left_out_only_where_all_that_it_made_is_carried() {
    let world = World::new();
    put(world.top().join("package-lock.json"), "{}\n");
    world.commit();
    let mut constraints = Constraints::default();
    constraints.setup.run = Some("npm ci".into());
    let w = world.open(&constraints);
    let base = start(&w);
    let set_up = |name: &str| {
        let room = w.for_checks(Checkout::Pristine, Some(&base), Warmth::Cold).unwrap();
        put(room.path.join(name), "made\n");
        w.checks_are_set_up(Checkout::Pristine, &room).unwrap();
        put(room.path.join("build/o"), "built\n");
        w.keep_warm(Checkout::Pristine, &base).unwrap();
    };
    set_up(".env");
    assert!(slot(&w, &base, Warmth::Warm).is_new, "a single file is not carried");
    set_up("build/CMakeCache.txt");
    assert!(slot(&w, &base, Warmth::Warm).is_new, "nor is what is tied to its tree");
    set_up("build/dep");
    assert!(!slot(&w, &base, Warmth::Warm).is_new);
    let room = w.for_checks(Checkout::Verify, Some(&base), Warmth::Warm).unwrap();
    assert!(!room.is_new && room.is_reused);
    assert!(slot(&w, &base, Warmth::Cold).is_new);
    let code = clean(change(&w, &base, &base, "a.txt", "two\n")).0;
    assert!(!slot(&w, &code, Warmth::Warm).is_new, "it does not read this file");
    let lock = clean(change(&w, &base, &base, "package-lock.json", "[]\n")).0;
    assert!(slot(&w, &lock, Warmth::Warm).is_new);
}

/// A virtual environment of a checkout, in an attempt: with the paths of its own tree.
#[test]
fn an_environment_that_setup_made_serves_in_each_tree_with_the_paths_of_that_tree() {
    let world = World::new();
    put(world.top().join(".gitignore"), "venv/\n");
    put(world.top().join("requirements.txt"), "pytest\n");
    world.commit();
    let mut constraints = Constraints::default();
    constraints.setup.run = Some("python3 -m venv venv".into());
    let w = world.open(&constraints);
    let base = start(&w);
    let room = w.for_checks(Checkout::Pristine, Some(&base), Warmth::Cold).unwrap();
    let venv = room.path.join("venv");
    let script = |top: &Path| format!("#!{0}/venv/python\nnot {0}2\n", top.display());
    put(venv.join("pyvenv.cfg"), "home = /usr\n");
    put(venv.join("bin/tool"), &script(&room.path));
    fs::set_permissions(venv.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    put(venv.join("blob"), &format!("\0{}", room.path.display()));
    symlink("/usr/bin/env", venv.join("python")).unwrap();
    symlink(room.path.join("a.txt"), venv.join("own")).unwrap();
    w.checks_are_set_up(Checkout::Pristine, &room).unwrap();
    w.keep_warm(Checkout::Pristine, &base).unwrap();
    for n in 0..2 {
        let slot = w.for_attempt(n, Some(&base), Warmth::Warm).unwrap();
        assert!(!slot.is_new, "`setup` is left out");
        let tool = slot.path.join("venv/bin/tool");
        let others = format!("{}2", slot.path.display());
        let expected =
            script(&room.path).replace(room.path.to_str().unwrap(), slot.path.to_str().unwrap());
        let expected = expected.replace(&others, &format!("{}2", room.path.display()));
        assert_eq!(read(&tool), expected, "a name that only begins like it is another");
        assert_eq!(fs::metadata(&tool).unwrap().mode() & 0o777, 0o755);
        assert!(read(slot.path.join("venv/blob")).ends_with(room.path.to_str().unwrap()));
        assert_eq!(fs::read_link(slot.path.join("venv/own")).unwrap(), slot.path.join("a.txt"));
        assert_eq!(
            fs::read_link(slot.path.join("venv/python")).unwrap(),
            Path::new("/usr/bin/env")
        );
    }
    assert!(slot(&w, &base, Warmth::Cold).is_new);
    let listed = clean(change(&w, &base, &base, "requirements.txt", "pytest\nrich\n")).0;
    assert!(slot(&w, &listed, Warmth::Warm).is_new);
}

/// The notes that cargo writes of units and build scripts.
#[test]
fn a_unit_of_cargo_that_holds_the_path_of_its_tree_is_left_out_alone() {
    let world = World::new();
    put(world.top().join(".gitignore"), "target/\n");
    world.commit();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let notes = |hash: &str| format!("target/debug/.fingerprint/unit-{hash}");
    let units = [
        ("0a", "deps/free-0a.d", "x: src/lib.rs\n# env-dep:CARGO_PKG_NAME=unit\n", true),
        ("0b", "deps/tied-0b.d", "x: src/lib.rs\n# env-dep:CARGO_MANIFEST_DIR=TOP\n", false),
        ("0c", "deps/tied-0c.d", "# env-dep:CARGO_BIN_EXE_x=TOP/target/debug/x\n", false),
        ("0d", "deps/free-0d.d", "# env-dep:OUT_DIR=TOP/target/debug/build/unit-0f/out\n", true),
        ("0e", "build/unit-0e/output", "cargo:rerun-if-changed=TOP/proto\n", false),
        (
            "0f",
            "build/unit-0f/output",
            "cargo:rustc-link-search=TOP/target/debug/build/unit-0f/out\n",
            true,
        ),
        ("10", "deps/free-10.d", "# env-dep:X=TOP2/y\n", true),
    ];
    kept(&w, &base, |top| {
        put(top.join("target/.rustc_info.json"), "{}\n");
        for (hash, file, text, _) in units {
            put(top.join(notes(hash)).join("invoked.timestamp"), "x\n");
            put(top.join("target/debug").join(file), &text.replace("TOP", top.to_str().unwrap()));
        }
    });
    let room = slot(&w, &base, Warmth::Warm).path;
    for (hash, file, _, is_carried) in units {
        assert_eq!(room.join(notes(hash)).exists(), is_carried, "{file}");
        assert_eq!(room.join("target/debug").join(file).exists(), is_carried, "{file}");
    }
    kept(&w, &base, |top| {
        put(top.join("target/.rustc_info.json"), "{}\n");
        let text = format!("# env-dep:X={}\n", top.display());
        put(top.join("target/debug/deps/unknown-0b.d"), &text);
    });
    assert!(!slot(&w, &base, Warmth::Warm).is_reused, "nothing says how cargo would make it again");
}

#[test]
fn after_a_warm_verdict_was_wrong_the_trees_of_checks_are_made_anew() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let used = |which| w.for_checks(which, Some(&base), Warmth::Warm).unwrap().path;
    for which in [Checkout::Verify, Checkout::Candidate] {
        put(used(which).join("build/stale"), "x\n");
        assert!(used(which).join("build/stale").exists());
    }
    w.forget_warm().unwrap();
    for which in [Checkout::Verify, Checkout::Candidate] {
        assert!(!used(which).join("build/stale").exists(), "{which:?}");
    }
}

#[test]
fn a_directory_that_checkouts_keep_is_carried_too() {
    let world = World::new();
    let mut constraints = Constraints::default();
    constraints.setup.keep = vec!["build".to_owned()];
    let w = world.open(&constraints);
    let base = start(&w);
    kept(&w, &base, |top| put(top.join("build/o"), "built\n"));
    let pristine = w.for_checks(Checkout::Pristine, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(read(pristine.path.join("build/o")), "built\n");
    assert_eq!(read(slot(&w, &base, Warmth::Warm).path.join("build/o")), "built\n");
}

#[test]
fn the_checkout_of_an_agreement_begins_with_the_persons_build_alone() {
    let world = World::new();
    put(world.top().join(".gitignore"), "build/\ntarget/\nobj/\nnode_modules/\n.env\n");
    world.commit();
    put(world.top().join("build/x.o"), "object\n");
    put(world.top().join("target/CACHEDIR.TAG"), "tag\n");
    put(world.top().join("node_modules/a/index.js"), "js\n");
    put(world.top().join(".env"), "SECRET=1\n");
    put(world.top().join("obj/x.o"), &format!("\0{}\0", world.top().display()));
    for (hash, source) in [("0a", "/registry/src/lib.rs"), ("0b", "src/lib.rs")] {
        put(world.top().join(format!("target/debug/deps/x-{hash}.d")), &format!("x: {source}\n"));
        put(world.top().join(format!("target/debug/.fingerprint/x-{hash}/lib")), "x\n");
    }
    put(world.top().join("target/.rustc_info.json"), "{}\n");
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let room = w.for_checks(Checkout::Judging, Some(&base), Warmth::Warm).unwrap();
    assert!(room.is_reused);
    assert!(room.path.join("build/x.o").exists() && room.path.join("target").exists());
    assert!(!room.path.join("obj").exists(), "a program would work in the person's files");
    let unit = |hash| room.path.join(format!("target/debug/.fingerprint/x-{hash}")).exists();
    assert!(unit("0a") && !unit("0b"), "a macro may have put their path into a crate of theirs");
    assert!(!room.path.join("node_modules").exists() && !room.path.join(".env").exists());
    assert_eq!(modified(room.path.join("a.txt")), modified(world.top().join("a.txt")));
    w.keep_warm(Checkout::Judging, &base).unwrap();
    let carried = w.carried().unwrap().unwrap();
    assert_eq!(carried.dirs, ["build", "target"]);
    assert!(world.top().join("build/x.o").exists(), "the person's is copied");
}

/// Only jobs see the content (`process::layers`).
#[test]
fn what_is_too_large_to_be_copied_lies_below_the_trees_own_until_no_tree_uses_it() {
    let world = World::new();
    put(world.top().join(".gitignore"), "build/\nvenv/\n");
    world.commit();
    let mut w = world.open(&Constraints::default());
    w.copy_nothing(true);
    let base = start(&w);
    let build = |text: &str| {
        let pristine = kept(&w, &base, |top| {
            put(top.join("build/o"), text);
            put(top.join("venv/pyvenv.cfg"), "moves\n");
        });
        pristine.ancestors().nth(2).unwrap().join("warm")
    };
    let lowers = |room: &WorkDir| -> Vec<String> {
        let layers = layers::of_tree(&room.path).into_iter();
        layers.map(|layer| read(layer.lower.join("o"))).collect()
    };
    let images = build("first\n");
    let room = slot(&w, &base, Warmth::Warm);
    assert!(room.is_reused && room.is_new);
    assert!(files::entries(&room.path.join("build")).is_empty());
    assert!(!room.path.join("venv").exists(), "its text would have to be another");
    build("second\n");
    assert_eq!((lowers(&room), files::entries(&images).len()), (vec!["first\n".into()], 2));
    let room = slot(&w, &base, Warmth::Warm);
    build("third\n");
    assert_eq!((lowers(&room), files::entries(&images).len()), (vec!["second\n".into()], 2));
    slot(&w, &base, Warmth::Cold);
    assert!(lowers(&room).is_empty() && !room.path.join("build").exists());
    build("fourth\n");
    assert_eq!(files::entries(&images).len(), 1);
    slot(&w, &base, Warmth::Warm);
    w.keep_result_alone().unwrap();
    assert!(!layers::place_of(&room.path).exists() && !images.exists());
    build("fifth\n");
    w.copy_nothing(false);
    for _ in 0..2 {
        assert!(!slot(&w, &base, Warmth::Warm).is_reused);
    }
    let notes = w.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("too much to be copied here"), "{notes:?}");
}

#[test]
fn a_copy_stays_from_attempt_to_attempt_as_far_as_nobody_touched_it() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let fill = |text: &'static str| {
        move |top: &Path| {
            for name in ["build/free", "build/hard", "build/d/o", "build/e/o", "build/gone"] {
                put(top.join(name), text);
            }
            put(top.join("sub/build/o"), text);
            fs::hard_link(top.join("build/hard"), top.join("build/twin")).unwrap();
            symlink("free", top.join("build/link")).unwrap();
        }
    };
    let other = clean(change(&w, &base, &base, "a.txt", "two\n")).0;
    kept(&w, &base, fill("first\n"));
    let top = slot(&w, &base, Warmth::Warm).path.join("build");
    let inode = |name: &str| fs::metadata(top.join(name)).unwrap().ino();
    let (free, hard) = (inode("free"), inode("hard"));
    let elsewhere = world.top().join("elsewhere");
    put(elsewhere.join("o"), "mine\n");
    let time = modified(top.join("d/o")).duration_since(std::time::UNIX_EPOCH).unwrap();
    put(top.join("d/o"), "FIRST\n");
    files::set_time(&top.join("d/o"), Some(time)).unwrap();
    put(top.join("twin"), "second\n");
    put(top.join("more/x"), "x\n");
    fs::remove_file(top.join("gone")).unwrap();
    fs::remove_dir_all(top.join("e")).unwrap();
    symlink(&elsewhere, top.join("e")).unwrap();
    fs::remove_file(top.join("link")).unwrap();
    symlink("d/o", top.join("link")).unwrap();
    assert!(slot(&w, &other, Warmth::Warm).is_reused);
    for name in ["free", "hard", "twin", "d/o", "e/o", "gone", "link"] {
        assert_eq!(read(top.join(name)), "first\n", "{name}");
    }
    assert_eq!((inode("free"), inode("hard")), (free, inode("twin")));
    assert_ne!(inode("hard"), hard, "it had been written");
    assert!(!top.join("more").exists());
    assert_eq!(read(elsewhere.join("o")), "mine\n", "no link is followed");
    let (away, sub) = (world.top().join("away"), top.parent().unwrap().join("sub"));
    put(away.join("build/x"), "mine\n");
    fs::remove_dir_all(&sub).unwrap();
    symlink(&away, &sub).unwrap();
    fs::set_permissions(top.join("d"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(read(slot(&w, &base, Warmth::Warm).path.join("build/d/o")), "first\n");
    assert_eq!(read(sub.join("build/o")), "first\n");
    assert_eq!(read(away.join("build/x")), "mine\n", "it lies behind a link");
    kept(&w, &base, |_| ());
    kept(&w, &base, fill("second\n"));
    assert_eq!(read(slot(&w, &base, Warmth::Warm).path.join("build/free")), "second\n");
}

#[test]
fn a_copy_is_no_part_of_a_change_that_no_longer_ignores_it() {
    let world = World::new();
    put(world.top().join(".gitignore"), "build/\nstrange/\nodd*/\n");
    let w = world.open(&Constraints::default());
    let base = start(&w);
    kept(&w, &base, |top| {
        put(top.join("build/o"), "built\n");
        put(top.join("build/old"), "built\n");
        symlink("old", top.join("build/link")).unwrap();
        put(top.join("strange").join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "built\n");
        put(top.join(std::ffi::OsStr::from_bytes(b"odd\xe9")).join("x"), "built\n");
    });
    let top = slot(&w, &base, Warmth::Warm).path;
    put(top.join(".gitignore"), "other/\n");
    put(top.join("build/o"), "made\n");
    assert!(!top.join("strange").exists(), "a name that is no text stays behind");
    assert_eq!(read(top.join("build/link")), "built\n", "and nothing else does");
    let changed = clean(taken(&w, &base, &base, "made\n")).1;
    assert_eq!(changed, [".gitignore", "build/o"]);
}

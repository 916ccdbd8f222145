//! The files that can lie in a working tree, and their treatment by a repository's settings.

use super::*;
use std::os::unix::{ffi::OsStrExt, fs::symlink};

#[test]
fn symlinks_stay_symlinks_wherever_they_lead() {
    let world = World::new();
    fs::create_dir(world.repo().join("dir")).unwrap();
    world.write("dir/f", "f\n");
    let links = ["a.txt", "nowhere", "dir", "/etc/hostname", "../.."];
    for (n, to) in links.iter().enumerate() {
        symlink(to, world.repo().join(format!("link{n}"))).unwrap();
    }
    commit_all(&world, ".");
    symlink("dir", world.repo().join("untracked")).unwrap();
    lives_through_with(&world, &format!("{RIGHT}; ln -s good.txt made"));
    for (name, to) in [("link3", "/etc/hostname"), ("untracked", "dir"), ("made", "good.txt")] {
        assert_eq!(fs::read_link(world.repo().join(name)).unwrap(), Path::new(to));
    }
}

#[test]
fn executable_bits_are_kept_also_where_git_does_not_look_at_them() {
    let world = World::new();
    world.write("tool", "#!/bin/sh\n");
    let set = |mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(world.repo().join("tool"), mode).unwrap();
    };
    set(0o755);
    commit_all(&world, ".");
    world.git(&["config", "core.fileMode", "false"]);
    set(0o644);
    lives_through(&world);
    assert!(world.git(&["ls-files", "-s", "tool"]).starts_with("100755"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn line_ends_are_the_persons() {
    let world = World::new();
    world.git(&["config", "core.autocrlf", "true"]);
    world.write("win.txt", "one\r\ntwo\r\n");
    commit_all(&world, ".");
    assert_eq!(lives_through(&world)["applied"], "fast_forward");
    assert_eq!(world.read("good.txt"), "good\r\n");
    assert_eq!(world.git(&["show", "HEAD:good.txt"]), "good\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn attributes_hold_in_workspaces_and_at_home() {
    let world = World::new();
    let rules = "*.txt text eol=crlf\n*.id ident\nkept export-ignore\n*.u16 text working-tree-encoding=UTF-16LE\n";
    world.write(".gitattributes", rules);
    world.write("f.id", "$Id$\n");
    world.write("kept", "kept\n");
    world.write("f.u16", "h\0i\0\n\0");
    commit_all(&world, ".");
    let right = "test -f kept && printf 'w\\0\\n\\0' >> f.u16 && echo more >> f.id";
    let applied = lives_through_with(&world, &format!("{right} && {{ {RIGHT}; }}"));
    assert_eq!(applied["applied"], "fast_forward");
    assert_eq!(world.git(&["show", "HEAD:f.u16"]), "hi\nw\n");
    assert_eq!(world.git(&["show", "HEAD:f.id"]), "$Id$\nmore\n");
    assert!(world.read("good.txt").ends_with("\r\n"));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn two_names_that_differ_in_case_alone_are_two_files() {
    let world = World::new();
    world.write("File", "1\n");
    world.write("file", "2\n");
    commit_all(&world, ".");
    world.git(&["config", "core.ignoreCase", "true"]);
    lives_through_with(&world, &format!("{RIGHT}; echo 3 >> File"));
    assert_eq!((world.read("File"), world.read("file")), ("1\n3\n".into(), "2\n".into()));
}

#[test]
fn names_may_hold_anything_that_a_name_can_hold() {
    let names: &[&[u8]] = &[
        b"a b",
        b" lead",
        b"trail ",
        b"q\"uote'",
        b"-dash",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        b"new\nline",
        b"latin\xe9",
        b"tab\tx",
        b"back\\s",
        b"*glob",
        b"[x]",
        b":(top)",
        b"#h",
        b"!n",
    ];
    let world = World::new();
    let path = |name: &[u8]| world.repo().join(std::ffi::OsStr::from_bytes(name));
    for name in &names[..8] {
        fs::write(path(name), "tracked\n").unwrap();
    }
    commit_all(&world, ".");
    for name in &names[8..] {
        fs::write(path(name), "untracked\n").unwrap();
    }
    lives_through_with(&world, &format!("for f in ./*; do echo more >> \"$f\"; done; {RIGHT}"));
    for name in names {
        let text = fs::read_to_string(path(name)).unwrap();
        assert!(text.ends_with("tracked\nmore\n"), "{name:?} {text}");
    }
}

#[test]
fn pipes_and_sockets_are_no_part_of_it_and_one_in_place_of_a_file_is_named() {
    let world = World::new();
    world.write("was", "a file\n");
    commit_all(&world, ".");
    fs::remove_file(world.repo().join("was")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.repo().join("socket")).unwrap();
    let pipe = |name: &str| {
        let path = world.repo().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    pipe("was");
    pipe("pipe");
    let file = world.plan(&work(RIGHT));
    let shown = world.descent(&["align", "-n", "-f", &file]).expect(0);
    shown.shows("left out: was (no file any more)");
    world.align(&work(RIGHT));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("good.txt"), "good\n");
}

#[test]
fn what_git_was_told_not_to_look_at_is_taken_as_it_is_and_named() {
    let world = World::new();
    world.write("b.txt", "b\n");
    commit_all(&world, ".");
    world.write("a.txt", "hello\nmine\n");
    world.write("b.txt", "b\nmine\n");
    world.git(&["update-index", "--skip-worktree", "a.txt"]);
    world.git(&["update-index", "--assume-unchanged", "b.txt"]);
    let file = world.plan(&work(RIGHT));
    let shown = world.descent(&["align", "-n", "-f", &file]).expect(0);
    shown.shows("look away: a.txt").shows("look away: b.txt");
    assert_eq!(lives_through(&world)["applied"], "files");
    assert_eq!(world.read("a.txt"), "hello\nmine\nworld\n");
    assert_eq!(world.git(&["ls-files", "-v", "a.txt", "b.txt"]), "S a.txt\nh b.txt\n");
}

#[test]
fn an_intent_to_add_counts_by_the_file_that_is_there() {
    let world = World::new();
    for name in ["there", "gone"] {
        world.write(name, "new\n");
        world.git(&["add", "-N", name]);
    }
    fs::remove_file(world.repo().join("gone")).unwrap();
    lives_through_with(&world, &format!("test -f there && test ! -e gone && {{ {RIGHT}; }}"));
}

#[test]
fn ignored_files_stay_out_whoever_ignores_them() {
    let world = World::new();
    global(&world, "core.excludesFile", "~/ignored");
    fs::write(world.root().join("home/ignored"), "*.global\n").unwrap();
    fs::write(world.repo().join(".git/info/exclude"), "*.info\n").unwrap();
    for name in ["x.global", "x.info"] {
        world.write(name, "secret\n");
    }
    lives_through_with(
        &world,
        &format!("test ! -e x.global && test ! -e x.info && {{ {RIGHT}; }}"),
    );
    let named = world.git(&["log", "--all", "--name-only", "--format="]);
    assert!(!named.contains("x."), "{named}");
}

#[test]
fn a_merge_or_rebase_with_conflicts_is_taken_as_the_files_stand_and_stays_open() {
    for verb in ["merge", "rebase"] {
        let world = World::new();
        world.git(&["checkout", "-q", "-b", "other"]);
        world.write("a.txt", "other\n");
        commit_all(&world, ".");
        world.git(&["checkout", "-q", "main"]);
        world.write("a.txt", "mine\n");
        commit_all(&world, ".");
        let conflicted = std::panic::catch_unwind(|| world.git(&[verb, "other"]));
        assert!(conflicted.is_err(), "no conflict");
        let right = format!("grep -q '<<<<' a.txt && {{ {RIGHT}; }}");
        let file = world.plan(&work(&right));
        let shown = world.descent(&["align", "-n", "-f", &file]).expect(0);
        shown.shows("unresolved conflict: a.txt");
        assert_eq!(lives_through_with(&world, &right)["applied"], "files");
        assert!(world.git(&["status", "--porcelain"]).starts_with("UU a.txt"), "{verb}");
    }
}

#[test]
fn in_the_middle_of_a_merge_head_is_not_moved() {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "other"]);
    world.write("b.txt", "b\n");
    commit_all(&world, ".");
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "-s", "ours", "--no-ff", "--no-commit", "other"]);
    assert_eq!(lives_through(&world)["applied"], "files");
    assert!(world.repo().join(".git/MERGE_HEAD").exists());
}

#[test]
fn a_nested_repository_is_left_out_and_named_and_is_not_touched() {
    let world = World::new();
    fs::create_dir(world.repo().join("inner")).unwrap();
    world.git(&["-C", "inner", "init", "-q"]);
    world.write("inner/f", "f\n");
    commit_all(&world, "inner");
    let file = world.plan(&work(RIGHT));
    let shown = world.descent(&["align", "-n", "-f", &file]).expect(0);
    shown.shows("left out: inner (a repository of its own)");
    lives_through_with(&world, &format!("test ! -e inner && {{ {RIGHT}; }}"));
    assert_eq!(world.read("inner/f"), "f\n");
}

//! Dangers in a repository's settings: nothing is started, asked or reached but filters, which are the person's.

use super::*;
use crate::world::copy_program;

/// A program that writes its name down, and what it was fed.
fn trap(world: &World) -> String {
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", world.out("ran").display());
    world.program("trap", &text).display().to_string()
}

#[test]
fn no_hook_and_no_program_of_the_settings_runs() {
    let world = World::new();
    let trap = trap(&world);
    let hooks = world.repo().join(".git/hooks");
    let names = "applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge \
        pre-auto-gc post-rewrite reference-transaction post-index-change fsmonitor-watchman pre-merge-commit";
    fs::create_dir_all(&hooks).unwrap();
    for name in names.split_whitespace() {
        let _ = fs::remove_file(hooks.join(name));
        copy_program(&trap, &hooks.join(name));
    }
    let command = format!("!{trap}");
    let settings = [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.fsmonitor", &trap),
        ("commit.gpgSign", "true"),
        ("user.signingKey", "nobody"),
        ("gpg.program", &trap),
        ("credential.helper", &command),
        ("core.askPass", &trap),
        ("core.editor", &trap),
        ("sequence.editor", &trap),
        ("core.pager", &trap),
        ("core.sshCommand", &trap),
        ("core.gitProxy", &trap),
        ("core.alternateRefsCommand", &trap),
        ("uploadpack.packObjectsHook", &trap),
        ("diff.external", &trap),
        ("diff.x.textconv", &trap),
        ("diff.x.command", &trap),
        ("merge.x.driver", &trap),
        ("merge.tool", "x"),
        ("alias.status", &command),
        ("alias.read-tree", &command),
        ("trailer.x.command", &trap),
    ];
    world.write(".gitattributes", "*.txt diff=x merge=x\n");
    commit_all(&world, ".");
    let _ = fs::remove_file(world.out("ran"));
    for (key, value) in settings {
        world.git(&["config", key, value]);
    }
    world.align(&work(RIGHT));
    world.run().expect(0);
    for ways in [&["-n"][..], &["--patch", "-"], &["--branch", "side"], &[]] {
        world.descent(&[&["apply"], ways].concat()).expect(0);
    }
    assert_eq!(world.left("ran"), "");
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn a_submodules_settings_start_nothing_either() {
    let world = World::new();
    let up = upstream(&world, "up");
    let trap = trap(&world);
    modules::add(&world, &up, "vendor/sub");
    for at in [".", "vendor/sub"] {
        world.git(&["-C", at, "config", "core.fsmonitor", &trap]);
        world.git(&["-C", at, "config", "core.hooksPath", "../../../../bin"]);
    }
    world.program("post-checkout", &fs::read_to_string(&trap).unwrap());
    world.align(&work(RIGHT));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.left("ran"), "");
}

#[test]
fn filters_are_the_persons_wherever_they_are_configured() {
    for place in ["--local", "--global"] {
        let world = World::new();
        world.git(&["config", place, "filter.up.clean", "tr A-Z a-z"]);
        world.git(&["config", place, "filter.up.smudge", "tr a-z A-Z"]);
        world.git(&["config", place, "filter.up.required", "true"]);
        world.write(".gitattributes", "*.up filter=up\n");
        world.write("x.up", "HELLO\n");
        commit_all(&world, ".");
        world.write("x.up", "HELLO\nMINE\n");
        lives_through_with(
            &world,
            &format!("grep -q MINE x.up && echo DONE >> x.up && {{ {RIGHT}; }}"),
        );
        assert_eq!(world.read("x.up"), "HELLO\nMINE\nDONE\n");
        assert_eq!(world.git(&["show", "HEAD:x.up"]), "hello\n");
        let result = world.status()["workspace"]["commit"].as_str().unwrap().to_owned();
        assert_eq!(world.ours(&["show", &format!("{result}:x.up")]), "hello\nmine\ndone\n");
    }
}

#[test]
fn a_filter_that_fails_is_named_with_its_file() {
    let world = World::new();
    world.git(&["config", "filter.up.clean", "cat"]);
    world.git(&["config", "filter.up.smudge", "cat"]);
    world.git(&["config", "filter.up.required", "true"]);
    world.write(".gitattributes", "*.up filter=up\n");
    world.write("x.up", "x\n");
    commit_all(&world, ".");
    for (kind, command) in [("smudge", "no-such-program"), ("clean", "false")] {
        world.git(&["config", &format!("filter.up.{kind}"), command]);
        world.write("x.up", "changed\n");
        let refused = world.try_align(&work(RIGHT)).expect(69).says("E-REPOSITORY");
        refused.says("x.up").says(r"git config --get-regexp '^filter\.up\.'");
        world.git(&["checkout", "-q", "HEAD~0"]);
    }
    // Git says neither the filter nor the file.
    for command in ["no-such-program run", "/no/such/program"] {
        world.git(&["config", "filter.up.process", command]);
        let refused = world.try_align(&work(RIGHT)).expect(69).says("E-REPOSITORY");
        refused.says("filter").says(command.split(' ').next().unwrap());
    }
    assert!(!world.repo().join(".descent").exists());
}

#[test]
fn without_an_identity_commits_bear_the_programs_name_and_that_is_said_once() {
    for only in ["false", "true"] {
        let world = World::new();
        world.git(&["config", "--unset", "user.name"]);
        world.git(&["config", "--unset", "user.email"]);
        world.git(&["config", "user.useConfigOnly", only]);
        let words = "descent <descent@localhost>";
        let aligned = world.try_align(&work(RIGHT)).expect(0);
        assert_eq!(aligned.stdout.matches(words).count(), 1);
        let ran = world.descent(&["run", "--apply"]).expect(0);
        assert_eq!((ran.stdout + &ran.stderr).matches(words).count(), 0);
        let who = world.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>"]);
        assert_eq!(who.trim(), format!("{words} {words}"));
    }
}

#[test]
fn variables_that_lead_git_elsewhere_lead_nowhere() {
    let world = World::new();
    let other = upstream(&world, "other");
    let elsewhere = |args: &[&str]| {
        let mut command = world.command(args);
        command
            .env("GIT_DIR", format!("{other}/.git"))
            .env("GIT_WORK_TREE", &other)
            .env("GIT_INDEX_FILE", world.out("index"))
            .env("GIT_TRACE", world.out("trace"))
            .env("GIT_CONFIG_PARAMETERS", "'core.bare=true'");
        crate::world::Running::of(command).wait().expect(0)
    };
    let file = world.plan(&work(RIGHT));
    elsewhere(&["align", "-y", "-f", &file]);
    elsewhere(&["run", "--apply"]);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    assert_eq!(world.git(&["-C", &other, "for-each-ref", "refs/descent"]), "");
    assert!(!world.out("index").exists());
}

#[test]
fn git_leaves_the_programs_own_directory_alone() {
    let world = World::new();
    world.align(&work(RIGHT));
    world.write("mine.txt", "mine\n");
    world.git(&["add", "-A"]);
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "mine.txt\n");
    world.git(&["stash", "-q", "-u"]);
    world.git(&["stash", "pop", "-q"]);
    world.git(&["clean", "-qfd"]);
    assert!(world.state_path().exists());
    world.run().expect(0);
}

#[test]
fn the_programs_own_directory_in_a_commit_is_warned_of_and_never_part_of_a_result() {
    let world = World::new();
    world.align(&work(RIGHT));
    world.git(&["add", "-f", ".descent/state.json"]);
    world.git(&["commit", "-qm", "a mistake"]);
    let ran = world.descent(&["run"]).expect(0);
    ran.says("git rm -r -q --cached .descent");
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["files"], json!(["a.txt", "good.txt"]));
    assert_eq!(world.status()["status"], "completed");
}

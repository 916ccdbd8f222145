//! How a repository can be stored and where it can stand.

use super::*;

#[test]
fn a_detached_head_stays_detached_and_moves_to_the_result() {
    let world = World::new();
    world.git(&["checkout", "-q", "--detach"]);
    assert_eq!(lives_through(&world)["applied"], "fast_forward");
    assert_eq!(world.git(&["branch", "--show-current"]), "");
    assert_eq!(world.git(&["rev-list", "--count", "main..HEAD"]).trim(), "1");
}

#[test]
fn a_shallow_clone_is_ordinary() {
    let world = World::bare();
    let up = upstream(&world, "up");
    fs::write(Path::new(&up).join("b.txt"), "b").unwrap();
    commit_all(&world, &up);
    world.git(&["clone", "-q", "--depth", "1", &format!("file://{up}"), "."]);
    identified(&world);
    let shallow = fs::read(world.repo().join(".git/shallow")).unwrap();
    assert_eq!(lives_through(&world)["applied"], "fast_forward");
    assert_eq!(fs::read(world.repo().join(".git/shallow")).unwrap(), shallow);
}

#[test]
fn a_partial_clone_does_without_its_upstream() {
    let world = World::bare();
    let up = upstream(&world, "up");
    world.git(&["-C", &up, "config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{up}");
    world.git(&["clone", "-q", "--filter=blob:none", &url, "."]);
    identified(&world);
    fs::rename(&up, world.root().join("away")).unwrap();
    lives_through(&world);
}

#[test]
fn a_sparse_partial_clone_is_refused_with_the_command_that_brings_its_files() {
    let world = World::bare();
    let up = upstream(&world, "up");
    fs::create_dir(Path::new(&up).join("lib")).unwrap();
    fs::write(Path::new(&up).join("lib/f"), "lib").unwrap();
    commit_all(&world, &up);
    world.git(&["-C", &up, "config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{up}");
    world.git(&["clone", "-q", "--filter=blob:none", "--sparse", &url, "."]);
    identified(&world);
    let refused = world.try_align(&work(RIGHT)).expect(69);
    let refused = refused.says("error[E-REPOSITORY]: this partial clone lacks files");
    let (_, bring) = refused.stderr.split_once("the same again: ").unwrap();
    let mut shell = world.bare_command("sh");
    assert!(shell.args(["-c", bring]).status().unwrap().success());
    lives_through(&world);
}

/// A partial clone without the files of the commit before HEAD, agreed.
fn lacks_its_first_commit() -> World {
    let world = World::bare();
    let up = upstream(&world, "up");
    fs::write(Path::new(&up).join("a.txt"), "later\n").unwrap();
    commit_all(&world, &up);
    world.git(&["-C", &up, "config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{up}");
    world.git(&["clone", "-q", "--filter=blob:none", &url, "."]);
    identified(&world);
    world.align(&work(RIGHT));
    world
}

#[test]
fn a_start_whose_files_are_not_here_is_refused_with_the_command_that_brings_them_and_not_kept() {
    let world = lacks_its_first_commit();
    let refused = world.descent(&["run", "--from", "HEAD~1"]).expect(69);
    let refused = refused.says("error[E-REPOSITORY]: this partial clone lacks files");
    let (_, bring) = refused.stderr.split_once("the same again: ").unwrap();
    let mut shell = world.bare_command("sh");
    assert!(shell.args(["-c", bring]).status().unwrap().success());
    assert_eq!(world.state()["run"]["started_from"], Value::Null);
    world.descent(&["run", "--from", "HEAD~1"]).expect(0);
    assert_eq!(world.result_file("a.txt"), "hello\nworld\n");
}

#[test]
fn after_a_start_that_was_refused_a_run_starts_from_the_files() {
    let world = lacks_its_first_commit();
    world.descent(&["run", "--from", "HEAD~1"]).expect(69);
    world.run().expect(0);
    assert_eq!(world.result_file("a.txt"), "later\nworld\n");
}

#[test]
fn a_worktree_is_a_project_like_any_other() {
    let world = World::bare();
    let up = upstream(&world, "up");
    let repo = world.repo().display().to_string();
    world.git(&["-C", &up, "worktree", "add", "-q", "-b", "feature", &repo]);
    identified(&world);
    assert_eq!(lives_through(&world)["branch"], "feature");
    assert_eq!(world.git(&["-C", &up, "status", "--porcelain"]), "");
    assert_eq!(world.git(&["-C", &up, "rev-list", "--count", "main"]).trim(), "1");
}

#[test]
fn a_git_file_borrowed_objects_and_every_format_of_git_do() {
    let world = World::bare();
    let up = upstream(&world, "up");
    world.git(&["clone", "-q", "-s", &up, "."]);
    identified(&world);
    lives_through(&world);
    for args in [
        &["init", "-q", "--separate-git-dir", "../apart.git"][..],
        &["init", "-q", "--object-format=sha256"],
        &["init", "-q", "--ref-format=reftable"],
    ] {
        let world = made_by(args);
        assert_eq!(lives_through(&world)["applied"], "fast_forward", "{args:?}");
    }
}

#[test]
fn an_index_that_is_split_short_or_watched_is_read_and_left_alone() {
    let split = World::new();
    split.git(&["config", "core.splitIndex", "true"]);
    split.git(&["update-index", "--split-index"]);
    lives_through(&split);
    let short = World::new();
    short.git(&["config", "core.untrackedCache", "true"]);
    short.git(&["update-index", "--index-version", "4", "--untracked-cache"]);
    lives_through(&short);
}

#[test]
fn files_outside_of_a_sparse_checkout_do_not_look_deleted() {
    for more in [&[][..], &["--sparse-index"]] {
        let world = World::new();
        for dir in ["far/deep", "near"] {
            fs::create_dir_all(world.repo().join(dir)).unwrap();
            world.write(&format!("{dir}/f"), "f\n");
        }
        commit_all(&world, ".");
        world.git(&[&["sparse-checkout", "set", "--cone"][..], more, &["near"]].concat());
        world.write("near/f", "changed\n");
        assert_eq!(lives_through(&world)["files"], json!(["a.txt", "good.txt"]));
        assert!(!world.repo().join("far").exists());
        assert_eq!(world.result_file("far/deep/f"), "f\n");
        assert_eq!(world.result_file("near/f"), "changed\n");
        assert_eq!(world.git(&["diff", "--name-only"]), "a.txt\nnear/f\n");
    }
}

#[test]
fn a_project_in_a_directory_of_the_repository_works_there_and_every_command_finds_it() {
    let world = World::new();
    fs::create_dir_all(world.repo().join("sub/.descent")).unwrap();
    fs::create_dir_all(world.repo().join("sub/deeper")).unwrap();
    world.write("sub/a.txt", "hello\n");
    commit_all(&world, ".");
    let file = world.plan(&work("echo world >> a.txt; echo good > good.txt"));
    let at = "sub/deeper";
    world.descent(&["-C", at, "align", "-y", "-f", &file]).expect(0);
    world.descent(&["-C", at, "run"]).expect(0);
    let status = world.descent(&["-C", at, "status", "--json"]).expect(0).json();
    let path = status["workspace"]["path"].as_str().unwrap();
    assert!(Path::new(path).join("good.txt").exists(), "{path}");
    for look in [&["status"][..], &["validate"], &["verify", "--result"], &["why", "C2"], &["stop"]]
    {
        world.descent(&[&["-C", at], look].concat()).expect(0);
    }
    world.descent(&["-C", at, "apply"]).expect(0);
    assert_eq!(world.read("sub/a.txt"), "hello\nworld\n");
    assert_eq!(world.read("a.txt"), "hello\n");
}

#[test]
fn a_project_that_was_moved_goes_on_and_leaves_no_workspaces_behind() {
    let world = World::new();
    world.align(&work(RIGHT));
    let moved = world.root().join("moved");
    fs::rename(world.repo(), &moved).unwrap();
    let at = moved.display().to_string();
    world.descent_in(&moved, &["run"]).expect(0);
    fs::create_dir(world.repo()).unwrap();
    let trees = world.git(&["-C", &at, "worktree", "list", "--porcelain"]);
    let mut trees = trees.lines().filter_map(|line| line.strip_prefix("worktree "));
    assert!(trees.all(|tree| Path::new(tree).is_dir()));
    let lineage = fs::read_dir(world.cache().join("descent")).unwrap().next();
    let places = fs::read_dir(lineage.unwrap().unwrap().path()).unwrap();
    assert_eq!(places.count(), 1);
    world.descent_in(&moved, &["apply"]).expect(0);
    assert!(moved.join("good.txt").exists());
}

#[test]
fn a_change_of_files_outside_of_a_sparse_checkout_is_applied() {
    let world = World::new();
    fs::create_dir_all(world.repo().join("far")).unwrap();
    fs::create_dir_all(world.repo().join("near")).unwrap();
    for name in ["far/f", "far/g", "near/f"] {
        world.write(name, "f\n");
    }
    commit_all(&world, ".");
    world.git(&["sparse-checkout", "set", "--cone", "near"]);
    let step = crate::world::task("echo x >>far/f; rm far/g; echo x >>near/f");
    world.align(&crate::world::plan(&["grep x far/f"], json!({}), json!({"A": step})));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!((world.read("near/f"), world.read("far/f")), ("f\nx\n".into(), "f\nx\n".into()));
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(world.git(&["ls-tree", "-r", "--name-only", "HEAD", "far"]), "far/f\n");
}

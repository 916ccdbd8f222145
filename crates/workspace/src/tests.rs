//! Workspaces of real repositories, in temporary directories.
#![allow(clippy::disallowed_methods)] // door: tests

mod checks;
mod shadow;
mod warm;

use super::*;
use crate::git::ApplyOutcome;
use descent_core::{event::Merge, id::UnixMillis, state::WarmUse};
use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path, process::Command};
use tempfile::TempDir;

const AT: UnixMillis = UnixMillis(1_700_000_000_000);

struct World {
    dir: TempDir,
}

fn put(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

impl World {
    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        Self { dir }
    }

    fn new() -> Self {
        let world = Self::empty();
        world.git(&["init", "-q", "-b", "main"]);
        put(world.top().join("a.txt"), "one\n");
        put(world.top().join("tests/t.sh"), "exit 1\n");
        put(world.top().join("sub/s.txt"), "s\n");
        put(world.top().join(".gitignore"), "build/\n.env\n");
        world.commit();
        world
    }

    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("p")
    }

    fn git(&self, args: &[&str]) -> String {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let ran =
            Command::new("git").current_dir(self.top()).args(who).args(args).output().unwrap();
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Runs git in our own repository.
    fn git_of_ours(&self, args: &[&str]) -> String {
        let repository = self.top().join(".descent/state.json.d/repository/1-2-3");
        let repository = repository.display().to_string();
        self.git(&[&["--git-dir", &repository], args].concat())
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--no-gpg-sign", "-m", "start"]);
    }

    fn try_open(&self, project: &Path, constraints: &Constraints) -> Result<Workspaces> {
        let cache = self.dir.path().canonicalize().unwrap().join("cache");
        Workspaces::open_in(
            programs::real(),
            Some(cache.clone()),
            &StatePlace::at(project, None),
            &Lineage::new("1-2-3"),
            constraints,
        )
    }

    fn open(&self, constraints: &Constraints) -> Worktrees {
        let opened = self.try_open(&self.top(), constraints).unwrap();
        opened.trees().unwrap().clone()
    }

    fn open_shared(&self) -> Workspaces {
        self.try_open(&self.top(), &shared()).unwrap()
    }
}

fn shared() -> Constraints {
    Constraints { workspace: Some(Workspace::Shared), ..Constraints::default() }
}

fn linking(links: &[&str]) -> Constraints {
    Constraints { link: links.iter().map(ToString::to_string).collect(), ..Constraints::default() }
}

fn start(w: &Worktrees) -> CommitId {
    w.start().unwrap().commit
}

/// Makes a change in a slot that holds `base`, and brings it onto `onto`.
fn change(w: &Worktrees, base: &CommitId, onto: &CommitId, path: &str, text: &str) -> Merge {
    let made = w.for_attempt(0, Some(base), Warmth::Cold).unwrap();
    put(made.path.join(path), text);
    let message = message(&AtomId::new("A1"), "do it");
    taken(w, base, onto, &message)
}

/// The content of slot 0, brought onto `onto`.
fn taken(w: &Worktrees, base: &CommitId, onto: &CommitId, message: &str) -> Merge {
    let made = w.made(0, base, message, AT).unwrap();
    let landing = LandingSpec { base, onto, message, at: AT };
    w.land(&made.product, &landing).unwrap()
}

fn clean(merge: Merge) -> (CommitId, Vec<String>, Vec<String>) {
    match merge {
        Merge::Clean { commit, files, protected, .. } => (commit, files, protected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_repository_is_refused_with_the_way_out() {
    let world = World::empty();
    let error = world.try_open(&world.top(), &Constraints::default()).unwrap_err();
    assert_eq!(error.codes(), ("E-REPOSITORY", 69));
    assert!(error.hint().contains("git init") && error.hint().contains("workspace=shadow"));
    world.git(&["init", "-q"]);
    let error = world.try_open(&world.top(), &Constraints::default()).unwrap_err();
    assert_eq!(error.codes(), ("E-REPOSITORY", 69));
    assert!(error.hint().contains("git -C"));
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let world = World::new();
    fs::write(world.dir.path().join("cache"), "a file").unwrap();
    let error = world.try_open(&world.top(), &Constraints::default()).unwrap_err();
    assert_eq!(error.codes(), ("E-CACHE", 69));
}

#[test]
fn a_cache_that_was_removed_is_missing_although_an_attempt_has_made_it_again() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    w.for_attempt(0, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(w.missing(), None);
    fs::remove_dir_all(world.dir.path().join("cache")).unwrap();
    w.for_attempt(1, Some(&base), Warmth::Cold).unwrap();
    assert!(matches!(w.missing(), Some(MissingPlace::Cache(_))));
    assert_eq!(world.open(&Constraints::default()).missing(), None);
}

#[test]
fn the_snapshot_is_the_working_tree_as_it_is_and_a_reference_keeps_it() {
    let world = World::new();
    put(world.top().join("a.txt"), "two\n");
    put(world.top().join("new.txt"), "new\n");
    let w = world.open(&Constraints::default());
    let from = w.start().unwrap();
    assert!(from.dirty);
    assert_eq!(from.branch.as_deref(), Some("main"));
    assert_eq!(from.head.as_str(), world.git(&["rev-parse", "HEAD"]));
    let start = ["rev-parse", "refs/descent/1-2-3/start"];
    assert_eq!(world.git_of_ours(&start), from.commit.as_str());
    assert_eq!(world.git(&start), from.head.as_str());
    let made = w.for_attempt(0, Some(&from.commit), Warmth::Cold).unwrap();
    assert_eq!(read(made.path.join("a.txt")), "two\n");
    assert_eq!(read(made.path.join("new.txt")), "new\n");
    assert_eq!(world.git(&["stash", "list"]), "");
}

#[test]
fn a_slot_holds_nothing_of_the_attempt_before_and_is_always_new() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let made = w.for_attempt(3, Some(&base), Warmth::Cold).unwrap();
    assert!(made.path.ends_with("attempt-3") && made.is_new);
    put(made.path.join("a.txt"), "spoiled\n");
    put(made.path.join("build/cache"), "old\n");
    put(made.path.join("left.txt"), "left\n");
    let again = w.for_attempt(3, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(again, made);
    assert_eq!(read(made.path.join("a.txt")), "one\n");
    assert!(!made.path.join("build").exists() && !made.path.join("left.txt").exists());
}

#[test]
fn linked_paths_are_shared_never_committed_and_survive_the_cleaning() {
    let world = World::new();
    put(world.top().join("node_modules/dep.js"), "dep\n");
    put(world.top().join(".env"), "KEY=1\n");
    fs::write(world.top().join(".git/info/exclude"), "node_modules\n").unwrap();
    let w = world.open(&linking(&["node_modules/", "./.env", "absent", "a.txt"]));
    let base = start(&w);
    // From here on the link itself is an untracked file that is not ignored.
    fs::write(world.top().join(".git/info/exclude"), "").unwrap();
    let made = w.for_attempt(0, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(read(made.path.join("node_modules/dep.js")), "dep\n");
    assert_eq!(read(made.path.join(".env")), "KEY=1\n");
    assert!(!made.path.join("absent").exists());
    assert!(!made.path.join("a.txt").is_symlink(), "a file of the commit stays");
    put(made.path.join("b.txt"), "b\n");
    put(made.path.join("absent/x"), "made by the attempt\n");
    let merge = taken(&w, &base, &base, "m\n");
    assert_eq!(clean(merge).1, ["b.txt"]);
    w.for_attempt(0, Some(&base), Warmth::Cold).unwrap();
    w.for_checks(Checkout::Verify, Some(&base), Warmth::Cold).unwrap();
    let checks = w.for_checks(Checkout::Verify, Some(&base), Warmth::Cold).unwrap();
    assert!(checks.path.join("node_modules").is_symlink());
    assert_eq!(read(world.top().join("node_modules/dep.js")), "dep\n");
}

#[test]
fn a_link_that_leaves_the_project_is_refused_and_none_goes_through_a_symlink() {
    let world = World::new();
    for path in ["../x", "/etc", "", ".", ".git/hooks", ".descent", "./.Descent/state.json"] {
        let error = world.try_open(&world.top(), &linking(&[path])).unwrap_err();
        assert_eq!(error.codes(), ("E-INVALID", 65), "{path}");
    }
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.top().join("out")).unwrap();
    world.commit();
    put(outside.join("secret"), "s\n");
    let w = world.open(&linking(&["out/secret"]));
    w.for_attempt(0, Some(&start(&w)), Warmth::Cold).unwrap();
    assert!(!outside.join("secret").is_symlink());
}

#[test]
fn a_candidate_is_the_change_on_the_head_and_moves_nothing() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let (first, files, protected) = clean(change(&w, &base, &base, "b.txt", "b\n"));
    assert_eq!((files, protected), (vec!["b.txt".to_owned()], vec![]));
    let (second, ..) = clean(change(&w, &base, &first, "c.txt", "c\n"));
    let body = world.git_of_ours(&["log", "-1", "--format=%B", second.as_str()]);
    assert_eq!(body, "do it\n\nDescent-Atom: A1");
    let made = w.for_checks(Checkout::Verify, Some(&second), Warmth::Cold).unwrap();
    assert!(made.path.join("b.txt").exists() && made.path.join("c.txt").exists());
    let conflict = change(&w, &base, &second, "b.txt", "other\n");
    assert!(matches!(conflict, Merge::Conflict(paths) if paths == ["b.txt"]));
    let same = change(&w, &base, &second, "a.txt", "one\n");
    let tree = w.tree_of(&second).unwrap();
    assert!(matches!(same, Merge::Unchanged { tree: Some(t) } if t == tree));
    assert_eq!(world.git(&["rev-parse", "HEAD"]), base.as_str());
}

#[test]
fn protected_files_are_named_whichever_way_they_change() {
    let world = World::new();
    let protected = vec!["tests/".to_owned(), "*.lock".to_owned()];
    let w = world.open(&Constraints { protected, ..Constraints::default() });
    let base = start(&w);
    let hit = |path: &str| clean(change(&w, &base, &base, path, "x\n")).2;
    assert_eq!(hit("tests/t.sh"), ["tests/t.sh"]);
    assert_eq!(hit("tests/deep/new.sh"), ["tests/deep/new.sh"]);
    assert_eq!(hit("x.lock"), ["x.lock"]);
    assert!(hit("sub/x.lock").is_empty());
    let made = w.for_attempt(0, Some(&base), Warmth::Cold).unwrap();
    fs::remove_file(made.path.join("tests/t.sh")).unwrap();
    let merge = taken(&w, &base, &base, "m\n");
    assert_eq!(clean(merge).2, ["tests/t.sh"]);
    let bad = Constraints { protected: vec!["a{".into()], ..Constraints::default() };
    assert_eq!(world.try_open(&world.top(), &bad).unwrap_err().codes().0, "E-INVALID");
}

#[test]
fn rebuilding_keeps_what_applies_and_names_what_does_not() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let (one, ..) = clean(change(&w, &base, &base, "n.txt", "1\n"));
    let (two, ..) = clean(change(&w, &one, &one, "n.txt", "2\n"));
    let (three, ..) = clean(change(&w, &two, &two, "m.txt", "m\n"));
    let placed = |atom: &str, commit| ResultCommit::new(AtomId::new(atom), commit);
    let (head, line, dropped) =
        w.rebuild(&base, &[placed("B", two), placed("C", three.clone())]).unwrap();
    assert_eq!(dropped, [AtomId::new("B")]);
    assert_eq!(line, [placed("C", head.clone())]);
    assert_ne!(head, three);
    let made = w.for_checks(Checkout::Verify, Some(&head), Warmth::Cold).unwrap();
    assert!(made.path.join("m.txt").exists() && !made.path.join("n.txt").exists());
}

#[test]
fn references_follow_and_keep_whatever_the_name() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let (one, ..) = clean(change(&w, &base, &base, "n.txt", "1\n"));
    w.follow(&one).unwrap();
    for name in ["A1.3", "../../heads/main", "x.lock", "", "ü"] {
        w.keep(name, &one, &base).unwrap();
    }
    assert_eq!(world.git_of_ours(&["rev-parse", &w.result_ref()]), one.as_str());
    assert_eq!(world.git_of_ours(&["rev-parse", "refs/descent/1-2-3/keep/A1.3"]), one.as_str());
    assert_eq!(world.git(&["rev-parse", "refs/heads/main"]), base.as_str());
    assert!(w.is_there(&one).unwrap());
    assert!(!w.is_there(&CommitId::new("a".repeat(40))).unwrap());
}

#[test]
fn the_result_is_delivered_beside_and_applied_when_asked() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let (one, ..) = clean(change(&w, &base, &base, "n.txt", "1\n"));
    let path = w.deliver(&one).unwrap();
    assert_eq!(path, w.path_of_result());
    assert_eq!(read(path.join("n.txt")), "1\n");
    assert!(!world.top().join("n.txt").exists());
    assert!(matches!(w.apply(&base, &one, false).unwrap(), ApplyOutcome::FastForward { .. }));
    assert_eq!(read(world.top().join("n.txt")), "1\n");
}

#[test]
fn a_project_below_the_top_works_in_the_same_place_of_the_workspace() {
    let world = World::new();
    put(world.top().join("sub/.env"), "KEY\n");
    let mut constraints = linking(&[".env"]);
    constraints.protected = vec!["s.txt".into()];
    let opened = world.try_open(&world.top().join("sub"), &constraints);
    let w = opened.unwrap().trees().unwrap().clone();
    let base = start(&w);
    let made = w.for_attempt(0, Some(&base), Warmth::Cold).unwrap();
    assert!(made.path.ends_with("attempt-0/sub"));
    assert!(made.path.join(".env").is_symlink());
    put(made.path.join("s.txt"), "changed\n");
    let merge = taken(&w, &base, &base, "m\n");
    assert_eq!(clean(merge).2, ["sub/s.txt"]);
}

#[test]
fn two_projects_and_an_odd_lineage_share_no_place() {
    let (one, two) = (World::new(), World::new());
    let cache = one.dir.path().canonicalize().unwrap().join("cache");
    let open = |project: &Path, lineage: &str| {
        let (lineage, plain) = (Lineage::new(lineage), Constraints::default());
        let cache = Some(cache.clone());
        let place = StatePlace::at(project, None);
        let opened = Workspaces::open_in(programs::real(), cache, &place, &lineage, &plain);
        opened.unwrap().path_of_result()
    };
    assert_ne!(open(&one.top(), "l"), open(&two.top(), "l"));
    for odd in ["../../x", "", ".", "a/b"] {
        assert!(open(&one.top(), odd).starts_with(&cache), "{odd}");
        assert!(!open(&one.top(), odd).to_string_lossy().contains(".."), "{odd}");
    }
}

#[test]
fn shared_is_the_project_itself_and_undoes_nothing() {
    let world = World::empty();
    let w = world.open_shared();
    assert!(w.trees().is_none() && w.snapshot().unwrap().is_none());
    let made = w.for_attempt(0, None, Warmth::Cold).unwrap();
    assert_eq!(made, WorkDir::ready(world.top()));
    assert_eq!(w.for_checks(Checkout::Verify, None, Warmth::Cold).unwrap(), made);
    put(made.path.join("x"), "x\n");
    w.for_attempt(0, None, Warmth::Cold).unwrap();
    assert!(world.top().join("x").exists());
    assert!(!world.dir.path().join("cache").exists());
}

#[test]
fn a_message_is_one_short_line_and_a_trailer() {
    let id = AtomId::new("A1");
    assert_eq!(message(&id, " \n"), "A1\n\nDescent-Atom: A1\n");
    assert_eq!(
        message(&id, "fix\n\nDescent-Atom: B9"),
        "fix Descent-Atom: B9\n\nDescent-Atom: A1\n"
    );
    let long = message(&id, &"wörd ".repeat(40));
    let subject = long.lines().next().unwrap();
    assert!(subject.chars().count() <= 72 && subject.ends_with('…'));
}

#[test]
fn a_vanished_states_last_bytes_are_saved_each_time_anew() {
    let world = World::new();
    for constraints in [Constraints::default(), shared()] {
        let w = world.try_open(&world.top(), &constraints).unwrap();
        let (one, two) = (w.save_state(b"1").unwrap(), w.save_state(b"2").unwrap());
        assert_eq!((read(&one), read(&two)), ("1".to_owned(), "2".to_owned()));
        assert!(!one.starts_with(world.top()));
    }
}

#[test]
fn a_time_of_the_file_dates_commits_and_a_broken_one_is_always_the_same() {
    assert_eq!(time_of(&AT.rfc3339()), AT);
    assert_eq!(time_of("yesterday"), UnixMillis(0));
    assert_eq!(time_of("1960-01-01T00:00:00Z"), UnixMillis(0));
}

#[test]
fn a_place_is_abandoned_only_when_its_project_is_known_and_gone() {
    let world = tempfile::tempdir().unwrap();
    let place = |name: &str| world.path().join(name);
    for name in ["mine", "gone", "there", "unknown"] {
        fs::create_dir(place(name)).unwrap();
    }
    let state = Path::new("state.json");
    places::note(&place("mine"), &place("never"), state).unwrap();
    places::note(&place("gone"), &place("moved"), state).unwrap();
    places::note(&place("there"), world.path(), state).unwrap();
    assert_eq!(places::abandoned(&place("mine")), [place("gone")]);
}

#[test]
fn the_cache_follows_xdg_and_a_relative_path_counts_as_none() {
    let var = |xdg: Option<&'static str>, home: Option<&'static str>| {
        places::cache_root(move |name| if name == "HOME" { home } else { xdg }.map(Into::into))
    };
    let path = |text: &str| Some(PathBuf::from(text));
    assert_eq!(var(Some("/c"), Some("/h")), path("/c/descent"));
    assert_eq!(var(Some("c"), Some("/h")), path("/h/.cache/descent"));
    assert_eq!(var(None, Some("/h")), path("/h/.cache/descent"));
    assert_eq!(var(None, None), None);
}

//! An attempt's output as one commit.

use super::*;
use descent_core::event::Merge;
use std::os::unix::fs::symlink;

struct Attempt {
    world: World,
    git: Git,
    at: PathBuf,
    base: CommitId,
}

fn attempt() -> Attempt {
    let world = World::new();
    let (git, at, base) = (world.open(), world.tree("w"), world.at("HEAD"));
    git.checkout(&at, &base, Leftovers::RemoveAll, None).unwrap();
    Attempt { world, git, at, base }
}

impl Attempt {
    /// `None`: it made nothing.
    fn candidate(&self, onto: &CommitId) -> Option<Merge> {
        let exclude = [PathBuf::from("node_modules")];
        let asked = Candidate {
            workspace: &self.at,
            base: &self.base,
            message: "made\n\nDescent-Atom: a\n",
            at: AT,
            exclude: &exclude,
        };
        let made = self.git.candidate(&asked).unwrap();
        assert_eq!(self.git.candidate(&asked).unwrap(), made);
        let landing = LandingSpec { base: &self.base, onto, message: asked.message, at: AT };
        let made = made.commit?;
        let merge = self.git.land(&made, &landing).unwrap();
        assert_eq!(self.git.land(&made, &landing).unwrap(), merge);
        Some(merge)
    }

    fn clean(&self, onto: &CommitId) -> (CommitId, descent_core::id::Digest, Vec<String>) {
        match self.candidate(onto) {
            Some(Merge::Clean { commit, change, files, .. }) => (commit, change, files),
            other => unreachable!("{other:?}"),
        }
    }
}

#[test]
fn an_attempt_that_made_nothing_is_unchanged() {
    let a = attempt();
    assert_eq!(a.candidate(&a.base), None);
    put(&a.at, "a.txt", fs::read(a.at.join("a.txt")).unwrap());
    put(&a.at, "x.log", "ignored");
    put(&a.at, ".descent/x", "ours");
    symlink("/usr", a.at.join("node_modules")).unwrap();
    a.world.git_in(&a.at, &["init", "-q", "nested"]);
    assert_eq!(a.candidate(&a.base), None);
}

#[test]
fn only_the_files_count_whatever_happened_to_index_head_and_git_file() {
    let a = attempt();
    put(&a.at, "a.txt", "changed\n");
    put(&a.at, "new ä.txt", "new\n");
    fs::remove_file(a.at.join("dir/b.txt")).unwrap();
    let (commit, change, files) = a.clean(&a.base);
    assert_eq!(files, ["a.txt", "dir/b.txt", "new ä.txt"]);
    assert_eq!(a.world.files(&commit), [".gitignore", "a.txt", "new ä.txt"]);
    assert_eq!(a.world.parent(&commit), a.base);
    let said = a.world.git_of_ours(&["log", "-1", "--format=%an %ct %B", commit.as_str()]);
    assert_eq!(said, "Ada Person 1700000000 made\n\nDescent-Atom: a");
    a.world.git_in(&a.at, &["add", "a.txt"]);
    a.world.git_in(&a.at, &["commit", "-q", "-m", "own"]);
    a.world.git_in(&a.at, &["update-index", "--assume-unchanged", "a.txt"]);
    assert_eq!(a.clean(&a.base), (commit.clone(), change.clone(), files.clone()));
    fs::remove_dir_all(a.at.join(".git")).unwrap();
    assert_eq!(a.clean(&a.base), (commit.clone(), change.clone(), files.clone()));
    fs::remove_dir_all(a.git.tree(&a.at).admin).unwrap();
    assert_eq!(a.clean(&a.base), (commit, change, files));
}

#[test]
fn it_merges_onto_another_head_and_moves_no_reference() {
    let a = attempt();
    let mark = a.world.plant_hooks();
    put(&a.at, "a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    let (_, change, _) = a.clean(&a.base);
    a.world.write("a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    a.world.git(&["add", "-A"]);
    a.world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "onto"]);
    let onto = a.world.at("HEAD");
    let before = a.world.picture();
    let (commit, merged_change, files) = a.clean(&onto);
    assert_eq!(a.world.blob(&commit, "a.txt"), "ONE\ntwo\nthree\nfour\nFIVE");
    assert_eq!(a.world.parent(&commit), onto);
    assert_eq!((merged_change, files), (change, vec!["a.txt".to_owned()]));
    assert_eq!(a.world.picture(), before);
    assert!(!mark.exists());
}

#[test]
fn what_does_not_merge_is_a_conflict_with_its_paths() {
    let a = attempt();
    put(&a.at, "a.txt", "mine\n");
    put(&a.at, "ok.txt", "ok\n");
    a.world.write("a.txt", "theirs\n");
    let onto = a.world.commit("onto");
    assert_eq!(a.candidate(&onto), Some(Merge::Conflict(vec!["a.txt".into()])));
}

#[test]
fn the_change_differs_with_content_mode_and_path() {
    let a = attempt();
    put(&a.at, "n", "x");
    let one = a.clean(&a.base).1;
    make_executable(&a.at.join("n"));
    let two = a.clean(&a.base).1;
    put(&a.at, "n", "y");
    let three = a.clean(&a.base).1;
    fs::rename(a.at.join("n"), a.at.join("m")).unwrap();
    let four = a.clean(&a.base).1;
    assert_eq!(std::collections::BTreeSet::from([one, two, three, four]).len(), 4);
}

#[test]
fn a_nested_repository_of_the_attempt_is_left_out() {
    let a = attempt();
    fs::remove_file(a.at.join("a.txt")).unwrap();
    a.world.git_in(&a.at, &["init", "-q", "a.txt"]);
    a.world.git_in(&a.at, &["init", "-q", "other"]);
    for nested in ["a.txt", "other"] {
        let nested = a.at.join(nested);
        a.world.git_in(&nested, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    put(&a.at, "n", "x");
    let (commit, _, files) = a.clean(&a.base);
    assert_eq!(files, ["a.txt", "n"]);
    assert_eq!(a.world.files(&commit), [".gitignore", "dir/b.txt", "n"]);
}

#[test]
fn names_that_are_not_utf_8_survive_the_way_to_the_commit_and_back() {
    let a = attempt();
    let name = OsStr::from_bytes(b"bad\xff\n\"name");
    fs::write(a.at.join(name), "x").unwrap();
    let (commit, _, _) = a.clean(&a.base);
    let at = a.world.tree("v");
    a.git.checkout(&at, &commit, Leftovers::RemoveAll, None).unwrap();
    assert!(at.join(name).exists());
    let applied = a.git.apply(&a.base, &commit, &a.world.scratch(), false).unwrap();
    assert!(matches!(applied, ApplyOutcome::FastForward { .. }));
    assert!(a.world.top().join(name).exists());
}

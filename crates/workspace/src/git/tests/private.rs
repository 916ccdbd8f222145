//! Repositories of our own: what goes in, and that it is the same again.

use super::*;
use std::os::unix::fs::symlink;

/// A plain directory, whose owner configured git to change whatever it meets.
struct Plain(World);

impl Plain {
    fn new() -> Self {
        let world = World::empty();
        fs::remove_dir_all(world.top().join(".git")).unwrap();
        let home = world.home();
        let set = |key: &str, value: &str| {
            world.git_in(&home, &["config", "--global", key, value]);
        };
        set("core.autocrlf", "true");
        set("core.fileMode", "false");
        set("filter.up.clean", "tr a-z A-Z");
        set("filter.up.smudge", "tr A-Z a-z");
        put(&home, ".config/git/attributes", "* filter=up text\n");
        put(&home, ".config/git/ignore", "*.txt\n");
        world.write("a.txt", "one\r\ntwo\n");
        world.write("dir/b", "b\n");
        Self(world)
    }

    fn repository(&self) -> PathBuf {
        self.0.tree("own.git")
    }

    fn open(&self) -> Git {
        let programs = descent_process::programs::real();
        Git::private_with(programs, &self.repository(), &self.0.top(), &self.0.env).unwrap()
    }

    fn taken(&self) -> StartedFrom {
        self.without(&[]).0
    }

    fn without(&self, left_out: &[&str]) -> (StartedFrom, Vec<String>) {
        let left_out: Vec<PathBuf> = left_out.iter().map(PathBuf::from).collect();
        self.open().snapshot_all(&self.0.scratch(), &left_out).unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        let repository = self.repository().display().to_string();
        self.0.git_in(&self.0.home(), &[&["--git-dir", &repository], args].concat())
    }

    fn files(&self, snapshot: &StartedFrom) -> Vec<String> {
        let said = self.git(&["ls-tree", "-r", "-z", "--name-only", snapshot.commit.as_str()]);
        said.split_terminator('\0').map(str::to_owned).collect()
    }

    fn put(&self, path: &str, text: &str) {
        self.0.write(path, text);
    }
}

#[test]
fn bytes_modes_and_links_go_in_and_come_out_as_they_are() {
    let plain = Plain::new();
    let attributes = "* text=auto eol=lf ident filter=up working-tree-encoding=UTF-16\n";
    plain.put(".gitattributes", attributes);
    plain.put("id", "$Id$ \u{0}\r\n");
    plain.put("run.sh", "#!/bin/sh\n");
    make_executable(&plain.0.top().join("run.sh"));
    symlink("nowhere", plain.0.top().join("link")).unwrap();
    let commit = plain.taken().commit;
    let at = plain.0.tree("out");
    plain.open().checkout(&at, &commit, Leftovers::RemoveAll, None).unwrap();
    for name in ["a.txt", "dir/b", ".gitattributes", "id", "run.sh"] {
        let (here, there) = (plain.0.top().join(name), at.join(name));
        assert_eq!(fs::read(&here).unwrap(), fs::read(&there).unwrap(), "{name}");
    }
    let mode = at.join("run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(fs::read_link(at.join("link")).unwrap(), Path::new("nowhere"));
}

#[test]
fn the_same_files_are_the_same_commit_whoever_takes_them_and_whatever_was_known() {
    let plain = Plain::new();
    let first = plain.taken();
    assert_eq!(plain.taken().commit, first.commit);
    plain.put("dir/c", "c\n");
    let second = plain.taken();
    assert_ne!(second.commit, first.commit);
    fs::remove_file(plain.0.top().join("dir/c")).unwrap();
    assert_eq!(plain.taken().commit, first.commit);
    fs::remove_dir_all(plain.repository()).unwrap();
    let home = plain.0.home();
    plain.0.git_in(&home, &["config", "--global", "user.name", "Bob"]);
    assert_eq!(plain.taken().commit, first.commit);
    assert_eq!((first.branch, first.dirty), (None, false));
}

#[test]
fn what_is_ignored_linked_nested_or_ours_is_no_part_of_it_even_if_it_was() {
    let plain = Plain::new();
    for name in ["x.log", "data/x", "sub/s", ".descent/state.json", "deep/.descent/x"] {
        plain.put(name, "x\n");
    }
    let all = ["a.txt", "data/x", "deep/.descent/x", "dir/b", "sub/s", "x.log"];
    assert_eq!(plain.files(&plain.taken()), all);
    plain.put(".gitignore", "*.log\n");
    plain.0.git_in(&plain.0.top().join("sub"), &["init", "-q"]);
    let (taken, notes) = plain.without(&["data"]);
    assert_eq!(plain.files(&taken), [".gitignore", "a.txt", "deep/.descent/x", "dir/b"]);
    assert_eq!(notes, ["left out: sub (a repository of its own)"]);
}

#[test]
fn an_empty_directory_and_one_with_odd_names_are_taken() {
    let plain = Plain::new();
    for name in ["a b\"c", "-n", "line\nbreak", "\u{fc}", "[x]*", "#a", "!b"] {
        plain.put(name, "x\n");
    }
    assert_eq!(plain.files(&plain.taken()).len(), 9);
    let top = plain.0.top();
    fs::remove_dir_all(&top).unwrap();
    fs::create_dir(&top).unwrap();
    let taken = plain.taken();
    assert!(plain.files(&taken).is_empty() && plain.open().exists(&taken.commit).unwrap());
}

#[test]
fn objects_that_were_lost_are_noticed_and_made_again_though_their_files_are_known() {
    let plain = Plain::new();
    let commit = plain.taken().commit;
    for lost in ["dir/b", "dir"] {
        let id = plain.git(&["rev-parse", &format!("{commit}:{lost}")]);
        let git = plain.open();
        fs::remove_file(git.loose(&id)).unwrap();
        assert!(!git.holds_all_of(&commit).unwrap(), "{lost}");
        assert_eq!(plain.taken().commit, commit);
        assert!(git.holds_all_of(&commit).unwrap(), "{lost}");
    }
}

#[test]
fn a_file_that_looks_as_it_did_is_not_read_again() {
    let plain = Plain::new();
    let commit = plain.taken().commit;
    // A file that git must take for unchanged shows that git answered from its index.
    let top = plain.0.top().display().to_string();
    let marked = ["--work-tree", &top, "update-index", "--assume-unchanged", "a.txt"];
    plain.git(&marked);
    plain.put("a.txt", "another\n");
    assert_eq!(plain.taken().commit, commit);
    fs::remove_file(plain.repository().join("index")).unwrap();
    assert_ne!(plain.taken().commit, commit);
}

#[test]
fn a_repository_that_lacks_a_part_gets_it_back_with_what_is_left() {
    let plain = Plain::new();
    let commit = plain.taken().commit;
    for part in ["HEAD", "config", "refs", "info/attributes"] {
        let part = plain.repository().join(part);
        let is_dir = part.is_dir();
        let removed = if is_dir { fs::remove_dir_all(&part) } else { fs::remove_file(&part) };
        removed.unwrap();
        assert!(plain.open().holds_all_of(&commit).unwrap(), "{}", part.display());
        assert!(part.exists());
    }
    fs::write(plain.repository().join("info/attributes"), "* filter=up\n").unwrap();
    plain.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    fs::remove_file(plain.repository().join("index")).unwrap();
    assert_eq!(plain.taken().commit, commit, "an attempt's own settings have no say");
}

#[test]
fn another_repository_of_ours_gets_all_objects_and_loses_none_with_it() {
    let plain = Plain::new();
    let commit = plain.taken().commit;
    let other = plain.0.tree("other.git");
    let programs = descent_process::programs::real();
    let other = Git::private_with(programs, &other, &plain.0.top(), &plain.0.env).unwrap();
    other.share_objects_of(&plain.open()).unwrap();
    fs::remove_dir_all(plain.repository()).unwrap();
    assert!(other.holds_all_of(&commit).unwrap());
}

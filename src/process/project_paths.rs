//! Paths into the project in a person's variables, and the same paths in a checkout.
//!
//! Invariant: a job in a checkout is handed no path into the project itself, however it is spelled. Pure, but for the look
//! which spellings lead there (`of`), and whether the checkout has what lies in a home directory.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

/// The project's working tree, and how a person's variables spell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectPaths {
    /// Its real path.
    top: PathBuf,
    /// The directory that jobs work in, below the top.
    prefix: PathBuf,
    /// The longest first.
    spellings: Vec<Spelling>,
    /// A home directory in the project, below the top.
    home: Option<PathBuf>,
}

/// A way to write the top, or a directory below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spelling {
    text: Vec<u8>,
    below: PathBuf,
}

/// A path into the project in a value: where its spelling begins and ends, and where it leads below the top.
struct PathInValue {
    at: usize,
    end: usize,
    spelled: PathBuf,
    leads_to: PathBuf,
}

impl ProjectPaths {
    pub(super) fn of(top: &Path, prefix: &Path, vars: &[(OsString, OsString)]) -> Self {
        let mut paths = Self {
            top: top.to_owned(),
            prefix: prefix.to_owned(),
            spellings: Vec::new(),
            home: None,
        };
        paths.learn(top.as_os_str().as_bytes());
        paths.with(vars)
    }

    /// The same with what these variables spell.
    pub(super) fn with(mut self, vars: &[(OsString, OsString)]) -> Self {
        for (name, value) in vars {
            self.learn(value.as_bytes());
            if name == "HOME" {
                let found = self.found_in(value).into_iter().next();
                self.home = found.map(|path| path.leads_to);
            }
        }
        self
    }

    /// Learns how a value spells directories of the project: also through a link, and with `..`.
    fn learn(&mut self, value: &[u8]) {
        let parts = value.split(|byte| *byte == b':');
        let parts = parts.chain(value.split(|byte| !is_of_path(*byte)));
        for part in parts {
            // The last of several slashes begins the path, as in a URL.
            let mut pairs = part.windows(2);
            let begin = pairs.position(|pair| pair[0] == b'/' && pair[1] != b'/');
            let Some(begin) = begin else { continue };
            let path = Path::new(OsStr::from_bytes(&part[begin..]));
            let above: Vec<&Path> = path.ancestors().collect();
            let found = above.into_iter().rev().find_map(|dir| {
                let rest = &path.as_os_str().as_bytes()[dir.as_os_str().len()..];
                let real = dir.canonicalize().ok().filter(|_| !climbs(rest))?;
                let below = real.strip_prefix(&self.top).ok()?.to_owned();
                let text = dir.as_os_str().as_bytes().to_vec();
                Some(Spelling { text, below })
            });
            // All paths lead into a project at the root of the file system.
            let found = found.filter(|one| one.text != b"/" && !self.spellings.contains(one));
            self.spellings.extend(found);
        }
        self.spellings
            .sort_by_key(|spelling| std::cmp::Reverse(spelling.text.len()));
    }

    /// The top of the checkout in which that is the project's directory; `None` if it is the project itself.
    fn top_of<'p>(&self, cwd: &'p Path) -> Option<&'p Path> {
        let top = cwd.ancestors().nth(self.prefix.components().count())?;
        (cwd.ends_with(&self.prefix) && top != self.top).then_some(top)
    }

    /// A value for a job that works in `cwd`: what leads into the project leads into that checkout.
    pub(super) fn moved(&self, value: &OsStr, cwd: &Path) -> OsString {
        let Some(to) = self.top_of(cwd) else {
            return value.to_owned();
        };
        let (bytes, mut moved, mut done) = (value.as_bytes(), Vec::new(), 0);
        for path in self.found_in(value) {
            if self.is_at_home(&path.leads_to, to) {
                continue;
            }
            moved.extend_from_slice(&bytes[done..path.at]);
            let spelled: PathBuf = to.join(&path.spelled).components().collect();
            moved.extend_from_slice(spelled.as_os_str().as_bytes());
            done = path.end;
        }
        moved.extend_from_slice(&bytes[done..]);
        OsString::from_vec(moved)
    }

    /// The paths of the project that a value names and a checkout lacks: the topmost part of each.
    pub(super) fn lacking(&self, value: &OsStr, has: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let paths = self.found_in(value).into_iter().map(|path| path.leads_to);
        let topmost = |path: PathBuf| {
            let is_mine = self
                .home
                .as_ref()
                .is_some_and(|home| path.starts_with(home));
            let is_there = !is_mine && self.top.join(&path).exists();
            let parts = path
                .ancestors()
                .filter(|part| is_there && *part != Path::new(""));
            let lacking = parts.take_while(|part| !has(part)).last();
            lacking.map(Path::to_owned)
        };
        paths.filter_map(topmost).collect()
    }

    /// Whether it is the person's home, or a path in it that the checkout has not: that is theirs, wherever it lies.
    fn is_at_home(&self, path: &Path, checkout: &Path) -> bool {
        let home = self.home.as_deref();
        home.is_some_and(|home| {
            path.starts_with(home) && (path == home || !checkout.join(path).exists())
        })
    }

    fn found_in(&self, value: &OsStr) -> Vec<PathInValue> {
        let (value, mut found, mut at) = (value.as_bytes(), Vec::new(), 0);
        while at < value.len() {
            let path = self.path_at(value, at);
            at = path.as_ref().map_or(at + 1, |path| path.end);
            found.extend(path);
        }
        found
    }

    fn path_at(&self, value: &[u8], at: usize) -> Option<PathInValue> {
        if value[at] != b'/' || !may_begin(&value[..at]) {
            return None;
        }
        self.spellings.iter().find_map(|spelling| {
            let rest = value[at..].strip_prefix(&spelling.text[..])?;
            let rest = rest.split(|byte| !is_of_path(*byte)).next()?;
            let is_whole = rest.is_empty() || rest[0] == b'/';
            let below = rest.strip_prefix(b"/").unwrap_or(rest);
            (is_whole && !climbs(rest)).then(|| PathInValue {
                at,
                end: at + spelling.text.len(),
                spelled: spelling.below.clone(),
                leads_to: spelling.below.join(OsStr::from_bytes(below)),
            })
        })
    }
}

/// Whether an absolute path can begin after these bytes: at a border, after an option's name (`-I`), or in a URL.
fn may_begin(before: &[u8]) -> bool {
    let lead = before.rsplit(|byte| !is_of_path(*byte)).next();
    match lead.unwrap_or_default() {
        [b'-', option @ ..] => option
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || *byte == b'-'),
        lead => lead.iter().all(|byte| *byte == b'/'),
    }
}

/// Whether `..` leads out of the directory in which the path begins.
fn climbs(path: &[u8]) -> bool {
    let mut depth = 0;
    Path::new(OsStr::from_bytes(path)).components().any(|part| {
        depth += match part {
            Component::ParentDir => -1,
            Component::Normal(_) => 1,
            _ => 0,
        };
        depth < 0
    })
}

/// Whether it can be a part of a path, and does not stand between two.
fn is_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/._-+~%#\\".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// A project at `work/p`, a neighbour `work/p-other`, a link `work/l` to it, and one `work/s` to a directory in it.
    fn world() -> (tempfile::TempDir, PathBuf) {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        for dir in ["p/src", "p/sub", "p-other/src", "my dir/p/src", "tree/src"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        symlink(root.join("p"), root.join("l")).unwrap();
        symlink(root.join("p/src"), root.join("s")).unwrap();
        (world, root)
    }

    fn moved(top: &Path, prefix: &str, value: &str, cwd: &Path) -> String {
        let vars = [("V".into(), value.into())];
        let paths = ProjectPaths::of(top, Path::new(prefix), &vars);
        paths
            .moved(OsStr::new(value), cwd)
            .into_string()
            .expect("text")
    }

    #[test]
    fn each_spelling_in_each_form_leads_into_the_checkout_and_its_neighbours_stay() {
        let (_world, root) = world();
        let (top, to) = (root.join("p"), root.join("tree"));
        let (r, t) = (root.display().to_string(), to.display().to_string());
        let spellings = [
            (format!("{r}/p/src"), format!("{t}/src")),
            (format!("{r}/p"), t.clone()),
            (format!("{r}/l/src"), format!("{t}/src")),
            (format!("{r}/s/a.py"), format!("{t}/src/a.py")),
            (format!("{r}/p-other/../p/new"), format!("{t}/new")),
            (format!("{r}/p/../p/src/../x"), format!("{t}/src/../x")),
        ];
        let outside = [
            "/p-other/src",
            "/p.bak",
            "/p/../p-other",
            "/l/../p-other",
            "/elsewhere/p",
        ]
        .map(|path| format!("{r}{path}"));
        let same = outside.iter().map(|path| (path.clone(), path.clone()));
        let forms = [
            "{}",
            "/bin:{}:/usr/bin",
            "{}:{}",
            "a;{};b",
            "-I{}",
            "-isystem{} -O2",
            "-Wl,-rpath,{}",
            "--flag={}",
            "file://{}",
            "x={}:y=1",
            "['{}']",
            " -j4 -I {}",
            "@{}",
        ];
        for (from, into) in spellings.into_iter().chain(same) {
            for form in forms {
                let (value, wanted) = (form.replace("{}", &from), form.replace("{}", &into));
                assert_eq!(moved(&top, "", &value, &to), wanted, "{value}");
            }
        }
        for value in ["../p/src", "p/src", "https://host/p", "~/p", "", "/"] {
            assert_eq!(moved(&top, "", value, &to), value);
        }
        let inside = format!("/mnt{r}/p/src:https://host:80{r}/p");
        assert_eq!(moved(&top, "", &inside, &to), inside);
    }

    #[test]
    fn the_directory_of_the_job_tells_the_checkout_and_the_project_itself_moves_nothing() {
        let (_world, root) = world();
        let top = root.join("p");
        let value = root.join("p/src").display().to_string();
        let checkout = root.join("tree/sub");
        let wanted = root.join("tree/src").display().to_string();
        assert_eq!(moved(&top, "sub", &value, &checkout), wanted);
        assert_eq!(moved(&top, "sub", &value, &top.join("sub")), value);
        let spaced = root.join("my dir/p");
        let value = format!("/bin:{}/src", spaced.display());
        let wanted = format!("/bin:{}/src", root.join("tree").display());
        assert_eq!(moved(&spaced, "", &value, &root.join("tree")), wanted);
        assert_eq!(
            moved(Path::new("/"), "", "/usr/bin:/bin", &checkout),
            "/usr/bin:/bin"
        );
    }

    #[test]
    fn a_home_in_the_project_stays_and_what_is_lacking_is_named_by_its_topmost_part() {
        let (_world, root) = world();
        let (top, to) = (root.join("p"), root.join("tree"));
        fs::create_dir_all(top.join(".venv/bin")).unwrap();
        fs::create_dir_all(top.join(".home/.cargo")).unwrap();
        let at = |path: &str| top.join(path).into_os_string();
        let vars = [
            ("HOME".into(), at(".home")),
            ("CARGO_HOME".into(), at(".home/.cargo")),
            ("PATH".into(), at(".venv/bin")),
            ("PYTHONPATH".into(), at("src")),
            ("GONE".into(), at("nowhere")),
        ];
        let paths = ProjectPaths::of(&top, Path::new(""), &vars);
        let moved = vars.clone().map(|(_, value)| paths.moved(&value, &to));
        let into = |path: &str| to.join(path).into_os_string();
        let wanted = [
            at(".home"),
            at(".home/.cargo"),
            into(".venv/bin"),
            into("src"),
            into("nowhere"),
        ];
        assert_eq!(moved, wanted);
        let lacking = vars.map(|(_, value)| paths.lacking(&value, |path| to.join(path).exists()));
        let none = Vec::new;
        let venv = vec![PathBuf::from(".venv")];
        assert_eq!(lacking, [none(), none(), venv, none(), none()]);
        // A home directory that is a project: what a checkout has is there.
        let vars = [("HOME".into(), top.clone().into_os_string())];
        let paths = ProjectPaths::of(&top, Path::new(""), &vars);
        let moved = [at(""), at("src"), at(".cargo")].map(|value| paths.moved(&value, &to));
        assert_eq!(moved, [at(""), into("src"), at(".cargo")]);
    }
}

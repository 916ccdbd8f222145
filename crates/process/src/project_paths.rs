//! Paths into the project in a text, such as a person's variable, and the same paths in a checkout.
//!
//! Here too: where packages of Python that are installed in place lie.
//!
//! Invariant: a job in a checkout is handed no path into the project itself, however it is spelled. Paths are
//! looked up, and nothing is written.

use std::{
    ffi::{OsStr, OsString},
    fs,
    ops::Range,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

use descent_system::files;

/// Variables that name places which are the person's own, wherever they lie.
const PRIVATE: [&str; 4] = ["HOME", "TMPDIR", "TEMP", "TMP"];

/// The project's working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPaths {
    /// Its real path.
    top: PathBuf,
    /// The directory that jobs work in, below the top.
    prefix: PathBuf,
    /// The home directory, if it lies in the project, and all private places there, below the top.
    home: Option<PathBuf>,
    private: Vec<PathBuf>,
    /// Directories in which a Python outside of the project finds packages that are installed in place, below the top.
    in_place: Vec<PathBuf>,
    /// The paths in each of the person's variables.
    found: Vec<Vec<PathInText>>,
}

/// A path into the project in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathInText {
    /// The bytes that spell a directory of the project, and that directory below the top.
    spelled: Range<usize>,
    dir: PathBuf,
    /// The place of the whole path, below the top.
    pub leads_to: PathBuf,
}

impl ProjectPaths {
    pub fn of(top: &Path, prefix: &Path) -> Self {
        Self {
            top: top.to_owned(),
            prefix: prefix.to_owned(),
            home: None,
            private: Vec::new(),
            in_place: Vec::new(),
            found: Vec::new(),
        }
    }

    /// The same for a person with these variables.
    pub(super) fn with(mut self, vars: &[(OsString, OsString)]) -> Self {
        let place = |name: &str| {
            let (_, value) = vars.iter().find(|(other, _)| other == name)?;
            let found = self.found_in(value).into_iter().next();
            found.map(|path| path.leads_to)
        };
        (self.home, self.private) =
            (place("HOME"), PRIVATE.into_iter().filter_map(place).collect());
        self.in_place = self.in_place(vars);
        self.found = vars.iter().map(|(_, value)| self.found_in(value)).collect();
        self
    }

    fn in_place(&self, vars: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for file in python_installed(vars) {
            // A finder names the packages, a list the directories that hold them.
            let is_finder = file.extension().is_some_and(|ending| ending == "py");
            for text in python_named_in(&file) {
                let found = self.found_in(text.as_os_str()).into_iter();
                let dir = found.filter_map(|path| {
                    if is_finder {
                        Some(path.leads_to.parent()?.to_owned())
                    } else {
                        Some(path.leads_to)
                    }
                });
                dirs.extend(dir.filter(|dir| self.top.join(dir).is_dir()));
            }
        }
        dirs.dedup();
        dirs
    }

    /// These variables of the person for a job that works in `cwd`.
    pub(super) fn vars_in(
        &self,
        mut vars: Vec<(OsString, OsString)>,
        cwd: &Path,
    ) -> Vec<(OsString, OsString)> {
        let Some(to) = self.checkout_of(cwd) else {
            return vars;
        };
        for ((_, value), found) in vars.iter_mut().zip(&self.found) {
            *value = self.led_to(to, value, found);
        }
        if !self.in_place.is_empty() {
            let is_path = |(name, _): &(OsString, OsString)| name == "PYTHONPATH";
            let before = vars.iter().position(is_path).map(|at| vars.remove(at).1);
            let before = before.iter().flat_map(std::env::split_paths);
            let dirs = self.in_place.iter().map(|dir| to.join(dir));
            if let Ok(value) = std::env::join_paths(dirs.chain(before)) {
                vars.push(("PYTHONPATH".into(), value));
            }
        }
        vars
    }

    /// The top of the checkout in which that is the project's directory, unless it is the project itself.
    fn checkout_of<'c>(&self, cwd: &'c Path) -> Option<&'c Path> {
        let to = cwd.ancestors().nth(self.prefix.components().count());
        to.filter(|to| cwd.ends_with(&self.prefix) && *to != self.top)
    }

    /// A text for a job that works in `cwd`: what leads into the project leads into that checkout.
    pub(super) fn moved(&self, text: &OsStr, cwd: &Path) -> OsString {
        match self.checkout_of(cwd) {
            Some(to) => self.led_to(to, text, &self.found_in(text)),
            None => text.to_owned(),
        }
    }

    fn led_to(&self, to: &Path, text: &OsStr, found: &[PathInText]) -> OsString {
        let mut moved = text.as_bytes().to_vec();
        // No checkout has a state.
        let state = self.prefix.join(".descent");
        let stays = |path: &Path| {
            path.starts_with(&state)
                || self.home.as_deref() == Some(path)
                || self.is_private(path) && !to.join(path).exists()
        };
        for path in found.iter().rev().filter(|path| !stays(&path.leads_to)) {
            let dir: PathBuf = to.join(&path.dir).components().collect();
            moved.splice(path.spelled.clone(), dir.into_os_string().into_vec());
        }
        OsString::from_vec(moved)
    }

    /// Whether it lies in a place that is the person's own.
    pub(super) fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|place| path.starts_with(place))
    }

    pub fn found_in(&self, text: &OsStr) -> Vec<PathInText> {
        let (text, mut found, mut at) = (text.as_bytes(), Vec::new(), 0);
        while at < text.len() {
            let path = self.path_at(text, at);
            at = path.as_ref().map_or(at + 1, |path| path.spelled.end);
            found.extend(path);
        }
        found
    }

    /// The path that begins there, if it leads into the project: also through a link, with `..`, and with a space.
    fn path_at(&self, text: &[u8], at: usize) -> Option<PathInText> {
        let rest = &text[at..];
        // All paths lead into a project at the root of the file system.
        let is_path = rest.starts_with(b"/") && self.top.parent().is_some();
        if !is_path || rest.starts_with(b"//") || !may_begin(&text[..at]) {
            return None;
        }
        let ends: [fn(&u8) -> bool; 2] = [|byte| *byte == b':', |byte| !is_of_path(byte)];
        ends.into_iter().find_map(|is_end| {
            let path = Path::new(OsStr::from_bytes(rest.split(is_end).next()?));
            let dirs: Vec<&Path> = path.ancestors().collect();
            dirs.into_iter().rev().find_map(|dir| {
                let length = dir.as_os_str().len();
                let mut below = &path.as_os_str().as_bytes()[length..];
                if !path.exists() {
                    below = below.split(|byte| !is_of_path(byte)).next()?;
                }
                let below = Path::new(OsStr::from_bytes(below)).components();
                let below: PathBuf = below.filter(|part| *part != Component::RootDir).collect();
                if below.components().any(|part| part == Component::ParentDir) {
                    return None;
                }
                let real = dir.canonicalize().ok()?;
                let dir = real.strip_prefix(&self.top).ok()?.to_owned();
                Some(PathInText { spelled: at..at + length, leads_to: dir.join(below), dir })
            })
        })
    }
}

/// Whether a path of this machine can begin after these bytes: at a border, after an option's name (`-I`), or in a URL of
/// a file.
fn may_begin(before: &[u8]) -> bool {
    let lead = before.rsplit(|byte| !is_of_path(byte)).next();
    let is_border = match lead.unwrap_or_default() {
        [b'-', option @ ..] => {
            option.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-')
        }
        lead => lead.iter().all(|byte| *byte == b'/'),
    };
    (is_border && !is_elsewhere(before)) || before.ends_with(b"file://localhost")
}

/// Whether a path after these bytes is another machine's: after `user@host:`, or in the query of a URL.
fn is_elsewhere(before: &[u8]) -> bool {
    let text = String::from_utf8_lossy(before);
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let host = word.strip_suffix(':');
    let host = host.and_then(|host| host.rsplit([':', '=', ',']).next()?.split_once('@'));
    host.is_some_and(|(user, _)| !user.is_empty() && !user.contains('/'))
        || word.rsplit_once("://").is_some_and(|(_, url)| url.contains('?'))
}

/// Whether it can be a part of a path, and does not stand between two.
fn is_of_path(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/._-+~%#\\".contains(byte)
}

// Packages of Python that are installed in place: where they are named, and where they lie.

/// Bytes of a file that names packages.
const NAMES_BYTES_MAX: u64 = 1 << 20;

/// The lines of a file that names packages, each as if it were a path from there.
pub fn python_named_in(path: &Path) -> Vec<PathBuf> {
    let dir = path.parent().unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names_packages = match path.extension().and_then(OsStr::to_str) {
        Some("pth" | "egg-link") => true,
        Some("py") => name.contains("editable"),
        _ => false,
    };
    if !names_packages {
        return Vec::new();
    }
    let text = files::read(path, NAMES_BYTES_MAX).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.starts_with(b"#"));
    lines.map(|line| dir.join(OsStr::from_bytes(line))).collect()
}

/// The files in the directories of installed packages that a person's variables lead to.
pub(super) fn python_installed(vars: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for (name, value) in vars {
        match name.to_str() {
            Some("VIRTUAL_ENV" | "CONDA_PREFIX") => roots.push(value.into()),
            Some("HOME") => roots.push(Path::new(value).join(".local")),
            Some("PATH") => {
                let programs = std::env::split_paths(value);
                roots.extend(programs.filter_map(|dir| Some(dir.parent()?.to_owned())));
            }
            _ => {}
        }
    }
    roots.sort();
    roots.dedup();
    let libraries = roots.iter().flat_map(|root| entries(&root.join("lib")));
    let libraries = libraries.filter(|dir| {
        let name = dir.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"python")
    });
    let dirs = libraries.flat_map(|dir| ["site-packages", "dist-packages"].map(|it| dir.join(it)));
    dirs.flat_map(|dir| entries(&dir)).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
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
        let paths = ProjectPaths::of(top, Path::new(prefix)).with(&vars);
        paths.moved(OsStr::new(value), cwd).into_string().expect("text")
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
            (format!("{r}/p/../p/src/../x"), format!("{t}/x")),
        ];
        let outside = ["/p-other/src", "/p.bak", "/p/../p-other", "/l/../p-other", "/elsewhere/p"]
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
            "file://localhost{}",
            "sqlite:///{}",
            "/opt/python@3/bin:{}",
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
        for elsewhere in [
            "/mnt{}:https://host:80{}",
            "me@host:{}",
            "--to=me@host:{}",
            "http://localhost{}",
            "http://host/?p={}&q=a:{}",
            "ssh://me@host:22{}",
        ] {
            let value = elsewhere.replace("{}", &format!("{r}/p/src"));
            assert_eq!(moved(&top, "", &value, &to), value);
        }
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
        assert_eq!(moved(Path::new("/"), "", "/usr/bin:/bin", &checkout), "/usr/bin:/bin");
    }

    #[test]
    fn places_of_the_person_in_the_project_stay() {
        let (_world, root) = world();
        let (top, to) = (root.join("p"), root.join("tree"));
        fs::create_dir_all(top.join(".venv/bin")).unwrap();
        fs::create_dir_all(top.join(".home/.cargo")).unwrap();
        fs::create_dir_all(top.join(".tmp")).unwrap();
        let at = |path: &str| top.join(path).into_os_string();
        let vars = [
            ("HOME".into(), at(".home")),
            ("CARGO_HOME".into(), at(".home/.cargo")),
            ("TMPDIR".into(), at(".tmp")),
            ("PATH".into(), at(".venv/bin")),
            ("PYTHONPATH".into(), at("src")),
            ("GONE".into(), at("nowhere")),
            ("STATE".into(), at(".descent/state.json")),
        ];
        let paths = ProjectPaths::of(&top, Path::new("")).with(&vars);
        let moved = vars.map(|(_, value)| paths.moved(&value, &to));
        let into = |path: &str| to.join(path).into_os_string();
        let wanted = [
            at(".home"),
            at(".home/.cargo"),
            at(".tmp"),
            into(".venv/bin"),
            into("src"),
            into("nowhere"),
            at(".descent/state.json"),
        ];
        assert_eq!(moved, wanted);
        // A home directory that is a project: what a checkout has is there.
        let vars = [("HOME".into(), top.clone().into_os_string())];
        let paths = ProjectPaths::of(&top, Path::new("")).with(&vars);
        let moved = [at(""), at("src"), at(".cargo")].map(|value| paths.moved(&value, &to));
        assert_eq!(moved, [at(""), into("src"), at(".cargo")]);
    }
}

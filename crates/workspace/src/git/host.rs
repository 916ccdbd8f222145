//! The machine's git: its path, its version, and the environment of each of its runs.
//!
//! Invariant: a child's environment is built here from nothing. The person's own configuration is
//! read once, under their own environment, and only the settings listed here are passed on.

use super::{
    GitError,
    git_error::OLDEST,
    settings::{self, Setting},
};
use descent_process::{
    Programs,
    timeouts::TOOL_MAX,
    tool::{Tool, ToolOutput},
};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub(super) type Env = Vec<(OsString, OsString)>;

/// Variables that are passed from the person's environment unchanged.
const PASSED: &str = "PATH HOME XDG_CONFIG_HOME USER LOGNAME TMPDIR DEVELOPER_DIR GIT_CEILING_DIRECTORIES \
                      GIT_DISCOVERY_ACROSS_FILESYSTEM";

const FIXED: &[(&str, &str)] = &[
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "false"),
];

/// Settings of every run, above the repository's own configuration. `core.safecrlf` only warns or
/// refuses, and never changes what is stored: a snapshot must not fail on it.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.safecrlf", "false"),
    ("core.fsync", "objects,reference"),
    ("core.fsyncMethod", "batch"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("credential.helper", ""),
    ("i18n.commitEncoding", "UTF-8"),
];

/// Settings of a private repository, above all others: no setting may change the bytes that go in
/// and come out.
const PRIVATE: &[(&str, &str)] = &[
    ("core.autocrlf", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.fileMode", "true"),
    ("core.symlinks", "true"),
];

/// The author if the person configured none.
pub(super) const NOBODY: (&str, &str) = ("descent", "descent@localhost");

#[derive(Debug, Clone)]
pub(super) struct GitHost {
    programs: Arc<dyn Programs>,
    program: PathBuf,
    /// The environment of each run, without the settings.
    base: Env,
    /// With the settings.
    env: Env,
    name: OsString,
    email: OsString,
    /// The settings at the time of reading.
    pub(super) settings: Vec<Setting>,
    /// The directory of the person's own git files.
    config_dir: Option<PathBuf>,
    pub(super) identity_is_default: bool,
    pub(super) version: Version,
}

impl GitHost {
    /// Finds git in `theirs`, the person's environment, and reads their settings for `dir`.
    pub(super) fn read(
        programs: Arc<dyn Programs>,
        dir: &Path,
        theirs: &Env,
    ) -> Result<Self, GitError> {
        let program = find(theirs).ok_or(GitError::Missing)?;
        let ask = |verb, args: &[&str]| {
            let ran = programs.run_tool(&Tool {
                program: program.clone(),
                args: args.iter().map(OsString::from).collect(),
                env: unbound(theirs),
                cwd: dir.to_owned(),
                stdin: None,
                wait_max: TOOL_MAX,
                ends_with_us: false,
            })?;
            if ran.status.success() {
                Ok(ran.stdout)
            } else {
                Err(GitError::failed(verb, ran.status, &ran.stderr))
            }
        };
        let known = || VERSION.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = known().iter().find(|(of, _)| *of == program).map(|(_, version)| *version);
        let version = match asked {
            Some(version) => version,
            None => {
                let version = version_in(&ask("version", &["--version"])?)?;
                *known() = Some((program.clone(), version));
                version
            }
        };
        let settings = settings_in(&ask("config", &["config", "--list", "-z", "--show-scope"])?);
        let (name, email, identity_is_default) = identity(&settings, theirs);
        let base = base_env(theirs, &name, &email);
        let mut host = Self {
            programs,
            program,
            env: Env::new(),
            base,
            name,
            email,
            config_dir: config_dir(theirs),
            identity_is_default,
            version,
            settings,
        };
        host.env = host.with(settings::passing(&host.settings));
        Ok(host)
    }

    /// The same git for a repository of our own, with only these settings of the person.
    pub(super) fn under(&self, pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut host = self.clone();
        host.env = self.with(pairs);
        host
    }

    /// The same git, run by another runner.
    pub(super) fn run_by(&self, programs: Arc<dyn Programs>) -> Self {
        Self { programs, ..self.clone() }
    }

    /// The same git for a private repository: no setting changes the bytes that go in and come out.
    pub(super) fn private(&self) -> Self {
        self.under(PRIVATE.iter().map(|(key, value)| (key.into(), value.into())))
    }

    /// The environment of a run with these settings, and ours above them.
    fn with(&self, pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Env {
        let ours = SETTINGS.iter().map(|(key, value)| (key.into(), value.into()));
        let mut env = self.base.clone();
        env.extend(numbered(pairs.into_iter().chain(ours)));
        env
    }

    /// The `config` of an attempt's own repository.
    pub(super) fn slot_config(&self, settings: &[Setting]) -> Vec<u8> {
        settings::of_slot(settings, &self.name, &self.email)
    }

    /// The file that a setting of the person's names, relative to the top of the working tree; without one the file that
    /// git reads then, by its name.
    pub(super) fn path_of(&self, key: &str, usual: &str) -> Option<PathBuf> {
        let mut all = self.settings.iter().rev();
        let Some(named) = all.find(|one| one.key.eq_ignore_ascii_case(key)) else {
            return Some(self.config_dir.as_ref()?.join("git").join(usual));
        };
        let named = Path::new(OsStr::from_bytes(&named.value));
        Some(match (named.strip_prefix("~"), value_of(&self.base, "HOME")) {
            (Ok(below), Some(home)) => Path::new(home).join(below),
            _ => named.to_owned(),
        })
    }

    pub(super) fn programs(&self) -> Arc<dyn Programs> {
        Arc::clone(&self.programs)
    }

    pub(super) fn run(
        &self,
        cwd: &Path,
        args: Vec<OsString>,
        more: Env,
        stdin: Option<Vec<u8>>,
    ) -> Result<ToolOutput, GitError> {
        self.run_within(TOOL_MAX, false, cwd, args, more, stdin)
    }

    pub(super) fn run_within(
        &self,
        wait_max: Duration,
        ends_with_us: bool,
        cwd: &Path,
        args: Vec<OsString>,
        more: Env,
        stdin: Option<Vec<u8>>,
    ) -> Result<ToolOutput, GitError> {
        let mut env = self.env.clone();
        env.extend(more);
        Ok(self.programs.run_tool(&Tool {
            program: self.program.clone(),
            args,
            env,
            cwd: cwd.to_owned(),
            stdin,
            wait_max,
            ends_with_us,
        })?)
    }
}

/// The environment of each run, without settings.
fn base_env(theirs: &Env, name: &OsStr, email: &OsStr) -> Env {
    let passed = |key: &str| Some((key.into(), value_of(theirs, key)?.to_owned()));
    let mut env: Env = PASSED.split(' ').filter_map(passed).collect();
    env.extend(FIXED.iter().map(|(key, value)| (key.into(), value.into())));
    for role in ["AUTHOR", "COMMITTER"] {
        env.push((format!("GIT_{role}_NAME").into(), name.to_owned()));
        env.push((format!("GIT_{role}_EMAIL").into(), email.to_owned()));
    }
    env
}

/// By the XDG rules, as git has them.
fn config_dir(theirs: &Env) -> Option<PathBuf> {
    let set = |key| value_of(theirs, key).filter(|value| !value.is_empty());
    match set("XDG_CONFIG_HOME") {
        Some(dir) => Some(dir.into()),
        None => Some(Path::new(set("HOME")?).join(".config")),
    }
}

fn value_of<'a>(env: &'a Env, key: &str) -> Option<&'a OsStr> {
    let found = env.iter().rev().find(|(name, _)| name == key)?;
    Some(&found.1)
}

fn find(theirs: &Env) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    std::env::split_paths(value_of(theirs, "PATH")?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("git"))
        .find(|path| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

/// The person's environment without variables that bind git to another repository (as in a hook).
fn unbound(theirs: &Env) -> Env {
    let is_bound = |key: &OsStr| {
        let is_passed = PASSED.split(' ').any(|passed| key == passed);
        let key = key.as_bytes();
        key.starts_with(b"GIT_") && !key.starts_with(b"GIT_CONFIG") && !is_passed
            || key == b"LC_ALL"
    };
    let free = theirs.iter().filter(|(key, _)| !is_bound(key)).cloned();
    free.chain([("LC_ALL".into(), "C.UTF-8".into())]).collect()
}

type Version = (u32, u32);

/// The version of the program that this process asked last.
static VERSION: Mutex<Option<(PathBuf, Version)>> = Mutex::new(None);

fn version_in(output: &[u8]) -> Result<Version, GitError> {
    let output = String::from_utf8_lossy(output);
    let found = output.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = found.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = parts.next().zip(parts.next()).ok_or(GitError::Odd { verb: "version" })?;
    if version < OLDEST {
        return Err(GitError::TooOld { found: found.to_owned() });
    }
    Ok(version)
}

fn settings_in(output: &[u8]) -> Vec<Setting> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut settings = Vec::new();
    while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
        let mut halves = setting.splitn(2, |byte| *byte == b'\n');
        let key = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
        settings.push(Setting {
            scope: scope.to_vec(),
            key,
            // A key without a value is a boolean that is true.
            value: halves.next().unwrap_or(b"true").to_vec(),
        });
    }
    settings
}

/// Git refuses a name of only such characters as empty.
fn says_something(text: &OsStr) -> bool {
    !text.as_bytes().iter().all(|byte| *byte <= b' ' || b".,:;<>\"\\'".contains(byte))
}

fn identity(settings: &[Setting], theirs: &Env) -> (OsString, OsString, bool) {
    let last = |key: &str| {
        let found = settings.iter().rev().find(|setting| setting.key == key)?;
        Some(OsString::from_vec(found.value.clone()))
    };
    let env = |key: &str| value_of(theirs, key).map(OsStr::to_owned);
    let first = |candidates: [Option<OsString>; 4]| {
        candidates.into_iter().flatten().find(|text| says_something(text))
    };
    let name = first([env("GIT_AUTHOR_NAME"), last("author.name"), last("user.name"), None]);
    let email =
        first([env("GIT_AUTHOR_EMAIL"), last("author.email"), last("user.email"), env("EMAIL")]);
    let is_default = name.is_none() || email.is_none();
    (name.unwrap_or_else(|| NOBODY.0.into()), email.unwrap_or_else(|| NOBODY.1.into()), is_default)
}

fn numbered(pairs: impl Iterator<Item = (OsString, OsString)>) -> Env {
    let mut env = Env::new();
    let mut count = 0;
    for (key, value) in pairs {
        env.push((format!("GIT_CONFIG_KEY_{count}").into(), key));
        env.push((format!("GIT_CONFIG_VALUE_{count}").into(), value));
        count += 1;
    }
    env.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
    env
}

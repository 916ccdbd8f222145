//! The selection of the person's environment variables that a program we start may see.
//!
//! Invariants: a value that looks like a secret passes only if its name was asked for. A job in a checkout is handed no path
//! into the project (`project_paths`), in a variable or in its command. The environment is an argument. Not here: the variables that an attempt gets in
//! addition (`agent`).

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::project_paths::ProjectPaths;
use descent_system::secrets::looks_secret;

/// The variables that pass, and the sorted names of the secrets that don't.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    vars: Vec<(OsString, OsString)>,
    pub withheld: Vec<String>,
    /// None where jobs work in the project itself.
    project: Option<Arc<ProjectPaths>>,
}

impl Environment {
    /// For jobs in checkouts of the working tree at `top`, each in the directory `prefix` of its checkout.
    #[must_use]
    pub fn of_project(self, top: &Path, prefix: &Path) -> Self {
        let project = Some(Arc::new(ProjectPaths::of(top, prefix).with(&self.vars)));
        Self { project, ..self }
    }

    /// The variables of a job that works in `cwd`.
    #[must_use]
    pub fn vars_in(&self, cwd: &Path) -> Vec<(OsString, OsString)> {
        let vars = self.vars.clone();
        match &self.project {
            Some(project) => project.vars_in(vars, cwd),
            None => vars,
        }
    }

    /// The command of such a job.
    #[must_use]
    pub fn command_in(&self, command: &str, cwd: &Path) -> String {
        let moved = self.project.iter().map(|project| project.moved(command.as_ref(), cwd));
        let moved = moved.filter_map(|moved| moved.into_string().ok()).next();
        moved.unwrap_or_else(|| command.to_owned())
    }

    #[must_use]
    pub fn passes_on(&self, name: &str) -> bool {
        self.vars.iter().any(|(other, _)| other == name)
    }

    /// The paths of the project that variables name, below its top and with the variable's name. Private places are left out.
    #[must_use]
    pub fn project_paths(&self) -> Vec<(String, PathBuf)> {
        let found = self.project.iter().flat_map(|project| {
            let vars = self.vars.iter();
            let found = vars.flat_map(|(name, value)| {
                let paths = project.found_in(value).into_iter();
                paths.map(move |path| (name.to_string_lossy().into_owned(), path.leads_to))
            });
            found.filter(|(_, path)| !project.is_private(path))
        });
        found.collect()
    }

    /// The person's own PATH; empty if there is none.
    #[must_use]
    pub fn path(&self) -> OsString {
        path_of(&self.vars)
    }

    /// The PATH of a job that works in `cwd`.
    #[must_use]
    pub fn path_in(&self, cwd: &Path) -> OsString {
        path_of(&self.vars_in(cwd))
    }

    /// The same for an agent: with the variables that it was promised, by name, and those that are set for it.
    #[must_use]
    pub fn for_agent(
        &self,
        names: &[String],
        set: &[(String, String)],
        var: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let may_pass = |name: &&String| !NEVER.iter().any(|prefix| name.starts_with(prefix));
        let named = names.iter().filter(may_pass);
        let named = named.filter_map(|name| Some((OsString::from(name), var(name)?)));
        let set = set.iter().map(|(name, value)| (name.into(), value.into()));
        let more: Vec<(OsString, OsString)> = named.chain(set).collect();
        let mut vars = self.vars.clone();
        vars.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
        vars.extend(more);
        let project = self.project.clone();
        Self {
            project: project.map(|project| Arc::new(Arc::unwrap_or_clone(project).with(&vars))),
            vars,
            withheld: self.withheld.clone(),
        }
    }
}

impl From<Vec<(OsString, OsString)>> for Environment {
    fn from(vars: Vec<(OsString, OsString)>) -> Self {
        Self { vars, ..Self::default() }
    }
}

fn path_of(vars: &[(OsString, OsString)]) -> OsString {
    let path = vars.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, path)| path.clone()).unwrap_or_default()
}

/// The person and the place; locale and terminal; toolchains; the network.
const NAMES: &str = "
    PATH HOME USER LOGNAME SHELL HOSTNAME TMPDIR TEMP TMP TZ CI

    LANG LANGUAGE TERM TERMINFO COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE PAGER

    CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE GOPATH GOROOT GOCACHE
    GOMODCACHE GOBIN GOFLAGS GOPROXY GOTOOLCHAIN JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME
    ANDROID_HOME ANDROID_SDK_ROOT NVM_DIR NVM_BIN NODE_PATH NODE_OPTIONS NPM_CONFIG_PREFIX PNPM_HOME VOLTA_HOME
    FNM_DIR BUN_INSTALL DENO_DIR PYENV_ROOT PYENV_VERSION PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX
    CONDA_DEFAULT_ENV UV_CACHE_DIR PIPX_HOME POETRY_HOME GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH ASDF_DIR
    ASDF_DATA_DIR MISE_DATA_DIR SDKMAN_DIR DOTNET_ROOT OPAMROOT GHCUP_INSTALL_BASE_PREFIX NIX_PATH NIX_PROFILES
    HOMEBREW_PREFIX CC CXX AR LD CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    LD_LIBRARY_PATH DYLD_LIBRARY_PATH LIBRARY_PATH CPATH SDKROOT DEVELOPER_DIR DOCKER_HOST

    SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS http_proxy
    https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
";

const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// These would make the program take itself for another attempt, or work in another repository.
const NEVER: &[&str] = &["DESCENT_", "GIT_"];

/// A job has no person who could type into an editor: one would wait until the time limit.
const EDITORS: [&str; 4] = ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];

/// `extra` are the names that the person asked for. They pass even if they look like secrets, but
/// `DESCENT_*` and `GIT_*` never pass. A name that is not text is dropped.
#[must_use]
pub fn for_attempts(
    from: impl Iterator<Item = (OsString, OsString)>,
    extra: &[String],
) -> Environment {
    let mut environment = Environment::default();
    for (name, value) in from {
        match name.to_str().map(|text| judge(text, &value, extra)) {
            Some(NameVerdict::Passes) => environment.vars.push((name, value)),
            Some(NameVerdict::Withheld) => {
                environment.withheld.push(name.to_string_lossy().into_owned());
            }
            Some(NameVerdict::Unknown) | None => {}
        }
    }
    environment.withheld.sort();
    let missing = EDITORS.into_iter().filter(|name| !environment.passes_on(name));
    let missing: Vec<_> = missing.map(|name| (name.into(), "false".into())).collect();
    environment.vars.extend(missing);
    environment
}

enum NameVerdict {
    Passes,
    /// Withheld and named to the person, who may want to ask for it.
    Withheld,
    Unknown,
}

fn judge(name: &str, value: &OsStr, extra: &[String]) -> NameVerdict {
    let asked = extra.iter().any(|other| other == name);
    if NEVER.iter().any(|prefix| name.starts_with(prefix)) {
        return if asked { NameVerdict::Withheld } else { NameVerdict::Unknown };
    }
    if asked {
        return NameVerdict::Passes;
    }
    if looks_secret(name) {
        return NameVerdict::Withheld;
    }
    let mut names = NAMES.split_ascii_whitespace();
    if !names.any(|one| one == name) && !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return NameVerdict::Unknown;
    }
    if carries_login(name, value) { NameVerdict::Withheld } else { NameVerdict::Passes }
}

/// Whether the value contains `user:password@` (for a proxy also without a scheme before it).
fn carries_login(name: &str, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
    value.split([',', '|', ' ']).any(|url| {
        let rest = url.split_once("://").map(|(_, rest)| rest).or(is_proxy.then_some(url));
        let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        authority.is_some_and(|authority| authority.contains('@'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &[(&str, &str)], extra: &[&str], passes: &[&str], withheld: &[&str]) {
        let from = from.iter().map(|(name, value)| (name.into(), value.into()));
        let extra: Vec<String> = extra.iter().map(ToString::to_string).collect();
        let environment = for_attempts(from, &extra);
        let names = environment.vars.iter().map(|(name, _)| name.to_str().unwrap());
        let (editors, names): (Vec<&str>, Vec<&str>) =
            names.partition(|name| EDITORS.contains(name));
        assert_eq!((names, editors), (passes.to_vec(), EDITORS.to_vec()));
        assert_eq!(environment.withheld, withheld);
    }

    #[test]
    fn the_default_list_passes_and_the_unknown_is_dropped_in_silence() {
        check(
            &[("PATH", "/bin"), ("LC_ALL", "C"), ("XDG_CACHE_HOME", "/c"), ("FROBNICATE", "1")],
            &[],
            &["PATH", "LC_ALL", "XDG_CACHE_HOME"],
            &[],
        );
    }

    #[test]
    fn what_looks_like_a_secret_is_withheld_and_named_in_order() {
        check(
            &[
                ("OPENAI_API_KEY", "k"),
                ("GITHUB_TOKEN", "t"),
                ("db_password", "p"),
                ("SSH_AUTH_SOCK", "s"),
                ("XDG_SECRET_THING", "x"),
                ("AUTHOR", "me"),
            ],
            &[],
            &[],
            &["GITHUB_TOKEN", "OPENAI_API_KEY", "SSH_AUTH_SOCK", "XDG_SECRET_THING", "db_password"],
        );
    }

    #[test]
    fn a_name_that_was_asked_for_passes_although_it_looks_like_a_secret() {
        check(
            &[("OPENAI_API_KEY", "k"), ("FROBNICATE", "1"), ("HTTP_PROXY", "http://u:p@h")],
            &["OPENAI_API_KEY", "FROBNICATE", "HTTP_PROXY"],
            &["OPENAI_API_KEY", "FROBNICATE", "HTTP_PROXY"],
            &[],
        );
    }

    #[test]
    fn an_agent_gets_what_it_was_promised_and_nothing_that_never_passes() {
        let base = vec![("PATH".into(), "/bin".into()), ("A".into(), "old".into())];
        let base = Environment::from(base);
        let names = ["KEY", "UNSET", "GIT_DIR"].map(str::to_owned);
        let set = [("A".to_owned(), "new".to_owned())];
        let var = |name: &str| (name != "UNSET").then(|| OsString::from("v"));
        let own = base.for_agent(&names, &set, var);
        let pairs = [("PATH", "/bin"), ("KEY", "v"), ("A", "new")];
        assert_eq!(own.vars, pairs.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn a_proxy_with_a_login_is_withheld_and_one_without_passes() {
        check(
            &[
                ("http_proxy", "http://proxy:3128/a@b"),
                ("HTTPS_PROXY", "http://user:pw@proxy:3128"),
                ("all_proxy", "user:pw@proxy:1080"),
                ("no_proxy", "localhost,127.0.0.1"),
                ("GOPROXY", "https://u:p@go.example,direct"),
            ],
            &[],
            &["http_proxy", "no_proxy"],
            &["GOPROXY", "HTTPS_PROXY", "all_proxy"],
        );
    }

    #[test]
    fn our_own_and_git_variables_never_pass() {
        check(
            &[("DESCENT_MARK", "m"), ("GIT_DIR", "/x"), ("GIT_INDEX_FILE", "/i")],
            &["GIT_DIR"],
            &[],
            &["GIT_DIR"],
        );
    }

    #[test]
    #[cfg(unix)]
    fn bytes_that_are_no_text_pass_as_a_value_and_not_as_a_name() {
        use std::os::unix::ffi::OsStringExt;
        let bad = || OsString::from_vec(vec![0xff, b'A']);
        let environment =
            for_attempts([("HOME".into(), bad()), (bad(), "x".into())].into_iter(), &[]);
        assert_eq!(
            environment.vars[..environment.vars.len() - EDITORS.len()],
            [("HOME".into(), bad())]
        );
        assert!(environment.withheld.is_empty());
    }
}

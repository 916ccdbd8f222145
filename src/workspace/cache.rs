//! The place of this account's cache.
//!
//! Not here: its contents, or making it.

use std::{ffi::OsString, path::PathBuf};

/// The directory of the workspaces, if there is a place for it; nothing is made.
pub fn cache_dir() -> Option<PathBuf> {
    cache_root(variable)
}

/// Without HOME, the account's own entry counts.
fn variable(name: &str) -> Option<OsString> {
    match name {
        "HOME" => std::env::home_dir().map(PathBuf::into_os_string),
        _ => std::env::var_os(name),
    }
}

/// Follows the XDG rules: a relative path in a variable is ignored.
pub(super) fn cache_root(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(cache?.join("descent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_xdg_and_a_relative_path_counts_as_none() {
        let var = |xdg: Option<&'static str>, home: Option<&'static str>| {
            cache_root(move |name| if name == "HOME" { home } else { xdg }.map(Into::into))
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(var(Some("/c"), Some("/h")), path("/c/descent"));
        assert_eq!(var(Some("c"), Some("/h")), path("/h/.cache/descent"));
        assert_eq!(var(None, Some("/h")), path("/h/.cache/descent"));
        assert_eq!(var(None, None), None);
    }
}

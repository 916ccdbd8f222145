//! The processes of this machine, as far as a test may tell its own apart.

use std::{fs, path::Path};

/// Processes whose command line holds `words`.
pub fn processes(words: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| {
        let pid = entry.file_name().to_string_lossy().parse::<u32>().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|line| line.contains(words)).collect()
}

/// Processes that work below that directory.
pub fn processes_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let here = entries.filter_map(|entry| {
        let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let pid = entry.file_name().to_string_lossy().into_owned();
        cwd.starts_with(dir).then(|| format!("{pid} {line}"))
    });
    here.collect()
}

/// A number of seconds that no other process sleeps for.
pub fn long_nap() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NAPS: AtomicU32 = AtomicU32::new(0);
    format!("7200.{}{:04}", std::process::id(), NAPS.fetch_add(1, Ordering::Relaxed))
}

//! Who runs on, by the files that processes run: a name or an environment may have been changed.

use std::{fs, path::Path};

pub fn survivors(root: &Path, but: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let named = pids.filter(|pid| *pid != but).filter_map(|pid| {
        let exe = running(pid)?;
        exe.starts_with(root)
            .then(|| format!("{pid} {}", exe.display()))
    });
    named.collect()
}

/// The file that any thread of it runs: the first may be gone.
fn running(pid: u32) -> Option<std::path::PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    threads
        .into_iter()
        .find_map(|thread| fs::read_link(thread.path().join("exe")).ok())
}

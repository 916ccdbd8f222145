//! Who runs on, by the files that processes run: a name or an environment may have been changed.

use std::{fs, io::ErrorKind, path::Path};

use super::escapee::NAME;

pub fn survivors(root: &Path, but: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let named = pids.filter(|pid| *pid != but).filter_map(|pid| {
        let exe = running(pid)?;
        exe.starts_with(root).then(|| format!("{pid} {}", exe.display()))
    });
    named.chain(without_dump(root)).collect()
}

/// Who is not dumpable shows its file to root alone: for others it is the process that said so, by its name.
fn without_dump(root: &Path) -> Option<String> {
    let name = format!("{NAME}no-dump");
    let said = fs::read_to_string(root.join("out/up/no-dump")).ok()?;
    let pid: u32 = said.parse().ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let lives = stat.contains(&format!("({name}) ")) && !stat.contains(") Z ");
    let exe = fs::read_link(format!("/proc/{pid}/exe"));
    let is_hidden = exe.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    (lives && is_hidden).then(|| format!("{pid} {name}"))
}

/// The file that any thread of it runs: the first may be gone.
fn running(pid: u32) -> Option<std::path::PathBuf> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    threads.into_iter().find_map(|thread| fs::read_link(thread.path().join("exe")).ok())
}

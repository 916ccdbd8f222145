//! A start finds jobs of an earlier loop, and leaves everything else alone.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command as StdCommand;

use super::super::registry::RegistryEntry;
use super::*;

/// A process of our own, as another loop's would be; not a job.
fn sleeper(tag: Option<Tag>) -> (std::process::Child, RegistryEntry) {
    let mut command = match tag {
        Some(tag) => {
            let mut limited = StdCommand::new("prlimit");
            limited.args([&format!("--rttime={}:", tag.raw()), "sleep", "60"]);
            limited
        }
        None => {
            let mut plain = StdCommand::new("sleep");
            plain.arg("60");
            plain
        }
    };
    // A tag that a program took over from a job's environment does not make it the job's.
    command.process_group(0).env(process_table::MARK, "a-1/r/x");
    let (child, registered) =
        registry::spawn(false, || command.spawn().map(|child| (child.id(), child))).unwrap();
    eventually(|| (Tag::read(child.id()) == tag).then_some(()));
    (child, registered)
}

#[test]
fn a_sweep_ends_what_bears_the_brand_and_nothing_else() {
    let owner = unique("sweep");
    let of = |mark: &str| Some(Tag::new(mark));
    let (mut first, _a) = sleeper(of(&format!("{owner}/r/1")));
    let (mut second, _b) = sleeper(of(&format!("{owner}/q/2")));
    let (mut other, _c) = sleeper(of(&format!("another-{owner}/r/1")));
    let (mut plain, _d) = sleeper(None);
    let mut expected = [first.id(), second.id()];
    expected.sort_unstable();
    let mut ended = sweep(&format!("{owner}/"), &[]);
    ended.sort_unstable();
    assert_eq!(ended, expected);
    assert!(is_alive(other.id()) && is_alive(plain.id()));
    for child in [&mut other, &mut plain] {
        child.kill().unwrap();
    }
    for child in [&mut first, &mut second, &mut other, &mut plain] {
        assert_eq!(child.wait().unwrap().signal(), Some(9), "its status was not stolen");
    }
    assert_eq!(sweep(&format!("{owner}/"), &[]), Vec::<u32>::new());
}

#[tokio::test]
async fn a_sweep_leaves_a_job_alone_whose_program_still_watches_it() {
    let world = World::new();
    let job = world.job("echo $$ >pid; while [ ! -e over ]; do sleep 0.01; done; exit 5");
    let no_cancel = CancellationToken::new();
    let sweeping = async {
        let path = world.directory.path().to_owned();
        let mark = job.mark.clone();
        let ended = tokio::task::spawn_blocking(move || {
            pid_told(&path, "pid");
            let ended = sweep(&mark, &[]);
            std::fs::write(path.join("over"), "").unwrap();
            ended
        });
        ended.await.unwrap()
    };
    let (ran, ended) = tokio::join!(run(&job, None, None, &no_cancel, |_| {}), sweeping);
    assert_eq!((ran.unwrap().how, ended), (JobEnd::Exit(5), Vec::new()));
}

#[test]
fn a_recorded_job_is_ended_by_its_tag_if_its_record_is_of_this_boot() {
    let tag = Tag::new(&unique("recorded"));
    let (mut child, _registered) = sleeper(Some(tag));
    let record = JobRecord {
        pid: child.id(),
        start_ticks: 0,
        boot_id: process_table::boot_id(),
        mark: "unmarked".to_owned(),
        method: methods::chosen().method,
        tag,
        cgroup: None,
    };
    let of_another_boot = JobRecord { boot_id: "another".to_owned(), ..record.clone() };
    let nobody = unique("nobody");
    assert!(sweep(&nobody, &[of_another_boot]).is_empty());
    assert!(is_alive(child.id()));
    assert_eq!(sweep(&nobody, &[record]), [child.id()]);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

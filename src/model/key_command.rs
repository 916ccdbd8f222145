//! The command that prints a key: a job like any other, so that it ends with this program, however that ends.
//!
//! Invariant: it runs in the person's home, never in a tree that an agent writes. Its output is bounded, and is in no file.

use std::{env, path::PathBuf};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_util::sync::CancellationToken;

use super::ModelError;
use crate::{
    process::{self, Job, JobEnd, Programs, Reach, timeouts},
    secrets::Secret,
};

/// Bytes of a key at most.
pub(super) const KEY_BYTES_MAX: usize = 16 << 10;

/// Runs it. Dropping the future ends the command.
pub(super) async fn printed(
    command: &str,
    programs: &dyn Programs,
    mark: &str,
) -> Result<Secret, ModelError> {
    let fault = |what: String| ModelError::Key {
        what: format!("the command `{command}` {what}"),
        hint: "run it by hand in your home directory: it prints the key, and asks nothing"
            .to_owned(),
    };
    let job = Job {
        command: command.to_owned(),
        cwd: home(),
        env: env::vars_os().collect(),
        timeout: timeouts::ASK_MAX,
        mark: format!("{mark}/key"),
        input: None,
        whole_stdout_bytes_max: 0,
        log: None,
        reach: Reach::Account,
    };
    let cancel = CancellationToken::new();
    let run = || async {
        let (ours, its) = duplex(KEY_BYTES_MAX);
        let running = programs.talk(&job, its, &cancel, Box::new(|_| ()));
        let (ended, printed) = tokio::join!(running, read(ours, &cancel));
        Ok((ended?, printed))
    };
    let ended = process::start_patiently(&cancel, run).await;
    let (ended, printed) = ended.map_err(|error| fault(error.to_string()))?;
    if printed.len() > KEY_BYTES_MAX {
        return Err(fault(format!("prints more than {} KiB", KEY_BYTES_MAX >> 10)));
    }
    match ended.how {
        JobEnd::Exit(0) => {}
        JobEnd::Exit(code) => return Err(fault(format!("failed: exit status: {code}"))),
        JobEnd::Signal(signal) => return Err(fault(format!("was ended by the signal {signal}"))),
        JobEnd::TimedOut | JobEnd::Cancelled => {
            let seconds = job.timeout.as_secs();
            return Err(fault(format!("did not end within {seconds} s")));
        }
    }
    let text = String::from_utf8(printed).map(Secret::new);
    text.map_err(|_| fault("prints something that is no text".to_owned()))
}

/// All that it prints, up to the limit; then it is ended.
async fn read(mut from: DuplexStream, cancel: &CancellationToken) -> Vec<u8> {
    // Its standard input is empty.
    let _ = from.shutdown().await;
    let mut printed = Vec::with_capacity(KEY_BYTES_MAX + 1);
    let mut limited = from.take(KEY_BYTES_MAX as u64 + 1);
    // An end that is no good one is told by its exit code.
    let _ = limited.read_to_end(&mut printed).await;
    if printed.len() > KEY_BYTES_MAX {
        cancel.cancel();
    }
    printed
}

fn home() -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from);
    let home = home.filter(|home| home.is_absolute() && home.is_dir());
    home.unwrap_or_else(|| PathBuf::from("/"))
}

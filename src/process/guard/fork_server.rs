//! The fork server: our own program, started once by a loop, which forks a guard for each job.
//!
//! A fork of a small process with one thread costs a fraction of a start of our program. The fork
//! is a child of the loop, not of the server. So it is waited for, and told from orphans, like a
//! guard that the loop started itself. Nothing of one job reaches another: the descriptors of a
//! request are closed before the next is read.
//!
//! Invariant: the server ends when the loop's end of its socket is closed, however the loop died.
//! It starts nothing but guards. A job with anything unusual is started without the server, so that
//! the start itself reports the fault.
#![allow(clippy::disallowed_methods)] // door: our own program, and how long it may take to answer

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::super::{registry, registry::RegistryEntry};
use super::{GuardTask, GuardedJob, PROGRAM, forked::ForkedGuard, kernel, launch};

/// The server's process name, as lists of processes show it.
pub(crate) const NAME: &str = "descent-forks";
/// A job whose request is longer is started without the server.
const BYTES_MAX: usize = 1 << 20;
/// Standard input, output and error.
const STREAMS: usize = 3;
const ANSWER_MAX: Duration = Duration::from_secs(10);

static SERVER: Mutex<Option<ForkServer>> = Mutex::new(None);

#[derive(Debug)]
struct ForkServer {
    socket: UnixStream,
    child: Child,
    _registered: RegistryEntry,
}

/// The request for one guard.
pub(crate) struct ForkRequest<'a> {
    pub(crate) task: &'a GuardTask,
    pub(crate) command: &'a str,
    pub(crate) cwd: &'a std::path::Path,
    pub(crate) env: Vec<(&'a OsStr, &'a OsStr)>,
    pub(crate) streams: [BorrowedFd<'a>; STREAMS],
}

fn server() -> MutexGuard<'static, Option<ForkServer>> {
    // The value is valid whatever panicked meanwhile.
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on the server forks the guards, if it can be started.
pub(crate) fn open() {
    let opened = ForkServer::open();
    if let Err(error) = &opened {
        tracing::debug!(%error, "each job's guard is started by itself");
    }
    *server() = opened.ok();
}

/// Returns when the server is gone.
pub(crate) fn close() {
    let open = server().take();
    let Some(ForkServer { socket, mut child, _registered }) = open else {
        return;
    };
    drop(socket);
    // Nobody asks it any more, so it does nothing and can be killed at once.
    let _ = child.kill();
    let _ = child.wait();
}

pub(crate) fn is_open() -> bool {
    server().is_some()
}

/// Forks a guard for this job and returns it with its id. `None` if there is no server that answers: a broken one, or one
/// that takes too long, is abandoned.
pub(crate) fn fork_guard(
    request: &ForkRequest<'_>,
    encoded: &[u8],
) -> io::Result<Option<(u32, ForkedGuard)>> {
    let mut server = server();
    let Some(open) = server.as_mut() else {
        return Ok(None);
    };
    if let Ok(forked) = open.request(encoded, &request.streams) {
        return forked.map(Some);
    }
    // Nothing has begun: a guard that was forked all the same waits for its word, finds us gone and ends.
    if let Some(left) = server.take() {
        left.shut_down();
    }
    Ok(None)
}

/// The server did not answer.
struct NoAnswer;

impl ForkServer {
    fn open() -> io::Result<ForkServer> {
        let (socket, its) = UnixStream::pair()?;
        socket.set_read_timeout(Some(ANSWER_MAX))?;
        socket.set_write_timeout(Some(ANSWER_MAX))?;
        let start = || {
            let mut command = Command::new(PROGRAM);
            command.arg0(NAME).env_clear().current_dir("/");
            command.stdin(OwnedFd::from(its)).stdout(Stdio::null());
            let child = command.stderr(Stdio::null()).process_group(0).spawn()?;
            Ok((child.id(), child))
        };
        // Without pidfds its guards could not be waited for.
        ForkedGuard::handle(rustix::process::getpid())?;
        let (child, registered) = registry::spawn(start)?;
        Ok(ForkServer { socket, child, _registered: registered })
    }

    /// On a thread of its own, because the caller holds the list of our children.
    fn shut_down(self) {
        let end = move || {
            // The whole value moves here: its entry on that list must be dropped last.
            let mut broken = self;
            let _ = broken.child.kill();
            let _ = broken.child.wait();
        };
        // Without a thread the server ends when its socket is closed.
        let _ = std::thread::Builder::new().name("server".to_owned()).spawn(end);
    }

    fn request(
        &mut self,
        encoded: &[u8],
        streams: &[BorrowedFd<'_>],
    ) -> Result<io::Result<(u32, ForkedGuard)>, NoAnswer> {
        // Reserves a descriptor for the pidfd, which must not be lacking once the job has begun.
        let spare = match self.socket.try_clone() {
            Ok(spare) => spare,
            Err(error) => return Ok(Err(error)),
        };
        let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX).to_le_bytes();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        ancillary.push(SendAncillaryMessage::ScmRights(streams));
        // In one message as far as there is room for it.
        let parts = [IoSlice::new(&length), IoSlice::new(encoded)];
        let sent = sendmsg(&self.socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(|_| NoAnswer)?;
        let mut answer = [0; 4];
        let rest = sent.checked_sub(length.len()).and_then(|at| encoded.get(at..));
        let sent = self.socket.write_all(rest.ok_or(NoAnswer)?);
        sent.and_then(|()| self.socket.read_exact(&mut answer)).map_err(|_| NoAnswer)?;
        Ok(match i32::from_le_bytes(answer) {
            error @ ..=0 => Err(io::Error::from_raw_os_error(-error)),
            pid => {
                drop(spare);
                let pid = pid.unsigned_abs();
                let forked = ForkedGuard::from_pid(pid).map_err(|_| NoAnswer)?;
                Ok((pid, forked))
            }
        })
    }
}

impl ForkRequest<'_> {
    /// Parts that each end with a zero byte. `None` if the job cannot be encoded so, or cannot
    /// begin.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        if !self.cwd.is_dir() {
            return None;
        }
        let task = serde_json::to_string(self.task).ok()?;
        let mut parts =
            vec![task.as_bytes(), self.cwd.as_os_str().as_bytes(), self.command.as_bytes()];
        for (name, value) in &self.env {
            parts.extend([name.as_bytes(), value.as_bytes()]);
        }
        let mut encoded = Vec::new();
        for part in parts {
            if part.contains(&0) {
                return None;
            }
            encoded.extend_from_slice(part);
            encoded.push(0);
        }
        (encoded.len() <= BYTES_MAX).then_some(encoded)
    }
}

/// The inverse of [`ForkRequest::encode`].
fn decode(encoded: &[u8]) -> Option<(GuardTask, PathBuf, GuardedJob)> {
    let mut parts = encoded.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let mut text = || Some(OsString::from_vec(parts.next()?.to_vec()));
    let task = serde_json::from_str(text()?.to_str()?).ok()?;
    let (cwd, command) = (text()?.into(), text()?);
    let mut env = Vec::new();
    while let Some(name) = text() {
        env.push((name, text()?));
    }
    let env = Some(env);
    Some((task, cwd, GuardedJob { command, env }))
}

/// Serves requests until nobody asks any more. In each fork it returns with the exit code of the
/// guard.
pub(super) fn serve() -> ExitCode {
    let _ = rustix::thread::set_name(c"descent-forks");
    let _ = launch::nothing();
    while let Some((encoded, streams)) = next_request() {
        match kernel::fork_sibling() {
            Ok(None) => return become_guard(&encoded, streams),
            Ok(Some(pid)) => answer(pid.as_raw_nonzero().get()),
            Err(error) => answer(-error.raw_os_error().unwrap_or(libc::EAGAIN)),
        }
    }
    ExitCode::SUCCESS
}

fn answer(number: i32) {
    // If nobody reads the answer, there is no further request.
    let _ = rustix::io::write(rustix::stdio::stdin(), &number.to_le_bytes());
}

/// The next request, with the streams of the job.
fn next_request() -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    let mut into = [IoSliceMut::new(&mut length)];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let got = loop {
        match recvmsg(rustix::stdio::stdin(), &mut into, &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got.ok()?,
        }
    };
    let streams: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
    if got.bytes != 4 || streams.len() != STREAMS || length > BYTES_MAX {
        return None;
    }
    let mut encoded = vec![0; length];
    let mut at = 0;
    while at < length {
        match rustix::io::read(rustix::stdio::stdin(), &mut encoded[at..]) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(count @ 1..) => at += count,
            _ => return None,
        }
    }
    Some((encoded, streams))
}

/// Makes the forked process a guard: first its own group and its streams.
fn become_guard(encoded: &[u8], streams: Vec<OwnedFd>) -> ExitCode {
    let _ = rustix::process::setpgid(None, None);
    let [control, output, errors] = &streams[..] else {
        return ExitCode::FAILURE;
    };
    let placed = rustix::stdio::dup2_stdin(control.as_fd())
        .and_then(|()| rustix::stdio::dup2_stdout(output.as_fd()))
        .and_then(|()| rustix::stdio::dup2_stderr(errors.as_fd()));
    drop(streams);
    let heard = decode(encoded);
    match heard.filter(|_| placed.is_ok()) {
        Some((task, cwd, job)) => {
            let there = std::env::set_current_dir(cwd);
            super::run_guard(there.map(|()| task), job)
        }
        None => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tag::Tag;
    use super::super::Isolation;
    use super::*;

    fn encoded(command: &str, cwd: &str, env: &[(&str, &str)]) -> Option<Vec<u8>> {
        let task = GuardTask {
            tag: Tag::new("a/b"),
            walls: Isolation::Pids,
            cgroup: None,
            has_input: false,
            fence: None,
        };
        let env = env.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let null = std::fs::File::open("/dev/null").unwrap();
        let request = ForkRequest {
            task: &task,
            command,
            cwd: cwd.as_ref(),
            env: env.collect(),
            streams: [null.as_fd(); STREAMS],
        };
        request.encode()
    }

    #[test]
    fn what_is_told_is_heard_with_what_is_empty_in_it() {
        let env = [("A", ""), ("B", "x\ny"), ("C", "=")];
        let (task, cwd, job) = decode(&encoded("", "/tmp", &env).unwrap()).unwrap();
        assert_eq!((task.walls, task.cgroup, task.has_input), (Isolation::Pids, None, false));
        assert_eq!((cwd.to_str(), job.command.to_str()), (Some("/tmp"), Some("")));
        let heard = job.env.iter().flatten();
        let heard = heard.map(|(n, v)| (n.to_str().unwrap(), v.to_str().unwrap()));
        assert_eq!(heard.collect::<Vec<_>>(), env);
    }

    #[test]
    fn a_guard_whose_server_answered_too_late_begins_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut server = ForkServer::open().unwrap();
        let stopped = rustix::process::Pid::from_child(&server.child);
        rustix::process::kill_process(stopped, rustix::process::Signal::STOP).unwrap();
        let wait = Some(Duration::from_millis(50));
        server.socket.set_read_timeout(wait).unwrap();
        let job =
            encoded("touch began", dir.path().to_str().unwrap(), &[("PATH", "/usr/bin:/bin")]);
        let (ours, its) = UnixStream::pair().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let streams = [its.as_fd(), null.as_fd(), null.as_fd()];
        assert!(server.request(&job.unwrap(), &streams).is_err());
        drop((ours, its));
        rustix::process::kill_process(stopped, rustix::process::Signal::CONT).unwrap();
        server.socket.set_read_timeout(None).unwrap();
        let mut answer = [0; 4];
        server.socket.read_exact(&mut answer).unwrap();
        let forked = rustix::process::Pid::from_raw(i32::from_le_bytes(answer)).unwrap();
        let ended = rustix::process::waitpid(Some(forked), rustix::process::WaitOptions::empty());
        // A sweep of another test may have reaped it.
        assert!(ended.map_or(true, |ended| ended.unwrap().1.exit_status() != Some(0)));
        assert!(!dir.path().join("began").exists());
        server.shut_down();
    }

    #[test]
    fn what_cannot_be_told_starts_by_itself() {
        assert!(encoded("echo \0", "/", &[]).is_none());
        assert!(encoded(&"x".repeat(BYTES_MAX), "/", &[]).is_none());
        assert!(decode(b"").is_none() && decode(b"{}\0/\0").is_none());
    }
}

//! The signals that ask this process to end, as a stream; and ending by one.
//!
//! A signal that was ignored at the start (`nohup`, a background job of a shell) stays ignored: such a loop is meant to
//! go on. Not here: the loop's reaction (`driver`).

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc;

/// Signals that wait to be taken; further ones say nothing new.
const WAITING_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];

    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Signal::Interrupt => 2,
            Signal::Terminate => 15,
            Signal::Hangup => 1,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::Hangup => "SIGHUP",
        }
    }
}

#[derive(Debug)]
pub struct Signals(mpsc::Receiver<Signal>);

impl Signals {
    /// Takes these signals over, so that they don't end the process. To be called inside of a runtime.
    ///
    /// # Errors
    /// When the system refuses the handler.
    pub fn install() -> io::Result<Signals> {
        if let Some(ends) = ENDS_US.get() {
            ends.store(false, Ordering::Relaxed);
        }
        let ignored = ignored_mask();
        let is_outlived =
            |one: Signal| one == Signal::Hangup && OUTLIVES_HANGUPS.load(Ordering::Relaxed);
        let wanted =
            Signal::ALL.into_iter().filter(|one| !is_in(ignored, *one) && !is_outlived(*one));
        let streams = wanted.map(|one| Ok((one, signal(SignalKind::from_raw(one.number()))?)));
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        for (one, stream) in streams.collect::<io::Result<Vec<_>>>()? {
            tokio::spawn(pass_on(one, stream, sender.clone()));
        }
        Ok(Signals::of(receiver))
    }

    /// Takes signals from a channel.
    #[must_use]
    pub fn of(receiver: mpsc::Receiver<Signal>) -> Signals {
        Signals(receiver)
    }

    /// The next signal; several of a kind at once may come as one. Safe to drop and call again.
    pub async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(one) => one,
            // All were ignored at the start.
            None => std::future::pending().await,
        }
    }
}

async fn pass_on(one: Signal, mut stream: Stream, sender: mpsc::Sender<Signal>) {
    while stream.recv().await.is_some() {
        if let Err(mpsc::error::TrySendError::Closed(_)) = sender.try_send(one) {
            return;
        }
    }
}

/// Whether a signal ends this process as usual, although it has a handler by now.
static ENDS_US: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on the signals end this process as usual again, until they are taken over anew. A handler that was
/// installed once stays, so that dropping [`Signals`] alone would have Ctrl-C do nothing.
///
/// # Errors
/// When the system refuses the handler.
pub fn end_us_again() -> io::Result<()> {
    if ENDS_US.get().is_none() {
        let ends = Arc::new(AtomicBool::new(false));
        let ignored = ignored_mask();
        for one in Signal::ALL.into_iter().filter(|one| !is_in(ignored, *one)) {
            signal_hook::flag::register_conditional_default(one.number(), Arc::clone(&ends))?;
        }
        // Another thread cannot have come first: a person is asked by one thread alone.
        let _ = ENDS_US.set(ends);
    }
    if let Some(ends) = ENDS_US.get() {
        ends.store(true, Ordering::Relaxed);
    }
    Ok(())
}

static OUTLIVES_HANGUPS: AtomicBool = AtomicBool::new(false);

/// From here on the end of a terminal changes nothing.
pub fn outlive_hangups() {
    OUTLIVES_HANGUPS.store(true, Ordering::Relaxed);
    outlive(Signal::Hangup.number(), "a hangup ends this process");
}

/// Makes a write beyond the file size limit (`ulimit -f`) an error instead of the end of the process.
pub fn outlive_the_file_limit() {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    outlive(signal, "a limit on the size of files ends this process");
}

/// Children begin with the system's default: a handler is not inherited.
fn outlive(signal: i32, otherwise: &str) {
    if let Err(error) = signal_hook::flag::register(signal, Arc::default()) {
        tracing::warn!(%error, "{otherwise}");
    }
}

fn is_in(mask: u64, one: Signal) -> bool {
    mask & (1 << (one.number() - 1)) != 0
}

/// The kernel's mask of ignored signals; 0 if it is not known.
fn ignored_mask() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_ignored(&status)
}

fn parse_ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Ends this process the way the signal would have. So a shell sees that it was interrupted, and stops its own script
/// too.
pub fn die_by(one: Signal) -> ! {
    // This returns only if the signal could not be raised; the code says the same to a shell.
    let _ = signal_hook::low_level::emulate_default_handler(one.number());
    std::process::exit(128 + one.number())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // a signal is tested on a process of its own
mod tests {
    use super::*;
    use rustix::process::{Signal as Raw, getpid, kill_process};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const ROLE: &str = "DESCENT_TEST_SIGNAL_ROLE";

    fn this_test_again(name: &str, through: &[&str]) -> Command {
        let program = std::env::current_exe().unwrap();
        let mut words: Vec<String> = through.iter().map(ToString::to_string).collect();
        words.push(program.to_str().unwrap().to_owned());
        let full = format!("{}::{name}", module_path!().split_once("::").unwrap().1);
        words.extend([full, "--exact".into(), "--nocapture".into()]);
        crate::heeded::heed_signals();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(ROLE, "child").stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn is_child() -> bool {
        std::env::var_os(ROLE).is_some()
    }

    #[test]
    fn the_stream_yields_the_signals_and_death_by_one_is_seen_as_such() {
        if !is_child() {
            let name = "the_stream_yields_the_signals_and_death_by_one_is_seen_as_such";
            let status = this_test_again(name, &[]).status().unwrap();
            assert_eq!(status.signal(), Some(15), "{status:?}");
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut signals = Signals::install().unwrap();
            for (raw, expected) in [(Raw::HUP, Signal::Hangup), (Raw::INT, Signal::Interrupt)] {
                kill_process(getpid(), raw).unwrap();
                assert_eq!(signals.next().await, expected);
            }
        });
        die_by(Signal::Terminate);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
        if !is_child() {
            let name = "a_hangup_that_was_ignored_at_the_start_stays_ignored";
            let status = this_test_again(name, &["nohup"]).status().unwrap();
            assert!(status.success(), "{status:?}");
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut signals = Signals::install().unwrap();
            kill_process(getpid(), Raw::HUP).unwrap();
            kill_process(getpid(), Raw::TERM).unwrap();
            assert_eq!(signals.next().await, Signal::Terminate);
        });
    }

    #[test]
    fn the_mask_of_ignored_signals_is_read_and_its_absence_is_none() {
        let mask = parse_ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t4\n");
        assert!(is_in(mask, Signal::Hangup));
        assert!(!is_in(mask, Signal::Interrupt));
        assert_eq!(parse_ignored("SigIgn: nonsense"), 0);
        assert_eq!(parse_ignored(""), 0);
    }
}

//! The present work of the loop, in a file beside the heartbeat: the loop writes it, other commands read it.
//!
//! Invariant: nothing depends on it. It is no part of the state and is never synced. It is written only when it changed,
//! and a few times a second at most.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use descent_core::{
    desired::DesiredWork, event::Scope, id::RunId, view::work::WorkView, world::World,
};
use serde::{Deserialize, Serialize};

use descent_store::StatePlace;
use descent_system::{clock::Clock, files};

/// The shortest time between two writings.
const WRITE_EVERY_MS: u64 = 200;
/// A larger file is not the program's.
const BYTES_MAX: u64 = 1024 * 1024;

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct WorkRecord {
    schema: String,
    run: String,
    serial: u64,
    at: String,
    #[serde(flatten)]
    work: WorkView,
}

/// The present work, for all who draw it, and for the file.
pub(crate) struct WorkBoard {
    shared: Arc<WorkShared>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// The part that threads share.
pub struct WorkShared {
    board: Mutex<Board>,
    changed: Condvar,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Board {
    work: WorkView,
    serial: u64,
    /// Counts the changes.
    version: u64,
    /// The writer has written everything, and waits for a change.
    is_waited_for: bool,
    is_over: bool,
}

impl WorkBoard {
    /// The caller holds the lease.
    pub fn start(place: &StatePlace, run: &RunId, clock: Arc<dyn Clock>) -> Self {
        let path = path_in(&place.dir);
        let shared =
            Arc::new(WorkShared { board: Mutex::default(), changed: Condvar::new(), clock });
        let (inner, to, run) = (Arc::clone(&shared), path.clone(), run.to_string());
        let thread = std::thread::Builder::new()
            .name("work".to_owned())
            .spawn(move || keep_writing(&inner, &to, &run));
        Self { shared, path, thread: thread.ok() }
    }

    /// For those who draw it, and for those who measure checks.
    pub fn shared(&self) -> Arc<WorkShared> {
        Arc::clone(&self.shared)
    }

    /// Reports a turn of the loop.
    pub fn turn(&self, world: &World, desired: &DesiredWork) {
        let now = self.shared.clock.now().rfc3339();
        let mut board = self.shared.lock();
        let work = WorkView::next(world, desired, &now, &board.work);
        let is_news = board.work != work;
        board.serial = world.state.serial.0;
        if is_news {
            board.work = work;
            self.shared.tell(board);
        }
    }
}

impl Drop for WorkBoard {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Anything else there is not ours.
        let _ = files::remove_file(&self.path);
        // A killed loop may have left it.
        let _ = files::remove_file(&files::half_of(&self.path));
    }
}

impl WorkShared {
    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the check that is measured.
    pub fn measure(&self, scope: &Scope, title: &str) {
        let now = self.clock.now().rfc3339();
        let mut board = self.lock();
        board.work.measure(scope, title, &now);
        self.tell(board);
    }

    /// Counts a change. The writer is woken only if it waits for one.
    fn tell(&self, mut board: MutexGuard<'_, Board>) {
        board.version += 1;
        let is_waited_for = board.is_waited_for;
        drop(board);
        if is_waited_for {
            self.changed.notify_one();
        }
    }

    pub fn view(&self) -> WorkView {
        self.lock().work.clone()
    }
}

fn keep_writing(shared: &WorkShared, path: &Path, run: &str) {
    let mut written = 0;
    let mut board = shared.lock();
    loop {
        while !board.is_over && board.version == written {
            board.is_waited_for = true;
            let waited = shared.changed.wait(board);
            board = waited.unwrap_or_else(PoisonError::into_inner);
        }
        board.is_waited_for = false;
        if board.is_over {
            return;
        }
        written = board.version;
        let record = WorkRecord {
            schema: "descent/work/1".to_owned(),
            run: run.to_owned(),
            serial: board.serial,
            at: shared.clock.now().rfc3339(),
            work: board.work.clone(),
        };
        drop(board);
        write(path, &record);
        let pause = Duration::from_millis(WRITE_EVERY_MS);
        let paused =
            shared.changed.wait_timeout_while(shared.lock(), pause, |board| !board.is_over);
        board = paused.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn write(path: &Path, record: &WorkRecord) {
    let text = serde_json::to_vec(record).unwrap_or_default();
    if let Err(error) = files::write_whole_alone(path, &text) {
        tracing::debug!(%error, "what goes on is not written down");
    }
}

fn path_in(dir: &Path) -> PathBuf {
    dir.join("work.json")
}

/// The newest record of the loop of that run; the caller knows that the loop lives.
pub fn read(place: &StatePlace, run: &str) -> Option<WorkView> {
    let bytes = files::read(&path_in(&place.dir), BYTES_MAX).ok()?;
    let record: WorkRecord = serde_json::from_slice(&bytes).ok()?;
    (record.run == run).then_some(record.work)
}

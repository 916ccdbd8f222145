//! A live view of the work in progress, drawn below everything else: for a person at a terminal, and for nobody else.
//!
//! Here: the thread that draws it again as time passes. It decides nothing and reads nothing but the clock. Not here:
//! the rows (`render::work`), and the drawing itself (`render::area`).

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use descent_core::id::UnixMillis;

use super::{Context, Line, Meaning, clock, phrase, render};
use crate::render::area;
use descent_engine::{heartbeat::LoopBoard, ops::evaluate::CheckStart};

/// It is drawn again so often: the seconds shown go on, and news wait no longer.
const PAUSE: Duration = Duration::from_millis(200);
/// A single check is shown if it takes longer.
const PATIENCE_MS: u64 = 1_000;
/// Rows at most above the last one.
const ROWS_MAX: usize = 12;

/// Draws until it is dropped.
pub(super) struct LiveArea {
    shows: Arc<Mutex<Shows>>,
    /// The drawer, and what ends it when it is dropped.
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The content of the area.
enum Shows {
    Nothing,
    /// The work of a loop.
    Work(Arc<LoopBoard>),
    /// One check outside of a run, or a question to an agent, and its start.
    Check(String, UnixMillis),
}

impl LiveArea {
    /// Draws what a loop does.
    pub(super) fn of_loop(context: &Context, work: Arc<LoopBoard>) -> Self {
        Self::start(context, Shows::Work(work))
    }

    /// Draws a question to an agent.
    pub(super) fn of_question(context: &Context, words: &str) -> Self {
        Self::start(context, Shows::Check(words.to_owned(), clock::now()))
    }

    /// Draws nothing if nobody looks: no terminal, `--json`, `--quiet`, `--no-input`, CI.
    fn start(context: &Context, shows: Shows) -> Self {
        let shows = Arc::new(Mutex::new(shows));
        let is_wanted = context.is_attended && !context.out.json && !context.out.quiet;
        let drawer = (is_wanted && area::can_draw()).then(|| {
            let (until, is_over) = channel();
            let shows = Arc::clone(&shows);
            let draw = move || {
                while is_over.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                    let (columns, rows) = area::size();
                    let lines = locked(&shows).lines(clock::now(), columns, rows);
                    area::show(lines);
                }
            };
            (until, std::thread::spawn(draw))
        });
        Self { shows, drawer }
    }
}

impl Drop for LiveArea {
    fn drop(&mut self) {
        if let Some((until, drawer)) = self.drawer.take() {
            drop(until);
            // A drawer that panicked draws no more; the area is removed all the same.
            let _ = drawer.join();
            area::show(Vec::new());
        }
    }
}

/// Draws the check that is measured outside of a loop, from the first on, until it is dropped.
pub(super) fn drawn(context: &Context) -> impl Fn(CheckStart<'_>) + '_ {
    let live = LiveArea::start(context, Shows::Nothing);
    move |CheckStart { title, nth, all }| {
        let name = format!("check {nth} of {all}: {}", phrase::line(title));
        *locked(&live.shows) = Shows::Check(name, clock::now());
    }
}

fn locked(shows: &Mutex<Shows>) -> MutexGuard<'_, Shows> {
    shows.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shows {
    fn lines(&self, now: UnixMillis, columns: usize, rows: usize) -> Vec<Line> {
        match self {
            Shows::Nothing => Vec::new(),
            Shows::Work(work) => {
                let room = ROWS_MAX.min(rows.saturating_sub(4));
                render::work(&work.view(), now, columns, room)
            }
            Shows::Check(name, since) => {
                let for_ms = now.0.saturating_sub(since.0);
                let row = Line::new().put(Meaning::Running, "▸ ").strong(name);
                let row = row.plain(format!("  {}", phrase::age(for_ms)));
                (for_ms >= PATIENCE_MS).then_some(row).into_iter().collect()
            }
        }
    }
}

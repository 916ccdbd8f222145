//! A live view of the work in progress, drawn below everything else: for a person at a terminal, and for nobody else.
//!
//! Here: the thread that draws it again as time passes. It decides nothing and reads nothing but the clock. Not here:
//! the rows (`render::work`), and the drawing itself (`render::area`).

use std::{
    cell::OnceCell,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use descent_core::id::UnixMillis;

use super::context::Context;
use crate::{
    clock,
    heartbeat::work::WorkShared,
    ops::evaluate::CheckStart,
    render::{self, Line, Meaning, area},
};

/// It is drawn again so often: the seconds shown go on, and news wait no longer.
const TICK_MS: u64 = 200;
/// A single check is shown if it takes longer.
const PATIENCE_MS: u64 = 1_000;
/// Rows at most above the last one.
const ROWS_MAX: usize = 12;

/// Draws until it is dropped.
pub(super) struct LiveArea {
    shared: Arc<LiveShared>,
    drawer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct LiveShared {
    scene: Mutex<Scene>,
    changed: Condvar,
}

#[derive(Default)]
struct Scene {
    shows: Shows,
    is_over: bool,
}

/// The content of the area.
#[derive(Default)]
enum Shows {
    #[default]
    Nothing,
    /// The work of a loop.
    Work(Arc<WorkShared>),
    /// One check outside of a run, or a question to an agent, and its start.
    Check(String, UnixMillis),
}

impl LiveArea {
    /// Draws what a loop does.
    pub(super) fn of_loop(context: &Context, work: Arc<WorkShared>) -> Self {
        Self::start(context, Shows::Work(work))
    }

    /// Draws a question to an agent.
    pub(super) fn of_question(context: &Context, words: &str) -> Self {
        Self::start(context, Shows::Check(words.to_owned(), clock::now()))
    }

    /// Draws nothing if nobody looks: no terminal, `--json`, `--quiet`, `--no-input`, CI.
    fn start(context: &Context, shows: Shows) -> Self {
        let scene = Scene { shows, is_over: false };
        let shared = Arc::new(LiveShared { scene: Mutex::new(scene), changed: Condvar::new() });
        let is_wanted = context.is_attended && !context.out.json && !context.out.quiet;
        let drawer = (is_wanted && area::can_draw()).then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || draw(&shared))
        });
        Self { shared, drawer }
    }

    /// Shows one check outside of a run, the `nth` of `all`.
    fn checking(&self, check: &str, nth: usize, all: usize) {
        let name = format!("check {nth} of {all}: {}", render::line(check));
        self.shared.lock().shows = Shows::Check(name, clock::now());
    }
}

impl Drop for LiveArea {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(drawer) = self.drawer.take() {
            // A drawer that panicked draws no more; the area is removed all the same.
            let _ = drawer.join();
            area::show(Vec::new());
        }
    }
}

/// Draws the check that is measured outside of a loop, from the first on, until it is dropped.
pub(super) fn drawn(context: &Context) -> impl Fn(CheckStart<'_>) + '_ {
    let live = OnceCell::new();
    move |check| {
        let live = live.get_or_init(|| LiveArea::start(context, Shows::Nothing));
        live.checking(check.title, check.nth, check.all);
    }
}

impl LiveShared {
    fn lock(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw(shared: &LiveShared) {
    let mut scene = shared.lock();
    while !scene.is_over {
        let (columns, rows) = area::size();
        let lines = scene.lines(clock::now(), columns, rows);
        drop(scene);
        area::show(lines);
        let pause = Duration::from_millis(TICK_MS);
        let paused =
            shared.changed.wait_timeout_while(shared.lock(), pause, |scene| !scene.is_over);
        scene = paused.unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl Scene {
    fn lines(&self, now: UnixMillis, columns: usize, rows: usize) -> Vec<Line> {
        match &self.shows {
            Shows::Nothing => Vec::new(),
            Shows::Work(work) => {
                let room = ROWS_MAX.min(rows.saturating_sub(4));
                render::work(&work.view(), now, columns, room)
            }
            Shows::Check(name, since) => {
                let for_ms = now.0.saturating_sub(since.0);
                let row = Line::new().put(Meaning::Running, "▸ ").strong(name);
                let row = row.plain(format!("  {}", render::age(for_ms)));
                (for_ms >= PATIENCE_MS).then_some(row).into_iter().collect()
            }
        }
    }
}

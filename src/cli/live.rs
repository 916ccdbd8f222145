//! A live view of the work in progress, drawn below everything else: for a person at a terminal, and for nobody else.
//!
//! Here: the rows for the driver's data, and the thread that draws them again as time passes. It decides nothing and
//! reads nothing but the clock. Not here: the drawing itself (`render::area`).

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use descent_core::{
    desired::{DesiredWork, Work},
    event::Scope,
    graph::{Ix, NodeKind},
    id::{AttemptId, UnixMillis},
    state::Intent,
    view,
    world::World,
};

use super::context::Context;
use crate::{
    clock,
    driver::Measuring,
    ops::evaluate::CheckStart,
    render::{self, Line, Meaning, area},
};

/// The shortest time between two drawings.
const DRAW_EVERY_MS: u64 = 100;
/// Without news it is drawn again so often, for the seconds shown.
const TICK_MS: u64 = 500;
/// A single check is shown if it takes longer.
const PATIENCE_MS: u64 = 1_000;
/// On a narrower terminal, words are left out.
const NARROW: usize = 60;
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
    rows: Vec<Row>,
    foot: Option<Foot>,
    /// The check that is measured in each scope, and its start.
    measured: BTreeMap<Scope, (String, UnixMillis)>,
    /// First sight of activities without a time of their own.
    seen: BTreeMap<&'static str, UnixMillis>,
    is_over: bool,
}

struct Row {
    depth: usize,
    name: String,
    what: RowKind,
}

enum RowKind {
    /// A group around something at work.
    Group(&'static str),
    Attempt {
        id: AttemptId,
        n: u32,
        of: u32,
        since: Option<UnixMillis>,
        doing: &'static str,
    },
    Other {
        since: UnixMillis,
        scope: Option<Scope>,
        patience_ms: u64,
    },
}

struct Foot {
    resolved: usize,
    all: usize,
    attempts_left: String,
    /// Active time before this process, and the start of the process.
    active_ms: u64,
    began: UnixMillis,
    budget_ms: Option<u64>,
}

impl LiveArea {
    /// Draws nothing if nobody looks: no terminal, `--json`, `--quiet`, `--no-input`, CI.
    pub(super) fn start(context: &Context) -> Self {
        let shared = Arc::new(LiveShared::default());
        let is_wanted = context.is_attended && !context.out.json && !context.out.quiet;
        let drawer = (is_wanted && area::can_draw()).then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || draw(&shared))
        });
        Self { shared, drawer }
    }

    /// Takes in the desired work.
    pub(super) fn update(&self, world: &World, desired: &DesiredWork) {
        if self.drawer.is_some() {
            let now = clock::now();
            let mut scene = self.shared.lock();
            scene.update(world, desired, now);
            self.shared.changed.notify_one();
        }
    }

    /// A hook for a run's measurement of checks.
    pub(super) fn measuring(&self) -> Measuring {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |scope, check| {
            let seen = (check.to_owned(), clock::now());
            shared.lock().measured.insert(scope.clone(), seen);
            shared.changed.notify_one();
        })
    }

    /// Shows one check outside of a run, the `nth` of `all`.
    pub(super) fn checking(&self, check: &str, nth: usize, all: usize) {
        let now = clock::now();
        let mut scene = self.shared.lock();
        let what = RowKind::Other {
            since: now,
            scope: None,
            patience_ms: PATIENCE_MS,
        };
        let name = format!("check {nth} of {all}: {}", render::line(check));
        scene.rows = vec![Row {
            depth: 0,
            name,
            what,
        }];
        self.shared.changed.notify_one();
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
        let live = live.get_or_init(|| LiveArea::start(context));
        live.checking(check.title, check.nth, check.all);
    }
}

impl LiveShared {
    fn lock(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw(shared: &LiveShared) {
    let mut drawn = shared.lock();
    loop {
        let waited = shared
            .changed
            .wait_timeout(drawn, Duration::from_millis(TICK_MS));
        let (scene, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if scene.is_over {
            return;
        }
        let (columns, rows) = area::size();
        let lines = scene.lines(clock::now(), columns, rows);
        drop(scene);
        area::show(lines);
        // Changes that come meanwhile are drawn together; the end is not kept waiting.
        let pause = Duration::from_millis(DRAW_EVERY_MS);
        let paused = shared
            .changed
            .wait_timeout_while(shared.lock(), pause, |scene| !scene.is_over);
        drawn = paused.unwrap_or_else(PoisonError::into_inner).0;
        if drawn.is_over {
            return;
        }
    }
}

impl Scene {
    fn update(&mut self, world: &World, desired: &DesiredWork, now: UnixMillis) {
        let state = &world.state;
        let mut rows: Vec<Row> = Vec::new();
        let mut shown: Vec<Ix> = Vec::new();
        for intent in &state.run.in_flight {
            let Some(x) = world.graph.ix(&intent.atom) else {
                continue;
            };
            let mut above: Vec<Ix> = world.graph.above(x).collect();
            above.reverse();
            for (depth, group) in above.iter().enumerate() {
                if !shown.contains(group) {
                    shown.push(*group);
                    rows.push(group_row(world, *group, depth));
                }
            }
            rows.push(attempt_row(world, intent, desired, above.len()));
        }
        let mut seen = BTreeMap::new();
        for (name, scope) in other_work(desired) {
            let since = self.seen.get(name).copied().unwrap_or(now);
            seen.insert(name, since);
            let what = RowKind::Other {
                since,
                scope,
                patience_ms: 0,
            };
            rows.push(Row {
                depth: 0,
                name: name.to_owned(),
                what,
            });
        }
        self.seen = seen;
        let is_judged = |scope: &Scope| {
            let judges =
                |effect: &Work| matches!(effect, Work::Judge { scope: one, .. } if one == scope);
            desired.effects.iter().any(|(_, effect)| judges(effect))
        };
        self.measured.retain(|scope, _| is_judged(scope));
        self.rows = rows;
        let before = self.foot.as_ref().map(|foot| (foot.active_ms, foot.began));
        let (active_ms, began) = before.unwrap_or((state.run.spent.active_ms, now));
        let (resolved, open) = world.split();
        self.foot = Some(Foot {
            resolved: resolved.len(),
            all: resolved.len() + open.len(),
            attempts_left: world.measure().attempts.to_string(),
            active_ms,
            began,
            budget_ms: state
                .objective
                .constraints
                .time_budget
                .as_ref()
                .map(|budget| budget.ms),
        });
    }

    fn lines(&self, now: UnixMillis, columns: usize, rows: usize) -> Vec<Line> {
        let room = ROWS_MAX.min(rows.saturating_sub(4)).max(1);
        let shown: Vec<Line> = self
            .rows
            .iter()
            .filter_map(|row| self.row(row, now, columns))
            .collect();
        let hidden = shown.len().saturating_sub(room);
        let mut lines: Vec<Line> = shown.into_iter().take(room).collect();
        if hidden > 0 {
            lines.push(Line::indent(2).dim(format!("… and {hidden} more")));
        }
        lines.extend(self.foot.as_ref().map(|foot| foot.line(now, columns)));
        lines
    }

    fn row(&self, row: &Row, now: UnixMillis, columns: usize) -> Option<Line> {
        let for_ = |since: UnixMillis| render::age(now.0.saturating_sub(since.0));
        let measured = |scope: &Scope| {
            self.measured
                .get(scope)
                .map(|(check, since)| (render::line(check), *since))
        };
        let head = Line::indent(2 * row.depth);
        match &row.what {
            RowKind::Group(members) => Some(head.dim(format!("{} ({members})", row.name))),
            RowKind::Attempt {
                id,
                n,
                of,
                since,
                doing,
            } => {
                let line = head
                    .put(Meaning::Running, "▸ ")
                    .strong(&row.name)
                    .plain("  ");
                let line = if columns < NARROW {
                    line.plain(format!("{n}/{of}"))
                } else {
                    line.plain(format!("attempt {n} of {of}"))
                };
                let line = line
                    .plain(format!("  {}  ", since.map(for_).unwrap_or_default()))
                    .dim(*doing);
                Some(match measured(&Scope::Atom(id.clone())) {
                    Some((check, since)) => line.dim(format!(": {check} ({})", for_(since))),
                    None => line,
                })
            }
            RowKind::Other {
                since,
                scope,
                patience_ms,
            } => {
                if now.0.saturating_sub(since.0) < *patience_ms {
                    return None;
                }
                let line = head.put(Meaning::Running, "▸ ").strong(&row.name);
                let line = line.plain(format!("  {}", for_(*since)));
                Some(match scope.as_ref().and_then(measured) {
                    Some((check, _)) => line.dim(format!("  {check}")),
                    None => line,
                })
            }
        }
    }
}

fn group_row(world: &World, x: Ix, depth: usize) -> Row {
    let vertex = world.graph.vertex(x);
    Row {
        depth,
        name: world.graph.id(x).to_string(),
        what: RowKind::Group(if vertex.kind == NodeKind::Any {
            "one of"
        } else {
            "all of"
        }),
    }
}

fn attempt_row(world: &World, intent: &Intent, desired: &DesiredWork, depth: usize) -> Row {
    let doing = desired.effects.iter().find_map(|(_, effect)| match effect {
        Work::Attempt(one) if one.id == intent.id => Some("at work"),
        Work::Merge { intent: one, .. } if one.id == intent.id => Some("merging"),
        Work::Judge {
            scope: Scope::Atom(id),
            ..
        } if *id == intent.id => Some("its checks"),
        Work::Attempt(_)
        | Work::Merge { .. }
        | Work::Judge { .. }
        | Work::Rebuild { .. }
        | Work::Stage { .. }
        | Work::Learn(_) => None,
    });
    let what = RowKind::Attempt {
        id: intent.id.clone(),
        n: intent.n,
        of: view::attempts_of(&world.state, intent),
        since: render::moment(&intent.at),
        doing: doing.unwrap_or("waits for others to land"),
    };
    Row {
        depth,
        name: intent.atom.to_string(),
        what,
    }
}

/// Work beside the attempts.
fn other_work(desired: &DesiredWork) -> Vec<(&'static str, Option<Scope>)> {
    let named = desired
        .effects
        .iter()
        .filter_map(|(_, effect)| match effect {
            Work::Judge {
                scope: Scope::BaseCase,
                ..
            } => Some(("base case", Some(Scope::BaseCase))),
            Work::Rebuild { .. } => Some(("rebuilding the result", None)),
            Work::Judge { .. }
            | Work::Attempt(_)
            | Work::Merge { .. }
            | Work::Stage { .. }
            | Work::Learn(_) => None,
        });
    named.collect()
}

impl Foot {
    fn line(&self, now: UnixMillis, columns: usize) -> Line {
        let active_ms = self.active_ms + now.0.saturating_sub(self.began.0);
        let budget = self
            .budget_ms
            .map(|budget| format!(" of {}", render::length(budget)));
        let time = format!("{}{}", render::age(active_ms), budget.unwrap_or_default());
        let (resolved, all) = (self.resolved, self.all);
        let left = render::count(&self.attempts_left, "attempt");
        Line::new().dim(if columns < NARROW {
            format!("{resolved}/{all} · {left} left · {time}")
        } else {
            format!("{resolved} of {all} resolved · at most {left} left · {time}")
        })
    }
}

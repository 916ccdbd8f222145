//! The scene of the overview, from what was seen last, and the pages that fill the screen: an output, a difference, why,
//! the help.

use std::{collections::VecDeque, sync::Arc};

use descent_core::{
    event::Event,
    id::{AtomId, AttemptId, UnixMillis},
    state::Usage,
    view::{
        self, Surroundings, graph::GraphView, liveness::Activity, usage::UsageView, work::WorkView,
    },
    world::World,
};

use super::HELP;
use crate::cli::{Failure, Line, Meaning, phrase, render, status as status_command};
use crate::render::watch::WatchScene;
use descent_engine::{
    events::HappenedEvent,
    ops::{
        diff,
        liveness::waits_for,
        result::ResultTree,
        watch::{Lookout, WatchReport, newest_attempt, output_tail},
    },
};
use descent_store::Store;

/// Events that are kept for the screen.
const EVENTS_MAX: usize = 500;
/// Rows of an output.
const OUTPUT_ROWS_MAX: usize = 1_000;

/// Everything that was seen so far.
#[derive(Default)]
pub(super) struct WatchHistory {
    run: String,
    pub(super) graph: Option<GraphView>,
    tree: Vec<Line>,
    facts: Line,
    goal: String,
    events: VecDeque<Line>,
    directive: Option<Line>,
    pub(super) work: Option<WorkView>,
    used: Vec<(AttemptId, Usage)>,
    status: Line,
}

impl WatchHistory {
    pub(super) fn take(&mut self, look: &WatchReport) {
        let state = look.state();
        let run = state.run.id.as_ref().map(ToString::to_string);
        let run = run.unwrap_or_default();
        if run != self.run {
            self.run = run;
            self.events.clear();
        }
        if look.is_news || self.graph.is_none() || self.used != look.used {
            self.used.clone_from(&look.used);
            let mut state = state.clone();
            Arc::make_mut(&mut state.run).count_told(&look.used);
            self.see_state(World::new(state));
        }
        look.events.iter().for_each(|happened| self.happened(happened));
        self.work.clone_from(&look.work);
        self.status = status(look);
    }

    fn see_state(&mut self, world: World) {
        let graph = view::graph::graph(&world);
        self.tree = render::graph_lines(&graph);
        self.graph = Some(graph);
        self.goal = phrase::line(&world.state.objective.goal);
        let (resolved, open) = world.split();
        let (resolved, all) = (resolved.len(), resolved.len() + open.len());
        let left = world.measure().attempts.to_string();
        let spent = &world.state.run.spent;
        let run = &world.state.run;
        let held = run.verdicts.last().filter(|one| {
            one.is_pristine && (run.status.is_active() || Some(&one.commit) == run.result())
        });
        let held = held.map(|one| format!(", {} of {} checks hold", one.held, one.of));
        let cost = phrase::count(spent.attempts, "attempt");
        let used = UsageView::of(&spent.usage).map(|used| format!(" · {}", render::usage(&used)));
        self.facts = Line::of(format!(
            "{resolved} of {all} resolved{} · {cost} made, at most {left} left{}",
            held.unwrap_or_default(),
            used.unwrap_or_default()
        ));
        let law = world.state.run.law.as_ref();
        let point = law.and_then(|law| law.point.as_ref());
        self.directive = point.map(|point| {
            let head = Line::new().strong(point.directive.word()).plain(": ");
            head.dim(phrase::line(&point.rationale))
        });
    }

    /// A line of `watch` itself among what happened.
    pub(super) fn add(&mut self, at: &str, line: Line) {
        let at = at.get(11..19).unwrap_or_default();
        self.events.push_back(Line::new().dim(at).plain(" ").then(line));
    }

    fn happened(&mut self, happened: &HappenedEvent) {
        let at = happened.at.get(11..19).unwrap_or_default();
        let mut lines = render::event(&happened.event, usize::MAX);
        // The result is no line of a run, and the screen shows no result.
        if let Event::Ended { summary, .. } = &happened.event {
            let line = Line::new().word("ended").pad(10);
            lines.push(line.plain(phrase::line(summary)));
        }
        for line in lines {
            let line = Line::new().dim(at).plain(" ").then(line);
            self.events.push_back(line);
        }
        let over = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..over);
    }

    /// The row of an atom that is at work, to begin with.
    pub(super) fn first_at_work(&self) -> Option<usize> {
        let nodes = &self.graph.as_ref()?.nodes;
        nodes.iter().position(|node| node.state == "running")
    }

    pub(super) fn rows(&self) -> usize {
        self.tree.len()
    }

    pub(super) fn atom(&self, row: usize) -> Option<AtomId> {
        let nodes = &self.graph.as_ref()?.nodes;
        nodes.get(row).map(|node| node.id.clone())
    }

    pub(super) fn scene(&self, selected: usize, now: UnixMillis, columns: usize) -> WatchScene {
        let work = self.work.as_ref();
        let work = work.map(|work| render::work(work, now, columns, usize::MAX));
        let mut work = work.unwrap_or_else(|| vec![Line::new().dim("nothing runs")]);
        // Why planners are told what they are told.
        work.extend(self.directive.clone());
        WatchScene {
            title: Line::new()
                .strong("descent  ")
                .then(self.status.clone())
                .plain("  ")
                .plain(&self.goal),
            facts: self.facts.clone(),
            tree: self.tree.clone(),
            selected,
            work,
            events: self.events.iter().cloned().collect(),
            ..WatchScene::default()
        }
    }
}

/// The status of the run, and what its loop does.
fn status(look: &WatchReport) -> Line {
    let word = look.state().run.status.word();
    let line = Line::new().word(word);
    if let Some(trouble) = &look.trouble {
        return line.put(Meaning::Unknown, format!("  the file cannot be read: {trouble}"));
    }
    match (look.observed.liveness.activity, look.observed.liveness.waits_for) {
        (_, Some(what)) => line.put(Meaning::Unknown, format!("  it waits {}", waits_for(what))),
        (Activity::Hung | Activity::Dead | Activity::Asleep, None) => {
            let note = status_command::note_on_loop(&look.observed);
            let text = note.map_or_else(String::new, |note| format!("  {}", note.text));
            line.put(Meaning::Unknown, text)
        }
        (Activity::Running | Activity::Idle, None) => line,
    }
}

/// An output as rows. A row that was written over, as by a progress bar, is shown as it was last.
pub(super) fn output_rows(text: &str) -> Vec<Line> {
    let rows: Vec<Line> = text
        .lines()
        .map(|row| row.trim_end_matches('\r').rsplit('\r').next().unwrap_or(row))
        .map(|row| Line::of(phrase::line(row)))
        .collect();
    let over = rows.len().saturating_sub(OUTPUT_ROWS_MAX);
    rows.into_iter().skip(over).collect()
}

/// A page that is open.
pub(super) struct OpenPage {
    pub(super) kind: PageKind,
    pub(super) title: Line,
    pub(super) lines: Vec<Line>,
    pub(super) first: usize,
    /// Whether the end stays in sight while it grows.
    pub(super) follows: bool,
}

pub(super) enum PageKind {
    /// The output of this attempt.
    Output(AttemptId),
    /// It stays as it was read.
    Fixed,
}

impl OpenPage {
    pub(super) fn help() -> Self {
        let row = |(key, text): &(&str, &str)| Line::indent(2).strong(key).pad(16).plain(text);
        Self::fixed(Line::new().strong("keys"), HELP.iter().map(row).collect())
    }

    pub(super) fn fixed(title: Line, lines: Vec<Line>) -> Self {
        Self { kind: PageKind::Fixed, title, lines, first: 0, follows: false }
    }

    /// The output of the newest attempt of that atom.
    pub(super) fn output(lookout: &Lookout, look: &WatchReport, atom: &AtomId) -> Option<Self> {
        let attempt = newest_attempt(lookout.place(), look.state(), atom)?;
        let title = Line::new().strong(format!("output of {attempt}"));
        let mut page = Self {
            kind: PageKind::Output(attempt),
            follows: true,
            ..Self::fixed(title, Vec::new())
        };
        page.read_on(lookout);
        Some(page)
    }

    /// The change of that atom's result, or of its newest attempt as it is now.
    pub(super) fn difference(store: &mut Store, atom: &AtomId) -> Result<Self, Failure> {
        let report = diff::diff(store, Some(atom.as_str()), ResultTree::Delivered)?;
        let text = report.readable_patch()?;
        let note = report.note.iter().map(|note| Line::new().dim(phrase::line(note)));
        let patch = render::patch(&String::from_utf8_lossy(&text)).into_lines();
        let mut lines: Vec<Line> = note.chain(patch).collect();
        if lines.is_empty() {
            lines.push(Line::new().dim("nothing is changed"));
        }
        Ok(Self::fixed(Line::new().strong(format!("difference of {atom}")), lines))
    }

    /// Why that atom stands as it does, as `descent why` says it.
    pub(super) fn why(
        look: &WatchReport,
        atom: &AtomId,
        now: UnixMillis,
        columns: usize,
    ) -> Option<Self> {
        let world = World::new(look.state().clone());
        let around = Surroundings { live: look.is_live(), applied: None };
        let why = view::why::why(&world, atom, &around)?;
        let page = render::why(&why, &[], None, &|_| None, now, columns);
        Some(Self::fixed(Line::new().strong(format!("why {atom}")), page.into_lines()))
    }

    /// Reads what was printed since.
    pub(super) fn read_on(&mut self, lookout: &Lookout) {
        if let PageKind::Output(attempt) = &self.kind {
            let text = output_tail(lookout.place(), attempt);
            self.lines = match text {
                Some(text) => output_rows(&text),
                None => vec![Line::new().dim("nothing is kept of what it printed")],
            };
        }
    }

    /// The first row on a screen with room for so many rows.
    pub(super) fn first_row(&self, room: usize) -> usize {
        let last = self.lines.len().saturating_sub(room);
        if self.follows { last } else { self.first.min(last) }
    }

    pub(super) fn scroll(&mut self, up: usize, down: usize, room: usize) {
        let last = self.lines.len().saturating_sub(room);
        self.first = (self.first_row(room).saturating_sub(up) + down).min(last);
        self.follows = self.first == last && matches!(self.kind, PageKind::Output(_));
    }
}

//! The pages that fill the screen: an output, a difference, why, the help.

use descent_core::{
    id::{AtomId, AttemptId, UnixMillis},
    view::{self, Surroundings},
    world::World,
};

use super::{HELP, scene::output_rows};
use crate::{
    failure::Failure,
    ops::{
        diff,
        result::ResultTree,
        watch::{Lookout, WatchReport, newest_attempt, output_tail},
    },
    render::{self, Line},
    store::Store,
};

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
        let note = report.note.iter().map(|note| Line::new().dim(render::line(note)));
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

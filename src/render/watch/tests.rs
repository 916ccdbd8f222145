//! The overview at several sizes, as text.

use ratatui::{Terminal, backend::TestBackend};

use super::{Theme, WatchScene, draw};
use crate::render::{Line, Meaning};

fn scene() -> WatchScene {
    let atom = |n: usize| {
        Line::new().put(Meaning::Pass, "✓ ").strong(format!("A{n}")).plain("  one of many")
    };
    WatchScene {
        title: Line::new().strong("descent").plain("  running  the goal"),
        facts: Line::of("3 of 300 resolved"),
        tree: (0..300).map(atom).collect(),
        selected: 150,
        work: vec![Line::of("▸ A150  attempt 1 of 3  4 s  at work")],
        output_of: "A150.7".to_owned(),
        output: (0..50).map(|n| Line::of(format!("line {n}"))).collect(),
        events: (0..50).map(|n| Line::of(format!("solved  A{n}"))).collect(),
        foot: Line::of("? help  q leave"),
    }
}

fn drawn(columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let theme = Theme { is_coloured: false };
    terminal.draw(|frame| draw(frame, &scene(), theme)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_selected_atom_and_the_newest_lines_are_in_sight_at_80_by_24() {
    let screen = drawn(80, 24);
    for words in ["A150  one of many", "line 49", "solved  A49"] {
        assert!(screen.contains(words), "no `{words}` in\n{screen}");
    }
    assert!(!screen.contains("solved  A1 "), "{screen}");
}

#[test]
fn a_small_terminal_shows_the_tree_alone_and_none_is_too_small() {
    let screen = drawn(40, 12);
    assert!(screen.contains("A150") && !screen.contains("what happened"), "{screen}");
    assert!(drawn(20, 5).contains("A150"));
    for (columns, rows) in [(1, 1), (3, 2), (200, 1), (1, 60)] {
        drawn(columns, rows);
    }
}

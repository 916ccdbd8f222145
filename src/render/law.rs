//! The control law in words, for `status`, `watch` and the lines of a run.

use descent_core::{
    state::law::{Directive, Gradient},
    view::law::{BlockedView, CurveView, LawView},
};

use super::{Line, Page, line, listed};

/// How the distance changed, in one sign.
pub(super) fn arrow(gradient: Gradient) -> &'static str {
    match gradient {
        Gradient::Improving => "↓",
        Gradient::Worsening => "↑",
        Gradient::Stable => "→",
        Gradient::Plateau => "⊥",
    }
}

/// Blocked tools and targets that are named.
const BLOCKED_MAX: usize = 3;
/// Signs of a curve, from nothing that lacks to all.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Points of a curve that are drawn.
const BARS_MAX: usize = 32;

/// The tools and targets that planners may not propose, each with the attempt that failed with it.
pub fn blocked(all: &[BlockedView]) -> Vec<String> {
    let one = |one: &BlockedView| {
        let target = one.target.as_deref().unwrap_or_default();
        let what = line(format!("{} {target}", one.tool).trim_end());
        match &one.because {
            Some(attempt) => format!("{what} ({attempt})"),
            None => what,
        }
    };
    all.iter().map(one).collect()
}

/// The distances so far, as a row of bars.
pub fn bars(curve: &[CurveView]) -> String {
    let first = curve.len().saturating_sub(BARS_MAX);
    let shown = curve.get(first..).unwrap_or_default().iter();
    let bar = |point: &CurveView| {
        let share: f64 = point.d.parse().unwrap_or(1.0);
        let place = (share.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round();
        // The lowest bar is for nothing alone.
        let place = (place as usize).max(usize::from(share > 0.0));
        BARS.get(place).copied().unwrap_or('█')
    };
    shown.map(bar).collect()
}

/// The standing of a run, in four lines at most.
pub(super) fn law(page: &mut Page, law: &LawView) {
    // The first point has none before it.
    let before = law.prev_directive;
    let change = before.map(|_| format!(" {} {}", arrow(law.gradient), law.grad_d));
    let change = change.unwrap_or_default();
    let LawView { d, p, omega, l, .. } = law;
    let numbers = format!("D {d}{change}  P {p}  Ω {omega}  L {l}  ");
    let directive = format!("{}: {}", law.directive.word(), law.meaning);
    let numbers = Line::label("law").plain(numbers);
    page.push(match law.directive {
        Directive::Abandon => numbers.put(super::Meaning::Fail, directive),
        _ => numbers.plain(directive),
    });
    page.push(Line::label("").dim(line(&law.rationale)));
    if let Some(d) = &law.delivered {
        page.push(Line::label("").plain(format!("the delivered tree is at D {d}")));
    }
    if law.curve.len() > 1 {
        page.push(Line::label("").dim(format!("D so far  {}", bars(&law.curve))));
    }
    let blocked = blocked(&law.blocked);
    if !blocked.is_empty() {
        page.push(Line::label("blocked").plain(listed(&blocked, BLOCKED_MAX)));
    }
}

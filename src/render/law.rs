//! The control law in words, for `status`, `watch` and the lines of a run.

use descent_core::{
    state::law::{Directive, Gradient},
    view::law::LawView,
};

use super::{Line, Page, line};

/// How the distance changed, in one sign.
pub(super) fn arrow(gradient: Gradient) -> &'static str {
    match gradient {
        Gradient::Improving => "↓",
        Gradient::Worsening => "↑",
        Gradient::Stable => "→",
        Gradient::Plateau => "⊥",
    }
}

/// The standing of a run, in two lines at most.
pub(super) fn law(page: &mut Page, law: &LawView) {
    let arrow = arrow(law.gradient);
    let LawView {
        d,
        grad_d,
        p,
        omega,
        l,
        ..
    } = law;
    let numbers = format!("D {d} {arrow} {grad_d}  P {p}  Ω {omega}  L {l}  ");
    let directive = format!("{}: {}", law.directive.word(), law.meaning);
    let numbers = Line::label("law").plain(numbers);
    page.push(match law.directive {
        Directive::Abandon => numbers.put(super::Meaning::Fail, directive),
        _ => numbers.plain(directive),
    });
    page.push(Line::label("").dim(line(&law.rationale)));
}

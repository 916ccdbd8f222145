//! One way to agree to a change of what stands: its difference is shown, a person is asked, and it is committed.
//!
//! Not here: what is wished for (`redirect`, `align`), and a first agreement, which changes nothing that stands (`align`).

use std::ffi::OsString;

use descent_core::{
    change::Redirect,
    id::AtomId,
    plan,
    proposal::Clarification,
    state::Objective,
    trust::{TrustGroup, TrustItem, TrustList},
};

use super::{
    End,
    context::{Context, runtime},
};
use crate::render::{self, Bounds, Page};
use descent_engine::ops::{
    self,
    change_view::ChangeView,
    redirect::{OpenRedirect, RedirectOrder},
};
use descent_store::Store;
use descent_system::{
    failure::{Failure, quoted},
    phrase,
};

pub(super) const STANDS: &str = "unchanged: all of it stands already";

/// How a change is asked for.
#[derive(Default)]
pub(super) struct Manner<'a> {
    pub(super) command: &'static str,
    /// It is only shown.
    pub(super) dry_run: bool,
    /// Nobody is asked.
    pub(super) yes: bool,
    /// The loop waits meanwhile, and a person who says no goes on.
    pub(super) open: Option<&'a OpenRedirect>,
    /// The agent that proposed it: every command of it is shown.
    pub(super) proposed_by: Option<&'a str>,
}

/// Shows a change, asks, and makes it; `None` where all of it stands already, or a person shall go on.
pub(super) fn agree(
    context: &Context,
    store: &mut Store,
    order: &RedirectOrder,
    manner: &Manner<'_>,
) -> Result<Option<End>, Failure> {
    let (client, out) = (context.client(None), context.out);
    let loaded = if manner.dry_run { store.read()? } else { ops::current(&client, store)? };
    if loaded.is_foreign {
        out.say("the file has an edit that is not taken in; it is shown as if it were");
    }
    let Some(mut view) = ops::redirect::plan(&client, store, &loaded.state, order)? else {
        manner.open.iter().for_each(|_| out.say(STANDS));
        return Ok(None);
    };
    if manner.dry_run {
        view.next = in_earnest(std::env::args_os().skip(1));
        return Ok(Some(report(context, &view, None)));
    }
    let mut text = lines(context, &view);
    if let Some(name) = manner.proposed_by {
        text.insert(0, format!("\nproposed by `{name}`; nothing of it counts yet:"));
        text.push("all that it sets, whole:".to_owned());
        let set = render::carried(&carried(&order.redirect), Bounds::WHOLE, "descent redirect");
        text.extend(set.iter().map(|line| format!("  {line}")));
    }
    if !manner.yes {
        out.say(&phrase::clean(&text.join("\n")));
        match manner.open {
            None => context.refuse_without_consent(manner.command)?,
            Some(_) if runtime()?.block_on(context.consents("redirect?")) => {}
            Some(_) => return Ok(None),
        }
    }
    let Some(view) = ops::redirect::redirect(&client, store, loaded, order, manner.open)? else {
        return unchanged(context, store, STANDS).map(Some);
    };
    Ok(Some(context.answer(&view, || {
        let mut text = if manner.yes { lines(context, &view) } else { Vec::new() };
        text.push(format!("redirected, serial {}", view.serial.0));
        let facts = view.redirect.as_ref();
        text.extend(match facts.and_then(|facts| Some((facts.answer?, &facts.started))) {
            Some((status, started)) if started.is_empty() => {
                Some(format!("the loop goes on ({})", status.word()))
            }
            Some((_, started)) => Some(format!("starts: {}", phrase::listed(started, usize::MAX))),
            None if !store.is_live() => None,
            None if facts.is_some_and(|facts| facts.ended.is_empty()) => {
                Some("the loop goes on".to_owned())
            }
            None => Some("the loop has started nothing yet".to_owned()),
        });
        text.push(format!("next: {}", view.next));
        text.join("\n")
    })))
}

/// Reports a change, with more words below it.
pub(super) fn report(context: &Context, view: &ChangeView, more: Option<&str>) -> End {
    context.answer(view, || {
        let mut text = lines(context, view);
        text.extend(more.map(str::to_owned));
        text.push(format!("next: {}", view.next));
        text.join("\n")
    })
}

/// Reports that nothing is another, in these words.
pub(super) fn unchanged(context: &Context, store: &mut Store, words: &str) -> Result<End, Failure> {
    let loaded = store.read()?;
    Ok(report(context, &ChangeView::unchanged(store, &loaded.state), Some(words)))
}

/// The command of a dry run as it is typed to be carried out.
fn in_earnest(typed: impl Iterator<Item = OsString>) -> String {
    let is_dry = |word: &OsString| word == "-n" || word == "--dry-run";
    let words = typed.filter(|word| !is_dry(word));
    let words: Vec<String> = words.map(quoted).collect();
    format!("descent {} -y", words.join(" "))
}

/// Differences, consequences and the new bound, as a person reads them.
pub(super) fn lines(context: &Context, view: &ChangeView) -> Vec<String> {
    let mut lines = view.changes.clone();
    let facts = view.redirect.as_ref();
    if let Some(moved) = facts.map(|facts| &facts.moved).filter(|moved| !moved.is_empty()) {
        let moved = phrase::listed(moved, ops::start::NAMED_MAX);
        lines.push(format!("  its files differ: {}", phrase::line(&moved)));
    }
    lines.extend(view.effects.iter().map(|effect| format!("  → {effect}")));
    lines.extend(view.lost.iter().map(|lost| format!("  {lost}")));
    let Some(facts) = facts else {
        return lines;
    };
    if !facts.issues.is_empty() {
        let count = render::issue_count(&facts.issues);
        lines.push(format!("{count} in what it changes; {}:", render::ADVICE));
        let mut page = Page::new(context.out.width());
        render::issues(&mut page, &facts.issues);
        let shown = page.into_lines();
        lines.extend(shown.iter().map(|line| format!("  {}", line.text(false))));
    }
    lines.push(render::BoundWords::of(&facts.bound).sentence());
    lines
}

/// Everything that a change sets, and its moves among the atoms and checks that stand.
fn carried(redirect: &Redirect) -> TrustList {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut objective = Objective {
        goal: text(&redirect.goal),
        deliverables: text(&redirect.deliverables),
        definition_of_done: text(&redirect.definition_of_done),
        clarifications: Clarification::added(None, &redirect.clarifications),
        ..Objective::default()
    };
    for command in redirect.checks.iter().chain(&redirect.more_checks) {
        plan::add_check(&mut objective.base_case, command);
    }
    let ids = |ids: &[AtomId]| ids.iter().map(ToString::to_string).collect();
    let choices = redirect.selected.iter();
    let choices = choices.map(|(group, choice)| format!("{choice} in {group}")).collect();
    let checks = redirect.checks.first();
    let moves: [(&str, Vec<String>); 5] = [
        (
            "base case",
            checks.map(|_| "takes the place of all that stand".to_owned()).into_iter().collect(),
        ),
        ("new atoms into", redirect.into.iter().map(ToString::to_string).collect()),
        ("takes out", ids(&redirect.removed)),
        ("chooses", choices),
        ("tries again", ids(&redirect.retried)),
    ];
    let item = |at: &str, text| TrustItem { group: TrustGroup::Setting, at: at.to_owned(), text };
    let each =
        moves.into_iter().flat_map(|(at, texts)| texts.into_iter().map(move |text| item(at, text)));
    TrustList::of_plan(&objective, &redirect.atoms).and(TrustList::of_items(each.collect()))
}

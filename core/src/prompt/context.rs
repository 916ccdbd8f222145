//! How much of each result a planner is told, by a mode and in a room (contract §9.31).
//!
//! Invariant: a pure function of results, mode and room. A result without room is told by name. In the mode `auto` the
//! phases before the newest three have a fifth of the room that those take, so more phases make hardly a longer prompt.

use alloc::{
    boxed::Box,
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    contract,
    result_text::ResultText,
    text::{indented, names},
    upstream::{InShort, UpstreamResult},
};
use crate::{
    doc,
    event::Clarity,
    id::AtomId,
    state::{ContextMode, FreeValue},
};

/// Phases that count as new, and the share of the older ones: a part of what the new ones take, or so many bytes.
const NEW_PHASES: usize = 3;
const OLDER_PART: usize = 5;
const OLDER_BYTES_MIN: usize = 1_000;

/// Results that are named of those that are put in short.
const NAMES_MAX: usize = 20;

/// The results as text, and those that have none.
#[derive(Debug, Default)]
pub(super) struct ToldResults<'w> {
    pub(super) text: String,
    pub(super) told: BTreeSet<&'w AtomId>,
    pub(super) by_name: Vec<&'w AtomId>,
}

/// How much of a result is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultDetail {
    Full,
    Contract,
    Summary,
}

/// Tells the results, given with those of the newest phase first.
pub(super) fn told<'w>(
    results: &[UpstreamResult<'w>],
    mode: ContextMode,
    bytes_max: usize,
) -> ToldResults<'w> {
    let mode = match mode {
        ContextMode::Selective if results.iter().all(|one| !one.is_needed) => ContextMode::Auto,
        mode => mode,
    };
    let phases = results.iter().map(|one| one.age).max().unwrap_or_default() + 1;
    let mut told = ToldResults::default();
    let (mut most, mut is_new, mut phase) = (bytes_max, true, None);
    for of_entry in entries(results, mode) {
        let Some(one) = of_entry.first() else {
            continue;
        };
        if is_new && mode == ContextMode::Auto && one.age >= NEW_PHASES {
            is_new = false;
            let used = told.text.len();
            most = bytes_max.min(used + OLDER_BYTES_MIN.max(used / OLDER_PART));
        }
        let head = if phase != Some(one.age) && phases > 1 {
            format!("Phase {} of {phases}:\n", phases - one.age)
        } else {
            String::new()
        };
        let ids = of_entry.iter().map(|one| one.id);
        let mut texts = texts(mode, &of_entry);
        match texts.find(|text| told.text.len() + head.len() + text.len() <= most) {
            Some(text) => {
                told.text.push_str(&head);
                told.text.push_str(&text);
                told.told.extend(ids);
                phase = Some(one.age);
            }
            None => told.by_name.extend(ids),
        }
    }
    told
}

/// The results that are told together: each alone, and in the mode `summary` those that an agent put in short.
fn entries<'r, 'w>(
    results: &'r [UpstreamResult<'w>],
    mode: ContextMode,
) -> Vec<Vec<&'r UpstreamResult<'w>>> {
    let mut entries: Vec<Vec<&UpstreamResult<'w>>> = Vec::new();
    for one in results {
        let in_short = one.in_short.filter(|_| mode == ContextMode::Summary);
        let is_its = |entry: &&mut Vec<&UpstreamResult<'w>>| {
            in_short.is_some() && entry.first().is_some_and(|known| known.in_short == in_short)
        };
        match entries.iter_mut().find(is_its) {
            Some(entry) => entry.push(one),
            None => entries.push(Vec::from([one])),
        }
    }
    entries
}

/// The texts of an entry, the fullest first.
fn texts<'t>(
    mode: ContextMode,
    of_entry: &'t [&UpstreamResult<'_>],
) -> Box<dyn Iterator<Item = String> + 't> {
    let in_short = of_entry.first().and_then(|one| one.in_short);
    match in_short.filter(|_| mode == ContextMode::Summary) {
        Some(in_short) => Box::new(core::iter::once(text_in_short(of_entry, in_short))),
        None => Box::new(of_entry.iter().flat_map(move |one| {
            let details = details(mode, one).iter();
            details.map(|detail| text(one, *detail))
        })),
    }
}

fn text_in_short(of_entry: &[&UpstreamResult<'_>], in_short: InShort<'_>) -> String {
    let ids = of_entry.iter().map(|one| one.id.to_string());
    let (plan, ids) = (in_short.plan, names(ids, NAMES_MAX));
    let words = indented(in_short.text);
    format!("- {plan}, its results in short, by an agent ({ids}):\n{words}")
}

/// The ways in which a result may be told, the fullest first.
fn details(mode: ContextMode, one: &UpstreamResult<'_>) -> &'static [ResultDetail] {
    use ResultDetail::{Contract, Full, Summary};
    match mode {
        ContextMode::Full => &[Full],
        ContextMode::Contract => &[Contract],
        ContextMode::Summary => &[Summary],
        ContextMode::Selective if one.is_needed => &[Full],
        ContextMode::Hierarchical if one.age == 0 => &[Summary],
        ContextMode::Selective | ContextMode::Hierarchical => &[],
        ContextMode::Auto if one.age == 0 => &[Full, Contract, Summary],
        ContextMode::Auto => &[Contract, Summary],
    }
}

fn text(one: &UpstreamResult<'_>, detail: ResultDetail) -> String {
    let binding = one.binding;
    let value = binding.value.as_ref();
    let handoff = || binding.handoff.clone().unwrap_or_default();
    let files = binding.artifacts.iter().cloned();
    let whole = |value: &FreeValue| doc::write_compact(value);
    let short = |value: &FreeValue| doc::write_compact(&contract::shortened(value, one.schema));
    let (summary, handoff, value, files) = match (detail, value) {
        (ResultDetail::Full, value) => {
            (binding.summary.clone(), handoff(), value.map(whole), names(files, usize::MAX))
        }
        (ResultDetail::Contract, Some(value)) => {
            (contract::short(&binding.summary), String::new(), Some(short(value)), String::new())
        }
        // Without a value there is nothing to make short by a schema.
        (ResultDetail::Contract | ResultDetail::Summary, _) => {
            (binding.summary.clone(), handoff(), None, String::new())
        }
    };
    let told = ResultText {
        id: one.id,
        summary,
        handoff,
        unclear: Clarity::words(binding.unclear, &binding.unclear_because),
        value: value.unwrap_or_default(),
        files,
    };
    told.item()
}

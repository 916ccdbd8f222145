//! `descent log`: what happened, as far as the state keeps it.

use clap::Args;
use descent_core::view::diary;

use super::{End, context::Context};
use crate::{clock, failure::Failure, render};

#[derive(Debug, Args)]
pub struct Flags {
    /// Only the last N entries
    #[arg(short, long, value_name = "N")]
    number: Option<usize>,
}

pub(super) fn log(context: &Context, flags: &Flags) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    let diary = diary::diary(&loaded.state);
    let left_out = flags
        .number
        .map_or(0, |number| diary.len().saturating_sub(number));
    let entries = diary.get(left_out..).unwrap_or_default();
    if context.out.json {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| {
                let mut value = serde_json::to_value(entry).unwrap_or_default();
                let (word, what) = render::words(entry);
                value["text"] = format!("{word} {what}").into();
                value
            })
            .collect();
        context.out.json(&serde_json::json!({
            "schema": "descent/log/1",
            "left_out": left_out,
            "entries": entries,
        }));
    } else {
        let page = render::log(entries, left_out, clock::now(), context.out.width());
        context.out.page(&page);
    }
    Ok(End::Code(0))
}

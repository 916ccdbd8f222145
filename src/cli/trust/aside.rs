//! Moves files beside another's state aside, and tells the person.
//!
//! Not here: the list of sidecars (`store`), and when a state is another's (`subject`).

use std::path::PathBuf;

use super::Context;
use crate::{
    clock,
    failure::{Failure, quoted},
    render,
    store::Store,
};

/// Names that are printed.
const NAMED_MAX: usize = 8;

/// Moves all sidecars: whoever made the state made these too.
pub(super) fn everything(context: &Context, store: &mut Store) -> Result<(), Failure> {
    let sidecars = store.sidecars();
    set_aside(context, store, &sidecars, "it came with the state")
}

/// Moves sidecars that came with commits. A live loop has taken in all that lies there.
pub(super) fn came_with_commits(
    context: &Context,
    store: &mut Store,
    sidecars: &[PathBuf],
) -> Result<(), Failure> {
    match store.is_live() {
        true => Ok(()),
        false => set_aside(context, store, sidecars, "somebody else committed it"),
    }
}

fn set_aside(
    context: &Context,
    store: &mut Store,
    sidecars: &[PathBuf],
    why: &str,
) -> Result<(), Failure> {
    let at = clock::now().rfc3339().replace([':', '-'], "");
    let Some(aside) = store.set_aside(sidecars, &at)? else {
        return Ok(());
    };
    let named: Vec<&str> = aside
        .names
        .iter()
        .take(NAMED_MAX)
        .map(String::as_str)
        .collect();
    let more = match aside.names.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (names, dir) = (render::visible(&named.join(", ")), aside.dir.display());
    let (from, to) = (quoted(&aside.dir), quoted(&store.place().dir));
    context.out.say(&format!(
        "moved aside, for {why}: {names}{more}\n  into {dir}; to bring back what you made yourself: mv -n {from}/NAME {to}/"
    ));
    Ok(())
}

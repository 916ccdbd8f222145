//! States of newer versions: unknown content is never acted on, and never overwritten.
//!
//! A newer minor version is read and written with all its content. An operation refuses only if something depends on an
//! unknown value. A newer major version is only shown. Not here: which keys are known (`state` of the core).

use std::sync::Arc;

use descent_core::{
    doc::Node,
    graph::validate as rules,
    state::{State, decode},
};

use super::align;
use crate::{
    failure::{Failure, exit},
    render,
    store::{self, LoadedState, Store, StoreError},
};

/// Gives the present state if it is agreed, and all that it decides by is known.
pub fn ready(store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    let loaded = store.read()?;
    let lines = loaded.not_understood(&store.place().state);
    if lines.is_empty() {
        align::refuse_incomplete(&loaded.state)?;
        return Ok(loaded);
    }
    let version = loaded.state.version;
    let message =
        format!("the state says what only a newer descent knows: version {version} is needed");
    let hint =
        "use a descent that reads that version; look, stop, edit and apply work with this one";
    Err(Failure::new("E-VERSION", exit::INVALID, message, hint).with(lines))
}

/// Gives a state of a newer major version with its warnings, if all of it could be read and holds together. Otherwise
/// refuses it, with the parts that could be made out.
pub fn understood(store: &Store, error: StoreError) -> Result<(State, Vec<String>), Failure> {
    let StoreError::Newer { path, found } = &error else {
        return Err(error.into());
    };
    let Ok(bytes) = store::read_bytes(&store.place().state) else {
        return Err(error.into());
    };
    let decoded = decode::decode(&bytes);
    let root = decoded.root.unwrap_or_else(Node::null);
    let whole = decoded.understood.filter(|state| rules::check(state, &root).is_empty());
    let Some(state) = whole else {
        return Err(Failure::from(error).with(made_out(&root)));
    };
    let path = path.display();
    let mut warnings = vec![format!(
        "{path} has version {found}: shown as far as it is understood, and not written"
    )];
    let state_path = &store.place().state;
    warnings.extend(store::show_faults(state_path, &bytes, &decoded.warnings));
    Ok((state, warnings))
}

/// The few fields that every version will have.
fn made_out(root: &Node) -> Vec<String> {
    let text = |keys: [&str; 2]| {
        let node = root.get(keys[0])?.get(keys[1])?;
        node.as_str().map(str::to_owned)
    };
    let size = |node: Option<&Node>| node.and_then(Node::as_object).map(<[_]>::len);
    let count = |what: &str, node: Option<&Node>| size(node).map(|n| format!("{what}: {n}"));
    let labelled = |what: &str, text: Option<String>| {
        text.map(|text| format!("{what}: {}", render::visible(&render::line(&text))))
    };
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    [
        labelled("goal", text(["objective", "goal"])),
        labelled("run", text(["run", "status"])),
        count("open atoms", atoms),
        count("solved", root.get("bindings")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

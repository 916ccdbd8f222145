//! `descent graph`: the work graph as a tree, or for Mermaid.

use clap::{Args, ValueEnum};
use descent_core::{view, world::World};

use super::{End, context::Context};
use crate::{failure::Failure, render};

#[derive(Debug, Args)]
pub struct GraphArgs {
    /// How it is written: a tree, or for Mermaid
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    Text,
    Mermaid,
}

pub(super) fn graph(context: &Context, flags: &GraphArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    let view = view::graph::graph(&World::new(loaded.state.clone()));
    let out = context.out;
    match flags.format {
        _ if out.json => out.json(&view),
        GraphFormat::Text => out.page(&render::graph(&view, out.width())),
        GraphFormat::Mermaid => out.raw(&render::mermaid(&view.nodes.iter().collect::<Vec<_>>())),
    }
    Ok(End::Code(0))
}

//! `descent graph`: the work graph as a tree.

use descent_core::{view, world::World};

use super::{End, context::Context};
use crate::{failure::Failure, render};

pub(super) fn graph(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    let view = view::graph::graph(&World::new(loaded.state.clone()));
    if context.out.json {
        context.out.json(&view);
    } else {
        context.out.page(&render::graph(&view, context.out.width()));
    }
    Ok(End::Code(0))
}

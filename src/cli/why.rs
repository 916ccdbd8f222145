//! `descent why ATOM`: its choices, attempts and evidence.

use clap::Args;
use descent_core::{doc, id::AtomId, step::World, view};

use super::{End, context::Context};
use crate::{failure::Failure, render};

#[derive(Debug, Args)]
pub struct Flags {
    /// The atom's id
    atom: String,
}

pub(super) fn why(context: &Context, flags: &Flags) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    let world = World::new(loaded.state.clone());
    let id = AtomId::new(flags.atom.as_str());
    let Some(why) = view::why(&world, &id) else {
        let ids = world.state.all_atoms();
        let near = doc::suggest(&flags.atom, ids.keys().map(|id| id.as_str()));
        let known: Vec<&str> = ids.keys().take(20).map(|id| id.as_str()).collect();
        let hint = near.map_or_else(
            || format!("one of {}", known.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::usage(
            format!("there is no atom `{}`", flags.atom),
            hint,
        ));
    };
    if context.out.json {
        context.out.json(&why);
    } else {
        context.out.data(&render::why(&why));
    }
    Ok(End::Code(0))
}

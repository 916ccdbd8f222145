//! The schema of the value that an attempt shall give. Not here: comparing (`shape`).

use descent_core::{event::Outcome, verdict::CommandEnd};

use super::{Attempting, blocking};
use crate::{
    failure::Failure,
    shape::{Shape, ShapeError},
};

/// The schema of the atom of an attempt, if it has one. With a schema that cannot be used nothing is started, so that
/// nothing is spent on a value that nobody can judge.
pub(super) async fn shape(a: &Attempting) -> Result<Result<Option<Shape>, Box<Outcome>>, Failure> {
    let atom = a.world.state.atoms.get(&a.intent.atom);
    let task = atom.filter(|_| !a.is_thinking()).and_then(|atom| atom.task());
    let Some(schema) = task.and_then(|task| task.spec.output_schema.clone()) else {
        return Ok(Ok(None));
    };
    let compiled = blocking(move || Shape::compile(&schema)).await?;
    Ok(compiled.map(Some).map_err(|error| Box::new(not_begun(&error))))
}

fn not_begun(error: &ShapeError) -> Outcome {
    let why = format!("its output_schema cannot be used: {error}");
    Outcome::ended(CommandEnd::NotRun(why), 0)
}

//! A binding that was taken out of the file while others still name its atom, which stood in it alone.
//!
//! Not here: the consequences for dependents.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    id::AtomId,
    state::{Atom, State},
};

/// Puts back atoms whose bindings a person took out though other atoms name them, or though nothing else is left. The
/// person meant the binding; the atom stood in it alone. Returns whether there were any.
pub fn put_back_forgotten(edited: &mut State, known: &State) -> bool {
    let mut found = false;
    let is_empty = edited.all_atoms().is_empty();
    loop {
        let atoms = edited.all_atoms();
        let named = |id: &AtomId| {
            let names = |atom: &Arc<Atom>| atom.depends_on.contains(id) || atom.kids().contains(id);
            !atoms.contains_key(id) && (is_empty || atoms.values().any(|atom| names(atom)))
        };
        let forgotten = known.bindings.iter().filter(|(id, _)| named(id));
        let forgotten: Vec<(AtomId, Arc<Atom>)> =
            forgotten.map(|(id, binding)| (id.clone(), Arc::clone(&binding.of))).collect();
        if forgotten.is_empty() {
            return found;
        }
        found = true;
        edited.atoms.extend(forgotten);
    }
}

//! The records of one kind in a state, by the id of their atom, in id order; and other parts that clones share.
//!
//! Every commit changes a few of them. The states of the last commits are kept, since a hand edit may have begun from
//! any. Two states share all records that neither changed, and a change copies only the few records beside it.
//!
//! Not here: the content of a record.

use crate::doc::prelude::*;
use core::{
    borrow::Borrow,
    ops::{Deref, DerefMut},
};

use immutable_chunkmap::map::Map;

use crate::id::AtomId;

/// Records that are copied with one that changes.
const CHUNK: usize = 64;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records<T>(Map<AtomId, Arc<T>, CHUNK>);

impl<T> Records<T> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, id: &(impl Borrow<str> + ?Sized)) -> Option<&Arc<T>> {
        self.0.get(id.borrow())
    }

    pub fn contains_key(&self, id: &(impl Borrow<str> + ?Sized)) -> bool {
        self.get(id).is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&AtomId, &Arc<T>)> {
        (&self.0).into_iter()
    }

    pub fn keys(&self) -> impl Iterator<Item = &AtomId> {
        self.iter().map(|(id, _)| id)
    }

    pub fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.iter().map(|(_, record)| record)
    }

    /// A record to be changed in place; the state that it was copied from keeps its own.
    pub fn get_mut(&mut self, id: &(impl Borrow<str> + ?Sized)) -> Option<&mut Arc<T>> {
        // Asked first: a failed lookup must not copy anything.
        self.contains_key(id).then_some(())?;
        self.0.get_mut_cow(id.borrow())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&AtomId, &mut Arc<T>)> {
        self.0.iter_mut_cow()
    }

    pub fn insert(&mut self, id: AtomId, record: Arc<T>) -> Option<Arc<T>> {
        self.0.insert_cow(id, record)
    }

    pub fn remove(&mut self, id: &(impl Borrow<str> + ?Sized)) -> Option<Arc<T>> {
        let id = self.0.get_key(id.borrow())?.clone();
        self.0.remove_cow(&id)
    }
}

impl<T> FromIterator<(AtomId, Arc<T>)> for Records<T> {
    fn from_iter<I: IntoIterator<Item = (AtomId, Arc<T>)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl<T> Extend<(AtomId, Arc<T>)> for Records<T> {
    fn extend<I: IntoIterator<Item = (AtomId, Arc<T>)>>(&mut self, all: I) {
        for (id, record) in all {
            self.insert(id, record);
        }
    }
}

/// Read like a `T`; the first change of a shared one copies it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(part: T) -> Self {
        Self(Arc::new(part))
    }
}

impl<A, T: FromIterator<A>> FromIterator<A> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = A>>(all: I) -> Self {
        T::from_iter(all).into()
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeMap, format, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    /// A change of the newest copy: a record put, removed, or changed in place; or the beginning of another copy.
    #[derive(Debug, Clone)]
    enum RecordChange {
        Put(u16, u32),
        Take(u16),
        Rewrite(u16, u32),
        Copy,
    }

    fn change() -> impl Strategy<Value = RecordChange> {
        let id = 0_u16..300;
        prop_oneof![
            6 => (id.clone(), any::<u32>()).prop_map(|(id, value)| RecordChange::Put(id, value)),
            3 => id.clone().prop_map(RecordChange::Take),
            2 => (id, any::<u32>()).prop_map(|(id, value)| RecordChange::Rewrite(id, value)),
            1 => Just(RecordChange::Copy),
        ]
    }

    fn id(n: u16) -> AtomId {
        AtomId::new(format!("A{n}"))
    }

    fn check(records: &Records<u32>, map: &BTreeMap<AtomId, u32>) {
        let held: Vec<_> = records.iter().map(|(id, value)| (id, **value)).collect();
        let wanted: Vec<_> = map.iter().map(|(id, value)| (id, *value)).collect();
        assert_eq!(held, wanted);
        assert_eq!(records.len(), map.len());
    }

    proptest! {
        #[test]
        fn they_hold_what_a_map_holds_and_a_copy_keeps_its_own(changes in prop::collection::vec(change(), 0..400)) {
            let mut copies = Vec::new();
            let (mut records, mut map) = (Records::default(), BTreeMap::new());
            for change in changes {
                match change {
                    RecordChange::Put(n, value) => {
                        let was = records.insert(id(n), Arc::new(value));
                        assert_eq!(was.map(|was| *was), map.insert(id(n), value));
                    }
                    RecordChange::Take(n) => {
                        let was = records.remove(&id(n)).map(|was| *was);
                        assert_eq!(was, map.remove(&id(n)));
                    }
                    RecordChange::Rewrite(n, value) => {
                        let held = records.get_mut(&id(n)).map(|held| *held = Arc::new(value));
                        assert_eq!(held, map.get_mut(&id(n)).map(|held| *held = value));
                    }
                    RecordChange::Copy => copies.push((records.clone(), map.clone())),
                }
            }
            check(&records, &map);
            for (records, map) in &copies {
                check(records, map);
            }
        }
    }
}

//! The index of an atom in a graph, and vectors with an element for each atom.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// An atom's index in the graph; atoms are numbered in id order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ix(usize);

/// A vector with an element for each atom of a graph.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AtomVec<T>(Vec<T>);

impl<T> AtomVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = Ix> + use<T> {
        (0..self.0.len()).map(Ix)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Ix, &T)> {
        self.indices().zip(&self.0)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Ix, &mut T)> {
        self.indices().zip(&mut self.0)
    }
}

impl<T> FromIterator<T> for AtomVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> Index<Ix> for AtomVec<T> {
    type Output = T;

    fn index(&self, x: Ix) -> &T {
        &self.0[x.0]
    }
}

impl<T> IndexMut<Ix> for AtomVec<T> {
    fn index_mut(&mut self, x: Ix) -> &mut T {
        &mut self.0[x.0]
    }
}

//! A part of a state that its clones share until one of them changes it. A commit clones the state a few times, and
//! changes little of it.
//!
//! Not here: the content of the parts.

use alloc::sync::Arc;
use core::ops::{Deref, DerefMut};

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

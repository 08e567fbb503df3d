//! Places for lanes that are decoded at their first use, the first few of them inside their block.
//!
//! A point read follows pointers through memory that is not in the processor's caches, one wait for each. Most tables have few columns:
//! theirs are found without one of these waits.

use std::ops::Index;
use std::sync::OnceLock;

/// So many once-cells as it was made with, `NEAR` of them in place.
pub(super) struct Slots<T, const NEAR: usize> {
    near: [OnceLock<T>; NEAR],
    far: Box<[OnceLock<T>]>,
    len: usize,
}

impl<T, const NEAR: usize> Slots<T, NEAR> {
    /// `len` empty cells.
    pub(super) fn new(len: usize) -> Self {
        let far = (NEAR..len).map(|_| OnceLock::new()).collect();
        Self { near: [const { OnceLock::new() }; NEAR], far, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&OnceLock<T>> {
        match i < NEAR {
            true => self.near.get(i).filter(|_| i < self.len),
            false => self.far.get(i - NEAR),
        }
    }

    /// What the cells hold that have been filled, in order.
    pub(super) fn filled(&self) -> impl Iterator<Item = &T> + Clone {
        self.near.iter().chain(&self.far).filter_map(OnceLock::get)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.far)
    }
}

impl<T, const NEAR: usize> Index<usize> for Slots<T, NEAR> {
    type Output = OnceLock<T>;

    #[inline]
    fn index(&self, i: usize) -> &OnceLock<T> {
        self.get(i).expect("callers ask for columns of the block's schema")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_near_and_far_are_one_row() {
        for len in 0..6 {
            let slots = Slots::<usize, 3>::new(len);
            for i in (0..len).rev() {
                slots[i].set(i).unwrap();
            }
            assert_eq!(slots.filled().copied().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            assert!(slots.get(len).is_none() && slots.get(7).is_none());
            assert_eq!((slots.len(), slots.heap_bytes() > 0), (len, len > 3));
        }
    }
}

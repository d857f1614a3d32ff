//! A vector that never moves its elements.
//!
//! A full `Vec` copies all of its elements to a larger place. For a table of some hundred thousand
//! entries that took 11 ms, twenty time slices, without warning. Reserving the limit beforehand
//! would avoid it, but would cost each rank hundreds of megabytes of address space. So this one
//! allocates pages as needed.

use std::ops::{Index, IndexMut};

/// Elements in a page.
const PAGE: usize = 1 << 10;

/// Elements in pages, numbered from zero.
#[derive(Debug)]
pub(super) struct PagedVec<T> {
    /// All pages but the last are full.
    pages: Vec<Vec<T>>,
    len: u32,
}

impl<T> PagedVec<T> {
    pub(super) fn new() -> Self {
        Self {
            pages: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Adds an element and returns its index.
    pub(super) fn push(&mut self, element: T) -> u32 {
        let index = self.len;
        self.len = index
            .checked_add(1)
            .expect("the tables' limits bound their elements");
        match self.pages.last_mut().filter(|last| last.len() < PAGE) {
            Some(last) => last.push(element),
            None => {
                let mut page = Vec::with_capacity(PAGE);
                page.push(element);
                self.pages.push(page);
            }
        }
        index
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.pages
            .get(index as usize / PAGE)?
            .get(index as usize % PAGE)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T> Index<u32> for PagedVec<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

impl<T> IndexMut<u32> for PagedVec<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_number_and_their_place() {
        let mut pages = PagedVec::new();
        assert_eq!((pages.len(), pages.get(0)), (0, None));
        assert_eq!(pages.push(0), 0);
        let place = &raw const pages[0];
        for number in 1..5000 {
            assert_eq!(pages.push(number), number);
            assert_eq!(pages.len(), number + 1);
        }
        assert_eq!(&raw const pages[0], place);
        pages[4999] += 1;
        assert_eq!((pages.get(4999), pages.get(5000)), (Some(&5000), None));
        assert!(pages.iter().copied().eq((0..4999).chain([5000])));
    }
}

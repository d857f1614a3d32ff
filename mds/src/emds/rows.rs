//! The rows of a window of slices.

use crate::selection::SliceWindow;

/// Rows of the slices of a window. Their memory is allocated when this is made, and the kernel
/// provides only the parts that are written.
#[derive(Debug)]
pub(super) struct Rows<R> {
    window: SliceWindow,
    rows: Vec<R>,
    /// The place of the oldest row, where the next row goes if there is no room left.
    oldest: usize,
    dropped: u64,
}

impl<R> Rows<R> {
    pub(super) fn new(window: SliceWindow) -> Self {
        let room = usize::try_from(window.rows()).expect("MOST_SLICE_ROWS bounds it");
        Self {
            window,
            rows: Vec::with_capacity(room),
            oldest: 0,
            dropped: 0,
        }
    }

    /// Keeps the row of a slice if it is in the window. If there is no room, it replaces the oldest
    /// row.
    pub(super) fn keep(&mut self, slice: u64, row: R) {
        if !self.window.has(slice) {
            return;
        }
        if self.rows.len() < self.rows.capacity() {
            return self.rows.push(row);
        }
        self.dropped += 1;
        if let Some(oldest) = self.rows.get_mut(self.oldest) {
            *oldest = row;
            self.oldest = (self.oldest + 1) % self.rows.len();
        }
    }

    /// Returns the rows in the order in which they came, and how many were dropped before them.
    pub(super) fn finish(mut self) -> (Vec<R>, u64) {
        self.rows.rotate_left(self.oldest);
        (self.rows, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(window: SliceWindow, slices: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
        let mut rows = Rows::new(window);
        slices.for_each(|slice| rows.keep(slice, slice));
        rows.finish()
    }

    #[test]
    fn the_last_rows_are_kept_in_their_order() {
        let odd = |upto: u64| (1..=upto).filter(|slice| slice % 2 == 1);
        assert_eq!(kept(SliceWindow::Last(4), odd(5)), (vec![1, 3, 5], 0));
        assert_eq!(kept(SliceWindow::Last(4), odd(7)), (vec![1, 3, 5, 7], 0));
        assert_eq!(kept(SliceWindow::Last(4), odd(13)), (vec![7, 9, 11, 13], 3));
        assert_eq!(
            kept(SliceWindow::Last(4), odd(39)),
            (vec![33, 35, 37, 39], 16)
        );
    }

    #[test]
    fn rows_between_two_slices_are_kept_both_included() {
        let window = SliceWindow::Between(3, 6);
        assert_eq!(kept(window, 0..20), (vec![3, 4, 5, 6], 0));
        assert_eq!(kept(window, 5..6), (vec![5], 0));
    }

    #[test]
    fn memory_is_taken_at_the_start() {
        let mut rows = Rows::new(SliceWindow::Last(100));
        let room = rows.rows.capacity();
        (0..1_000).for_each(|slice| rows.keep(slice, slice));
        assert_eq!((rows.rows.capacity(), room), (100, 100));
    }
}

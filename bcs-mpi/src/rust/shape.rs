//! The places of a section's elements.

/// The places of a section's elements in a slice, counted in elements.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) first: usize,
    /// The number of elements side by side.
    pub(super) block: usize,
    /// How many of these blocks there are, and how far from each other; the outermost level first.
    /// They do not overlap.
    pub(super) outer: Vec<(usize, usize)>,
}

impl Shape {
    /// Returns the shape of a whole slice of this length.
    pub(super) fn all(block: usize) -> Self {
        let (first, outer) = (0, Vec::new());
        Self {
            first,
            block,
            outer,
        }
    }

    pub(super) fn first(&self) -> usize {
        self.first
    }

    pub(super) fn blocks(&self) -> usize {
        self.outer.iter().map(|&(count, _)| count).product()
    }

    pub(super) fn len(&self) -> usize {
        self.block * self.blocks()
    }

    /// Returns the place after its last element; `None` if that exceeds a number.
    pub(super) fn end(&self) -> Option<usize> {
        let mut end = self.first.checked_add(self.block)?;
        for &(count, stride) in &self.outer {
            end = end.checked_add(count.checked_sub(1)?.checked_mul(stride)?)?;
        }
        Some(end)
    }

    /// Returns where each block begins, in increasing order.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        (0..self.blocks()).map(|mut nth| {
            let mut start = self.first;
            for &(count, stride) in self.outer.iter().rev() {
                start += nth % count * stride;
                nth /= count;
            }
            start
        })
    }

    /// Returns the places of all elements, in increasing order.
    pub(super) fn elements(&self) -> impl Iterator<Item = usize> {
        self.starts().flat_map(|start| start..start + self.block)
    }

    /// Returns whether the two have no element in common.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        let (mut ours, mut theirs) = (self.starts().peekable(), other.starts().peekable());
        while let (Some(&our), Some(&their)) = (ours.peek(), theirs.peek()) {
            if our + self.block <= their {
                ours.next();
            } else if their + other.block <= our {
                theirs.next();
            } else {
                return false;
            }
        }
        true
    }
}

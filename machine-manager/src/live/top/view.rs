//! The lines in view.

/// The effect of a key on the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// This many lines down, or up.
    Lines(isize),
    /// This many pages down, or up.
    Pages(isize),
    /// To the first line.
    Start,
    /// To the last one.
    End,
}

/// The part of the lines that is in view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    first: usize,
}

impl View {
    /// Returns the first line in view.
    #[must_use]
    pub fn first(self) -> usize {
        self.first
    }

    /// Scrolls, given the number of lines and how many of them fit.
    pub fn scroll(&mut self, how: Scroll, lines: usize, fit: usize) {
        let page = isize::try_from(fit.max(1)).unwrap_or(isize::MAX);
        self.first = match how {
            Scroll::Lines(down) => self.first.saturating_add_signed(down),
            Scroll::Pages(down) => self.first.saturating_add_signed(page.saturating_mul(down)),
            Scroll::Start => 0,
            Scroll::End => usize::MAX,
        };
        self.keep_within(lines, fit);
    }

    /// Stays within the lines: their number or the room may have changed.
    pub fn keep_within(&mut self, lines: usize, fit: usize) {
        self.first = self.first.min(lines.saturating_sub(fit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_always_as_many_lines_in_sight_as_fit() {
        let mut view = View::default();
        let mut go = |how, lines, fit| {
            view.scroll(how, lines, fit);
            view.first()
        };
        assert_eq!(go(Scroll::Lines(3), 100, 10), 3);
        assert_eq!(go(Scroll::Lines(-5), 100, 10), 0);
        assert_eq!(go(Scroll::Pages(2), 100, 10), 20);
        assert_eq!(go(Scroll::End, 100, 10), 90);
        assert_eq!(go(Scroll::Lines(1), 100, 10), 90);
        assert_eq!(go(Scroll::Pages(-1), 100, 10), 80);
        assert_eq!(go(Scroll::Lines(0), 5, 10), 0, "there are fewer now");
        assert_eq!(go(Scroll::Pages(1), 5, 0), 1, "nothing fits");
        assert_eq!(go(Scroll::Start, 5, 0), 0);
    }
}

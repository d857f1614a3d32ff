//! The places in the program from which messages were sent. They give the line of a message that
//! was never received, which is known only by its communicator and its tag.
//!
//! A program sends from few places, so a small table holds them: one entry for a communicator, a
//! tag and a place. If two have the same entry, the later one replaces the other, which is not
//! reported. It costs a send one lookup. The table is used only for programs whose places are
//! addresses ([`crate::foreign`]), because those cost nothing to find.

use bcs_core::wait_state::PostedOperation;
use std::sync::atomic::{AtomicU64, Ordering};

/// A power of two.
const ENTRIES: usize = 64;

/// The places.
#[derive(Debug)]
pub(crate) struct SendSites([SendSite; ENTRIES]);

/// Threads that write an entry at the same time may leave parts of two in it. Its mark is then
/// wrong.
#[derive(Debug, Default)]
struct SendSite {
    key: AtomicU64,
    address: AtomicU64,
    mark: AtomicU64,
}

impl Default for SendSites {
    fn default() -> Self {
        Self(std::array::from_fn(|_| SendSite::default()))
    }
}

fn mark(key: u64, address: u64) -> u64 {
    (key.rotate_left(32) ^ address).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl SendSites {
    /// Records a send from this place.
    #[inline]
    pub(crate) fn note(&self, context: u32, tag: i32, address: u64) {
        let key = u64::from(context) << 32 | u64::from(tag.cast_unsigned());
        let mark = mark(key, address);
        let place = usize::try_from(mark >> (64 - ENTRIES.trailing_zeros()));
        let entry = &self.0[place.unwrap_or(0)];
        if entry.mark.load(Ordering::Relaxed) != mark {
            entry.key.store(key, Ordering::Relaxed);
            entry.address.store(address, Ordering::Relaxed);
            entry.mark.store(mark, Ordering::Relaxed);
        }
    }

    /// Returns the entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PostedOperation, u64)> {
        self.0.iter().filter_map(|entry| {
            let [key, address, found] =
                [&entry.key, &entry.address, &entry.mark].map(|word| word.load(Ordering::Relaxed));
            let context = u32::try_from(key >> 32).expect("half of a word");
            let tag = u32::try_from(key & 0xffff_ffff).expect("half of a word");
            let posted = PostedOperation::Sent {
                context,
                tag: tag.cast_signed(),
            };
            (address != 0 && found == mark(key, address)).then_some((posted, address))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_by_communicator_and_tag() {
        let sent = SendSites::default();
        assert_eq!(sent.iter().count(), 0);
        let posted = |context, tag| PostedOperation::Sent { context, tag };
        for _ in 0..3 {
            sent.note(0, 7, 0x40_1000);
            sent.note(0, 7, 0x40_2000);
            sent.note(5, -1, 0x40_1000);
        }
        let known: Vec<_> = sent.iter().collect();
        for expected in [
            (posted(0, 7), 0x40_1000),
            (posted(0, 7), 0x40_2000),
            (posted(5, -1), 0x40_1000),
        ] {
            assert!(known.contains(&expected), "{known:?}");
        }
        assert_eq!(known.len(), 3);
    }

    #[test]
    fn the_parts_of_two_are_nothing() {
        let sent = SendSites::default();
        sent.note(0, 7, 0x40_1000);
        let entry = sent
            .0
            .iter()
            .find(|it| it.mark.load(Ordering::Relaxed) != 0);
        entry.unwrap().address.store(0x40_2000, Ordering::Relaxed);
        assert_eq!(sent.iter().count(), 0);
    }

    #[test]
    fn many_places_stay_few() {
        let sent = SendSites::default();
        (0..10_000).for_each(|tag| sent.note(1, tag, 0x40_1000));
        assert!((50..=ENTRIES).contains(&sent.iter().count()));
    }
}

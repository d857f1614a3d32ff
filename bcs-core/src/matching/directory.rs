//! The directory: maps a pattern to the chain of entries filed under it.
//!
//! It is a hash table of its own, because the one of the standard library could delay a time slice.
//! This one grows by one bucket at a time (linear hashing: Litwin, 1980), so no single arrival pays
//! for moving a million chains, and it touches memory only as their number grows.
//!
//! Nothing depends on the order of hashes, and the hash function is fixed, so the same program
//! makes the same steps. The keys come from ranks that are not trusted. A rank can choose keys that
//! collide and so slow down matching, but only in its own job, which it could also slow down by not
//! computing.

use super::paged_vec::PagedVec;
use super::pattern::Pattern;

/// No chain, no entry.
pub(super) const NONE: u32 = u32::MAX;

/// A chain of entries, earliest first. It is in the directory as long as it has an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    /// The earliest entry.
    pub(super) head: u32,
    /// The latest entry.
    pub(super) tail: u32,
    pattern: Pattern,
    hash: u32,
    /// The next chain of the same bucket, or, for a vacant chain, the next vacant one.
    next: u32,
}

#[derive(Debug)]
pub(super) struct Directory {
    chains: PagedVec<Chain>,
    /// The first vacant element of `chains`.
    vacant: u32,
    /// Chains in use.
    occupied: u32,
    /// The first chain of each bucket. There are as many buckets as the greatest number of chains
    /// ever in use.
    buckets: PagedVec<u32>,
    /// Chains passed on the way to others: the only work here that is not constant.
    #[cfg(test)]
    walked: std::cell::Cell<u64>,
}

impl Directory {
    pub(super) fn new() -> Self {
        let mut buckets = PagedVec::new();
        buckets.push(NONE);
        Self {
            chains: PagedVec::new(),
            vacant: NONE,
            occupied: 0,
            buckets,
            #[cfg(test)]
            walked: std::cell::Cell::new(0),
        }
    }

    /// Finds the chain of `pattern`, if it has an entry.
    pub(super) fn find(&self, pattern: &Pattern) -> Option<&Chain> {
        let index = self.find_index(pattern, hash(pattern))?;
        Some(&self.chains[index])
    }

    /// Returns a chain that is known to be in use.
    pub(super) fn chain_mut(&mut self, index: u32) -> &mut Chain {
        &mut self.chains[index]
    }

    /// Returns the chain of `pattern`; if there was none, a new and empty one, to which the caller
    /// adds an entry.
    pub(super) fn find_or_insert(&mut self, pattern: Pattern) -> u32 {
        let hash = hash(&pattern);
        if let Some(index) = self.find_index(&pattern, hash) {
            return index;
        }
        if self.occupied == self.buckets.len() {
            self.add_bucket();
        }
        self.occupied += 1;
        let bucket = self.bucket(hash);
        let next = self.buckets[bucket];
        let chain = Chain {
            head: NONE,
            tail: NONE,
            pattern,
            hash,
            next,
        };
        let index = if self.vacant == NONE {
            self.chains.push(chain)
        } else {
            let index = self.vacant;
            self.vacant = std::mem::replace(self.chain_mut(index), chain).next;
            index
        };
        self.buckets[bucket] = index;
        index
    }

    /// Removes a chain whose last entry has gone.
    pub(super) fn remove(&mut self, index: u32) {
        let Chain {
            head, next, hash, ..
        } = self.chains[index];
        assert_eq!(head, NONE, "a chain with entries stays in the directory");
        let bucket = self.bucket(hash);
        if self.buckets[bucket] == index {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.chains[before].next != index {
                self.count_step();
                before = self.chains[before].next;
            }
            self.chain_mut(before).next = next;
        }
        self.chain_mut(index).next = self.vacant;
        self.vacant = index;
        self.occupied -= 1;
    }

    fn find_index(&self, pattern: &Pattern, hash: u32) -> Option<u32> {
        let mut index = self.buckets[self.bucket(hash)];
        while index != NONE {
            self.count_step();
            let chain = &self.chains[index];
            if chain.hash == hash && chain.pattern == *pattern {
                return Some(index);
            }
            index = chain.next;
        }
        None
    }

    /// Returns the bucket of a hash: as many of its lowest bits as give a bucket that exists.
    fn bucket(&self, hash: u32) -> u32 {
        let half = 1 << self.buckets.len().ilog2();
        let bucket = hash & (2 * half - 1);
        if bucket < self.buckets.len() {
            bucket
        } else {
            bucket - half
        }
    }

    /// Adds a bucket. It takes over those chains of one other bucket whose next bit is set.
    fn add_bucket(&mut self) {
        let added = self.buckets.len();
        let split = added - (1 << added.ilog2());
        self.buckets.push(NONE);
        let mut index = std::mem::replace(&mut self.buckets[split], NONE);
        while index != NONE {
            self.count_step();
            let next = self.chains[index].next;
            let bucket = self.bucket(self.chains[index].hash);
            debug_assert!(bucket == split || bucket == added);
            self.chain_mut(index).next = self.buckets[bucket];
            self.buckets[bucket] = index;
            index = next;
        }
    }

    #[inline]
    fn count_step(&self) {
        #[cfg(test)]
        self.walked.set(self.walked.get() + 1);
    }

    /// Returns the number of chains passed so far.
    #[cfg(test)]
    pub(super) fn walked(&self) -> u64 {
        self.walked.get()
    }

    /// Returns the number of chains in use.
    #[cfg(test)]
    pub(super) fn occupied(&self) -> u32 {
        self.occupied
    }
}

/// Hashes a pattern. The function is fixed, and spreads the usual ranks and tags (in sequence, or
/// in strides).
fn hash(pattern: &Pattern) -> u32 {
    // The fractional digits of π.
    const SEEDS: [u64; 3] = [
        0x243f_6a88_85a3_08d3,
        0x1319_8a2e_0370_7344,
        0xa409_3822_299f_31d0,
    ];
    let source = u64::from(pattern.source.unwrap_or(0));
    let tag = u64::from(pattern.tag.unwrap_or(0).cast_unsigned());
    let from = u64::from(pattern.context) << 32 | source;
    let what = (pattern.wildcards() as u64) << 32 | tag;
    let mixed = fold(fold(from ^ SEEDS[0], SEEDS[1] | 1) ^ what, SEEDS[2] | 1);
    u32::try_from(mixed >> 32).expect("32 bits remain")
}

/// Returns the upper half of a product xor the lower half. Every bit of `a` changes about half of
/// the result's bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves of a product are meant"
)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(source: u32, tag: i32) -> Pattern {
        Pattern {
            context: 1,
            source: Some(source),
            tag: Some(tag),
        }
    }

    #[test]
    fn chains_are_found_while_the_directory_grows_and_after_it_emptied() {
        let mut directory = Directory::new();
        for round in 0..2 {
            let indexes: Vec<u32> = (0..1000)
                .map(|tag| directory.find_or_insert(pattern(round, tag)))
                .collect();
            for (tag, &index) in (0..).zip(&indexes) {
                assert_eq!(directory.find_or_insert(pattern(round, tag)), index);
            }
            assert!(directory.find(&pattern(round, 1000)).is_none());
            assert_eq!(directory.occupied(), 1000);
            indexes
                .into_iter()
                .for_each(|index| directory.remove(index));
            assert_eq!(directory.occupied(), 0);
            assert!(directory.find(&pattern(round, 0)).is_none());
        }
        assert_eq!(directory.chains.len(), 1000, "vacant chains are used again");
        assert_eq!(directory.buckets.len(), 1000);
    }

    #[test]
    fn regular_keys_spread_over_the_buckets() {
        for stride in [1, 2, 64, 1 << 10, 1 << 20] {
            let mut directory = Directory::new();
            for key in 0..1 << 12 {
                let tag = i32::try_from((i64::from(key) * stride) % (1 << 31)).unwrap();
                directory.find_or_insert(pattern(key, tag));
            }
            let before = directory.walked();
            for key in 0..1 << 12 {
                let tag = i32::try_from((i64::from(key) * stride) % (1 << 31)).unwrap();
                directory.find(&pattern(key, tag)).unwrap();
            }
            // With random hashes, a lookup would pass 1.5 chains on average.
            let walked = directory.walked() - before;
            assert!(
                walked < 2 << 12,
                "stride {stride}: {walked} steps to find {}",
                1 << 12
            );
        }
    }
}

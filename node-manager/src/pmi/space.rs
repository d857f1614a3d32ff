//! A node manager's copy of the key-value space of the job.

use crate::limits::{PMI_PAIR_OVERHEAD, PMI_SPACE_BYTES};
use bcs_core::pmi::{KEY_BYTES, VALUE_BYTES};
use std::collections::BTreeMap;

/// The beginning of keys that only the launcher puts.
const RESERVED: &str = "PMI_";

/// Why a pair was not put, as the `msg` of the reply: a word without spaces.
pub(crate) type Refusal = &'static str;

/// The copy.
#[derive(Debug)]
pub(crate) struct KeyValueSpace {
    /// The name of the space.
    pub(crate) name: String,
    pairs: BTreeMap<String, String>,
    /// Pairs that other node managers do not have yet.
    new: Vec<(String, String)>,
    /// The most bytes that one rank may put.
    allowance: usize,
}

impl KeyValueSpace {
    /// Makes the space of a job with some ranks, with pairs that its launcher puts.
    pub(crate) fn new(name: String, ranks: usize, own: [(&str, String); 2]) -> Self {
        let own = own.into_iter().map(|(key, value)| (key.to_owned(), value));
        Self {
            name,
            pairs: own.collect(),
            new: Vec::new(),
            allowance: PMI_SPACE_BYTES / ranks.max(1),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.get(key).map(String::as_str)
    }

    /// Puts a pair of a rank that has put `used` bytes before.
    pub(crate) fn put(&mut self, key: &str, value: &str, used: &mut usize) -> Result<(), Refusal> {
        if key.is_empty() || key.len() >= KEY_BYTES {
            return Err("the_key_has_a_wrong_length");
        }
        if value.len() >= VALUE_BYTES {
            return Err("the_value_is_too_long");
        }
        if key.starts_with(RESERVED) {
            return Err("the_key_is_reserved");
        }
        let bytes = key.len() + value.len() + PMI_PAIR_OVERHEAD;
        if *used + bytes > self.allowance {
            return Err("the_rank_has_put_too_many_bytes");
        }
        *used += bytes;
        let pair = (key.to_owned(), value.to_owned());
        self.new.push(pair.clone());
        self.pairs.extend([pair]);
        Ok(())
    }

    /// Returns the pairs that were put since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.new)
    }

    /// Adds the pairs of all node managers.
    pub(crate) fn fill(&mut self, pairs: Vec<(String, String)>) {
        self.pairs.extend(pairs);
    }
}

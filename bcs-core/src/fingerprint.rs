//! Hashes that stand for longer data where all ranks and nodes of a job must compute the same.
//!
//! The hash of the standard library differs between compilers, and different compilers may have
//! built the programs of a job. This hash is fixed: like the layout of memory, the golden values of
//! its test are part of the protocol between ranks and NICs.

/// Mixes a number: every bit of the result depends on every bit of the input (the finalizer of
/// `SplitMix64`).
#[must_use]
pub fn mix64(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Returns the fingerprint of a list of words. Another list or another order almost always gives
/// another fingerprint.
#[must_use]
pub fn fingerprint(words: impl IntoIterator<Item = u64>) -> u64 {
    words
        .into_iter()
        .fold(0, |before, word| mix64(before ^ word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_the_same_whoever_has_compiled_this() {
        // The first outputs of SplitMix64 from 0, as published.
        let mut state = 0_u64;
        let published = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        for expected in published {
            assert_eq!(mix64(state), expected);
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        assert_eq!(fingerprint([]), 0);
        assert_eq!(fingerprint([0]), 0xe220_a839_7b1d_cdaf);
        assert_eq!(fingerprint([1, 2, 3]), 0xd073_4750_fde3_62b3);
        assert_ne!(fingerprint([1, 2]), fingerprint([2, 1]));
        assert_ne!(fingerprint([1, 2]), fingerprint([1, 2, 0]));
    }
}

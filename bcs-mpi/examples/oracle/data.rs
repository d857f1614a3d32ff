//! Random numbers, and random elements that are worth adding.

use bcs_core::datatype::Datatype;

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A sequence of its own for each pair.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd605_bbb5_8c8a_bbfd));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let words = (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        words.take(len).collect()
    }
}

/// Elements of any bits; `mild` ones of floating-point types are numbers near 1, whose sums and
/// products round in every bit and do not overflow.
pub(crate) fn elements(
    datatype: Datatype,
    count: usize,
    mild: bool,
    random: &mut Random,
) -> Vec<u8> {
    let mut bytes = random.bytes(count * datatype.size());
    if mild {
        bytes
            .chunks_exact_mut(datatype.size())
            .for_each(|element| make_mild(datatype, element));
    }
    bytes
}

/// Sets the exponent of a floating-point number, so that it is in [1, 2).
fn make_mild(datatype: Datatype, element: &mut [u8]) {
    match datatype {
        Datatype::Float16 => element[1] = element[1] & 0x83 | 0x3c,
        Datatype::BFloat16 => {
            (element[0], element[1]) = (element[0] | 0x80, element[1] & 0x80 | 0x3f)
        }
        Datatype::Float => (element[2], element[3]) = (element[2] | 0x80, element[3] & 0x80 | 0x3f),
        Datatype::Double => {
            (element[6], element[7]) = (element[6] | 0xf0, element[7] & 0x80 | 0x3f)
        }
        Datatype::LongDouble => {
            element[7] |= 0x80; // the explicit integer bit
            (element[8], element[9]) = (0xff, element[9] & 0x80 | 0x3f);
        }
        Datatype::Quad => (element[14], element[15]) = (0xff, element[15] & 0x80 | 0x3f),
        _ => {}
    }
}

//! Random numbers, and random elements for reductions.

use bcs_core::reduction::Datatype;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Creates a generator; each pair has a sequence of its own.
pub(super) fn random(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// Draws elements of arbitrary bits. `mild` ones of floating-point types are numbers near 1, whose
/// sums and products round in every bit and do not overflow.
pub(super) fn elements(
    datatype: Datatype,
    count: usize,
    mild: bool,
    random: &mut ChaCha8Rng,
) -> Vec<u8> {
    let mut bytes = vec![0; count * datatype.size()];
    random.fill_bytes(&mut bytes);
    if mild {
        bytes
            .chunks_exact_mut(datatype.size())
            .for_each(|element| make_mild(datatype, element));
    }
    bytes
}

/// Sets the exponent of floating-point numbers, so that they are in [1, 2).
fn make_mild(datatype: Datatype, element: &mut [u8]) {
    if let Some(part) = datatype.part() {
        let (real, imaginary) = element.split_at_mut(part.size());
        make_mild(part, real);
        return make_mild(part, imaginary);
    }
    if let Some(pair) = datatype.pair() {
        return make_mild(pair.value, element);
    }
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

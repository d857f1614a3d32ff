#![expect(unsafe_code, reason = "bytes that are lent are named by address")]

use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

const KINDS: [Crypto; 3] = [Crypto::None, Crypto::Tag, Crypto::Aead];

const THERE: Direction = Direction {
    epoch: 7,
    from: NodeId(3),
    to: NodeId(4),
};

fn key() -> JobKey {
    JobKey([5; 32])
}

fn datagram(number: u64, frames: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    let header = Header {
        epoch: THERE.epoch,
        from: THERE.from,
        number,
    };
    header.put(&mut datagram);
    datagram.extend(frames);
    datagram
}

fn sealed(crypto: Crypto, number: u64, frames: &[u8]) -> Vec<u8> {
    let mut datagram = datagram(number, frames);
    seal(crypto).seal(&mut datagram);
    datagram
}

fn seal(crypto: Crypto) -> Seal {
    Seal::new(&key(), crypto, THERE)
}

fn opener(crypto: Crypto) -> Opener {
    Opener::new(&key(), crypto, THERE)
}

#[test]
fn only_aead_hides_the_frames_and_nothing_hides_the_header() {
    let frames = b"a secret that everybody may know";
    for crypto in KINDS {
        let sealed = sealed(crypto, 1, frames);
        let clear = datagram(1, frames);
        assert_eq!(sealed.len(), clear.len() + crypto.tag_bytes());
        assert_eq!(sealed[..HEADER_BYTES], clear[..HEADER_BYTES]);
        let hides = !sealed.windows(frames.len()).any(|bytes| bytes == frames);
        assert_eq!(hides, crypto == Crypto::Aead, "{crypto:?}");
    }
}

/// A nonce has all 64 bits of the number: a datagram sealed before 2^32 does not open as one after
/// it.
#[test]
fn no_nonce_comes_again_after_32_bits_of_datagrams() {
    const WRAP: u64 = 1 << 32;
    for crypto in [Crypto::Tag, Crypto::Aead] {
        let mut seal = seal(crypto);
        let opener = opener(crypto);
        let tags = [1, WRAP - 1, WRAP, WRAP + 1, 2 * WRAP + 1].map(|number| {
            let mut sealed = datagram(number, &[0; 40]);
            seal.seal(&mut sealed);
            assert!(opener.open(&mut sealed.clone()).is_ok(), "{number}");
            let mut moved = sealed.clone();
            moved[8..HEADER_BYTES].copy_from_slice(&(number + WRAP).to_le_bytes());
            assert_eq!(opener.open(&mut moved), Err(BadTag), "{crypto:?} {number}");
            sealed[HEADER_BYTES..].to_vec()
        });
        for (nth, tag) in tags.iter().enumerate() {
            assert!(!tags[..nth].contains(tag), "{crypto:?} {nth}");
        }
    }
}

#[test]
fn every_bit_that_is_changed_is_found() {
    for crypto in [Crypto::Tag, Crypto::Aead] {
        let (opener, sealed) = (opener(crypto), sealed(crypto, 9, &[0xa5; 40]));
        assert!(opener.open(&mut sealed.clone()).is_ok());
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(opener.open(&mut changed), Err(BadTag), "{crypto:?} {bit}");
        }
    }
}

/// The check where the kernel has put the bytes of a rank.
#[test]
fn a_tag_is_the_same_of_two_pieces() {
    let lent = |bytes: &mut [u8]| {
        let start = NonNull::new(bytes.as_mut_ptr()).unwrap();
        // SAFETY: nobody else has them meanwhile.
        unsafe { LentMemory::new(start, bytes.len()) }
    };
    let mut whole = opener(Crypto::Tag);
    for (front, len) in [
        (HEADER_BYTES, 0),
        (35, 1),
        (35, 1_349),
        (40, 16),
        (48, 9_000),
    ] {
        let frames: Vec<u8> = (0..=255).cycle().take(front + len - HEADER_BYTES).collect();
        let sealed = sealed(Crypto::Tag, 9, &frames);
        let mut check = |number, bit: Option<usize>| {
            let mut sealed = sealed.clone();
            bit.into_iter()
                .for_each(|bit| sealed[bit / 8] ^= 1 << (bit % 8));
            let (front, bytes) = sealed.split_at_mut(front);
            let (bytes, tag) = bytes.split_at_mut(len);
            whole.check_pieces(number, front, &lent(bytes), tag)
        };
        assert_eq!(check(9, None), Ok(()), "{front} {len}");
        assert_eq!(check(10, None), Err(BadTag));
        for bit in (0..sealed.len() * 8).step_by(7) {
            assert_eq!(check(9, Some(bit)), Err(BadTag), "{front} {len} {bit}");
        }
        assert_eq!(check(9, None), Ok(()), "a wrong one is forgotten");
        // The seal of bytes that are sent from where they lie.
        let (ours, rest) = sealed.split_at(front);
        let (mut bytes, tag) = (rest[..len].to_vec(), &rest[len..]);
        let mut written = ours.to_vec();
        seal(Crypto::Tag).seal_pieces(&mut written, 0, &lent(&mut bytes));
        assert_eq!(written, [ours, tag].concat(), "{front} {len}");
    }
    let takes = KINDS.map(|crypto| seal(crypto).takes_pieces());
    assert_eq!(takes, [true, true, false]);
    let tags = KINDS.map(|crypto| opener(crypto).piecewise_tag_bytes());
    assert_eq!(tags, [Some(0), Some(TAG_BYTES), None]);
}

#[test]
fn what_is_cut_or_longer_is_refused() {
    for crypto in [Crypto::Tag, Crypto::Aead] {
        let (opener, sealed) = (opener(crypto), sealed(crypto, 9, b"frames"));
        for len in 0..sealed.len() {
            let mut cut = sealed[..len].to_vec();
            assert_eq!(opener.open(&mut cut), Err(BadTag), "{crypto:?} {len}");
        }
        let mut longer = [&sealed[..], &[0]].concat();
        assert_eq!(opener.open(&mut longer), Err(BadTag));
    }
    let opener = opener(Crypto::None);
    for len in 0..HEADER_BYTES {
        assert_eq!(opener.open(&mut datagram(9, b"")[..len]), Err(BadTag));
    }
}

#[test]
fn a_tag_is_of_its_direction_job_and_kind_alone() {
    let [another, back, further] = [
        (8, THERE.from, THERE.to),
        (7, THERE.to, THERE.from),
        (7, THERE.from, NodeId(5)),
    ]
    .map(|(epoch, from, to)| Direction { epoch, from, to });
    for (crypto, other) in [(Crypto::Tag, Crypto::Aead), (Crypto::Aead, Crypto::Tag)] {
        let openers = [
            Opener::new(&key(), crypto, another),
            Opener::new(&key(), crypto, back),
            Opener::new(&key(), crypto, further),
            Opener::new(&JobKey([6; 32]), crypto, THERE),
            opener(other),
        ];
        // Without frames the two kinds differ in their keys only.
        for frames in [&b""[..], b"frames"] {
            let sealed = sealed(crypto, 9, frames);
            for opener in &openers {
                assert_eq!(opener.open(&mut sealed.clone()), Err(BadTag), "{opener:?}");
            }
        }
    }
}

/// The ends of tags as HMAC-SHA-256 and AES-GCM written out in Python compute them. A change of the
/// key derivation or of the tag's input must raise the version.
#[test]
fn a_datagram_is_sealed_as_others_would_seal_it() {
    let end = |crypto| {
        let sealed = sealed(crypto, 1, b"frames");
        u64::from_le_bytes(*sealed.last_chunk().unwrap())
    };
    assert_eq!(end(Crypto::Tag), 0xedca_5627_fb5b_145d);
    assert_eq!(end(Crypto::Aead), 0xaef9_fc74_c146_ac78);
}

#[test]
#[should_panic(expected = "8 comes after 8")]
fn no_number_is_sealed_twice() {
    let mut seal = Seal::new(&key(), Crypto::Tag, THERE);
    seal.seal(&mut datagram(8, b"one"));
    seal.seal(&mut datagram(8, b"another"));
}

#[test]
fn keys_differ_travel_and_are_not_shown() {
    let key = JobKey::random().unwrap();
    assert_ne!(key.0, JobKey::random().unwrap().0);
    let bytes = postcard::to_allocvec(&key).unwrap();
    let come: JobKey = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(come.0, key.0);
    assert_eq!(format!("{key:?}"), "JobKey(..)");
    let seal = format!("{:?}", Seal::new(&self::key(), Crypto::Aead, THERE));
    assert!(!seal.contains("5, 5"), "{seal}");
}

proptest! {
    #[test]
    fn what_is_sealed_is_opened(
        numbers in proptest::collection::btree_set(1..u64::MAX, 1..5),
        frames in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        for crypto in KINDS {
            let mut seal = Seal::new(&key(), crypto, THERE);
            for number in &numbers {
                let clear = datagram(*number, &frames);
                let mut sealed = clear.clone();
                seal.seal(&mut sealed);
                prop_assert_eq!(opener(crypto).open(&mut sealed), Ok(&clear[..]));
            }
        }
    }

    #[test]
    fn no_rubbish_is_opened(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut all = datagram(1, &bytes);
        for crypto in [Crypto::Tag, Crypto::Aead] {
            prop_assert_eq!(opener(crypto).open(&mut bytes), Err(BadTag));
            let mut all = all.clone();
            prop_assert_eq!(opener(crypto).open(&mut all), Err(BadTag));
        }
        prop_assert!(opener(Crypto::None).open(&mut all).is_ok());
    }
}

/// The best of seven rounds, in GB/s.
fn gigabytes_per_second(bytes: usize, mut each: impl FnMut(u64)) -> f64 {
    let count = 4_000_000 / bytes as u64;
    let mut number = 0;
    let round = |_| {
        let start = Instant::now();
        for _ in 0..count {
            number += 1;
            each(number);
        }
        start.elapsed().as_secs_f64()
    };
    let best = (0..7).map(round).fold(f64::MAX, f64::min);
    count as f64 * bytes as f64 / best / 1e9
}

/// `cargo test --release -p bcs-core how_fast -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn how_fast() {
    for bytes in [100, 1_400, 8_900] {
        for crypto in [Crypto::Tag, Crypto::Aead] {
            let mut buffer = datagram(1, &vec![0; bytes - HEADER_BYTES]);
            let mut seal = Seal::new(&key(), crypto, THERE);
            let sealing = gigabytes_per_second(bytes, |number| {
                buffer.truncate(bytes);
                buffer[8..HEADER_BYTES].copy_from_slice(&number.to_le_bytes());
                seal.seal(black_box(&mut buffer));
            });
            let sealed = sealed(crypto, 1, &vec![0; bytes - HEADER_BYTES]);
            let (mut buffer, opener) = (sealed.clone(), opener(crypto));
            // It includes a copy of the datagram, since that is opened in place.
            let opening = gigabytes_per_second(bytes, |_| {
                buffer.copy_from_slice(&sealed);
                assert!(opener.open(black_box(&mut buffer)).is_ok());
            });
            println!("{bytes} bytes, {crypto:?}: seal {sealing:.1} GB/s, open {opening:.1} GB/s");
        }
    }
}

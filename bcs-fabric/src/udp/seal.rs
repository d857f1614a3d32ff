//! The protection of datagrams against attackers: a tag proves that somebody who has the job's key
//! has sent the datagram in this direction of this pair of nodes, and that nothing of it was
//! changed.
//!
//! | crypto | authentic | secret | bytes |
//! |---|---|---|---|
//! | none | nothing | nothing | 0 |
//! | tag | header and frames | nothing | 16 |
//! | aead | header and frames | frames | 16 |
//!
//! **Keys.** A job has one random key. Each direction of each pair has its own key, which is
//! derived (HKDF with SHA-256) from the job's key and from the kind of tag, the epoch, the sender
//! and the receiver. So a datagram that an attacker forwards to another node, or back to its
//! sender, has a wrong tag there.
//!
//! **Numbers.** The nonce is the datagram's number. Two datagrams under one nonce would give the
//! key away, and so a [`Seal`] asserts that numbers grow. A datagram that an attacker sends a
//! second time has a right tag; [`ReceivedNumbers`](super::received_numbers::ReceivedNumbers)
//! refuses it.
//!
//! **Which tag.** By far the fastest sound one on an x86-64 with vector AES: AES-128 in
//! Galois/counter mode of aws-lc-rs, whose Galois part alone is the tag where frames are not secret
//! (GMAC). The table compares the bytes of datagrams that are sealed in a second with keyed BLAKE3,
//! which does 0.8 GB/s of 1,400 bytes and 3.3 GB/s of 8,900 bytes:
//!
//! | | 1,400 bytes: tag | aead | 8,900 bytes: tag | aead |
//! |---|---|---|---|---|
//! | keyed BLAKE3 (blake3) | 1.0 | | 1.0 | |
//! | Poly1305 (poly1305), its keys from BLAKE3 | 1.3 | | 0.8 | |
//! | ChaCha20-Poly1305 (ring) | 3.7 | 2.8 | 1.2 | 0.8 |
//! | AES-128-GCM (aes-gcm) | 2.2 | 1.8 | 0.5 | 0.5 |
//! | AES-128-GCM (ring) | 2.5 | 8.9 | 0.6 | 3.2 |
//! | AES-128-GCM (graviola) | 11.4 | 9.1 | 6.0 | 4.0 |
//! | AES-256-GCM (aws-lc-rs) | 13.5 | 10.8 | 7.4 | 5.6 |
//! | **AES-128-GCM (aws-lc-rs)** | **13.5** | **11.8** | **7.4** | **6.5** |
//!
//! To open takes 1.1 to 1.2 times as long as to seal. A datagram is too short for the parallel part
//! of BLAKE3. The crates in Rust are worse: aes-gcm is six times slower and more; graviola is 1.2
//! to 1.6 times slower, young, and panics on a processor without AVX2. aws-lc-rs finds out at run
//! time what the processor has. It needs a C compiler and nothing else, and this workspace needs
//! one anyway. The test `how_fast` measures the chosen tag.

mod piecewise;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use serde::{Deserialize, Serialize};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::shm::LentMemory;
use bcs_core::job::NodeId;

use super::datagram::{HEADER_BYTES, Header};
use piecewise::{PiecewiseOpener, PiecewiseSeal};

/// Bytes of a tag, unless datagrams have no tag.
const TAG_BYTES: usize = 16;

/// Bytes of a key of AES-128.
const KEY_BYTES: usize = 16;

/// The purpose of the derived keys.
const PURPOSE: &[u8] = b"BCS-MPI datagrams, version 1";

/// The secret of a job: a process that has it is one of the job.
///
/// It travels over pipes and connections that nobody else reads, never as an argument or in the
/// environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ZeroizeOnDrop)]
pub struct JobKey([u8; 32]);

impl JobKey {
    /// Makes a key of known bytes, for tests.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Makes a new random key.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut key = Self([0; 32]);
        getrandom::fill(&mut key.0)?;
        Ok(key)
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

/// The attacks against which datagrams are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Crypto {
    /// No attacks: for a network that nobody else is on.
    None,
    /// Attackers who send or change datagrams.
    #[default]
    Tag,
    /// The same, and attackers who read them.
    Aead,
}

impl Crypto {
    /// Returns the bytes of a tag, which leave fewer for the contents of a datagram.
    #[must_use]
    pub const fn tag_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Tag | Self::Aead => TAG_BYTES,
        }
    }
}

/// One direction of a pair of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The job's epoch: 32 bits that identify the job.
    pub epoch: u32,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
}

/// The key of a direction.
#[derive(Debug)]
struct Cipher {
    key: LessSafeKey,
    is_secret: bool,
}

/// The bytes of a derived key.
type RawKey = Zeroizing<[u8; KEY_BYTES]>;

/// Derives the key of a direction. Returns it, and whether frames are secret. Returns `None`
/// without protection.
fn derive(key: &JobKey, crypto: Crypto, direction: Direction) -> Option<(RawKey, bool)> {
    let (kind, is_secret) = match crypto {
        Crypto::None => return None,
        Crypto::Tag => (b"tag ", false),
        Crypto::Aead => (b"aead", true),
    };
    let Direction { epoch, from, to } = direction;
    let (epoch, from, to) = (
        epoch.to_le_bytes(),
        from.0.to_le_bytes(),
        to.0.to_le_bytes(),
    );
    let job = Salt::new(HKDF_SHA256, PURPOSE).extract(&key.0);
    let info: [&[u8]; 4] = [kind, &epoch, &from, &to];
    let mut raw = RawKey::default();
    let derived = job.expand(&info, KeyLength);
    let filled = derived.and_then(|derived| derived.fill(&mut *raw));
    filled.expect("a key is short");
    Some((raw, is_secret))
}

/// The length of a derived key.
#[derive(Clone, Copy, Debug)]
struct KeyLength;

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

impl Cipher {
    fn new((raw, is_secret): &(RawKey, bool)) -> Self {
        let key = UnboundKey::new(&AES_128_GCM, &**raw).expect("it is as long");
        Self {
            key: LessSafeKey::new(key),
            is_secret: *is_secret,
        }
    }

    /// Returns how many of `bytes` bytes, without the tag, everybody may read.
    fn clear_bytes(&self, bytes: usize) -> usize {
        match self.is_secret {
            true => HEADER_BYTES,
            false => bytes,
        }
    }
}

fn nonce(number: u64) -> [u8; NONCE_LEN] {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Seals the datagrams of a direction.
#[derive(Debug)]
pub struct Seal {
    cipher: Option<Cipher>,
    /// The seal of pieces, where frames are not secret.
    pieces: Option<PiecewiseSeal>,
    /// The number of the last datagram.
    last: u64,
}

impl Seal {
    /// Makes the seal of a direction, in which nothing has been sent under this key.
    #[must_use]
    pub fn new(key: &JobKey, crypto: Crypto, direction: Direction) -> Self {
        let raw = derive(key, crypto, direction);
        let clear = raw.as_ref().filter(|(_, is_secret)| !is_secret);
        Self {
            cipher: raw.as_ref().map(Cipher::new),
            pieces: clear.map(|(raw, _)| PiecewiseSeal::new(raw)),
            last: 0,
        }
    }

    /// Returns whether it can seal two pieces. It cannot seal secret frames so, for it encrypts in
    /// place.
    #[must_use]
    pub fn takes_pieces(&self) -> bool {
        self.cipher.is_none() || self.pieces.is_some()
    }

    /// Does the same as [`seal_last`](Self::seal_last) for a datagram whose last bytes lie
    /// elsewhere.
    ///
    /// # Panics
    /// As [`seal`](Self::seal), and when it [takes no pieces](Self::takes_pieces).
    pub fn seal_pieces(&mut self, datagrams: &mut Vec<u8>, start: usize, bytes: &LentMemory) {
        let front = &datagrams[start..];
        let number = self.number(front);
        if self.cipher.is_none() {
            return;
        }
        let pieces = self.pieces.as_mut();
        let pieces = pieces.expect("frames that are secret lie in one piece");
        let tag = pieces.tag(&nonce(number), front, bytes);
        datagrams.extend_from_slice(&tag);
    }

    /// Returns the number of a datagram, which must not have been used.
    fn number(&mut self, datagram: &[u8]) -> u64 {
        let (Header { number, .. }, _) = Header::take(datagram).expect("a link has written it");
        assert!(number > self.last, "{number} comes after {}", self.last);
        self.last = number;
        number
    }

    /// Encrypts what follows the header, if frames are secret, and appends the tag.
    ///
    /// # Panics
    /// When it is no datagram, or its number is not above that of the one before.
    pub fn seal(&mut self, datagram: &mut Vec<u8>) {
        self.seal_last(datagram, 0);
    }

    /// Does the same for the last of several datagrams, which begins at `start`.
    ///
    /// # Panics
    /// As [`seal`](Self::seal).
    pub fn seal_last(&mut self, datagrams: &mut Vec<u8>, start: usize) {
        let number = self.number(&datagrams[start..]);
        let Some(cipher) = &self.cipher else {
            return;
        };
        let datagram = &mut datagrams[start..];
        let clear_bytes = cipher.clear_bytes(datagram.len());
        let (clear, secret) = datagram.split_at_mut(clear_bytes);
        let aad = Aad::from(&*clear);
        let nonce = Nonce::assume_unique_for_key(nonce(number));
        let tag = cipher.key.seal_in_place_separate_tag(nonce, aad, secret);
        let tag = tag.expect("a datagram is short");
        datagrams.extend_from_slice(tag.as_ref());
    }
}

/// A datagram has a wrong tag: an attacker has sent it, or it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its tag is wrong")]
pub struct BadTag;

/// Opens the datagrams of a direction.
#[derive(Debug)]
pub struct Opener {
    cipher: Option<Cipher>,
    pieces: Option<PiecewiseOpener>,
}

impl Opener {
    /// Makes the opener of a direction.
    #[must_use]
    pub fn new(key: &JobKey, crypto: Crypto, direction: Direction) -> Self {
        let raw = derive(key, crypto, direction);
        let cipher = raw.as_ref().map(Cipher::new);
        let clear = raw.as_ref().filter(|(_, is_secret)| !is_secret);
        let pieces = clear.map(|(raw, _)| PiecewiseOpener::new(raw));
        Self { cipher, pieces }
    }

    /// Returns the bytes of a tag, if it can be checked where the kernel has put the pieces of a
    /// datagram. Secret frames must lie in one piece. If they were decrypted in the memory of a
    /// rank, the rank would see the plain text of what an attacker sends, and learn the difference
    /// between right and wrong from it.
    #[must_use]
    pub fn piecewise_tag_bytes(&self) -> Option<usize> {
        match (&self.cipher, &self.pieces) {
            (None, _) => Some(0),
            (Some(_), pieces) => pieces.as_ref().map(|_| TAG_BYTES),
        }
    }

    /// Checks the tag of a datagram whose bytes lie in two pieces. It changes neither.
    ///
    /// # Errors
    /// [`BadTag`].
    ///
    /// # Panics
    /// When it cannot be [checked piecewise](Self::piecewise_tag_bytes), or the tag is of another
    /// length.
    pub fn check_pieces(
        &mut self,
        number: u64,
        front: &[u8],
        bytes: &LentMemory,
        tag: &[u8],
    ) -> Result<(), BadTag> {
        if self.cipher.is_none() {
            return Ok(());
        }
        let pieces = self.pieces.as_mut();
        let pieces = pieces.expect("frames that are secret lie in one piece");
        let tag = tag.try_into().expect("a tag has its length");
        let is_right = pieces.check(&nonce(number), front, bytes, tag);
        is_right.then_some(()).ok_or(BadTag)
    }

    /// Opens a sealed datagram in place. The time that this takes reveals nothing about the right
    /// tag.
    ///
    /// # Errors
    /// [`BadTag`]; it may hold anything then.
    pub fn open<'a>(&self, datagram: &'a mut [u8]) -> Result<&'a [u8], BadTag> {
        let (Header { number, .. }, rest) = Header::take(datagram).map_err(|_| BadTag)?;
        let Some(cipher) = &self.cipher else {
            return Ok(datagram);
        };
        let frames = rest.len().checked_sub(TAG_BYTES).ok_or(BadTag)?;
        let len = HEADER_BYTES + frames;
        let (clear, secret) = datagram.split_at_mut(cipher.clear_bytes(len));
        let aad = Aad::from(&*clear);
        let nonce = Nonce::assume_unique_for_key(nonce(number));
        let opened = cipher.key.open_in_place(nonce, aad, secret);
        opened.map_err(|_| BadTag)?;
        Ok(&datagram[..len])
    }
}

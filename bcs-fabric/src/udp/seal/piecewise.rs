//! The tag of a datagram that lies in two pieces: its front in a buffer of this process, its bytes
//! in the memory of a rank.
//!
//! It is the same tag (GMAC of AES-128) as of a datagram in one piece. The safe interface of
//! aws-lc-rs takes one piece of what is authentic and not secret, and it takes a slice. Memory that
//! its owner changes meanwhile must not be a slice. So this module uses the C interface beneath it,
//! which reads from an address.
#![expect(unsafe_code, reason = "the interface of a library in C")]

use crate::shm::LentMemory;
use aws_lc_rs::aead::NONCE_LEN;
use aws_lc_sys::{
    EVP_CIPHER_CTX, EVP_CIPHER_CTX_ctrl, EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new,
    EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG, EVP_DecryptFinal_ex, EVP_DecryptInit_ex,
    EVP_DecryptUpdate, EVP_EncryptFinal_ex, EVP_EncryptInit_ex, EVP_EncryptUpdate, EVP_aes_128_gcm,
};
use std::ffi::c_int;
use std::ptr::{NonNull, null, null_mut};

/// Bytes of a key, and bytes of a tag.
const BYTES: usize = 16;

/// A context of the library, with a key or without.
#[derive(Debug)]
struct CipherContext(NonNull<EVP_CIPHER_CTX>);

// SAFETY: it is memory of the library's that is bound to no OS thread.
unsafe impl Send for CipherContext {}

impl CipherContext {
    fn new() -> Self {
        // SAFETY: a context of its own, which drop gives back.
        let context = unsafe { EVP_CIPHER_CTX_new() };
        Self(NonNull::new(context).expect("there is memory"))
    }
}

impl Drop for CipherContext {
    fn drop(&mut self) {
        // SAFETY: nobody else has it. It is overwritten before it is given back.
        unsafe { EVP_CIPHER_CTX_free(self.0.as_ptr()) };
    }
}

/// Returns the addresses and the lengths of the two pieces of a datagram.
fn pieces(front: &[u8], bytes: &LentMemory) -> [(*const u8, c_int); 2] {
    let len = |bytes| c_int::try_from(bytes).expect("a datagram is short");
    let start = bytes.start().as_ptr().cast_const();
    [
        (front.as_ptr(), len(front.len())),
        (start, len(bytes.bytes())),
    ]
}

/// Checks tags with the key of a direction.
#[derive(Debug)]
pub(super) struct PiecewiseOpener(CipherContext);

impl PiecewiseOpener {
    /// # Panics
    /// When there is no memory.
    pub(super) fn new(key: &[u8; BYTES]) -> Self {
        let context = CipherContext::new();
        let raw = context.0.as_ptr();
        // SAFETY: it gives a constant.
        let cipher = unsafe { EVP_aes_128_gcm() };
        // SAFETY: a context, a cipher, and a key that is as long as it wants; the nonce comes
        // later.
        let is_set = unsafe { EVP_DecryptInit_ex(raw, cipher, null_mut(), key.as_ptr(), null()) };
        assert_eq!(is_set, 1, "a cipher takes its key");
        Self(context)
    }

    /// Returns whether the tag of these pieces is right, under this nonce. It reads each byte once.
    pub(super) fn check(
        &mut self,
        nonce: &[u8; NONCE_LEN],
        front: &[u8],
        bytes: &LentMemory,
        mut tag: [u8; BYTES],
    ) -> bool {
        let context = self.0.0.as_ptr();
        // SAFETY: the context has its key and cipher, and its nonces are as long as ours.
        let mut taken =
            unsafe { EVP_DecryptInit_ex(context, null(), null_mut(), null(), nonce.as_ptr()) };
        for (start, len) in pieces(front, bytes) {
            let mut written = 0;
            // SAFETY: as many bytes may be read there; whatever is read is authenticated and
            // nothing else, since there is no place to write to.
            taken &=
                unsafe { EVP_DecryptUpdate(context, null_mut(), &raw mut written, start, len) };
        }
        let length = c_int::try_from(BYTES).expect("a tag is short");
        // SAFETY: the tag is copied from there.
        taken &= unsafe {
            let tag = (&raw mut tag).cast();
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, length, tag)
        };
        let (mut nothing, mut written) = ([0_u8; BYTES], 0);
        // SAFETY: a block fits, and none is written.
        taken &= unsafe { EVP_DecryptFinal_ex(context, nothing.as_mut_ptr(), &raw mut written) };
        taken == 1
    }
}

/// Makes tags with the same key.
#[derive(Debug)]
pub(super) struct PiecewiseSeal(CipherContext);

impl PiecewiseSeal {
    /// # Panics
    /// When there is no memory.
    pub(super) fn new(key: &[u8; BYTES]) -> Self {
        let context = CipherContext::new();
        let raw = context.0.as_ptr();
        // SAFETY: it gives a constant.
        let cipher = unsafe { EVP_aes_128_gcm() };
        // SAFETY: a context, a cipher, and a key that is as long as it wants; the nonce comes
        // later.
        let is_set = unsafe { EVP_EncryptInit_ex(raw, cipher, null_mut(), key.as_ptr(), null()) };
        assert_eq!(is_set, 1, "a cipher takes its key");
        Self(context)
    }

    /// Returns the tag of these pieces, under this nonce. It reads each byte once.
    pub(super) fn tag(
        &mut self,
        nonce: &[u8; NONCE_LEN],
        front: &[u8],
        bytes: &LentMemory,
    ) -> [u8; BYTES] {
        let context = self.0.0.as_ptr();
        // SAFETY: the context has its key and cipher, and its nonces are as long as ours.
        let mut taken =
            unsafe { EVP_EncryptInit_ex(context, null(), null_mut(), null(), nonce.as_ptr()) };
        for (start, len) in pieces(front, bytes) {
            let mut written = 0;
            // SAFETY: as many bytes may be read there; whatever is read is authenticated and
            // nothing else, since there is no place to write to.
            taken &=
                unsafe { EVP_EncryptUpdate(context, null_mut(), &raw mut written, start, len) };
        }
        let (mut nothing, mut written) = ([0_u8; BYTES], 0);
        // SAFETY: a block fits, and none is written.
        taken &= unsafe { EVP_EncryptFinal_ex(context, nothing.as_mut_ptr(), &raw mut written) };
        let mut tag = [0; BYTES];
        let length = c_int::try_from(BYTES).expect("a tag is short");
        // SAFETY: the tag is written to `tag`, which has `BYTES` bytes.
        taken &= unsafe {
            let tag = (&raw mut tag).cast();
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, length, tag)
        };
        assert_eq!(taken, 1, "a datagram is short");
        tag
    }
}

//! The place of a thread's last call of the C ABI, in the memory of its process.
//!
//! A function of the ABI stores its return address in three words of its thread, which stay there
//! when it has returned. A rank reports where these words of the thread that initializes MPI are.
//! So its node manager can say at any time where the rank has last called MPI. No call costs more
//! for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The most bytes of a procedure of the glue of Fortran.
const PROCEDURE: u64 = 8192;

/// The addresses of a thread's last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LastCall {
    /// The return address of the function of the ABI.
    pub call: u64,
    /// The return address of the glue's procedure.
    pub outer: u64,
    /// Where in the glue that was stored.
    pub glue: u64,
}

impl LastCall {
    /// Returns the address of the program's call: it called the glue, or the ABI itself.
    #[inline]
    #[must_use]
    pub fn address(self) -> u64 {
        match self.call.wrapping_sub(self.glue) < PROCEDURE {
            true => self.outer,
            false => self.call,
        }
    }

    /// Reads the words at this address of another process, which may have written anything there.
    ///
    /// # Errors
    /// When this process may not read that memory, or nothing is mapped there.
    pub fn of_process(pid: u32, at: u64) -> io::Result<Self> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        let mut words = [[0; 8]; 3];
        memory.read_exact_at(words.as_flattened_mut(), at)?;
        let [call, outer, glue] = words.map(u64::from_ne_bytes);
        Ok(Self { call, outer, glue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_process_are_read() {
        let words = LastCall {
            call: 1 << 40,
            outer: 2,
            glue: 3,
        };
        let at = (&raw const words).addr() as u64;
        let read = LastCall::of_process(std::process::id(), at).unwrap();
        assert_eq!((read, read.address()), (words, 1 << 40));
        assert!(LastCall::of_process(std::process::id(), 8).is_err());
    }
}

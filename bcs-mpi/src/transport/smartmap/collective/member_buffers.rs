//! The buffers of a member, as it publishes them.

use super::member::MemberRecord;
use bcs_core::fingerprint::fingerprint;

/// The buffers of a member in a long collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberBuffers {
    /// The address of its contribution.
    pub(super) input: u64,
    /// The address of its result or of its share.
    pub(super) output: u64,
}

impl MemberBuffers {
    pub(super) fn of(info: &MemberRecord, number: u64) -> Self {
        let [input, output] = info.arguments(number);
        Self { input, output }
    }

    /// Publishes this rank's buffers, and whether the kernel is known to copy them to all members.
    pub(super) fn say(self, info: &MemberRecord, number: u64, open: bool, bytes: usize) {
        let Self { input, output } = self;
        let check = check(number, output, bytes);
        info.publish_arguments(number, [input, output, u64::from(open), check]);
    }

    /// Returns the output of a member, if that may be written. A wrong read only spoils a result,
    /// but no rank may write to an invalid address. Invalid data hardly ever have a correct check.
    pub(super) fn writable_output(info: &MemberRecord, number: u64, bytes: usize) -> Option<u64> {
        let [_, output, _, found] = info.arguments(number);
        (found == check(number, output, bytes)).then_some(output)
    }
}

fn check(number: u64, output: u64, bytes: usize) -> u64 {
    fingerprint([number, output, bytes as u64])
}

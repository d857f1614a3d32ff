//! Where a member says that its data are.

use super::member::MemberRecord;
use bcs_core::fingerprint::fingerprint;

/// Where a member's data are in a long collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberBuffers {
    /// What it contributes.
    pub(super) input: u64,
    /// Where it puts what it has folded, or what it receives.
    pub(super) output: u64,
}

impl MemberBuffers {
    pub(super) fn of(info: &MemberRecord, number: u64) -> Self {
        let [input, output] = info.arguments(number);
        Self { input, output }
    }

    /// Says where this rank's data are, and whether the kernel is known to copy them to all members.
    pub(super) fn say(self, info: &MemberRecord, number: u64, open: bool, bytes: usize) {
        let Self { input, output } = self;
        let check = check(number, output, bytes);
        info.publish_arguments(number, [input, output, u64::from(open), check]);
    }

    /// Where a member has its output, if that may be written: what is read there by mistake only spoils
    /// a result, but nobody writes where rubbish says. It has the check hardly ever.
    pub(super) fn writable_output(info: &MemberRecord, number: u64, bytes: usize) -> Option<u64> {
        let [_, output, _, found] = info.arguments(number);
        (found == check(number, output, bytes)).then_some(output)
    }
}

fn check(number: u64, output: u64, bytes: usize) -> u64 {
    fingerprint([number, output, bytes as u64])
}

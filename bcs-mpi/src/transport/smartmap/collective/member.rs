//! A member of a communicator.

use bcs_core::smartmap::MappedRecord;
use bcs_core::smartmap::coll_info::CollInfo;

/// A member's record.
pub(in crate::transport::smartmap) type MemberRecord = CollInfo<MappedRecord>;

/// A member.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct Member {
    pub(in crate::transport::smartmap) place: usize,
    pub(in crate::transport::smartmap) info: MemberRecord,
}

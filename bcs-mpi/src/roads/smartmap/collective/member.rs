//! A member of a communicator.

use bcs_core::smartmap::MappedRecord;
use bcs_core::smartmap::coll_info::CollInfo;

/// A member's record.
pub(in crate::roads::smartmap) type Info = CollInfo<MappedRecord>;

/// A member.
#[derive(Debug)]
pub(in crate::roads::smartmap) struct Member {
    pub(in crate::roads::smartmap) place: usize,
    pub(in crate::roads::smartmap) info: Info,
}

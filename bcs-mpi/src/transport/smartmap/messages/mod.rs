//! The parts of messages within the node: entries of queues and the code that writes and reads
//! them. They do not know the end that the messages belong to.
//!
//! | | file |
//! |---|---|
//! | the entry of a send queue | [`envelope`] |
//! | the queue to a place, and what waits for room there | [`outgoing`] |
//! | the queue from a place, and what waits for a message | [`incoming`] |
//! | whether a message is lent | [`loans`] |
//! | copies that both sides share | [`copier`] |
//! | a long message that is fetched | [`fetching`] |
//! | a long message that replaces one which is being sent | [`replacing`] |
//! | small pieces that are packed | [`packing`] |
//! | pieces of one layout, which need no packing | [`same_layout`] |

pub(super) mod copier;
pub(super) mod envelope;
pub(super) mod fetching;
pub(super) mod incoming;
pub(super) mod loans;
pub(super) mod outgoing;
pub(super) mod packing;
pub(super) mod replacing;
pub(super) mod same_layout;

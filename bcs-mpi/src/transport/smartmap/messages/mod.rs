//! What messages within the node are made of: what is written for them and by whom, before anything is known of
//! the end whose messages they are.
//!
//! | | file |
//! |---|---|
//! | what an entry of a send queue says | [`envelope`] |
//! | the way to a place, and what waits for room there | [`outgoing`] |
//! | the way from a place, and what waits for a message | [`incoming`] |
//! | whether a message is lent | [`loans`] |
//! | copies that both sides share | [`copier`] |
//! | a long message that is fetched | [`fetching`] |
//! | a long message that replaces one which is being sent | [`replacing`] |
//! | small pieces that are packed | [`packing`] |
//! | pieces of one layout, which need not be | [`alike`] |

pub(super) mod copier;
pub(super) mod envelope;
pub(super) mod fetching;
pub(super) mod incoming;
pub(super) mod loans;
pub(super) mod outgoing;
pub(super) mod packing;
pub(super) mod replacing;
pub(super) mod same_layout;

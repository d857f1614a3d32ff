//! Exchanges: collectives in which each member gives something else to each (collectives paper, IV.D).
//!
//! ```text
//!  enter ── head: how what I give lies ──► all have entered ── do all call the same?
//!             short: all of it is in my record      everybody takes what is his from the records  ── done
//!             long:  it stays where it is           judge, take it from memory to memory, say so  ── done
//! ```
//!
//! Gather, scatter, allgather and alltoall with all their variants, scans, and reductions by functions of
//! the program's are one thing here: what a member gives ([`GivenBlocks`]), what it takes ([`TakenBlocks`]), and who
//! gives to whom ([`Flow`](flow::Flow)), which all members know. **Takers read**; nobody writes into another one's
//! memory.
//!
//! **Short or long is each giver's own affair.** If what it gives to all, which is its *stream*, fits its
//! record, it lies there, and the giver is done when it has what it takes: an area is not written
//! again before all have read it ([gates](bcs_core::smartmap::coll_info)). Otherwise it says where its pieces are
//! and waits until those that read them have done so. What lies in pieces is packed before (by whoever posts it).
//!
//! **Lengths are allegations.** A taker knows how much it expects. If the giver says another length it
//! takes nothing and has failed, as with a message of another length; the exchange goes on, so nothing is
//! left for a later one.
//!
//! A fold takes in *rounds*, since its memory is for some contributions at a time: as many as it likes while
//! the exchange is open, because its givers wait anyway.
//!
//! Exchanges among the neighbours of a topology stay with messages: a rank would wait for all members
//! where it has to wait for its neighbours. So do those between two groups, and those of more members than
//! a record has room for a table of ([`MAX_MEMBERS`]).
//!
//! | | file |
//! |---|---|
//! | a member's part | [`give_and_take`] |
//! | who gives to whom | [`flow`] |
//! | how what is given lies, for who gives and who takes | [`gift`] |
//! | an exchange under way | [`exchanging`] |
//! | entering, and waiting for who reads | [`advance`] |
//! | from records and from memory | [`taking`] |
//! | if not all memory can be reached: through the records in parts | [`parts`], [`dividing`] |

mod advance;
mod dividing;
mod exchange_machine;
mod flow;
mod local_exchange;
mod offered_block;
mod parts;
mod taking;
#[cfg(test)]
mod tests;

pub(in crate::transport::smartmap) use exchange_machine::ExchangeMachine;
pub(crate) use local_exchange::{GivenBlocks, LocalExchange, TakenBlocks};
pub(crate) use offered_block::MAX_MEMBERS;

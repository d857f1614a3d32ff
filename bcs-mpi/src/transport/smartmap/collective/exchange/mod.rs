//! Exchanges: collectives with other data for each pair of members (collectives paper, IV.D).
//!
//! ```text
//!  enter ── head: where my data are ─────► all have entered ── do all call the same?
//!          short: all of it is in my record   each member takes its data from the records  ── done
//!          long:  it stays in place           judge, copy from memory to memory, report it ── done
//! ```
//!
//! Gather, scatter, allgather and alltoall with all their variants, scans, and reductions by
//! functions of the program are described in the same way: by what a member gives
//! ([`GivenBlocks`]), what it takes ([`TakenBlocks`]), and which members give to which
//! ([`Flow`](flow::Flow)), which all members know. **Takers read.** No member writes into another
//! one's memory.
//!
//! **Each giver decides between short and long.** If all data that it gives (its *stream*) fit its
//! record, they lie there. The giver is done when it has what it takes, because an area is not
//! written again before all have read it ([gates](bcs_core::smartmap::coll_info)). Otherwise it
//! publishes the addresses of its blocks and waits until the takers have read them. The code that
//! posts packs data with a layout before.
//!
//! **Lengths are claims.** A taker knows how much it expects. If the giver publishes another
//! length, the taker takes nothing and has failed, as with a message of another length. The
//! exchange goes on, so nothing is left for a later one.
//!
//! A fold takes in *rounds*, since its memory holds only some contributions at a time. It may use
//! any number of rounds while the exchange is open, because its givers wait anyway.
//!
//! Exchanges among the neighbours of a topology use messages, because otherwise a rank would wait
//! for all members instead of its neighbours. So do those between two groups, and those in which a
//! member gives each other one its own block, if there are more members than fit in the table of a
//! record ([`MAX_MEMBERS`]). Gathers and allgathers need no table: a member gives all the same.
//!
//! | | file |
//! |---|---|
//! | a member's part | [`local_exchange`] |
//! | which members give to which | [`flow`] |
//! | the place of the given data, for givers and takers | [`offered_block`] |
//! | an exchange under way | [`exchange_machine`] |
//! | entering, and waiting for takers | [`advance`] |
//! | taking from records and from memory | [`taking`] |
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

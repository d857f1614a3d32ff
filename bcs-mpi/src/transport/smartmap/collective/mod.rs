//! Collectives within the node: the members do them in each other's memory (collectives paper).
//!
//! ```text
//!  post ──► Group: in the order of the posts, one at a time ──► Collective
//!             enter ── my record of coll info ──►     records of those whose data I need
//!                                                        │ do they call the same?
//!             up to 4 KiB: everybody who wants the result takes it from the records   ── done
//!             longer:      all judge, fold, copy from memory to memory, say so        ── done
//! ```
//!
//! A collective is a step machine, under the endpoint's lock if its steps are short: it
//! goes on whenever its rank calls anything, and says whether it is over. Blocking ones are the same
//! machines, looked at in a loop by the call before it waits as for any request.
//!
//! **Who needs nothing of the others goes on at once**, as the paper lets it: the root of a short broadcast, and
//! who gives its part of a short reduction to another. That ranks do not get too far apart is the affair of
//! *gates* ([`coll_info`](bcs_core::smartmap::coll_info)); that all are told who do not call the same, that of
//! [`agreement`]. In all others everybody waits until all have entered, as with the NICs.
//!
//! **Waking.** Who is not in such a loop *listens*. Whoever sees that a phase is over (that all have
//! entered, folded, copied) adds to the listeners' news and rings them; before that nobody is rung, so a
//! barrier of many ranks on few cores costs one wake-up each.
//!
//! | | file |
//! |---|---|
//! | a member, and its record | [`member`] |
//! | members of a context, how far they are | [`group`] |
//! | what one of them does next; who is told | [`awaited`], [`listening`] |
//! | how far ranks get apart | [`gates`] |
//! | whether all have called the same | [`agreement`] |
//! | how far this rank is, and what it needs for that | [`phase`], [`surroundings`], [`spare`] |
//! | how far members are in long ones | [`steps`] |
//! | what all of them are | [`machine`] |
//! | short ones, from the records alone | [`short`] |
//! | those in which each gives something else to each | [`exchange`] |
//! | long ones, and the first part of those of several nodes | [`phased`] |
//! | entering and agreeing in these | [`advance`] |
//! | where their memory is, and whether it can be reached | [`named_memory`], [`reachability`] |
//! | reading it | [`member_memory`] |
//! | what all are told of memory that is not there | [`missing_memory`] |
//! | a long broadcast | [`broadcast`] |
//! | a long reduction | [`reduce`] |
//! | where a member puts its share | [`outputs`] |
//! | in which direction they go over the data | [`direction`] |
//! | those of several nodes | [`hierarchical`] |
//! | what the leader's NIC is to do | [`order`] |
//! | what was posted, in order | [`queue`] |
//! | those of a communicator, and of all | [`communicator`], [`communicators`] |
//! | long ones, which go on without the endpoint's lock | [`absent`] |
//!
//! These are machines: none of them knows the end whose collectives they are ([`super::collectives`],
//! [`super::long_collectives`], [`super::communicators`]).

mod advance;
mod agreement;
mod awaited;
mod broadcast;
mod communicator;
mod communicators;
mod detached;
mod direction;
mod environment;
mod exchange;
mod gates;
mod group;
mod hierarchical;
#[cfg(test)]
mod hierarchical_tests;
mod listening;
mod machine;
mod member;
mod member_buffers;
mod member_memory;
mod missing_memory;
mod nic_order;
mod outputs;
mod phase;
mod phased;
mod queue;
mod reachability;
mod reduce;
mod short;
mod spare;
#[cfg(test)]
mod stepping;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use awaited::AwaitedMember;
pub(super) use communicator::{DetachedState, LocalCommunicator};
pub(super) use communicators::LocalCommunicators;
pub(crate) use detached::DetachedCommunicator;
pub(super) use environment::CollectiveEnvironment;
pub(super) use exchange::ExchangeMachine;
pub(crate) use exchange::{GivenBlocks, LocalExchange, MAX_MEMBERS, TakenBlocks};
pub(crate) use group::GroupId;
pub(super) use group::LocalGroup;
pub(super) use hierarchical::HierarchicalCollective;
pub(super) use machine::{CollectiveMachine, CollectiveResult, outcome};
pub(super) use nic_order::CollectiveNumber;
pub(crate) use nic_order::NicOrder;
pub(super) use phased::PhasedCollective;
pub(super) use queue::CollectiveQueue;
pub(super) use short::ShortCollective;
pub(super) use spare::SpareBuffers;

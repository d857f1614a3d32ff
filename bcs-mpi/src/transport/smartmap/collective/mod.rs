//! Collectives within the node: the members do them in each other's memory (collectives paper).
//!
//! ```text
//!  post ──► Group: in the order of the posts, one at a time ──► Collective
//!             enter ── my record of coll info ──►     records of those whose data I need
//!                                                        │ do they call the same?
//!             up to 4 KiB: all that want the result take it from the records          ── done
//!             longer:      all judge, fold, copy from memory to memory, report it     ── done
//! ```
//!
//! A collective is a step machine, under the endpoint's lock if its steps are short. It advances
//! whenever its rank calls anything, and reports whether it is over. Blocking ones are the same
//! machines: the call polls them in a loop before it waits as for any request.
//!
//! **A member that needs no data of the others goes on at once**, as the paper allows: the root of
//! a short broadcast, and a member that gives its part of a short reduction to another. *Gates*
//! keep ranks from getting too far apart ([`coll_info`](bcs_core::smartmap::coll_info)), and
//! [`agreement`] notifies all members if their calls differ. In all other collectives each member
//! waits until all have entered, as with the NICs.
//!
//! **Waking.** A member that is not in such a loop *listens*. A member that sees that a phase is
//! over (that all have entered, folded, copied) increments the listeners' event counts and rings
//! them. No member is rung before that, so a barrier of many ranks on few cores costs one wake-up
//! each.
//!
//! | | file |
//! |---|---|
//! | a member, and its record | [`member`] |
//! | members of a context, how far they are | [`group`] |
//! | what a member has to do next; which members are notified | [`awaited`], [`listening`] |
//! | how far ranks get apart | [`gates`] |
//! | whether all have called the same | [`agreement`] |
//! | how far this rank is, and what it needs for that | [`phase`], [`environment`], [`spare`] |
//! | how far members are in long ones | [`steps`] |
//! | the trait of all collectives | [`machine`] |
//! | short ones, from the records alone | [`short`] |
//! | those with other data for each pair of members | [`exchange`] |
//! | long ones, and the first part of those of several nodes | [`phased`] |
//! | entering and agreeing in these | [`advance`] |
//! | where their memory is, and whether it can be reached | [`member_buffers`], [`reachability`] |
//! | reading it | [`member_memory`] |
//! | how all learn of memory that is not mapped | [`missing_memory`] |
//! | a long broadcast | [`broadcast`] |
//! | a long reduction | [`reduce`] |
//! | where a member puts its share | [`outputs`] |
//! | in which direction they go over the data | [`direction`] |
//! | those of several nodes | [`hierarchical`] |
//! | what the leader's NIC has to do | [`nic_order`] |
//! | posted collectives, in order | [`queue`] |
//! | those of a communicator, and of all | [`communicator`], [`communicators`] |
//! | long ones, which advance without the endpoint's lock | [`detached`] |
//!
//! These machines do not know the end that they belong to ([`super::collectives`],
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

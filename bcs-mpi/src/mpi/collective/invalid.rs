//! Collectives that this rank has called with a wrong argument. The standard does not define what
//! happens to the other ranks (MPI 5.0, 9.3).
//!
//! The others would wait for this rank, and mistake its next collective for this one. So this rank
//! takes part ([`Participation`]), and the others are notified which rank has called which function
//! with what kind of error. For that it has to know only the kind of collective, and the root.
//!
//! **Who is notified.** The ranks that wait for this rank are, as with memory that does not exist
//! (`docs/faults.md`). This rank itself does not wait: its call returns its own error, and what it
//! has posted goes on.
//!
//! **An invalid root.** It does not matter where members arrive. Where they exchange messages, this
//! rank cannot know who waits for it. So it sends to all others, and expects a message from each.
//! Messages that no rank receives stay in the context. This job then never uses the context's id
//! again.
//!
//! **An invalid operation** may stand for one of the program's, whose reductions are messages, or
//! for a predefined one, where members arrive. It is treated as a predefined one.

use crate::bcs::{Blocking, Correspondents, Participation};
use crate::foreign;
use crate::mpi::checks::CommonArguments;
use crate::mpi::compared_blocks::ComparedBlocks;
use crate::mpi::datatype::Datatype;
use crate::mpi::error::{Error, ErrorClass, Operation};
use crate::mpi::{AnyOp, Comm, ErrorHandler, PROC_NULL, ROOT, Request, Result};
use crate::recording::Site;
use bcs_core::descriptor::InvalidCall;
use bcs_core::wait_state::MessageCollective;

/// The known arguments of a collective that was called with a wrong argument.
#[derive(Clone, Copy, Debug, Default)]
pub struct InvalidArguments {
    /// The root, if it has one.
    pub root: Option<i32>,
    /// Its operation is one of the program's.
    pub by_function: bool,
    /// Elements of its datatype do not lie side by side.
    pub has_gaps: bool,
}

impl InvalidArguments {
    /// The arguments of a collective without a root or an operation.
    pub(in crate::mpi) const PLAIN: Self = Self {
        root: None,
        by_function: false,
        has_gaps: false,
    };

    /// The arguments of a collective with this root.
    #[must_use]
    pub fn of_root(root: i32) -> Self {
        Self {
            root: Some(root),
            ..Self::PLAIN
        }
    }

    /// Adds what is known of its operation and datatype.
    #[must_use]
    pub fn reducing(self, op: Option<&AnyOp>, of: Option<&Datatype>) -> Self {
        let extent = |of: &Datatype| u64::try_from(of.extent().1).ok();
        Self {
            by_function: matches!(op, Some(AnyOp::User(_))),
            has_gaps: of.is_some_and(|of| extent(of) != Some(of.size() as u64)),
            ..self
        }
    }
}

/// How the members of a collective communicate, as far as it decides with whom a rank exchanges
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Arrive,
    FromRoot,
    ToRoot,
    All,
    /// All exchange blocks that are equally long.
    Blocks,
    /// Each rank gives to the higher ranks.
    Upward,
    Neighbors,
}

impl Pattern {
    /// Returns the pattern of a function, which may be one that starts a collective. A function
    /// that makes a collective persistent makes a communicator.
    fn of(function: &str, arguments: InvalidArguments) -> Self {
        if is_init(function) {
            return Self::Arrive;
        }
        let by_messages = arguments.by_function || arguments.has_gaps;
        match plain(function).as_str() {
            "scatter" | "scatterv" => Self::FromRoot,
            "gather" | "gatherv" => Self::ToRoot,
            "reduce" if by_messages => Self::ToRoot,
            "allgatherv" | "alltoallv" | "alltoallw" => Self::All,
            "allreduce" | "reduce_scatter" | "reduce_scatter_block" if by_messages => Self::All,
            "allgather" | "alltoall" => Self::Blocks,
            "scan" | "exscan" => Self::Upward,
            other if other.starts_with("neighbor_") => Self::Neighbors,
            _ => Self::Arrive,
        }
    }

    /// Returns the same between two groups, where all collectives but barriers are messages.
    fn between(function: &str) -> Self {
        let reducing = InvalidArguments {
            by_function: true,
            ..InvalidArguments::PLAIN
        };
        match Self::of(function, reducing) {
            Self::Arrive if is_init(function) => Self::Arrive,
            Self::Arrive if plain(function) == "bcast" => Self::FromRoot,
            Self::Blocks => Self::All,
            pattern => pattern,
        }
    }
}

/// Returns whether a function makes a collective persistent.
fn is_init(function: &str) -> bool {
    function.trim_end_matches("_c").ends_with("_init")
}

/// Returns the name of the function that blocks, without "MPI_".
fn plain(function: &str) -> String {
    let plain = function
        .trim_start_matches("MPI_Start (")
        .trim_end_matches(')');
    let plain = plain.trim_end_matches("_c").trim_end_matches("_init");
    let plain = plain.trim_start_matches("MPI_").to_ascii_lowercase();
    match plain.strip_prefix('i') {
        Some(blocking) => blocking.to_owned(),
        None => plain,
    }
}

/// Returns whether the blocks of a function have lengths of their own.
fn is_vector(function: &str) -> bool {
    plain(function).ends_with('v')
}

/// Returns the kind of collective of a function that uses messages.
fn exchange(function: &str, between: bool) -> MessageCollective {
    match (plain(function).as_str(), between) {
        ("scatter" | "scatterv", _) => MessageCollective::Scatter,
        ("gather" | "gatherv", _) => MessageCollective::Gather,
        ("allgather" | "allgatherv", _) => MessageCollective::Allgather,
        ("scan", _) => MessageCollective::Scan,
        ("exscan", _) => MessageCollective::Exscan,
        ("bcast", _) => MessageCollective::BroadcastBetween,
        ("reduce" | "allreduce", false) => MessageCollective::Reduce,
        ("reduce" | "allreduce", true) => MessageCollective::ReduceBetween,
        ("reduce_scatter" | "reduce_scatter_block", false) => MessageCollective::ReduceScatter,
        ("reduce_scatter" | "reduce_scatter_block", true) => {
            MessageCollective::ReduceScatterBetween
        }
        (other, _) if other.starts_with("neighbor_") => MessageCollective::Neighbors,
        _ => MessageCollective::Alltoall,
    }
}

/// Where the root is, by this rank's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllegedRoot {
    Here,
    /// In this rank's group, which then has no part in it.
    Beside,
    /// At this rank of the world.
    There(u32),
    /// The root is invalid.
    Unknown,
}

impl Comm {
    /// Returns whether a caller gets the errors of this communicator. If a C program has not set an
    /// error handler, its job ends instead.
    fn returns_errors(&self) -> bool {
        let handler = self.error_handler();
        foreign::address().is_none()
            || !matches!(handler, ErrorHandler::Fatal | ErrorHandler::Abort)
    }

    /// Returns how many collectives this rank has entered here, including those that others are
    /// made of.
    #[must_use]
    pub fn collectives_entered(&self) -> u32 {
        self.process().endpoint().bcs_entered(self.0.context)
    }

    /// Returns what was posted, or its error. The other ranks are notified of the error.
    #[inline(always)]
    pub(in crate::mpi) fn report_if_invalid(
        &self,
        posted: Result<Request>,
        arguments: InvalidArguments,
    ) -> Result<Request> {
        match posted {
            Ok(request) => Ok(request),
            Err(error) => Err(self.tell_others(error, arguments)),
        }
    }

    /// Handles a wrong argument that a layer above found before it called a collective here. The
    /// ranks that wait for this rank are notified.
    #[cold]
    #[track_caller]
    pub fn tell_of_invalid_call(
        &self,
        error: Box<Error>,
        arguments: InvalidArguments,
    ) -> Box<Error> {
        if self.process().is_checked() && !error.told && self.returns_errors() {
            // The next member compares its call with the one that this rank announces.
            let (call, site) = (error.operation.call, Site::here());
            let alike = CommonArguments::NOTHING.with(self.blocks_of_invalid(call, arguments));
            let compared = self.calls_alike(call, Blocking::No, arguments.root, alike, site);
            // This rank has an error already, so the result of the comparison does not matter.
            drop(compared);
        }
        self.tell_others(error, arguments)
    }

    /// Returns the blocks that others would wait to compare, if a collective of this name compares
    /// any.
    fn blocks_of_invalid(&self, call: &str, arguments: InvalidArguments) -> ComparedBlocks {
        let others = self.others_of_group();
        let root = self.alleged_root(arguments.root);
        let to = match (Pattern::of(call, arguments), root) {
            (Pattern::Neighbors, _) => {
                let neighbors = self.neighbors();
                neighbors.map_or(Vec::new(), |(_, to)| self.other_neighbors(&to))
            }
            (Pattern::All, _) if call.to_ascii_lowercase().contains("alltoall") => others,
            (Pattern::ToRoot, AllegedRoot::There(root)) if is_vector(call) => vec![root],
            (Pattern::FromRoot, AllegedRoot::Here) if is_vector(call) => others,
            _ => Vec::new(),
        };
        self.unknown_blocks(&to)
    }

    /// Handles a collective that this rank has called with a wrong argument and in which it has not
    /// taken part so far.
    #[cold]
    pub(in crate::mpi) fn tell_others(
        &self,
        mut error: Box<Error>,
        arguments: InvalidArguments,
    ) -> Box<Error> {
        // If the communicator was freed, the others do not know it either.
        let usable = self.usable(&Operation::plain(error.operation.call)).is_ok();
        let tells = !error.told && usable && !self.is_single() && self.returns_errors();
        if std::mem::replace(&mut error.told, true) || !tells {
            return error;
        }
        let function = error.operation.call;
        let call = InvalidCall::new(function, error.class.code());
        let (others, leaves) = self.what_others_do(function, arguments);
        let members = self.members_of_context();
        let posted = self.process().endpoint().bcs_invalid(members, call, others);
        let endpoint = self.process().endpoint();
        match (posted, &self.0.origin) {
            (Err(_), _) => {}
            (Ok(posted), _) if leaves => self.0.invalid.add_endless(endpoint, posted),
            (Ok(posted), Some(_)) => self.0.invalid.add(endpoint, posted),
            // This is the world, which is never closed.
            (Ok(posted), None) => endpoint.forget_invalid(posted),
        }
        error
    }

    /// Returns what the others do, and whether messages may stay that no rank receives.
    fn what_others_do(&self, function: &str, arguments: InvalidArguments) -> (Participation, bool) {
        let root = self.alleged_root(arguments.root);
        let (pattern, all) = match self.is_inter() {
            true => (Pattern::between(function), self.peers().members.clone()),
            false => {
                let pattern = Pattern::of(function, arguments);
                (pattern, self.others_of_group())
            }
        };
        let mut leaves = false;
        let mut with = Correspondents {
            exchange: exchange(function, self.is_inter()),
            to: Vec::new(),
            from: Vec::new(),
            nodes: None,
        };
        match (pattern, root) {
            (Pattern::Arrive, _) => return (Participation::Arrive, false),
            (Pattern::FromRoot | Pattern::ToRoot, AllegedRoot::Unknown) => {
                (with.to, with.from, leaves) = (all.to_vec(), all.to_vec(), true);
            }
            (Pattern::FromRoot | Pattern::ToRoot, AllegedRoot::Beside) => {}
            (Pattern::FromRoot, AllegedRoot::Here) => with.to = all.to_vec(),
            (Pattern::FromRoot, AllegedRoot::There(root)) => with.from = vec![root],
            (Pattern::ToRoot, AllegedRoot::Here) => with.from = all.to_vec(),
            (Pattern::ToRoot, AllegedRoot::There(root)) => with.to = vec![root],
            (Pattern::All, _) => (with.to, with.from) = (all.to_vec(), all.to_vec()),
            (Pattern::Blocks, _) => {
                (with.to, with.from) = (all.to_vec(), all.to_vec());
                with.nodes = self.nodes();
            }
            (Pattern::Upward, _) => {
                let (members, me) = (self.members(), self.0.group.me);
                (with.to, with.from) = (members[me + 1..].to_vec(), members[..me].to_vec());
            }
            (Pattern::Neighbors, _) => {
                if let Ok(neighbors) = self.neighbors() {
                    with.to = self.other_neighbors(&neighbors.1);
                    with.from = self.other_neighbors(&neighbors.0);
                }
            }
        }
        let messages = self.is_inter() || pattern == Pattern::Neighbors;
        let others = match messages {
            true => Participation::Messages(with),
            false => Participation::Exchange(with),
        };
        (others, leaves)
    }

    fn alleged_root(&self, root: Option<i32>) -> AllegedRoot {
        let Some(root) = root else {
            return AllegedRoot::Unknown;
        };
        match (self.is_inter(), root) {
            (true, ROOT) => return AllegedRoot::Here,
            (true, PROC_NULL) => return AllegedRoot::Beside,
            (false, root) if root == self.rank() => return AllegedRoot::Here,
            _ => {}
        }
        self.named_world_rank(root)
            .map_or(AllegedRoot::Unknown, AllegedRoot::There)
    }

    /// Returns all others of this rank's group, the next one first.
    fn others_of_group(&self) -> Vec<u32> {
        let (members, me) = (self.members(), self.0.group.me);
        [&members[me + 1..], &members[..me]].concat()
    }

    fn other_neighbors(&self, neighbors: &[i32]) -> Vec<u32> {
        let others = neighbors.iter().filter(|&&rank| rank != self.rank());
        others
            .filter_map(|&rank| self.named_world_rank(rank))
            .collect()
    }

    /// Returns the error of a collective that failed because another member has called it with a
    /// wrong argument.
    pub(in crate::mpi) fn invalid_elsewhere(
        &self,
        rank: u32,
        call: InvalidCall,
        operation: Operation,
    ) -> Box<Error> {
        let class = ErrorClass::from_code(call.class()).unwrap_or(ErrorClass::Other);
        let place = self.members().iter().position(|&member| member == rank);
        let who = match place.filter(|_| !self.is_inter()) {
            Some(place) => format!("rank {place}"),
            None => format!("rank {rank} of the world"),
        };
        let (function, text) = (call.function(), class.text());
        let reason = format!("{who} called {function} with {text} ({class})");
        operation.error(class, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_function_have_one_pattern() {
        let plain = InvalidArguments::PLAIN;
        let function = InvalidArguments {
            by_function: true,
            ..plain
        };
        for (name, pattern) in [
            ("Bcast", Pattern::Arrive),
            ("Gatherv", Pattern::ToRoot),
            ("Scatter", Pattern::FromRoot),
            ("Alltoall", Pattern::Blocks),
            ("Alltoallw", Pattern::All),
            ("Exscan", Pattern::Upward),
            ("Allreduce", Pattern::Arrive),
            ("Neighbor_alltoallv", Pattern::Neighbors),
        ] {
            let lower = name.to_ascii_lowercase();
            for form in [
                format!("MPI_{name}"),
                format!("MPI_{name}_c"),
                format!("MPI_I{lower}"),
                format!("MPI_Start (MPI_{name}_init)"),
            ] {
                assert_eq!(Pattern::of(&form, plain), pattern, "{form}");
            }
            for init in [format!("MPI_{name}_init"), format!("MPI_{name}_init_c")] {
                assert_eq!(Pattern::of(&init, plain), Pattern::Arrive, "{init}");
            }
        }
        assert_eq!(Pattern::of("MPI_Ireduce", function), Pattern::ToRoot);
        assert_eq!(Pattern::of("MPI_Allreduce", function), Pattern::All);
        assert_eq!(Pattern::of("MPI_Intercomm_merge", plain), Pattern::Arrive);
        assert_eq!(Pattern::between("MPI_Ibcast"), Pattern::FromRoot);
        assert_eq!(Pattern::between("MPI_Bcast_init"), Pattern::Arrive);
        assert_eq!(Pattern::between("MPI_Alltoall"), Pattern::All);
        assert_eq!(Pattern::between("MPI_Reduce"), Pattern::ToRoot);
        assert_eq!(Pattern::between("MPI_Barrier"), Pattern::Arrive);
    }
}

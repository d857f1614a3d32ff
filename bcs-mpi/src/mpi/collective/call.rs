//! How all collectives begin and end.

use crate::bcs::{
    self, Blocking, ByteRange, DataView, DataViews, Members, MembersByNode, TooManyRequests,
};
use crate::call_site;
use crate::checked::UsedMemory;
use crate::foreign;
use crate::mpi::buffer_claims::BufferClaims;
use crate::mpi::comm::exhausted;
use crate::mpi::error::{Operation, Peer, Result};
use crate::mpi::request::CompletionKind;
use crate::mpi::{Comm, Request, Status};
use crate::recording::{CallInfo, CallStart, CallTiming, Primitive, RecordedOperation, Site};
use bcs_core::job::{CollectiveMode, IntranodeTransport};
use std::sync::Arc;

/// A call: its name, its row in the MDS, and whether its caller waits at once.
#[derive(Clone, Copy)]
pub(in crate::mpi) struct CollectiveFunction {
    name: &'static str,
    primitive: Primitive,
    blocking: Blocking,
}

impl CollectiveFunction {
    pub(in crate::mpi) const fn blocking(name: &'static str, primitive: Primitive) -> Self {
        let blocking = Blocking::Yes;
        Self {
            name,
            primitive,
            blocking,
        }
    }

    pub(in crate::mpi) const fn starting(name: &'static str, primitive: Primitive) -> Self {
        let blocking = Blocking::No;
        Self {
            name,
            primitive,
            blocking,
        }
    }
}

/// A call, and when it began if it is recorded.
#[derive(Clone, Copy)]
pub(in crate::mpi) struct RecordedCall {
    call: &'static CollectiveFunction,
    begun: CallStart,
}

impl RecordedCall {
    pub(in crate::mpi) const fn unrecorded(call: &'static CollectiveFunction) -> Self {
        let begun = CallStart::UNKNOWN;
        Self { call, begun }
    }

    pub(in crate::mpi) const fn recorded(
        call: &'static CollectiveFunction,
        begun: CallStart,
    ) -> Self {
        Self { call, begun }
    }

    /// Returns the record of its request. If its caller waits at once, the wait is the call.
    fn recorded_request(self) -> RecordedOperation {
        match self.call.blocking {
            Blocking::Yes => RecordedOperation::part(self.begun),
            Blocking::No => RecordedOperation::started(self.begun, self.call.primitive),
        }
    }
}

/// A call that has passed its first checks.
pub(in crate::mpi) struct CheckedCall {
    pub(in crate::mpi) operation: Operation,
    calling: RecordedCall,
    /// Its buffers, in a checked job.
    claims: Option<Arc<BufferClaims>>,
}

impl CheckedCall {
    /// Returns whether the caller waits for it at once.
    pub(super) fn blocking(&self) -> Blocking {
        self.calling.call.blocking
    }

    /// Returns the buffers of a call in which the program could write while it is under way, if the
    /// job is checked.
    #[inline(always)]
    fn watched(&self) -> Option<&BufferClaims> {
        let claims = self.claims.as_deref()?;
        (self.blocking() == Blocking::No).then_some(claims)
    }

    /// Returns the buffer that the call receives into in place of the program's.
    #[inline(always)]
    pub(in crate::mpi) fn staged(&self, buffer: DataView, element: usize) -> DataView {
        match self.watched() {
            None => buffer,
            Some(claims) => claims.stage(buffer, element),
        }
    }

    /// Does the same for its first `count` blocks.
    #[inline(always)]
    pub(super) fn staged_blocks(
        &self,
        blocks: DataViews,
        count: usize,
        element: usize,
    ) -> DataViews {
        match self.watched() {
            None => blocks,
            Some(claims) => claims.stage_blocks(blocks, count, element),
        }
    }

    /// Does the same for each of these blocks, from or for a rank. Their elements are not known.
    #[inline(always)]
    pub(in crate::mpi) fn staged_parcels<R>(
        &self,
        parcels: Vec<(R, DataView)>,
    ) -> Vec<(R, DataView)> {
        match self.watched() {
            None => parcels,
            Some(claims) => {
                let parcels = parcels.into_iter();
                let staged = parcels.map(|(rank, block)| (rank, claims.stage(block, 0)));
                staged.collect()
            }
        }
    }

    /// Does the same for the result of a reduction. In place, that is also the input. A function of
    /// the program may need the layout of derived data, so these stay where they are.
    #[inline(always)]
    pub(in crate::mpi) fn staged_operands(
        &self,
        (from, into): (DataView, DataView),
        element: usize,
    ) -> (DataView, DataView) {
        let Some(claims) = self.watched().filter(|_| into.layout().is_none()) else {
            return (from, into);
        };
        let in_place = from.address() == into.address() && !into.is_empty();
        let into = claims.stage(into, element);
        (if in_place { into.clone() } else { from }, into)
    }

    /// Does the same for contiguous operands.
    #[inline(always)]
    pub(super) fn staged_ranges(
        &self,
        (from, into): (ByteRange, ByteRange),
        element: usize,
    ) -> (ByteRange, ByteRange) {
        if self.watched().is_none() {
            return (from, into);
        }
        let (own, result) = self.staged_operands((from.into(), into.into()), element);
        (own.plain().unwrap_or(from), result.plain().unwrap_or(into))
    }
}

impl Comm {
    /// Begins a call, with its number of bytes if they can be counted. The root is not checked yet.
    #[inline(always)]
    pub(super) fn enter(
        &self,
        calling: RecordedCall,
        bytes: Option<usize>,
        root: Option<i32>,
    ) -> Result<CheckedCall> {
        let operation = Operation {
            call: calling.call.name,
            bytes: bytes.map(|bytes| bytes as u64),
            peer: root.map(Peer::Root),
            tag: None,
        };
        self.usable(&operation)?;
        Ok(CheckedCall {
            operation,
            calling,
            claims: None,
        })
    }

    pub(in crate::mpi) fn begin(
        &self,
        calling: RecordedCall,
        bytes: u64,
        root: Option<i32>,
    ) -> Result<CheckedCall> {
        let mut begin = self.enter(calling, None, root)?;
        begin.operation.bytes = Some(bytes);
        if let Some(root) = root {
            self.checked_root(root, begin.operation)?;
        }
        Ok(begin)
    }

    pub(in crate::mpi) fn members_of_context(&self) -> Members<'_> {
        Members {
            context: self.0.context,
            world: self.members(),
            me: self.0.group.me,
        }
    }

    /// Returns the nodes of the members, if collectives go by the leaders of the nodes.
    pub(crate) fn nodes(&self) -> Option<MembersByNode> {
        let process = self.process();
        let settings = process.endpoint().settings();
        let by_leaders = settings.collectives == CollectiveMode::Hierarchical
            && settings.intranode == IntranodeTransport::Smartmap;
        let node = |&rank: &u32| process.placement().node_of(rank);
        let mut nodes = self.members().iter().map(node);
        // If all members are on one node, each call would collect them in vain.
        let first = nodes.next();
        if !by_leaders || nodes.all(|node| Some(node) == first) {
            return None;
        }
        MembersByNode::new(self.members().iter().map(node))
    }

    /// Returns the request of a collective that was started here. In a checked job the wait for it
    /// compares the calls.
    #[inline(always)]
    pub(in crate::mpi) fn compared_later(
        &self,
        posted: Result<Request>,
        call: &str,
        site: Site,
    ) -> Result<Request> {
        // Neighbours do not wait for others.
        match self.process().is_checked() && !call.contains("neighbor") {
            false => posted,
            true => posted.map(|request| request.comparing(foreign::site(site))),
        }
    }

    /// Returns the request that the program waits for; an inactive one if the caller waits at once
    /// and the call is complete.
    #[inline(always)]
    pub(in crate::mpi) fn started(
        &self,
        begin: CheckedCall,
        posted: std::result::Result<bcs::Request, TooManyRequests>,
    ) -> Result<Request> {
        let CheckedCall {
            operation,
            calling,
            claims,
        } = begin;
        let request = posted.map_err(exhausted(&operation))?;
        if request.is_complete() && calling.call.blocking == Blocking::Yes {
            return Ok(Request::inactive());
        }
        let (what, told) = (CompletionKind::Nothing, calling.recorded_request());
        let request = Request::posted(request, what, self, &operation, told);
        Ok(request.holding(claims))
    }

    /// Returns the request of a call that is complete because this rank is the only member.
    pub(super) fn alone(&self, begin: &CheckedCall) -> Request {
        let told = begin.calling.recorded_request();
        let request = Request::done(Ok(Status::EMPTY), 0, self, told);
        request.holding(begin.claims.clone())
    }

    /// Claims the memory of a call in a checked job.
    #[inline(always)]
    pub(in crate::mpi) fn uses(
        &self,
        begin: &mut CheckedCall,
        memory: impl FnOnce() -> Vec<UsedMemory>,
    ) -> Result<()> {
        if !self.process().is_checked() {
            return Ok(());
        }
        let site = call_site::current().unwrap_or(Site::here());
        // A call that blocks returns when it is complete, so the program cannot write its buffers.
        let keeps = begin.blocking() == Blocking::No;
        let claims = self.claim(&begin.operation, memory(), site, keeps)?;
        begin.claims = Some(claims);
        Ok(())
    }

    /// Waits for a call that began at this place.
    #[inline(always)]
    pub(in crate::mpi) fn waited_for(&self, posted: Result<Request>, site: Site) -> Result<()> {
        let mut request = posted?;
        if request.is_inactive() {
            // Nearly all short calls are complete by now. There is nothing to drop.
            std::mem::forget(request);
            return Ok(());
        }
        request
            .wait_unrecorded_at(site)
            .map(|_| ())
            .map_err(|mut error| {
                error.told = true;
                error
            })
    }

    /// Records a call with its number of bytes. It counts as a collective unless the library makes
    /// it inside another call.
    #[track_caller]
    pub(in crate::mpi) fn recorded_collective<T>(
        &self,
        call: &'static CollectiveFunction,
        bytes: u64,
        root: Option<i32>,
        make: impl FnOnce(RecordedCall) -> T,
    ) -> T {
        let (primitive, blocking) = (call.primitive, call.blocking == Blocking::Yes);
        let called = CallInfo {
            context: Some(self.0.context),
            peer: root.and_then(|root| self.named_world_rank(root)),
            bytes,
            ..CallInfo::plain(primitive, blocking)
        };
        let manner = if blocking {
            CallTiming::Waits
        } else {
            CallTiming::Starts
        };
        let recording = self.process().recording();
        recording.record_call(Site::here(), manner, called, |begun| {
            self.count_collective(begun, bytes);
            make(RecordedCall::recorded(call, begun))
        })
    }

    /// Counts a collective that a recorded call enters.
    pub(in crate::mpi) fn count_collective(&self, begun: CallStart, bytes: u64) {
        let recording = self.process().recording();
        recording.collective(begun, self.0.context, bytes, self.has_local_members());
    }
}

/// Defines three forms of a collective: blocking, non-blocking and persistent. The MDS gets the
/// bytes, and the root if there is one. A checked job compares those and what is `alike`.
macro_rules! collectives {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident $name:literal $primitive:ident,
        $nonblocking:ident $iname:literal $iprimitive:ident, $init:ident:
        $post:ident($($argument:ident: $type:ty),*),
        $comm:ident => $bytes:expr $(, root $root:ident)? $(, op $op:ident)?, alike $alike:expr;
    )*) => {
        impl Comm {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[doc = $text])*
                ///
                /// # Errors
                /// When an argument is wrong, the ranks disagree about a length, or the NIC
                /// reports a failure.
                #[track_caller]
                pub fn $blocking(&self, $($argument: $type),*) -> Result<()> {
                    use $crate::mpi::collective::{CollectiveFunction, RecordedCall};
                    let call = &const { CollectiveFunction::blocking($name, Primitive::$primitive) };
                    let ($comm, site) = (self, $crate::recording::Site::here());
                    $(let $op: $crate::mpi::AnyOp = $op.into();)?
                    $crate::mpi::collective::arguments!(arguments $(, root $root)? $(, op $op)?);
                    let is_checked = $comm.process().is_checked();
                    let _at = is_checked.then(|| $crate::call_site::enter(site));
                    if is_checked {
                        let (root, waits) = (arguments.root, $crate::bcs::Blocking::Yes);
                        let alike = $comm.calls_alike($name, waits, root, $alike, site);
                        alike.map_err(|error| $comm.tell_others(error, arguments))?;
                    }
                    if !$comm.process().recording().is_on() {
                        let posted = $comm.$post(RecordedCall::unrecorded(call), $($argument),*);
                        return $comm.waited_for($comm.report_if_invalid(posted, arguments), site);
                    }
                    let bytes: u64 = $bytes;
                    let root: Option<i32> = None;
                    $(let root = root.or(Some($root));)?
                    $comm.recorded_collective(call, bytes, root, |calling| {
                        let posted = $comm.$post(calling, $($argument),*);
                        $comm.waited_for($comm.report_if_invalid(posted, arguments), site)
                    })
                }

                #[doc = concat!("`", $iname, "`: starts a [`", stringify!($blocking), "`](Self::",
                    stringify!($blocking), ").")]
                ///
                /// # Errors
                /// When an argument is wrong. Later errors are the request's.
                #[track_caller]
                pub fn $nonblocking(&self, $($argument: $type),*) -> Result<Request> {
                    use $crate::mpi::collective::{CollectiveFunction, RecordedCall};
                    let call = &const { CollectiveFunction::starting($iname, Primitive::$iprimitive) };
                    let ($comm, site) = (self, $crate::recording::Site::here());
                    $(let $op: $crate::mpi::AnyOp = $op.into();)?
                    $crate::mpi::collective::arguments!(arguments $(, root $root)? $(, op $op)?);
                    let is_checked = $comm.process().is_checked();
                    let _at = is_checked.then(|| $crate::call_site::enter(site));
                    if is_checked {
                        let (root, waits) = (arguments.root, $crate::bcs::Blocking::No);
                        let alike = $comm.calls_alike($iname, waits, root, $alike, site);
                        alike.map_err(|error| $comm.tell_others(error, arguments))?;
                    }
                    if !$comm.process().recording().is_on() {
                        let posted = $comm.$post(RecordedCall::unrecorded(call), $($argument),*);
                        let posted = $comm.report_if_invalid(posted, arguments);
                        return $comm.compared_later(posted, $iname, site);
                    }
                    let bytes: u64 = $bytes;
                    let root: Option<i32> = None;
                    $(let root = root.or(Some($root));)?
                    $comm.recorded_collective(call, bytes, root, |calling| {
                        let posted = $comm.$post(calling, $($argument),*);
                        let posted = $comm.report_if_invalid(posted, arguments);
                        $comm.compared_later(posted, $iname, site)
                    })
                }

                #[doc = concat!("`", $name, "_init`: a start begins an [`",
                    stringify!($nonblocking), "`](Self::", stringify!($nonblocking), "). All ranks \
                    call the inits of a communicator in the same order, and may start what they \
                    made in any.")]
                ///
                /// # Errors
                /// As [`dup`](Self::dup). The start reports a wrong argument.
                #[track_caller]
                pub fn $init(&self, $($argument: $type),*) -> Result<$crate::mpi::Persistent> {
                    use $crate::mpi::collective::{CollectiveFunction, RecordedCall};
                    use $crate::mpi::persistent::{Keep as _, Lend as _};
                    let call = &const { CollectiveFunction::starting($iname, Primitive::$iprimitive) };
                    $(let $argument = $argument.keep();)*
                    let init = concat!($name, "_init");
                    let start = concat!("MPI_Start (", $name, "_init)");
                    self.persistent_collective(init, start, move |$comm, begun| {
                        $(let $argument = $argument.lend();)*
                        if !begun.is_unknown() {
                            $comm.count_collective(begun, $bytes);
                        }
                        $(let $op: $crate::mpi::AnyOp = $op.into();)?
                        $crate::mpi::collective::arguments!(arguments $(, root $root)? $(, op $op)?);
                        let posted = $comm.$post(RecordedCall::recorded(call, begun), $($argument),*);
                        let posted = posted.map_err(|mut error| {
                            error.operation.call = start;
                            error
                        });
                        $comm.report_if_invalid(posted, arguments)
                    })
                }
            )*
        }
    };
}
pub(in crate::mpi) use collectives;

/// The arguments of a collective that matter if one of them is wrong.
macro_rules! arguments {
    ($name:ident $(, root $root:ident)? $(, op $op:ident)?) => {
        let $name = $crate::mpi::InvalidArguments {
            $(root: Some($root),)?
            $(by_function: matches!($op, $crate::mpi::AnyOp::User(_)),)?
            ..$crate::mpi::InvalidArguments::PLAIN
        };
    };
}
pub(in crate::mpi) use arguments;

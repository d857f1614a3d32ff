//! How all collectives begin and end.

use crate::bcs::{self, Blocking, Members, Nodes, TooManyRequests};
use crate::mpi::comm::exhausted;
use crate::mpi::error::{Operation, Peer, Result};
use crate::mpi::request::What;
use crate::mpi::{Comm, Request};
use crate::recording::{Begun, Primitive};
use bcs_core::job::{Collectives, Intranode};

/// The name of a call and its row in the MDS.
pub(in crate::mpi) type Call = (&'static str, Primitive);

/// Whether the caller of these waits at once.
pub(super) fn blocking(primitive: Primitive) -> Blocking {
    match primitive {
        Primitive::Barrier
        | Primitive::Bcast
        | Primitive::Reduce
        | Primitive::Allreduce
        | Primitive::Scatter
        | Primitive::Scatterv
        | Primitive::Gather
        | Primitive::Gatherv
        | Primitive::Allgather
        | Primitive::Allgatherv
        | Primitive::Alltoall
        | Primitive::Alltoallv
        | Primitive::Alltoallw
        | Primitive::ReduceScatterBlock
        | Primitive::ReduceScatter
        | Primitive::Scan
        | Primitive::Exscan => Blocking::Yes,
        _ => Blocking::No,
    }
}

/// A call that has passed its first checks.
pub(in crate::mpi) struct Begin {
    pub(in crate::mpi) operation: Operation,
    begun: (Begun, Primitive),
}

impl Begin {
    /// Whether the caller waits for it at once.
    pub(super) fn blocking(&self) -> Blocking {
        blocking(self.begun.1)
    }
}

impl Comm {
    pub(in crate::mpi) fn begin(
        &self,
        (call, primitive): Call,
        bytes: u64,
        root: Option<i32>,
    ) -> Result<Begin> {
        let begun = (self.process().recording().begin(), primitive);
        let operation = Operation {
            call,
            bytes: Some(bytes),
            peer: root.map(Peer::Root),
            tag: None,
        };
        self.usable(operation)?;
        if let Some(root) = root {
            self.checked_root(root, operation)?;
        }
        Ok(Begin { operation, begun })
    }

    pub(in crate::mpi) fn members_of_context(&self) -> Members<'_> {
        Members {
            context: self.0.context,
            world: self.members(),
            me: self.0.group.me,
        }
    }

    /// The nodes of the members, if collectives are to go by leaders of these.
    pub(crate) fn nodes(&self) -> Option<Nodes> {
        let process = self.process();
        let settings = process.endpoint().settings();
        let by_leaders = settings.collectives == Collectives::Hierarchical
            && settings.intranode == Intranode::Smartmap;
        let node = |&rank: &u32| process.placement().node_of(rank);
        let mut nodes = self.members().iter().map(node);
        // Where all are on one node, each call would collect them for nothing.
        let first = nodes.next();
        if !by_leaders || nodes.all(|node| Some(node) == first) {
            return None;
        }
        Nodes::new(self.members().iter().map(node))
    }

    pub(in crate::mpi) fn started(
        &self,
        Begin { operation, begun }: Begin,
        posted: std::result::Result<bcs::Request, TooManyRequests>,
    ) -> Result<Request> {
        let request = posted.map_err(exhausted(operation))?;
        Ok(self.posted(request, operation, begun))
    }

    /// What the program waits for; nothing, if it waits for it at once and it is over.
    pub(super) fn posted(
        &self,
        request: bcs::Request,
        operation: Operation,
        begun: (Begun, Primitive),
    ) -> Request {
        if request.is_complete() && blocking(begun.1) == Blocking::Yes {
            return Request::inactive();
        }
        Request::posted(request, What::Nothing, self, operation, begun)
    }

    pub(super) fn blocking(
        &self,
        primitive: Primitive,
        bytes: Option<usize>,
        post: impl FnOnce() -> Result<Request>,
    ) -> Result<()> {
        let bytes = bytes.unwrap_or(0) as u64;
        let call = || {
            let mut request = post()?;
            if request.is_inactive() {
                // It is over, as nearly all short ones are, and there is nothing to drop.
                std::mem::forget(request);
                return Ok(());
            }
            request.silent().map(|_| ())
        };
        self.process().recording().blocking(primitive, bytes, call)
    }
}

/// A collective that blocks and one that does not. The bytes are what the MDS is told.
macro_rules! collectives {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident $name:literal $primitive:ident,
        $nonblocking:ident $iname:literal $iprimitive:ident:
        $post:ident($($argument:ident: $type:ty),*), $comm:ident => $bytes:expr;
    )*) => {
        impl Comm {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[doc = $text])*
                ///
                /// # Safety
                /// What is read is initialised and nobody writes it during the call; what is
                /// written may be, and nobody else uses it during the call.
                ///
                /// # Errors
                /// When an argument is wrong, the ranks disagree about a length, or the NIC
                /// reports a failure.
                pub unsafe fn $blocking(&self, $($argument: $type),*) -> Result<()> {
                    let call = ($name, Primitive::$primitive);
                    let $comm = self;
                    let bytes: u64 = $bytes;
                    let post = || {
                        // SAFETY: the caller's promise, for as long as this call waits.
                        let mut request = unsafe { $comm.$post(call, $($argument),*)? };
                        request.silent().map(|_| ())
                    };
                    self.process().recording().blocking(call.1, bytes, post)
                }

                #[doc = concat!("`", $iname, "`: starts a [`", stringify!($blocking), "`](Self::",
                    stringify!($blocking), ").")]
                ///
                /// # Safety
                /// What is read is initialised and nobody writes it until the request is done;
                /// what is written may be, and nobody else uses it until then. Lists of counts and
                /// displacements are needed for the call only.
                ///
                /// # Errors
                /// When an argument is wrong; the rest is the request's.
                pub unsafe fn $nonblocking(&self, $($argument: $type),*) -> Result<Request> {
                    let call = ($iname, Primitive::$iprimitive);
                    // SAFETY: the caller's promise.
                    unsafe { self.$post(call, $($argument),*) }
                }
            )*
        }
    };
}
pub(in crate::mpi) use collectives;

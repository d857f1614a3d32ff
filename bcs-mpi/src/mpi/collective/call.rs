//! How all collectives begin and end.

use crate::bcs::{self, Blocking, Members, Nodes, TooManyRequests};
use crate::mpi::comm::exhausted;
use crate::mpi::error::{Operation, Peer, Result};
use crate::mpi::request::What;
use crate::mpi::{Comm, Request, Status};
use crate::recording::{Begun, Primitive};
use bcs_core::job::{Collectives, Intranode};

/// A call: its name, its row in the MDS, and whether its caller waits at once.
#[derive(Clone, Copy)]
pub(in crate::mpi) struct Call {
    name: &'static str,
    primitive: Primitive,
    blocking: Blocking,
}

impl Call {
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

/// A call that has passed its first checks.
pub(in crate::mpi) struct Begin {
    pub(in crate::mpi) operation: Operation,
    call: &'static Call,
    begun: Begun,
}

impl Begin {
    /// Whether the caller waits for it at once.
    pub(super) fn blocking(&self) -> Blocking {
        self.call.blocking
    }
}

impl Comm {
    /// A call begins, with so many bytes if they can be counted, whose root is yet to be looked at.
    #[inline(always)]
    pub(super) fn enter(
        &self,
        call: &'static Call,
        bytes: Option<usize>,
        root: Option<i32>,
    ) -> Result<Begin> {
        let begun = self.process().recording().begin();
        let operation = Operation {
            call: call.name,
            bytes: bytes.map(|bytes| bytes as u64),
            peer: root.map(Peer::Root),
            tag: None,
        };
        self.usable(operation)?;
        Ok(Begin {
            operation,
            call,
            begun,
        })
    }

    pub(in crate::mpi) fn begin(
        &self,
        call: &'static Call,
        bytes: u64,
        root: Option<i32>,
    ) -> Result<Begin> {
        let mut begin = self.enter(call, None, root)?;
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

    /// What the program waits for; nothing, if it waits for it at once and it is over.
    #[inline(always)]
    pub(in crate::mpi) fn started(
        &self,
        Begin {
            operation,
            call,
            begun,
        }: Begin,
        posted: std::result::Result<bcs::Request, TooManyRequests>,
    ) -> Result<Request> {
        let request = posted.map_err(exhausted(operation))?;
        if request.is_complete() && call.blocking == Blocking::Yes {
            return Ok(Request::inactive());
        }
        let recorded = (begun, call.primitive);
        let what = What::Nothing;
        Ok(Request::posted(request, what, self, operation, recorded))
    }

    /// What is over because this rank is the only one.
    pub(super) fn alone(&self, begin: &Begin) -> Request {
        let recorded = (begin.begun, begin.call.primitive);
        Request::done(Ok(Status::EMPTY), 0, self, recorded)
    }

    /// A call whose caller waits at once; the bytes are what the MDS is told.
    #[inline(always)]
    pub(in crate::mpi) fn waited_for(
        &self,
        call: &'static Call,
        bytes: u64,
        post: impl FnOnce() -> Result<Request>,
    ) -> Result<()> {
        let wait = || {
            let mut request = post()?;
            if request.is_inactive() {
                // It is over, as nearly all short ones are, and there is nothing to drop.
                std::mem::forget(request);
                return Ok(());
            }
            request.silent().map(|_| ())
        };
        let recording = self.process().recording();
        recording.blocking(call.primitive, bytes, wait)
    }
}

/// A collective that blocks, one that does not, and one that is started again and again. The bytes are what the
/// MDS is told.
macro_rules! collectives {
    ($(
        $(#[doc = $text:literal])*
        $blocking:ident $name:literal $primitive:ident,
        $nonblocking:ident $iname:literal $iprimitive:ident, $init:ident:
        $post:ident($($argument:ident: $type:ty),*), $comm:ident => $bytes:expr;
    )*) => {
        impl Comm {
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[doc = $text])*
                ///
                /// # Errors
                /// When an argument is wrong, the ranks disagree about a length, or the NIC
                /// reports a failure.
                pub fn $blocking(&self, $($argument: $type),*) -> Result<()> {
                    let call = &const { Call::blocking($name, Primitive::$primitive) };
                    let $comm = self;
                    let bytes: u64 = $bytes;
                    let post = || $comm.$post(call, $($argument),*);
                    $comm.waited_for(call, bytes, post)
                }

                #[doc = concat!("`", $iname, "`: starts a [`", stringify!($blocking), "`](Self::",
                    stringify!($blocking), ").")]
                ///
                /// # Errors
                /// When an argument is wrong; the rest is the request's.
                pub fn $nonblocking(&self, $($argument: $type),*) -> Result<Request> {
                    let call = &const { Call::starting($iname, Primitive::$iprimitive) };
                    self.$post(call, $($argument),*)
                }

                #[doc = concat!("`", $name, "_init`: a start begins an [`",
                    stringify!($nonblocking), "`](Self::", stringify!($nonblocking), "). All ranks \
                    call the inits of a communicator in the same order, and may start what they \
                    made in any.")]
                ///
                /// # Errors
                /// As [`dup`](Self::dup). What is wrong with an argument is said by the start.
                pub fn $init(&self, $($argument: $type),*) -> Result<$crate::mpi::Persistent> {
                    use $crate::mpi::persistent::{Keep as _, Lend as _};
                    $(let $argument = $argument.keep();)*
                    let init = concat!($name, "_init");
                    let start = concat!("MPI_Start (", $name, "_init)");
                    self.persistent_collective(init, start, move |comm| {
                        comm.$nonblocking($($argument.lend()),*)
                    })
                }
            )*
        }
    };
}
pub(in crate::mpi) use collectives;

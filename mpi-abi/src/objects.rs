//! The objects that a program has made, and the predefined ones, by their handles.

use crate::answer::error;
use crate::c::*;
use crate::caller;
use crate::combining::ProgramOp;
use crate::error_function::ErrorFunction;
use crate::error_handlers::ErrorHandlerEntry;
use crate::generalized_request::GeneralizedRequest;
use crate::keyvals::Key;
use crate::table::{Shards, Table};
use bcs_core::lockstep;
use bcs_core::reduction::Datatype as Elementary;
use bcs_mpi::mpi::environment;
use bcs_mpi::mpi::{
    AnyOp, AttachedBuffer, Buffer, Comm, Datatype, ErrorClass, ErrorHandler, Group, Info, Message,
    Op, Persistent, Request, Result,
};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex};

pub static COMMS: Table<Comm> = Table::new(1);
pub static DATATYPES: Table<DatatypeEntry> = Table::new(2);
pub static ERROR_HANDLERS: Table<ErrorHandlerEntry> = Table::new(3);
pub static GROUPS: Table<Group> = Table::new(4);
pub static INFOS: Table<Info> = Table::new(5);
pub static MESSAGES: Table<(MPI_Comm, Message)> = Table::new(6);
pub static OPS: Table<ProgramOp> = Table::new(7);
pub static REQUESTS: Shards<RequestEntry> = Shards::new(8);
pub static SESSIONS: Table<Arc<Session>> = Table::new(9);
/// Requests of the BCS API; `None` while a call works with one.
pub static POSTED: Table<Option<Request>> = Table::new(10);

/// A request of the program.
#[derive(Debug)]
pub struct RequestEntry {
    /// The communicator of the request, whose handler is called if it fails.
    pub on: MPI_Comm,
    /// The return address of the call that made it.
    pub from: u64,
    pub what: RequestContent,
    pub kind: RequestKind,
}

/// The kind of operation behind a request.
#[derive(Clone, Debug)]
pub enum RequestKind {
    /// A message: it can be cancelled, unless it is partitioned.
    Message,
    /// A collective, or an operation that a call on a communicator has started: it cannot be
    /// cancelled.
    Collective,
    /// An operation that the program executes itself (`MPI_Grequest_start`).
    General(Arc<GeneralizedRequest>),
}

impl RequestKind {
    /// Returns the generalized request, if it is one.
    pub fn general(&self) -> Option<&Arc<GeneralizedRequest>> {
        match self {
            Self::General(general) => Some(general),
            Self::Message | Self::Collective => None,
        }
    }
}

impl RequestEntry {
    /// Makes a request of the call that this thread is in.
    #[inline(always)]
    pub fn new(on: MPI_Comm, what: RequestContent, kind: RequestKind) -> Self {
        let from = caller::place();
        Self {
            on,
            from,
            what,
            kind,
        }
    }

    /// Returns the started operation that is not complete, or whose completion was not requested
    /// yet.
    pub fn started(&mut self) -> Option<&Request> {
        match &mut self.what {
            RequestContent::Once(request) => Some(request),
            RequestContent::Persistent(persistent) => Some(persistent.started()),
            RequestContent::Taken | RequestContent::Freed => None,
        }
    }
}

// SAFETY: a persistent request has the addresses of buffers in it, and any thread of the program
// may start it (11.6). It is only accessed with the table locked.
unsafe impl Send for RequestEntry {}
// SAFETY: as above.
unsafe impl Sync for RequestEntry {}

/// The state of a request.
#[derive(Debug)]
pub enum RequestContent {
    /// A request that ends with its completion.
    Once(Request),
    /// A request that can be started again.
    Persistent(Box<Persistent>),
    /// A request for which a call waits.
    Taken,
    /// A generalized request that the program has freed, but not completed.
    Freed,
}

/// A session (11.3).
#[derive(Debug)]
pub struct Session {
    handler: Mutex<SessionHandler>,
    pub info: Info,
    /// The buffer for messages of communicators that are made in the session.
    pub buffer: AttachedBuffer,
}

/// The treatment of a session's errors.
#[derive(Clone, Copy, Debug)]
pub enum SessionHandler {
    Fatal,
    Abort,
    Return,
    User(ErrorFunction<MPI_Session>),
}

impl Session {
    pub fn new(handler: SessionHandler, info: Info) -> Self {
        Self {
            handler: Mutex::new(handler),
            info,
            buffer: AttachedBuffer::default(),
        }
    }

    pub fn handler(&self) -> SessionHandler {
        *lockstep::lock(&self.handler)
    }

    pub fn set_handler(&self, handler: SessionHandler) {
        *lockstep::lock(&self.handler) = handler;
    }
}

/// An error handler of the program, by the kind of object that it is for.
#[derive(Clone, Debug)]
pub enum Handler {
    Comm(ErrorHandler),
    Session(SessionHandler),
    Win(ErrorFunction<MPI_Win>),
    File(ErrorFunction<MPI_File>),
}

/// A derived datatype.
#[derive(Clone, Debug)]
pub struct DatatypeEntry {
    pub derived: DerivedDatatype,
    pub kept: Arc<DatatypeProperties>,
}

/// A derived datatype without its name and attributes.
#[derive(Clone, Debug)]
pub struct DerivedDatatype {
    pub datatype: Datatype,
    pub contents: Arc<DatatypeContents>,
}

impl DerivedDatatype {
    /// Makes a datatype whose origin is not known.
    pub fn unknown(datatype: Datatype) -> Self {
        let contents = DatatypeContents {
            combiner: MPI_COMBINER_NAMED,
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            datatypes: Vec::new(),
        };
        Self {
            datatype,
            contents: Arc::new(contents),
        }
    }
}

/// The arguments that a datatype was made of, as the program gave them (5.1.13).
#[derive(Debug)]
pub struct DatatypeContents {
    /// `MPI_COMBINER_...`
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<MPI_Aint>,
    /// The counts given to a large function.
    pub counts: Vec<MPI_Count>,
    pub datatypes: Vec<Ingredient>,
}

/// A datatype that another one was made of. Several predefined handles stand for one datatype, so
/// the handle is stored.
#[derive(Clone, Debug)]
pub enum Ingredient {
    Predefined(MPI_Datatype),
    Derived(DerivedDatatype),
}

impl Ingredient {
    /// Returns the datatype of a handle, and its origin.
    ///
    /// # Errors
    /// If the handle is invalid.
    pub fn of(handle: MPI_Datatype) -> Result<(Datatype, Self)> {
        if let Some(predefined) = predefined(handle) {
            return Ok((predefined, Self::Predefined(handle)));
        }
        let made = datatype_entry(handle)?;
        Ok((made.derived.datatype.clone(), Self::Derived(made.derived)))
    }
}

/// The name and attributes of a datatype.
#[derive(Debug, Default)]
pub struct DatatypeProperties {
    /// Its name, if the program has set one.
    pub name: Mutex<Option<Vec<u8>>>,
    /// Its attributes, in the order in which they were set.
    pub attributes: Mutex<Attributes>,
}

/// Attributes of a datatype.
pub type Attributes = Vec<(Arc<Key<MPI_Datatype>>, usize)>;

/// The names and attributes of predefined datatypes.
static KEPT: Mutex<BTreeMap<usize, Arc<DatatypeProperties>>> = Mutex::new(BTreeMap::new());

/// Returns the name and attributes of a datatype.
///
/// # Errors
/// If the handle is invalid.
pub fn datatype_properties(handle: MPI_Datatype) -> Result<Arc<DatatypeProperties>> {
    if elementary(handle).is_some() {
        return Ok(lockstep::lock(&KEPT).entry(handle.0).or_default().clone());
    }
    datatype_entry(handle).map(|made| made.kept)
}

/// Returns the derived datatype of a handle.
///
/// # Errors
/// If the handle is invalid.
pub fn datatype_entry(handle: MPI_Datatype) -> Result<DatatypeEntry> {
    DATATYPES.get(handle.0).ok_or_else(|| no_datatype(handle))
}

/// Returns a handle for a derived datatype without name and attributes.
pub fn datatype_handle(derived: DerivedDatatype) -> MPI_Datatype {
    let kept = Arc::default();
    MPI_Datatype(DATATYPES.insert(DatatypeEntry { derived, kept }))
}

/// Returns a handle that stands for a datatype: of several predefined ones that of C, if there is
/// one.
pub fn handle_of_datatype(datatype: &Datatype) -> Option<MPI_Datatype> {
    match datatype.elementary() {
        Some(element) => canonical(element),
        None => {
            let found = DATATYPES.find(|made| made.derived.datatype == *datatype);
            found.map(MPI_Datatype)
        }
    }
}

/// Returns what is wrong with a handle that has no object: whether a call at that address has freed
/// it, or it never was one.
#[cold]
pub fn stale(what: &str, handle: usize, freed: Option<u64>) -> String {
    match freed {
        None => format!("{handle:#x} is no {what}"),
        Some(address) => {
            let place = environment::describe_address(address);
            format!("the {what} was freed before{place}")
        }
    }
}

#[cold]
fn no_datatype(handle: MPI_Datatype) -> Box<bcs_mpi::mpi::Error> {
    let reason = match handle {
        MPI_DATATYPE_NULL => "the datatype is MPI_DATATYPE_NULL".to_owned(),
        MPI_Datatype(number) => stale("datatype", number, DATATYPES.freed_by(number)),
    };
    error(ErrorClass::Type, reason)
}

/// Returns the datatype of a handle.
#[inline]
pub fn datatype(handle: MPI_Datatype) -> Result<Datatype> {
    if let Some(predefined) = predefined(handle) {
        return Ok(predefined);
    }
    DATATYPES
        .with(handle.0, |made| made.derived.datatype.clone())
        .ok_or_else(|| no_datatype(handle))
}

/// Returns the datatype of a predefined handle.
#[inline]
fn predefined(handle: MPI_Datatype) -> Option<Datatype> {
    Some(match handle {
        MPI_LONG => Datatype::LONG,
        MPI_UNSIGNED_LONG => Datatype::UNSIGNED_LONG,
        MPI_LONG_INT => Datatype::LONG_INT,
        MPI_WCHAR => Datatype::WCHAR,
        MPI_PACKED => Datatype::PACKED,
        _ => Datatype::predefined(elementary(handle)?),
    })
}

/// Returns the basic type that a predefined handle moves. Several handles stand for one: `MPI_INT`
/// and `MPI_INT32_T`.
#[inline]
pub fn elementary(handle: MPI_Datatype) -> Option<Elementary> {
    if handle.0 >= crate::table::FIRST {
        return None;
    }
    Some(match handle {
        MPI_INT | MPI_INT32_T | MPI_INTEGER | MPI_INTEGER4 | MPI_WCHAR => Elementary::Int32,
        MPI_DOUBLE | MPI_DOUBLE_PRECISION | MPI_REAL8 => Elementary::Double,
        MPI_BYTE | MPI_PACKED => Elementary::Byte,
        MPI_CHAR | MPI_SIGNED_CHAR | MPI_INT8_T | MPI_INTEGER1 | MPI_CHARACTER => Elementary::Int8,
        MPI_UNSIGNED_CHAR | MPI_UINT8_T => Elementary::Uint8,
        MPI_SHORT | MPI_INT16_T | MPI_INTEGER2 => Elementary::Int16,
        MPI_UNSIGNED_SHORT | MPI_UINT16_T => Elementary::Uint16,
        MPI_UNSIGNED | MPI_UINT32_T => Elementary::Uint32,
        MPI_LONG | MPI_LONG_LONG | MPI_INT64_T | MPI_INTEGER8 | MPI_AINT | MPI_COUNT
        | MPI_OFFSET => Elementary::Int64,
        MPI_UNSIGNED_LONG | MPI_UNSIGNED_LONG_LONG | MPI_UINT64_T => Elementary::Uint64,
        MPI_FLOAT | MPI_REAL | MPI_REAL4 => Elementary::Float,
        MPI_REAL2 => Elementary::Float16,
        MPI_REAL16 => Elementary::Quad,
        MPI_LONG_DOUBLE => Elementary::LongDouble,
        MPI_C_FLOAT_COMPLEX | MPI_CXX_FLOAT_COMPLEX | MPI_COMPLEX | MPI_COMPLEX8 => {
            Elementary::FloatComplex
        }
        MPI_C_DOUBLE_COMPLEX | MPI_CXX_DOUBLE_COMPLEX | MPI_DOUBLE_COMPLEX | MPI_COMPLEX16 => {
            Elementary::DoubleComplex
        }
        MPI_C_LONG_DOUBLE_COMPLEX | MPI_CXX_LONG_DOUBLE_COMPLEX => Elementary::LongDoubleComplex,
        MPI_COMPLEX4 => Elementary::Float16Complex,
        MPI_COMPLEX32 => Elementary::QuadComplex,
        MPI_C_BOOL | MPI_CXX_BOOL | MPI_LOGICAL1 => Elementary::Bool,
        MPI_LOGICAL2 => Elementary::Logical16,
        MPI_LOGICAL | MPI_LOGICAL4 => Elementary::Logical32,
        MPI_LOGICAL8 => Elementary::Logical64,
        MPI_FLOAT_INT => Elementary::FloatInt,
        MPI_DOUBLE_INT => Elementary::DoubleInt,
        MPI_LONG_INT => Elementary::Int64Int,
        MPI_2INT | MPI_2INTEGER => Elementary::Int32Int,
        MPI_SHORT_INT => Elementary::Int16Int,
        MPI_LONG_DOUBLE_INT => Elementary::LongDoubleInt,
        MPI_2REAL => Elementary::FloatFloat,
        MPI_2DOUBLE_PRECISION => Elementary::DoubleDouble,
        _ => return None,
    })
}

/// The usual handles, one for each predefined datatype that has a handle.
const CANONICAL: [MPI_Datatype; 31] = [
    MPI_INT,
    MPI_DOUBLE,
    MPI_BYTE,
    MPI_CHAR,
    MPI_UNSIGNED_CHAR,
    MPI_SHORT,
    MPI_UNSIGNED_SHORT,
    MPI_UNSIGNED,
    MPI_LONG,
    MPI_UNSIGNED_LONG,
    MPI_FLOAT,
    MPI_REAL2,
    MPI_REAL16,
    MPI_LONG_DOUBLE,
    MPI_C_FLOAT_COMPLEX,
    MPI_C_DOUBLE_COMPLEX,
    MPI_C_LONG_DOUBLE_COMPLEX,
    MPI_COMPLEX4,
    MPI_COMPLEX32,
    MPI_C_BOOL,
    MPI_LOGICAL2,
    MPI_LOGICAL,
    MPI_LOGICAL8,
    MPI_FLOAT_INT,
    MPI_DOUBLE_INT,
    MPI_LONG_INT,
    MPI_2INT,
    MPI_SHORT_INT,
    MPI_LONG_DOUBLE_INT,
    MPI_2REAL,
    MPI_2DOUBLE_PRECISION,
];

/// Returns the handle for a predefined datatype if it is not known which handle the program used.
#[must_use]
pub fn canonical(of: Elementary) -> Option<MPI_Datatype> {
    let stands = |handle: &MPI_Datatype| elementary(*handle) == Some(of);
    CANONICAL.into_iter().find(stands)
}

/// Returns the operation of a handle.
#[inline]
pub fn op(handle: MPI_Op) -> Result<AnyOp> {
    if let Some(op) = predefined_op(handle) {
        return Ok(op.into());
    }
    OPS.with(handle.0, ProgramOp::op).ok_or_else(|| {
        let reason = match handle {
            MPI_OP_NULL => "the operation is MPI_OP_NULL".to_owned(),
            MPI_REPLACE | MPI_NO_OP => "MPI_REPLACE and MPI_NO_OP are for windows".to_owned(),
            MPI_Op(number) => stale("operation", number, OPS.freed_by(number)),
        };
        error(ErrorClass::Op, reason)
    })
}

/// Returns a predefined operation by its code in the ABI.
#[inline]
pub fn predefined_op(handle: MPI_Op) -> Option<Op> {
    u8::try_from(handle.0)
        .ok()
        .and_then(|code| Op::try_from(code).ok())
}

/// Returns the group of a handle.
pub fn group(handle: MPI_Group) -> Result<Group> {
    if handle == MPI_GROUP_EMPTY {
        let itself = crate::state::all_or_own(false)
            .map_err(|_| error(ErrorClass::Other, "groups are asked for before MPI_Init"))?;
        return itself.group().include(&[]);
    }
    GROUPS.get(handle.0).ok_or_else(|| {
        let reason = match handle {
            MPI_GROUP_NULL => "the group is MPI_GROUP_NULL".to_owned(),
            MPI_Group(number) => stale("group", number, GROUPS.freed_by(number)),
        };
        error(ErrorClass::Group, reason)
    })
}

/// Returns a handle for a communicator; `MPI_COMM_NULL` for `None`.
pub fn comm_handle(comm: Option<Comm>) -> MPI_Comm {
    comm.map_or(MPI_COMM_NULL, |comm| MPI_Comm(COMMS.insert(comm)))
}

/// Returns a handle for a group; `MPI_GROUP_EMPTY` for an empty one.
pub fn group_handle(group: Group) -> MPI_Group {
    match group.size() {
        0 => MPI_GROUP_EMPTY,
        _ => MPI_Group(GROUPS.insert(group)),
    }
}

/// Counts and displacements of the small and of the large functions.
pub trait Number: Copy {
    fn wide(self) -> i64;
}

impl Number for i32 {
    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl Number for i64 {
    #[inline]
    fn wide(self) -> i64 {
        self
    }
}

impl Number for isize {
    #[inline]
    fn wide(self) -> i64 {
        self as i64
    }
}

/// Lengths and displacements of the BCS API. A value larger than memory is refused like a negative
/// one.
impl Number for usize {
    #[inline]
    fn wide(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MIN)
    }
}

/// Makes a buffer of address, count and datatype.
#[inline(always)]
pub fn buffer(address: *const c_void, count: impl Number, of: MPI_Datatype) -> Result<Buffer> {
    let count = count.wide();
    let Ok(elements) = usize::try_from(count) else {
        return Err(error(ErrorClass::Count, format!("the count is {count}")));
    };
    let datatype = datatype(of)?;
    let mut address = address;
    if address.addr() == IN_PLACE {
        if elements > 0 {
            return Err(error(ErrorClass::Buffer, "MPI_IN_PLACE is no buffer here"));
        }
        // The address of an empty buffer is not used. A pointer that was never set may equal
        // MPI_IN_PLACE.
        address = std::ptr::null();
    }
    // SAFETY: the caller's promise, which is the standard's: the memory stays while an operation
    // has it.
    Ok(unsafe { Buffer::new(address.cast_mut(), elements, datatype) })
}

/// Stores a result of a call.
///
/// # Errors
/// If the address is null.
pub fn put<T>(place: *mut T, value: T) -> Result<()> {
    if place.is_null() {
        return Err(error(
            ErrorClass::Arg,
            "there is no place for a result: a pointer is null",
        ));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// Returns an array of C.
///
/// # Errors
/// If its length is negative, or its address is invalid and it is not empty.
pub fn list<'a, T>(start: *const T, len: impl Number) -> Result<&'a [T]> {
    let len = len.wide();
    let Ok(length) = usize::try_from(len) else {
        return Err(error(
            ErrorClass::Arg,
            format!("an array has {len} elements"),
        ));
    };
    if length == 0 {
        return Ok(&[]);
    }
    // MPI_IN_PLACE is no address, either.
    if start.is_null() || start.addr() == IN_PLACE {
        let at = start.addr();
        let reason = format!("an array of {len} elements is at address {at}");
        return Err(error(ErrorClass::Arg, reason));
    }
    let bytes = length.checked_mul(size_of::<T>());
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(error(
            ErrorClass::Arg,
            format!("an array of {len} elements is larger than memory"),
        ));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// Returns the same for writing.
///
/// # Errors
/// As [`list`].
pub fn list_mut<'a, T>(start: *mut T, len: impl Number) -> Result<&'a mut [T]> {
    let read = list(start.cast_const(), len)?;
    if read.is_empty() {
        return Ok(&mut []);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(start, read.len()) })
}

/// Returns a value that a call reads and writes, such as a handle that it frees.
///
/// # Errors
/// If the address is null.
pub fn place<'a, T>(place: *mut T) -> Result<&'a mut T> {
    if place.is_null() {
        return Err(error(ErrorClass::Arg, "a pointer is null"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { &mut *place })
}

/// Returns a string of C.
///
/// # Errors
/// If the address is null.
pub fn text<'a>(start: *const c_char) -> Result<&'a [u8]> {
    if start.is_null() {
        return Err(error(ErrorClass::Arg, "a string is at address 0"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(start) }.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_basic_type_has_a_usual_handle() {
        for handle in CANONICAL {
            let of = elementary(handle).expect("it is a basic type");
            assert_eq!(canonical(of), Some(handle), "{of:?}");
            let datatype = predefined(handle).expect("it is a datatype");
            let bytes = Datatype::predefined(of).size();
            assert_eq!(datatype.size(), bytes, "{of:?}");
        }
    }
}

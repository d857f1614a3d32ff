//! The checks of calls in a checked job ([`crate::checked`]): the types of messages, and whether
//! the members of a communicator call the same.

use super::blocks::Blocks;
use super::compared_blocks::{ComparedBlocks, signature_of_all};
use super::datatype::{Datatype, PrefixSignature};
use super::error::{ErrorClass, FailedReceive, Operation, Result};
use super::op::AnyOp;
use super::{Buffer, Comm, Process, Status};
use crate::bcs::{Blocking, DataView, RequestOutcome};
use crate::checked::{self, AnnouncedCall, CallPredecessor, JobChecks, ReportSubject};
use crate::foreign;
use crate::recording::Site;
use bcs_core::check_bits::CheckBits;
use bcs_core::reduction::Op;
use bcs_core::request::RequestFailure;

/// The arguments of a receive, kept until its message is there.
#[derive(Debug)]
pub(super) struct ExpectedReceive {
    datatype: Datatype,
    /// Where its data lie.
    span: Option<Span>,
    site: Site,
}

/// An address, and a number of bytes.
type Span = (u64, usize);

impl ExpectedReceive {
    pub(super) fn new(data: &Buffer, site: Site) -> Self {
        Self {
            datatype: data.datatype().clone(),
            span: span_of(data),
            // The type is compared in a later call.
            site: foreign::site(site),
        }
    }
}

/// Returns where the data of a buffer lie, including what lies between them; `None` if it has none,
/// or they cannot be used.
#[inline]
fn span_of(data: &Buffer) -> Option<Span> {
    span(&data.piece(&Operation::plain("")).ok()?)
}

#[inline]
fn span(piece: &DataView) -> Option<Span> {
    match piece.layout() {
        None => Some((piece.address(), piece.len())),
        Some(layout) => {
            let (low, bytes) = layout.span(piece.len() as u64)?;
            let first = piece.address().checked_add_signed(low)?;
            Some((first, usize::try_from(bytes).ok()?))
        }
    }
}

/// Checks that other ranks find in a buffer what this rank sees there.
#[inline]
fn check_visible(span: Option<Span>, operation: &Operation) -> Result<()> {
    match span {
        Some(long) if long.1 >= checked::LEAST_COMPARED_BYTES => check_mapping(long, operation),
        _ => Ok(()),
    }
}

#[cold]
fn check_mapping((address, len): Span, operation: &Operation) -> Result<()> {
    let unknown = checked::unknown_mapping(address, len);
    let Some(unknown) = unknown else {
        return Ok(());
    };
    let reason = format!(
        "the buffer lies in this rank's heap, but the program has mapped there {unknown}, by a call that the heap \
         does not hear of: others would find what lies below (run with --heap own, or with --copy-method kernel if the heap is \
         the program's own slot_heap!())"
    );
    Err(operation.error(ErrorClass::Buffer, reason))
}

/// The arguments of a collective that are the same at all members.
#[derive(Clone, Debug)]
pub(super) struct CommonArguments<'a> {
    data: Option<&'a Buffer>,
    /// The number that stands for all blocks at each member, if the data are one of these.
    all_blocks: Option<u64>,
    op: Option<&'a AnyOp>,
    /// The caller waits for its neighbours only.
    apart: bool,
    /// Lengths may differ: only the basic type is compared.
    lengths_differ: bool,
    /// The blocks that are compared with those of other members.
    blocks: ComparedBlocks,
}

/// An operation of the program. Ranks know of it only that it is one.
const OF_PROGRAM: u8 = u8::MAX;

impl<'a> CommonArguments<'a> {
    /// Compares only the call and its root.
    pub(super) const NOTHING: Self = Self {
        data: None,
        all_blocks: None,
        op: None,
        apart: false,
        lengths_differ: false,
        blocks: ComparedBlocks::NONE,
    };
    /// Compares the same among neighbours, who do not hold up others.
    pub(super) const AMONG_NEIGHBORS: Self = Self {
        data: None,
        all_blocks: None,
        op: None,
        apart: true,
        lengths_differ: false,
        blocks: ComparedBlocks::NONE,
    };

    /// Compares the types of this buffer.
    pub(super) fn of(data: &'a Buffer) -> Self {
        let data = Some(data);
        Self {
            data,
            ..Self::NOTHING
        }
    }

    /// Compares the basic type of blocks whose lengths may differ. All members that give or take
    /// data of a gather, a scatter or an allgather must have the same.
    pub(super) fn of_any_length(data: Option<&'a Buffer>) -> Self {
        Self {
            data,
            lengths_differ: true,
            ..Self::NOTHING
        }
    }

    /// Compares all blocks of an allgather, which are the same at all members. `typical` describes
    /// one of them.
    pub(super) fn of_all_blocks(blocks: &Blocks<'_>, typical: Option<&'a Buffer>) -> Self {
        Self {
            data: typical,
            all_blocks: Some(signature_of_all(blocks, blocks.counts.len())),
            ..Self::NOTHING
        }
    }

    /// Compares these blocks, too.
    pub(super) fn with(self, blocks: ComparedBlocks) -> Self {
        Self { blocks, ..self }
    }

    /// Compares the operation, too.
    pub(super) fn by(self, op: &'a AnyOp) -> Self {
        let op = Some(op);
        Self { op, ..self }
    }

    fn op(&self) -> u8 {
        match self.op {
            None => 0,
            Some(AnyOp::Predefined(op)) => *op as u8,
            Some(AnyOp::User(_)) => OF_PROGRAM,
        }
    }

    fn signature(&self) -> u64 {
        if let Some(all) = self.all_blocks {
            return all;
        }
        let signature = self.data.and_then(|data| {
            let one = data.datatype().signature()?;
            if self.lengths_differ {
                let is_basic = data.count() > 0 && data.datatype().elementary().is_some();
                return is_basic.then(|| one.word().max(1));
            }
            Some(one.repeated(data.count() as u64).word().max(1))
        });
        signature.unwrap_or(0)
    }
}

/// "MPI_Send of MPI_DOUBLE at src/main.rs:17"
pub(super) fn described(call: &str, datatype: Option<&Datatype>, site: Site) -> String {
    let of = datatype.map_or_else(String::new, |datatype| {
        let (name, types) = (datatype.name(), datatype.basic_types());
        match name.is_empty() || name == types {
            true => format!(" of {types}"),
            false => format!(" of {name:?} ({types})"),
        }
    });
    format!("{call}{of}{}", checked::describe_site(site))
}

impl Process {
    /// Returns the state of a checked job; `None` if the job is not checked.
    #[inline]
    pub(super) fn checked(&self) -> Option<&JobChecks> {
        self.checked.as_deref()
    }

    /// Returns whether the job is checked.
    #[inline]
    pub(super) fn is_checked(&self) -> bool {
        self.checked.is_some()
    }

    /// Compares the calls that the members before this rank have announced and that were not
    /// compared yet: those that did not block.
    pub(super) fn compare_remaining_calls(&self) -> Result<()> {
        let Some(checked) = self.checked() else {
            return Ok(());
        };
        let operation = Operation::plain("MPI_Finalize");
        let mut agreed = Ok(());
        // Compares in all communicators even if one comparison fails: the announcements must be
        // consumed.
        for circle in checked.calls.open() {
            let waits = Blocking::Yes;
            let found = self.compare(checked, circle, waits, operation, u32::to_string);
            agreed = agreed.and(found);
        }
        agreed
    }

    /// A forked child of this rank calls MPI. The user is warned once, whatever the child does
    /// about the error.
    #[cold]
    pub(super) fn tell_of_child(&self, operation: &Operation) {
        static TOLD: std::sync::Once = std::sync::Once::new();
        let (rank, child) = (self.world_rank(), std::process::id());
        TOLD.call_once(|| {
            eprintln!(
                "bcs-mpi: process {child}, a forked child of rank {rank}, calls {}: only the process that called \
                 MPI_Init may call MPI",
                operation.call
            );
        });
    }

    /// Compares this rank's calls with those of the member before it, as far as that was not done.
    /// `name` returns the name of a world rank.
    pub(super) fn compare(
        &self,
        checked: &JobChecks,
        circle: CallPredecessor,
        waits: Blocking,
        operation: Operation,
        name: impl Fn(&u32) -> String,
    ) -> Result<()> {
        let endpoint = self.endpoint();
        let mut found = Ok(());
        while let Some((own, other)) = checked.calls.hear(endpoint, circle, waits) {
            if found.is_err() || own.agrees_with(&other) {
                continue;
            }
            let before = circle.member;
            let theirs = checked.kinds.heard_of(endpoint, before, other.kind);
            let (mine, theirs) = (
                called(&own, checked.kinds.own(own.kind)),
                called(&other, theirs),
            );
            let (them, me) = (name(&before), name(&self.world_rank()));
            let reason = match circle.subject {
                ReportSubject::Call => format!(
                    "the ranks of the communicator do not call the same: rank {them} is at {theirs}, and this one, \
                     rank {me}, at {mine}"
                ),
                ReportSubject::Block => format!(
                    "the types of a block differ: rank {them} gives {theirs}, and this one, rank {me}, takes {mine}"
                ),
            };
            let class = match (circle.subject, own.root == other.root) {
                (ReportSubject::Block, _) => ErrorClass::Type,
                (ReportSubject::Call, true) => ErrorClass::Other,
                (ReportSubject::Call, false) => ErrorClass::Root,
            };
            found = Err(operation.error(class, reason));
        }
        found
    }
}

/// "MPI_Bcast of MPI_DOUBLE at src/main.rs:17, with root 1, 32 bytes"
pub(super) fn called(call: &AnnouncedCall, kind: Option<String>) -> String {
    let mut text = kind.unwrap_or_else(|| "a call of which no more is known".to_owned());
    if let Ok(root) = u32::try_from(call.root) {
        text += &format!(" with root {root}");
    }
    match (call.op, Op::try_from(call.op)) {
        (0, _) => {}
        (_, Ok(op)) => text += &format!(" by {op}"),
        (_, Err(_)) => text += " by an operation of the program's",
    }
    if call.signature != 0 {
        let s = if call.bytes == 1 { "" } else { "s" };
        text += &format!(" ({} byte{s})", call.bytes);
    }
    text
}

impl Comm {
    /// Returns the check bits of a message of these types that this call sends to a world rank. If
    /// necessary, it describes the types to that rank first.
    ///
    /// # Errors
    /// When other ranks would not find in the data what this rank sees there.
    #[inline(never)]
    pub(super) fn mark(
        &self,
        (data, like): (&DataView, &Buffer),
        to: u32,
        operation: &Operation,
        site: Site,
    ) -> Result<CheckBits> {
        check_visible(span(data), operation)?;
        let Some(checked) = self.process().checked() else {
            return Ok(CheckBits::NONE);
        };
        checked.order.release();
        let datatype = like.datatype();
        let bits = like
            .bytes()
            .and_then(|it| datatype.beginning_bits(it as u64));
        let Some(bits) = bits else {
            return Ok(CheckBits::NONE);
        };
        let describe = || described(operation.call, Some(datatype), site);
        let kind = checked.kinds.number(datatype.key(), site, describe);
        checked.kinds.tell(self.process().endpoint(), to, kind);
        Ok(checked::mark(bits, kind))
    }

    /// Returns the status of a receive into types like these.
    #[inline(always)]
    pub(super) fn status_into(
        &self,
        outcome: &RequestOutcome,
        operation: &Operation,
        into: &Buffer,
        site: Site,
    ) -> Result<Status> {
        if !outcome.is_plain() {
            if outcome.failure != RequestFailure::None {
                return self.status(outcome, operation);
            }
            self.check_received(outcome, operation, into, site)?;
        }
        Ok(self.status_of(outcome))
    }

    /// Checks a marked message that was received, and the memory that it was received into.
    #[inline(never)]
    fn check_received(
        &self,
        outcome: &RequestOutcome,
        operation: &Operation,
        into: &Buffer,
        site: Site,
    ) -> Result<()> {
        self.compare_types(outcome, operation, into.datatype(), site)?;
        match into.plain() {
            Some(data) if data.len() < checked::LEAST_COMPARED_BYTES => Ok(()),
            _ => check_visible(span_of(into), operation),
        }
    }

    /// Returns the same for a receive that was posted before.
    #[cold]
    pub(super) fn status_expected(
        &self,
        outcome: &RequestOutcome,
        operation: &Operation,
        expected: &ExpectedReceive,
    ) -> Result<Status> {
        let status = self.status(outcome, operation)?;
        if !outcome.mark.is_none() {
            self.compare_types(outcome, operation, &expected.datatype, expected.site)?;
            check_visible(expected.span, operation)?;
        }
        Ok(status)
    }

    /// Checks whether an arrived message has the types that it is received into.
    #[inline]
    fn compare_types(
        &self,
        outcome: &RequestOutcome,
        operation: &Operation,
        into: &Datatype,
        site: Site,
    ) -> Result<()> {
        // A cancelled receive has no message, and an empty message no types.
        if outcome.failure != RequestFailure::None || outcome.len == 0 {
            return Ok(());
        }
        match into.beginning_bits(outcome.len) {
            Some(here) if checked::is_of(outcome.mark, here) => Ok(()),
            None if into.beginning(outcome.len) == PrefixSignature::Anything => Ok(()),
            _ => self.other_types(outcome, operation, into, site),
        }
    }

    /// Returns the error of a message that has other types than it is received into.
    #[cold]
    fn other_types(
        &self,
        outcome: &RequestOutcome,
        operation: &Operation,
        into: &Datatype,
        site: Site,
    ) -> Result<()> {
        let Some(checked) = self.process().checked() else {
            return Ok(());
        };
        let endpoint = self.process().endpoint();
        let sent = checked.kinds.heard(endpoint, outcome.source, outcome.mark);
        let sent = sent.unwrap_or_else(|| "types of which no more is known".to_owned());
        let received = described(operation.call, Some(into), site);
        let (source, len) = (self.peers().place(outcome.source), outcome.len);
        let reason = format!(
            "the types differ: rank {source} has sent {len} bytes by {sent}, and they were received by {received}"
        );
        let mut error = operation.error(ErrorClass::Type, reason);
        error.came = Some(FailedReceive {
            source,
            tag: outcome.tag,
            bytes: len,
        });
        Err(error)
    }

    /// Compares the calls and blocks of this communicator that were not compared yet, before this
    /// rank waits for a collective that it has started. Reports that have not come are waited for
    /// if the caller `waits`: the others have to start it, too.
    #[cold]
    #[inline(never)]
    pub(super) fn compare_open_calls(&self, waits: Blocking, operation: Operation) -> Result<()> {
        let process = self.process();
        let Some(checked) = process.checked() else {
            return Ok(());
        };
        let open = checked.calls.open();
        let here = open.into_iter().filter(|it| it.context == self.0.context);
        let mut agreed = Ok(());
        for circle in here {
            let name = |rank: &u32| member_name(self.members(), *rank);
            let found = process.compare(checked, circle, waits, operation, name);
            agreed = agreed.and(found);
        }
        agreed
    }

    /// Announces this rank's call, and checks whether the member before it in the communicator
    /// calls the same.
    #[cold]
    #[inline(never)]
    pub(super) fn calls_alike(
        &self,
        call: &'static str,
        blocking: Blocking,
        root: Option<i32>,
        alike: CommonArguments<'_>,
        site: Site,
    ) -> Result<()> {
        let (process, members) = (self.process(), self.members());
        let Some(checked) = process.checked() else {
            return Ok(());
        };
        let operation = Operation::plain(call);
        self.usable(&operation)?;
        let waits_for_all = blocking == Blocking::Yes && !self.is_inter();
        checked.order.collective(call, waits_for_all, members);
        check_visible(alike.data.and_then(span_of), &operation)?;
        let (me, size) = (self.0.group.me, members.len());
        if !checked::may_tell(process.endpoint()) {
            return Ok(());
        }
        let waits = match alike.apart {
            true => Blocking::No,
            false => blocking,
        };
        // In an intercommunicator, each group has its own roots and data.
        let (root, alike) = match self.is_inter() {
            true => (None, CommonArguments::NOTHING),
            false => (root, alike),
        };
        let name = call;
        if size == 1 {
            return self.compare_blocks(checked, &alike.blocks, blocking, (name, site));
        }
        let datatype = alike.data.map(Buffer::datatype);
        let types = datatype.map_or(0, Datatype::key);
        let named = AnnouncedCall::new(call);
        let describe = || described(call, datatype, site);
        let call = AnnouncedCall {
            kind: checked.kinds.number(types ^ named.key(), site, describe),
            op: alike.op(),
            root: root.unwrap_or(-1),
            signature: alike.signature(),
            bytes: alike.data.and_then(Buffer::bytes).unwrap_or(0) as u64,
            ..named
        };
        let (before, next) = (members[(me + size - 1) % size], members[(me + 1) % size]);
        let circle = CallPredecessor {
            context: self.0.context,
            member: before,
            subject: ReportSubject::Call,
        };
        checked.kinds.tell(process.endpoint(), next, call.kind);
        let subject = (circle.context, circle.subject);
        checked.calls.tell(process.endpoint(), subject, next, call);
        checked.calls.expect(circle, call, site);
        self.report_blocks(checked, &alike.blocks, name, site);
        let _at = crate::call_site::enter(site);
        let member = |rank: &u32| member_name(members, *rank);
        process.compare(checked, circle, waits, operation, member)?;
        self.compare_blocks(checked, &alike.blocks, blocking, (name, site))
    }
}

/// Returns how a rank of the world is called in a communicator with these members.
pub(super) fn member_name(members: &[u32], rank: u32) -> String {
    let place = members.iter().position(|&member| member == rank);
    place.unwrap_or(rank as usize).to_string()
}

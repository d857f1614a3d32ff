//! Every bound of the runtime, with its reason. Exceeding one is an error message, never a crash.

/// Nodes of one job. A node set is a bit mask of this many bits, copied into every
/// Compare-And-Write; four words keep it inside one cache line.
pub const MAX_NODES: usize = 256;

/// Ranks of one job. A rank number travels as `u32`; this bound keeps the member list of the
/// world communicator (4 bytes a rank) small enough to be copied in one piece.
pub const MAX_RANKS: usize = 16_384;

/// Ranks on one node: a NIC scans the rings of its ranks once a slice.
pub const MAX_RANKS_PER_NODE: usize = 1_024;

/// Slots of a node ([`crate::memory::slot`]), of 512 GiB each. User space on x86-64 has room for 256;
/// the first belongs to programs that are linked to fixed addresses, Linux loads the others from
/// slot 170 on and maps libraries and stacks from slot 254 downwards. What lies between 160 and 170
/// is a margin. A rank beyond has an ordinary heap, which others read and write by other means.
pub const MAX_SLOTS: usize = 160;

/// Ranges of a rank's heap over which its program has mapped something else, or which it has protected. As many
/// mappings Linux lets a process have by default (`vm.max_map_count`), so a program that may not have more of these
/// could hardly have had more of those.
pub const MAX_REMAPPED_RANGES: usize = 65_536;

/// Entries of a rank's send ring. A post beyond it waits in rank memory (law 4), so this is a
/// question of speed only: 1,024 entries of 128 bytes cover a slice of back-to-back posts.
pub const SEND_RING_ENTRIES: u64 = 1_024;

/// Entries of a rank's receive ring, as the send ring.
pub const RECEIVE_RING_ENTRIES: u64 = 1_024;

/// Entries of a rank's collective ring: non-blocking collectives outstanding before posts wait.
pub const COLLECTIVE_RING_ENTRIES: u64 = 256;

/// Runs of a derived datatype ([`crate::layout`]), which take 40 bytes each. It bounds what a NIC
/// searches in a rank's memory, and the memory and time that a commit takes.
pub const MAX_LAYOUT_RUNS: usize = 1 << 24;

/// Entries of a send queue between two ranks of a node (SMARTMAP): 256 cache lines, 16 KiB, are a
/// window of messages that fits the first cache with something beside it. What does not fit waits
/// in the sender's memory, so this is a question of speed only.
pub const SEND_QUEUE_ENTRIES: u64 = 256;

/// Bytes of payload that a send queue has room for beside its entries. Both copies of a payload
/// are to find it in a second cache.
pub const SEND_QUEUE_PAYLOAD_BYTES: u64 = 64 * 1024;

/// The longest message that is copied through a send queue: a fourth of its room for payload, so that
/// there is always room again when the receiver has taken what it found.
pub const MAX_QUEUED_BYTES: usize = 16 * 1024;

/// A part of a message that goes through a send queue because its receiver cannot reach it: as above,
/// so that one is copied out while the next is copied in.
pub const QUEUED_PART_BYTES: usize = MAX_QUEUED_BYTES;

/// Copies of messages beyond the eager limit that a rank makes for receivers on its node: with more of
/// them outstanding, its sends wait to be asked for.
pub const MAX_COPIED_BYTES: usize = 16 << 20;

/// Bytes that a rank fetches from another one of its node, from where these lie in no slot, before it says
/// so. As many take a few milliseconds longer than from a slot: less than that nobody would mend.
pub const SLOW_COPY_BYTES: usize = 16 << 20;

/// The shortest message that a blocking send lends to a receiver on its node: there is more to a loan
/// than to a copy.
pub const LEAST_LENT_BYTES: usize = 640;

/// The shortest message whose sender takes part in the copy. Shorter ones are fetched by their
/// receivers: they come out of caches, and the sender would have to be fast to find anything left.
/// Longer ones are not lent: loans and shared copies use the same word of a transfer.
pub const LEAST_SHARED_BYTES: usize = 1 << 20;

/// A chunk of a shared copy: half of a second cache at most, and long enough that claims do not count.
pub const SHARED_CHUNK_BYTES: usize = 64 * 1024;

/// Chunks that a receiver keeps whose memory is being sent itself: as many as it is ahead of its
/// own receiver. Two that exchange are seldom further apart, and what is kept stays in a second
/// cache.
pub const MAX_KEPT_CHUNKS: usize = 16;

/// What a sender packs before its receiver on the node is told: that begins soon, and finds the bytes
/// in a cache.
pub const PACKED_STEP_BYTES: usize = 32 * 1024;

/// A chunk of a reduction in the memory of a node's ranks: with what is folded into it, it fits a
/// usual first cache, and hides what a call of the kernel costs.
pub const FOLDED_CHUNK_BYTES: usize = 16 * 1024;

/// From so many bytes on a rank writes what it has folded past the caches: in the outputs of all who want it
/// they are as much as a core's second cache holds, so most of them would only be fetched to be written and
/// pushed out.
pub const LEAST_STREAMED_BYTES: usize = 4 << 20;

/// Memory for partial results that is kept for the next reduction.
pub const MAX_SPARE_BYTES: usize = 4 << 20;

/// A contribution that lies in the node memory, beside its record: a page. Anything longer is copied
/// once from where it is.
pub const COLL_INFO_PAYLOAD_BYTES: usize = 4096;

/// Request slots of a rank: sends and receives whose completion the NIC still owes. Equal to the
/// envelopes a receiver may hold (law 4), so that as many sends may be outstanding as can match.
pub const REQUEST_SLOTS: usize = 1 << 20;

/// Envelopes and posted receives the NIC keeps for one receiving rank (law 4).
pub const MAX_ENVELOPES_PER_RANK: usize = 1 << 20;

/// Bytes of messages within the node that a rank keeps because nobody has asked for them yet. With more, eager
/// messages to it are none: their senders keep them, and wait. (What is in the queues comes on top.) It is more
/// than programs leave lying about, and bounds what one that never receives takes of the node's memory.
pub const MAX_UNEXPECTED_BYTES: usize = 64 << 20;

/// Bytes that travel inside a descriptor and inside a completion: what is left of the two cache
/// lines of an entry after its fields.
pub const INLINE_BYTES: usize = 64;

/// Eager payload slots of a rank: eager sends above [`INLINE_BYTES`] whose data has not yet
/// moved. When they are all taken, a send moves as rendezvous (law 4).
pub const PAYLOAD_SLOTS: usize = 512;

/// The largest `--eager-limit`: a payload slot is this large at most.
pub const MAX_EAGER_LIMIT: usize = 64 * 1024;

/// The default `--eager-limit` (law 3).
pub const DEFAULT_EAGER_LIMIT: usize = 4 * 1024;

/// Bytes of eager messages that a node has sent to a far one with their descriptors, and that were not received. What is
/// beyond is asked for. It is what a link brings in some hundred microseconds, so it holds up nobody who receives what
/// comes; and a node keeps no more than that for each of the others.
pub const MAX_UNRECEIVED_EAGER_BYTES: u64 = 1 << 20;

/// Kinds of things that a rank says it has left when it finalizes: enough to find the mistakes of a program,
/// of which one mostly leaves many of a kind. The others are counted.
pub const MAX_LEAKS: usize = 64;

/// Context ids, and slots of global variables on a node. A slot is the same on all nodes of a
/// communicator: one more can be made as long as fewer than these have members on any of its nodes. Each
/// slot has six variables, and the bit mask by which ranks agree on a free id is reduced whenever a
/// communicator is made.
pub const MAX_CONTEXTS: usize = 2_048;

/// Arrival hints kept per context: so many collectives of one communicator may be in flight
/// before a node's last arrival goes unnoticed until the next regular strobe.
pub const ARRIVAL_HINTS_PER_CONTEXT: usize = 4;

/// Bytes of one descriptor block: what one BS can deliver to one BR in one DEM.
pub const DESCRIPTOR_BLOCK_BYTES: usize = 64 * 1024;

/// Bytes of one completion block: what one DH can report to one source node in one PM.
pub const COMPLETION_BLOCK_BYTES: usize = 32 * 1024;

/// Bytes of one credit block: credits one BR returns to one BS in one MSM.
pub const CREDIT_BLOCK_BYTES: usize = 16 * 1024;

/// Collective steps that may enter one node in one slice. Each may bring one token of bytes; all
/// of them together are at most half the link's budget. More would only lengthen BBM and RM.
pub const COLLECTIVE_TOKENS: u64 = 64;

/// The largest collective step in bytes: 64 of them, 2 MiB, stay in an L2 cache.
pub const MAX_TOKEN_BYTES: usize = 32 * 1024;

/// The longest broadcast or reduction that is put through the collective block; the data of longer ones
/// are pulled from memory to memory, which takes words from node to node before and after.
pub const LONGEST_PUT_BYTES: u64 = 16 * 1024;

/// Bytes that a NIC folds at a time: what it has folded and what comes to it stay in a first-level cache.
pub const FOLD_BLOCK_BYTES: usize = 16 * 1024;

/// Room in a token for the headers of its parts: one for each child in the reduce tree of
/// [`MAX_NODES`] nodes, and one for the result.
pub const TOKEN_PARTS: usize = 9;

/// Bytes in front of each part of a token: one cache line.
pub const TOKEN_HEADER_BYTES: usize = 64;

/// The least a slice may bring into a node: below it, a collective step would be smaller than its
/// header.
pub const MIN_BUDGET: u64 = 4096;

/// Envelopes BS keeps per destination node before it stops taking descriptors from the rings.
pub const MAX_OUTGOING_PER_NODE: usize = 8 * 1024;

/// The shortest time slice: below it the strobe itself would be the load (to wake for one, and five
/// microphases whose code programs have pushed out of the caches, cost some 17 µs of CPU).
pub const MIN_TIME_SLICE_NS: u64 = 50_000;

/// The longest time slice: above it a program that waits looks hung to its user.
pub const MAX_TIME_SLICE_NS: u64 = 100_000_000;

/// The default time slice, the paper's 500 µs.
pub const DEFAULT_TIME_SLICE_NS: u64 = 500_000;

/// Default of `--reduce soft:LIMIT`, in elements: up to so many, software is as quick as the
/// processor for some operation.
///
/// The paper's NIC reduces in software because programs reduce few elements, and to compute those
/// slowly takes less time than to send them to the host (4.4). Here nothing is sent: what the host
/// path costs more is to enter the default floating-point environment, 3 to 8 ns. `cargo xtask
/// soft-float` measures what that is worth. Software takes 3 to 8 ns for each element of a minimum or
/// maximum, which it does by comparing integers: the processor is as quick from 2 to 4 elements on. It
/// takes 45 to 70 ns for an element of a sum or product (430 ns for a complex product), so there the
/// processor is quicker at once; but for 3 elements that is some 0.2 µs (complex products: 1.3 µs) of
/// a slice that costs 25 µs. This bound was 256 before that was measured: then a sum of 256 numbers
/// took 12 to 17 µs for each contribution, and for ten contributions a third of a slice.
///
/// `cargo xtask check soft-float` holds this to within a factor of 2 of the greatest crossover.
pub const DEFAULT_SOFT_REDUCE_ELEMENTS: u32 = 3;

/// Bytes a NIC has the kernel copy at a time between two processes neither of which it can look into, through
/// its bounce buffer: half of a usual L2 cache.
pub const BOUNCE_BYTES: usize = 256 * 1024;

/// Bytes a NIC copies at a time from pieces to pieces where it can look into both: half of a usual first cache.
pub const PIECES_BOUNCE_BYTES: usize = 16 * 1024;

/// What a NIC maps of a rank's slot at least: more than most heaps have, and so little that a process has addresses
/// for those of all ranks of a job.
pub const LEAST_WINDOW_BYTES: usize = 4 << 30;

/// Addresses that a process takes for what its NICs map of slots: half of those it has, so that nothing else
/// wants for any. Of what is beyond the kernel makes copies.
pub const MAX_WINDOWS_BYTES: usize = 64 << 40;

/// Processes to which one passes on what goes along the tree of processes (`fabric/udp/hub/tree.rs`), where there are
/// machines enough. To say a word to one more costs a process about 2 µs, a datagram with its tag, and a further level costs all
/// below it some 8 µs, half a round trip: so a level pays from some 4 to 8 children on. With 8, up to 9 processes are
/// a star, as without a tree, and 256 are three levels.
pub const FAN_OUT: usize = 8;

/// The largest link bandwidth, bytes per second: keeps bandwidth × slice within 64 bits.
pub const MAX_LINK_BANDWIDTH: u64 = 1 << 50;

const _: () = {
    assert!(MAX_NODES.is_multiple_of(64));
    assert!(MAX_RANKS * LEAST_WINDOW_BYTES <= MAX_WINDOWS_BYTES);
    assert!(DEFAULT_EAGER_LIMIT <= MAX_EAGER_LIMIT);
    assert!(MIN_TIME_SLICE_NS <= DEFAULT_TIME_SLICE_NS);
    assert!(DEFAULT_TIME_SLICE_NS <= MAX_TIME_SLICE_NS);
    assert!(REQUEST_SLOTS <= u32::MAX as usize);
    assert!(1 << (TOKEN_PARTS - 1) >= MAX_NODES);
    assert!(COLLECTIVE_TOKENS <= 64);
    assert!(LEAST_LENT_BYTES < LEAST_SHARED_BYTES);
    assert!(SHARED_CHUNK_BYTES <= LEAST_SHARED_BYTES);
    assert!(MAX_QUEUED_BYTES as u64 * 4 <= SEND_QUEUE_PAYLOAD_BYTES);
    assert!(MAX_QUEUED_BYTES < LEAST_SHARED_BYTES);
    assert!(FAN_OUT > 0);
    assert!(SEND_RING_ENTRIES.is_power_of_two());
    assert!(RECEIVE_RING_ENTRIES.is_power_of_two());
    assert!(COLLECTIVE_RING_ENTRIES.is_power_of_two());
};

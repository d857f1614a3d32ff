//! Every bound of the runtime, with its reason. Exceeding one is an error message, never a crash.

/// The most nodes of a job. A node set is a bit mask of this many bits, two cache lines, copied
/// into every Compare-And-Write. A microstrobe carries the words that the job has nodes for. Each
/// node has lanes for every other one, of 112 KiB, so all processes of a machine map a segment that
/// grows with the square: 112 GiB of addresses here, of which only the pages exist that are used.
pub const MAX_NODES: usize = 1_024;

/// The most ranks of a job. A rank number travels as `u32`. This bound keeps the member list of the
/// world communicator (4 bytes a rank) small enough to be copied in one piece.
pub const MAX_RANKS: usize = 16_384;

/// The most ranks on a node: a NIC scans the rings of its ranks once a slice.
pub const MAX_RANKS_PER_NODE: usize = 1_024;

/// The number of spare ranks that a job has if the user gives no `--universe-size`
/// (`MPI_Comm_spawn`). It is enough for a program that starts its workers once, on all cores of a
/// usual machine. Each costs a node manager some memory of its own and some microseconds at the
/// start, so a job of more than [`MOST_RANKS_WITH_SPARE`] ranks has none.
pub const DEFAULT_SPARE_RANKS: usize = 64;

/// The most ranks of a job that has spare ranks without being asked: in a larger one the spare
/// ranks of its nodes would be felt at the start, and programs of many ranks seldom spawn.
pub const MOST_RANKS_WITH_SPARE: usize = 64;

/// A job has spare ranks without being asked if a process may open this many files: 11 for each of
/// [`MOST_RANKS_WITH_SPARE`] ranks and [`DEFAULT_SPARE_RANKS`] more, and those of the launcher.
pub const LEAST_FILES_WITH_SPARE: u64 = 2048;

/// Bytes of names, arguments and directories in one request of a rank to its launcher: with the
/// lengths of all of them, and the rest of the message, they fit the buffer of a socket.
pub const MAX_REQUEST_BYTES: usize = 48 * 1024;

/// The most commands of one `MPI_Comm_spawn_multiple`: more than programs have, and few enough that
/// a request stays short.
pub const MAX_SPAWN_COMMANDS: usize = 256;

/// Slots of a node ([`crate::memory::slot`]), of 512 GiB each. User space on x86-64 has room for
/// 256. The first is for programs that are linked to fixed addresses. Linux loads other programs
/// from slot 170 on, and maps libraries and stacks from slot 254 downwards. Slots 160 to 170 are a
/// margin. Further ranks have an ordinary heap, which others read and write by other methods.
pub const MAX_SLOTS: usize = 160;

/// Ranges of a rank's heap over which its program has mapped something else, or which it has
/// protected. By default Linux allows a process this many mappings (`vm.max_map_count`), so a
/// program within that limit hardly ever has more of these ranges.
pub const MAX_REMAPPED_RANGES: usize = 65_536;

/// Entries of a rank's send ring. Further posts wait in rank memory (law 4), so this is only a
/// question of speed: 1,024 entries of 128 bytes cover a slice of back-to-back posts.
pub const SEND_RING_ENTRIES: u64 = 1_024;

/// Entries of a rank's receive ring, for the same reason.
pub const RECEIVE_RING_ENTRIES: u64 = 1_024;

/// Entries of a rank's collective ring: the non-blocking collectives in flight before posts wait.
pub const COLLECTIVE_RING_ENTRIES: u64 = 256;

/// The most runs of a derived datatype ([`crate::layout`]), which take 40 bytes each. It bounds
/// what a NIC searches in a rank's memory, and the memory and time of a commit.
pub const MAX_LAYOUT_RUNS: usize = 1 << 24;

/// Entries of a send queue between two ranks of a node (SMARTMAP). 256 cache lines, 16 KiB, are a
/// window of messages that leaves room in a first-level cache. Further messages wait in the
/// sender's memory, so this is only a question of speed.
pub const SEND_QUEUE_ENTRIES: u64 = 256;

/// Bytes for payload in a send queue, beside its entries. Both copies of a payload should hit in a
/// second-level cache.
pub const SEND_QUEUE_PAYLOAD_BYTES: u64 = 64 * 1024;

/// The longest message that is copied through a send queue: a fourth of its room for payload, so
/// that there is always room again once the receiver has taken the entries that it found.
pub const MAX_QUEUED_BYTES: usize = 16 * 1024;

/// The length of a part of a message that goes through a send queue because its receiver cannot
/// reach it: as above, so that one part is copied out while the next is copied in.
pub const QUEUED_PART_BYTES: usize = MAX_QUEUED_BYTES;

/// Bytes of copies that a rank makes for receivers on its node of messages beyond the eager limit.
/// When this many are outstanding, its sends wait for the receiver's request.
pub const MAX_COPIED_BYTES: usize = 16 << 20;

/// Bytes that a rank copies from or to memory of another rank of its node, outside of slots, before
/// it reports that. They take a few milliseconds longer than from a slot. A smaller loss is not
/// worth a fix.
pub const SLOW_COPY_BYTES: usize = 16 << 20;

/// The shortest message that a blocking send lends to a receiver on its node. For shorter ones a
/// loan costs more than a copy.
pub const LEAST_LENT_BYTES: usize = 640;

/// The shortest message whose sender takes part in the copy. Receivers fetch shorter ones alone:
/// the bytes come from caches, and a sender would seldom be in time to copy a chunk. Longer
/// messages are not lent: loans and shared copies use the same word of a transfer.
pub const LEAST_SHARED_BYTES: usize = 1 << 20;

/// A chunk of a shared copy: at most half of a second-level cache, and long enough that the cost of
/// claims is small.
pub const SHARED_CHUNK_BYTES: usize = 64 * 1024;

/// Chunks that a receiver buffers if it sends the same memory: it may be this far ahead of its own
/// receiver. Two ranks that exchange are seldom further apart, and the buffer stays in a
/// second-level cache.
pub const MAX_KEPT_CHUNKS: usize = 16;

/// Bytes that a sender packs before it notifies its receiver on the node. The receiver then begins
/// soon, and finds the bytes in a cache.
pub const PACKED_STEP_BYTES: usize = 32 * 1024;

/// A chunk of a reduction in the memory of a node's ranks. Together with the data that are folded
/// into it, it fits a usual first-level cache, and it hides the cost of a system call.
pub const FOLDED_CHUNK_BYTES: usize = 16 * 1024;

/// The least length at which a rank writes its result past the caches. The outputs of all ranks
/// that want it then fill a core's second-level cache, so most lines would only be fetched to be
/// written and evicted.
pub const LEAST_STREAMED_BYTES: usize = 4 << 20;

/// The most memory for partial results that is kept for the next reduction.
pub const MAX_SPARE_BYTES: usize = 4 << 20;

/// The longest contribution that lies in the node memory, beside its record: a page. Longer ones
/// are copied once from where they are.
pub const COLL_INFO_PAYLOAD_BYTES: usize = 4096;

/// Request slots of a rank: sends and receives whose completion the NIC still owes. There are as
/// many as envelopes for one receiver (law 4), so that as many sends may be outstanding as can
/// match.
pub const REQUEST_SLOTS: usize = 1 << 20;

/// The bytes of all contributions together from which on members divide a short reduction to all:
/// 128 cache lines that other cores have written. To read these takes about as long as another
/// synchronization of the members, which moves cache lines, too.
pub const LEAST_DIVIDED_BYTES: usize = 8 << 10;

/// With fewer members, each reads at most twice the lines that it reads if they divide the work.
pub const LEAST_DIVIDING_MEMBERS: usize = 8;

/// The envelopes and posted receives that the NIC keeps for one receiving rank (law 4).
pub const MAX_ENVELOPES_PER_RANK: usize = 1 << 20;

/// Bytes of messages within the node that a rank keeps in its unexpected queue. Beyond that, eager
/// messages to it are not eager: their senders keep them, and wait. (Messages in the queues come on
/// top.) This is more than programs usually leave unreceived. It bounds the node's memory for a
/// rank that never receives.
pub const MAX_UNEXPECTED_BYTES: usize = 64 << 20;

/// Bytes that travel inside a descriptor and inside a completion: the rest of the two cache lines
/// of an entry after its fields.
pub const INLINE_BYTES: usize = 64;

/// Eager payload slots of a rank: eager sends above [`INLINE_BYTES`] whose data have not moved yet.
/// When all are in use, a send moves as rendezvous (law 4).
pub const PAYLOAD_SLOTS: usize = 512;

/// The largest `--eager-limit`: a payload slot is this large at most.
pub const MAX_EAGER_LIMIT: usize = 64 * 1024;

/// The default `--eager-limit` (law 3).
pub const DEFAULT_EAGER_LIMIT: usize = 4 * 1024;

/// Bytes of eager messages that a node has sent to a remote node with their descriptors and that
/// are not received yet. Bytes beyond that wait for a request. It is the traffic of some hundred
/// microseconds on a link, so it does not delay a rank that receives its messages, and it bounds
/// the memory that a node keeps for each other node.
pub const MAX_UNRECEIVED_EAGER_BYTES: u64 = 1 << 20;

/// The most kinds of leaks that a rank reports when it finalizes. That is enough to find a
/// program's mistakes, because a program usually makes many leaks of one kind. The others are only
/// counted.
pub const MAX_LEAKS: usize = 64;

/// Context ids, and slots of global variables on a node. A slot is the same on all nodes of a
/// communicator: a new communicator is possible as long as fewer than this many have members on any
/// of its nodes. Each slot has six variables. Ranks agree on a free id by a reduction of the bit
/// mask of ids whenever they make a communicator.
pub const MAX_CONTEXTS: usize = 2_048;

/// Arrival hints kept per context: the number of collectives of one communicator that may be in
/// flight before a node misses its last arrival until the next regular strobe.
pub const ARRIVAL_HINTS_PER_CONTEXT: usize = 4;

/// Bytes of one descriptor block: what one BS can deliver to one BR in one DEM.
pub const DESCRIPTOR_BLOCK_BYTES: usize = 64 * 1024;

/// Bytes of one completion block: what one DH can report to one source node in one PM.
pub const COMPLETION_BLOCK_BYTES: usize = 32 * 1024;

/// Bytes of one credit block: credits one BR returns to one BS in one MSM.
pub const CREDIT_BLOCK_BYTES: usize = 16 * 1024;

/// Collective steps that may enter one node in one slice. Each may bring one token of bytes. All of
/// them together are at most half the link's budget. More would only lengthen BBM and RM.
pub const COLLECTIVE_TOKENS: u64 = 64;

/// The largest collective step in bytes: 64 of them, 2 MiB, stay in an L2 cache.
pub const MAX_TOKEN_BYTES: usize = 32 * 1024;

/// The longest broadcast or reduction that is put through the collective block. Longer data are
/// pulled from memory to memory, which takes control messages between nodes before and after.
pub const LONGEST_PUT_BYTES: u64 = 16 * 1024;

/// Bytes that a NIC folds at a time: the partial result and the incoming data stay in a first-level
/// cache.
pub const FOLD_BLOCK_BYTES: usize = 16 * 1024;

/// Room in a token for the headers of its parts: one for each child in the reduce tree of
/// [`MAX_NODES`] nodes, and one for the result.
pub const TOKEN_PARTS: usize = 11;

/// Bytes in front of each part of a token: one cache line.
pub const TOKEN_HEADER_BYTES: usize = 64;

/// The least budget of a slice: below it, a collective step would be smaller than its header.
pub const MIN_BUDGET: u64 = 4096;

/// Envelopes that BS keeps per destination node before it stops taking descriptors from the rings.
pub const MAX_OUTGOING_PER_NODE: usize = 8 * 1024;

/// The shortest time slice. In shorter slices the strobe itself would be the load: to wake for one,
/// and to run five microphases whose code programs have evicted from the caches, costs some 17 µs
/// of CPU.
pub const MIN_TIME_SLICE_NS: u64 = 50_000;

/// The longest time slice: with a longer one, a program that waits seems to hang.
pub const MAX_TIME_SLICE_NS: u64 = 100_000_000;

/// The default time slice, the paper's 500 µs.
pub const DEFAULT_TIME_SLICE_NS: u64 = 500_000;

/// Default of `--reduce soft:LIMIT`, in elements: up to this many, software is as quick as the
/// processor for some operation.
///
/// The paper's NIC reduces in software because programs reduce few elements, and a slow computation
/// takes less time than to send them to the host (4.4). Here nothing is sent. The extra cost of the
/// host path is to enter the default floating-point environment, 3 to 8 ns. `cargo xtask
/// soft-float` measures the crossover. For a minimum or maximum, software compares integers and
/// takes 3 to 8 ns an element: the processor is as quick from 2 to 4 elements on. For a sum or
/// product, software takes 45 to 70 ns an element (430 ns for a complex product), so there the
/// processor is quicker at once. But for 3 elements that is some 0.2 µs (complex products: 1.3 µs)
/// of a slice that costs 25 µs. Before that was measured, this bound was 256. Then a sum of 256
/// numbers took 12 to 17 µs for each contribution, and ten contributions took a third of a slice.
///
/// `cargo xtask check soft-float` checks that this is within a factor of 2 of the greatest
/// crossover.
pub const DEFAULT_SOFT_REDUCE_ELEMENTS: u32 = 3;

/// Bytes that the kernel copies at a time, through the NIC's bounce buffer, between two processes
/// whose memory the NIC cannot access directly: half of a usual L2 cache.
pub const BOUNCE_BYTES: usize = 256 * 1024;

/// Bytes that a NIC copies at a time from pieces to pieces if it can access both directly: half of
/// a usual first-level cache.
pub const PIECES_BOUNCE_BYTES: usize = 16 * 1024;

/// The least part of a rank's slot that a NIC maps: larger than most heaps, and so small that a
/// process has addresses for this part of the slots of all ranks of a job.
pub const LEAST_WINDOW_BYTES: usize = 4 << 30;

/// The most address space that a process uses for its NICs' mappings of slots: half of what it has,
/// so that nothing else runs out of addresses. The kernel copies data outside of these mappings.
pub const MAX_WINDOWS_BYTES: usize = 64 << 40;

/// The number of children of a process in the tree of processes (`fabric/udp/hub/tree.rs`), where
/// there are enough machines. One more child costs a process about 2 µs, a datagram with its tag.
/// One more level costs all processes below it some 8 µs, half a round trip. So a level pays off
/// from some 4 to 8 children on. With 8, up to 9 processes are a star, as without a tree, and 256
/// are three levels.
pub const FAN_OUT: usize = 8;

/// The largest link bandwidth, in bytes per second. It keeps bandwidth × slice within 64 bits.
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

//! The machine page: the words by which ranks and NIC OS threads of one job on one machine ring
//! each other, and notify the Strobe Sender of work.
//!
//! Every rank of the job can write it, so it holds hints and bells only: a rank that overwrites it
//! can delay its own job, but never change what the job computes. No other job reads it.

use super::bell::{self, KernelFutex};
use super::profile::{Profile, Thresholds};
use crate::job::{NicThreadId, NodeId};
use crate::limits::{ARRIVAL_HINTS_PER_CONTEXT, MAX_CONTEXTS};
use crate::memory::{MapError, Mapping, sealed_memfd};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

const LINE: usize = 128;
const DEMAND: usize = 0;
const ARMED: usize = DEMAND + 4;
const ARMED_AT: usize = DEMAND + 8;
const BLOCKED: usize = 2 * LINE;
const HUNGER_ELSEWHERE: usize = BLOCKED + 4;
const HAS_FAR_NODES: usize = BLOCKED + 8;
const HUNGER_TOLD: usize = BLOCKED + 12;
const AWAKE_THREADS: usize = 3 * LINE;
const POLLING: usize = AWAKE_THREADS + 4;
const CORES: usize = 4 * LINE;
/// The figures of the machine's profile, in the order of [`Profile::figures`].
const PROFILE: usize = CORES + 4;
/// Like the words before it, it is seldom written.
const SPAWNED: usize = 5 * LINE - 4;
const IN_SLICE: usize = 5 * LINE;
const SLICE: usize = 6 * LINE;
const CHOSEN: usize = 7 * LINE;
const BELLS: usize = 8 * LINE;

/// A value of the word ARMED: no strobe is wanted, and a rank that wants one rings the Strobe
/// Sender.
const UNARMED: u32 = 0;
/// The next regular strobe is wanted.
const IS_ARMED: u32 = 1;
/// As unarmed, but the Strobe Sender wakes at the next regular time anyway: no need to ring it.
const WATCHED: u32 = 2;

/// A bell of a NIC OS thread. Number 0 is the Strobe Sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BellId(usize);

impl BellId {
    /// The bell of the OS thread that hosts the Strobe Sender and the sequencer.
    pub const STROBE_SENDER: Self = Self(0);

    /// Returns the bell for a NIC thread. The driver decides which OS thread sleeps on it.
    #[must_use]
    pub fn for_nic_thread(node: NodeId, thread: NicThreadId) -> Self {
        Self(1 + node.index() * NicThreadId::COUNT + thread.index())
    }
}

/// The threads of the job that want a core, and the number of cores: the input of law 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreLoad {
    /// Ranks and NIC OS threads that do not sleep.
    pub awake: u32,
    /// Those of them that wait, and yield their core after each poll.
    pub polling: u32,
    /// Cores that the job may use.
    pub cores: u32,
}

impl CoreLoad {
    /// Returns whether all awake threads have a core each.
    #[must_use]
    pub fn cores_suffice(&self) -> bool {
        self.awake <= self.cores
    }

    /// Returns whether the awake threads that do not yield have a core each.
    #[must_use]
    pub fn cores_suffice_for_running(&self) -> bool {
        self.awake.saturating_sub(self.polling) <= self.cores
    }
}

/// The lengths of time slices that the Strobe Sender has chosen, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceLengths {
    /// The length in force; 0 before the first slice.
    pub now_ns: u64,
    /// The shortest length so far.
    pub shortest_ns: u64,
    /// The longest length so far.
    pub longest_ns: u64,
    /// The number of changes.
    pub changes: u64,
}

/// The machine page, mapped by this process.
#[derive(Clone, Debug)]
pub struct MachinePage {
    mapping: Arc<Mapping>,
    nodes: usize,
    /// The thresholds at the time when this process mapped the page. Later writes of other ranks do
    /// not change them.
    thresholds: Thresholds,
    /// The number of cores at that time.
    cores_at_start: u32,
}

impl MachinePage {
    fn arrivals_start(nodes: usize) -> usize {
        (BELLS + (1 + nodes * NicThreadId::COUNT) * LINE).next_multiple_of(4096)
    }

    fn bytes(nodes: usize) -> usize {
        Self::arrivals_start(nodes) + nodes * MAX_CONTEXTS * ARRIVAL_HINTS_PER_CONTEXT * 4
    }

    /// Makes the page of a job with `nodes` nodes on this machine, with this number of cores and
    /// this profile.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(nodes: usize, cores: u32, profile: Profile) -> Result<(OwnedFd, Self), MapError> {
        let fd = sealed_memfd("bcs-machine-page", Self::bytes(nodes))?;
        let mapping = Mapping::shared(&fd, Self::bytes(nodes))?;
        Ok((fd, Self::new(mapping, nodes, cores, profile)))
    }

    fn new(mapping: Mapping, nodes: usize, cores: u32, profile: Profile) -> Self {
        mapping.word32(CORES).store(cores, Ordering::Relaxed);
        for (at, figure) in profile.within_bounds().figures().into_iter().enumerate() {
            let word = mapping.word32(PROFILE + 4 * at);
            word.store(figure, Ordering::Relaxed);
        }
        Self::of(mapping, nodes)
    }

    fn of(mapping: Mapping, nodes: usize) -> Self {
        let figure = |at| mapping.word32(PROFILE + 4 * at).load(Ordering::Relaxed);
        let profile = Profile::from_figures(std::array::from_fn(figure));
        let cores_at_start = mapping.word32(CORES).load(Ordering::Relaxed);
        Self {
            mapping: Arc::new(mapping),
            nodes,
            thresholds: profile.within_bounds().thresholds(),
            cores_at_start,
        }
    }

    /// Maps a page made for the same number of nodes.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(fd: impl AsFd, nodes: usize) -> Result<Self, MapError> {
        let mapping = Mapping::shared(fd, Self::bytes(nodes))?;
        Ok(Self::of(mapping, nodes))
    }

    /// Returns the thresholds that follow from the profile of this machine.
    #[must_use]
    #[inline]
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Returns the number of cores to run on when this process mapped the page. Node managers set
    /// it before they start ranks, so all ranks of a node find the same.
    #[must_use]
    pub fn cores_at_start(&self) -> usize {
        self.cores_at_start as usize
    }

    /// Records that processes of the first `spare` spare ranks of the job may be there, before one
    /// of them is.
    pub fn set_spawned(&self, spare: u32) {
        let word = self.mapping.word32(SPAWNED);
        word.fetch_max(spare, Ordering::AcqRel);
    }

    /// Returns how many spare ranks may have a process. The others have posted nothing.
    #[must_use]
    pub fn spawned(&self) -> u32 {
        self.mapping.word32(SPAWNED).load(Ordering::Acquire)
    }

    /// Sets the number of cores to run on.
    pub fn set_cores(&self, cores: u32) {
        self.mapping.word32(CORES).store(cores, Ordering::Relaxed);
    }

    /// Makes a page that only this process sees (simulator, tests).
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn private(nodes: usize, cores: u32) -> Result<Self, MapError> {
        let mapping = Mapping::private(Self::bytes(nodes))?;
        Ok(Self::new(mapping, nodes, cores, Profile::UNKNOWN))
    }

    /// Returns the number of nodes of the job on this machine.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the word of a bell.
    #[must_use]
    pub fn bell(&self, bell: BellId) -> &AtomicU32 {
        self.mapping.word32(BELLS + bell.0 * LINE)
    }

    /// Redirects rings of `bell` to `other`: the OS thread that runs its NIC thread sleeps on
    /// `other`.
    pub fn redirect(&self, bell: BellId, other: BellId) {
        let other = u32::try_from(other.0).expect("bells are few");
        self.mapping
            .word32(BELLS + bell.0 * LINE + 4)
            .store(other + 1, Ordering::Release);
    }

    /// Rings a bell. The caller has published the work before.
    pub fn ring(&self, bell: BellId) {
        let redirected = self
            .mapping
            .word32(BELLS + bell.0 * LINE + 4)
            .load(Ordering::Acquire);
        let bell = match redirected {
            0 => bell,
            // A rank can overwrite this: a bell that does not exist is not rung.
            other if other as usize <= 1 + self.nodes * NicThreadId::COUNT => {
                BellId(other as usize - 1)
            }
            _ => return,
        };
        self.wake(self.bell(bell));
    }

    /// Counts a post of a rank that a NIC thread of its node may take before the next cut. In a job
    /// on one machine the count has no reader.
    pub fn nudge(&self, node: NodeId, thread: NicThreadId) {
        let bell = BellId::for_nic_thread(node, thread);
        self.nudge_word(bell).fetch_add(1, Ordering::SeqCst);
        self.ring(bell);
    }

    /// Returns how often ranks have done so. Posts before that are visible afterwards.
    #[must_use]
    pub fn nudges(&self, node: NodeId, thread: NicThreadId) -> u32 {
        self.nudge_word(BellId::for_nic_thread(node, thread))
            .load(Ordering::Acquire)
    }

    fn nudge_word(&self, bell: BellId) -> &AtomicU32 {
        self.mapping.word32(BELLS + bell.0 * LINE + 8)
    }

    /// Rings a bell that lies elsewhere: a rank's.
    ///
    /// The woken thread counts as awake from here on, not from when it has found a core. A waiter
    /// that spins must see at once that its core is wanted (law 7).
    #[inline]
    pub fn wake(&self, bell: &AtomicU32) {
        bell::ring(bell, &KernelFutex, || self.count_awake(true));
    }

    /// Law 2: requests the next regular strobe, because there is work. It makes at most one system
    /// call a slice, since the Strobe Sender clears the word before it takes the cut, and none
    /// while one regular strobe follows the other.
    pub fn arm(&self) {
        self.arm_at(|| 0);
    }

    /// Does the same, and records that the first strobe after `now_ns` is wanted. It reads the time
    /// only if the page is not armed. That time may have passed when the Strobe Sender wakes.
    pub fn arm_at(&self, now_ns: impl FnOnce() -> u64) {
        let armed = self.mapping.word32(ARMED);
        // DEMAND: posts before this store are visible to the slice that it requests.
        fence(Ordering::SeqCst);
        if armed.load(Ordering::Relaxed) == IS_ARMED {
            return;
        }
        let armed_at = self.mapping.word64(ARMED_AT);
        armed_at.store(now_ns(), Ordering::Relaxed);
        if armed.swap(IS_ARMED, Ordering::AcqRel) == UNARMED {
            self.ring(BellId::STROBE_SENDER);
        }
    }

    /// Returns the time at which the next regular strobe was armed, if that was recorded. A rank
    /// may have written any value.
    #[must_use]
    pub fn armed_at(&self) -> u64 {
        self.mapping.word64(ARMED_AT).load(Ordering::Relaxed)
    }

    /// Strobe Sender: requests to be rung again. Returns false if the page is armed: the rank that
    /// armed it saw the Strobe Sender still watching.
    #[must_use]
    pub fn stop_watching(&self) -> bool {
        let armed = self.mapping.word32(ARMED).compare_exchange(
            WATCHED,
            UNARMED,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        armed != Err(IS_ARMED)
    }

    /// Law 2: demands a strobe at once, because there is work and a rank waits for it (elastic).
    pub fn demand(&self) {
        let demand = self.mapping.word32(DEMAND);
        // DEMAND: as in arm.
        fence(Ordering::SeqCst);
        if demand.load(Ordering::Relaxed) == 0 && demand.swap(1, Ordering::AcqRel) == 0 {
            self.ring(BellId::STROBE_SENDER);
        }
    }

    /// Strobe Sender: returns (armed, demanded).
    #[must_use]
    pub fn wanted(&self) -> (bool, bool) {
        (
            // ARMED_AT was stored before.
            self.mapping.word32(ARMED).load(Ordering::Acquire) == IS_ARMED,
            self.mapping.word32(DEMAND).load(Ordering::Relaxed) != 0,
        )
    }

    /// Strobe Sender, before it strikes: clears both words, so later posts request anew. If it
    /// `watches`, it wakes at the next regular time whether or not it is rung.
    pub fn begin_slice(&self, watches: bool) {
        let unarmed = if watches { WATCHED } else { UNARMED };
        self.mapping.word32(ARMED).store(unarmed, Ordering::Relaxed);
        self.mapping.word32(DEMAND).store(0, Ordering::Relaxed);
        self.mapping.word32(IN_SLICE).store(1, Ordering::Relaxed);
        // DEMAND: a rank that saw the words still set has published its post before the cut.
        fence(Ordering::SeqCst);
    }

    /// Strobe Sender: publishes the number of the slice that was last struck.
    pub fn number_slice(&self, slice: u64) {
        self.mapping.word64(SLICE).store(slice, Ordering::Relaxed);
    }

    /// Records that this machine has received a slice, whose cut it is about to take. Later posts
    /// request anew. It is called where the Strobe Sender is on another machine.
    pub fn note_remote_slice(&self, slice: u64) {
        if self
            .mapping
            .word64(SLICE)
            .fetch_max(slice, Ordering::AcqRel)
            < slice
        {
            self.clear_wanted();
        }
    }

    /// Clears the words that request a slice, because that slice is being struck.
    pub fn clear_wanted(&self) {
        let [armed, demand] = [ARMED, DEMAND].map(|at| self.mapping.word32(at));
        armed.store(UNARMED, Ordering::Relaxed);
        demand.store(0, Ordering::Relaxed);
        // DEMAND: as in begin_slice.
        fence(Ordering::SeqCst);
    }

    /// Returns the number of the slice that was last struck; 0 before the first. Only recording by
    /// slices uses it, because it may be slightly old.
    #[must_use]
    #[inline]
    pub fn slice(&self) -> u64 {
        self.mapping.word64(SLICE).load(Ordering::Relaxed)
    }

    /// Strobe Sender: publishes the lengths of slices.
    pub fn publish_slice_lengths(&self, chosen: &SliceLengths) {
        let SliceLengths {
            now_ns,
            shortest_ns,
            longest_ns,
            changes,
        } = *chosen;
        for (at, word) in [now_ns, shortest_ns, longest_ns, changes]
            .into_iter()
            .enumerate()
        {
            self.mapping
                .word64(CHOSEN + at * 8)
                .store(word, Ordering::Relaxed);
        }
    }

    /// Returns the lengths of slices, to show them to a user. They may be from two different
    /// moments.
    #[must_use]
    pub fn slice_lengths(&self) -> SliceLengths {
        let word = |at: usize| self.mapping.word64(CHOSEN + at * 8).load(Ordering::Relaxed);
        SliceLengths {
            now_ns: word(0),
            shortest_ns: word(1),
            longest_ns: word(2),
            changes: word(3),
        }
    }

    /// Strobe Sender: records that the slice is over.
    pub fn end_slice(&self) {
        self.mapping.word32(IN_SLICE).store(0, Ordering::Relaxed);
    }

    /// Returns whether a slice is under way: a hint for threads that wait for its next microphase.
    #[must_use]
    pub fn in_slice(&self) -> bool {
        self.mapping.word32(IN_SLICE).load(Ordering::Relaxed) != 0
    }

    /// Counts a rank that blocks in a call (`true`) or goes on (`false`): the job's hunger (law 2).
    pub fn count_blocked(&self, blocks: bool) {
        let word = self.mapping.word32(BLOCKED);
        if !blocks {
            word.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        // TOLD: either this load sees that other machines were told that no rank is blocked, or the
        // thread that tells them sees this rank.
        let is_first = word.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first && self.spans_machines() && !self.hunger_is_told() {
            self.ring(BellId::STROBE_SENDER); // other machines have to learn of it
        }
    }

    /// Returns whether other machines believe that a rank of this one is blocked.
    fn hunger_is_told(&self) -> bool {
        self.mapping.word32(HUNGER_TOLD).load(Ordering::SeqCst) != 0
    }

    /// Records what other machines will be told: whether a rank of this one is blocked. Returns
    /// whether they are to be told that none is, although a rank is blocked that has not rung. Then
    /// the caller tells them nothing, because what they know is still true.
    pub fn tell_hunger(&self, is_hungry: bool) -> bool {
        let told = self.mapping.word32(HUNGER_TOLD);
        told.store(is_hungry.into(), Ordering::SeqCst);
        // TOLD
        let is_late = !is_hungry && self.mapping.word32(BLOCKED).load(Ordering::SeqCst) > 0;
        if is_late {
            told.store(1, Ordering::SeqCst);
        }
        is_late
    }

    /// Records that the job has nodes on other machines. Then the thread that sleeps on the Strobe
    /// Sender's bell forwards the requests of ranks to them.
    pub fn set_spans_machines(&self) {
        let word = self.mapping.word32(HAS_FAR_NODES);
        word.store(1, Ordering::Relaxed);
    }

    /// Returns whether the job has nodes on other machines.
    #[must_use]
    pub fn spans_machines(&self) -> bool {
        self.mapping.word32(HAS_FAR_NODES).load(Ordering::Relaxed) != 0
    }

    /// Returns the number of ranks that report that they are blocked. A rank may have written any
    /// value.
    #[must_use]
    pub fn blocked(&self) -> u32 {
        self.mapping.word32(BLOCKED).load(Ordering::Relaxed)
    }

    /// Law 2's `hungry`: returns whether some rank of the job is blocked, on this machine or
    /// elsewhere.
    #[must_use]
    pub fn hungry(&self) -> bool {
        let is_set = |at| self.mapping.word32(at).load(Ordering::Relaxed) != 0;
        is_set(BLOCKED) || is_set(HUNGER_ELSEWHERE)
    }

    /// Records whether a rank of another machine is blocked, by that machine's last report.
    pub fn set_hunger_elsewhere(&self, is_there: bool) {
        let word = self.mapping.word32(HUNGER_ELSEWHERE);
        word.store(is_there.into(), Ordering::Relaxed);
    }

    /// Counts a rank or NIC OS thread that starts to run (`true`) or sleeps (`false`): law 7.
    pub fn count_awake(&self, awake: bool) {
        adjust(self.mapping.word32(AWAKE_THREADS), awake);
    }

    /// Law 7: returns whether all awake threads have a core each, so that a spinning thread takes a
    /// core from no other.
    #[must_use]
    #[inline]
    pub fn cores_suffice(&self) -> bool {
        self.mapping.word32(AWAKE_THREADS).load(Ordering::Relaxed)
            <= self.mapping.word32(CORES).load(Ordering::Relaxed)
    }

    /// Counts a waiting rank that begins (`true`) or ceases to yield its core after each poll. A
    /// thread that computes can have this core, so the rank is not [running](Self::core_load).
    pub fn count_polling(&self, polls: bool) {
        adjust(self.mapping.word32(POLLING), polls);
    }

    /// Returns whether a thread that sleeps would have a core of its own if it were woken.
    #[must_use]
    pub fn has_a_core_to_spare(&self) -> bool {
        let CoreLoad { awake, cores, .. } = self.core_load();
        awake < cores
    }

    /// Law 7: returns the threads that want a core, and the number of cores.
    #[must_use]
    #[inline]
    pub fn core_load(&self) -> CoreLoad {
        let word = |at| self.mapping.word32(at).load(Ordering::Relaxed);
        CoreLoad {
            awake: word(AWAKE_THREADS),
            polling: word(POLLING),
            cores: word(CORES),
        }
    }

    /// Counts the arrival of a rank at collective `sequence` of a context. Returns whether all the
    /// node's ranks may have arrived, which is when the arrivals in this collective's lane have
    /// come to `due`: a hint for law 2.
    ///
    /// Ranks arrive at the collectives of a context in order. So when the last of `local` ranks
    /// arrives at collective `s`, each of them has arrived at all earlier ones in its lane: at
    /// least `local * (s / lanes + 1)` arrivals, counted from the [`arrivals`](Self::arrivals) at
    /// the time when the context was opened. So the last arrival is never missed, however far some
    /// ranks are ahead of others; an earlier one may be taken for it.
    #[must_use]
    pub fn arrive(&self, node: NodeId, context: u32, sequence: u64, due: u32) -> bool {
        let word = self.arrival_word(node, context, sequence);
        let arrived = word.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        arrived.wrapping_sub(due).cast_signed() >= 0
    }

    /// Returns the arrivals so far in the lane of collective `sequence` of a context.
    #[must_use]
    pub fn arrivals(&self, node: NodeId, context: u32, sequence: u64) -> u32 {
        self.arrival_word(node, context, sequence)
            .load(Ordering::Acquire)
    }

    fn arrival_word(&self, node: NodeId, context: u32, sequence: u64) -> &AtomicU32 {
        let context = context as usize % MAX_CONTEXTS;
        let lane = usize::try_from(sequence % ARRIVAL_HINTS_PER_CONTEXT as u64).expect("small");
        let word = (node.index() * MAX_CONTEXTS + context) * ARRIVAL_HINTS_PER_CONTEXT + lane;
        self.mapping
            .word32(Self::arrivals_start(self.nodes) + word * 4)
    }
}

fn adjust(word: &AtomicU32, up: bool) {
    if up {
        word.fetch_add(1, Ordering::AcqRel);
    } else {
        word.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_coalesce_until_the_slice_begins() {
        let page = MachinePage::private(1, 2).unwrap();
        assert_eq!(page.wanted(), (false, false));
        page.demand();
        page.demand();
        page.arm();
        assert_eq!(page.wanted(), (true, true));
        page.begin_slice(false);
        assert_eq!(page.wanted(), (false, false));
    }

    #[test]
    fn a_strobe_sender_that_watches_is_not_rung_and_misses_nothing() {
        let page = MachinePage::private(1, 2).unwrap();
        let bell = page.bell(BellId::STROBE_SENDER);
        for (watches, awake_after) in [(true, false), (false, true)] {
            page.begin_slice(watches);
            bell.store(bell::ASLEEP, Ordering::Relaxed);
            page.arm_at(|| 7);
            assert_eq!(page.wanted(), (true, false));
            assert_eq!(page.armed_at(), 7);
            assert_eq!(bell.load(Ordering::Relaxed) == bell::AWAKE, awake_after);
            assert!(!page.stop_watching(), "it is armed");
        }
        page.begin_slice(true);
        assert!(page.stop_watching());
        bell.store(bell::ASLEEP, Ordering::Relaxed);
        page.arm();
        assert_eq!(bell.load(Ordering::Relaxed), bell::AWAKE);
    }

    #[test]
    fn the_last_local_arrival_is_noticed_per_collective() {
        let page = MachinePage::private(2, 2).unwrap();
        let node = NodeId(1);
        assert!(!page.arrive(node, 5, 0, 3));
        assert!(
            !page.arrive(node, 5, 1, 3),
            "the next collective has a counter of its own"
        );
        assert!(!page.arrive(node, 5, 0, 3));
        assert!(page.arrive(node, 5, 0, 3));
        assert!(!page.arrive(NodeId(0), 5, 0, 3), "and so has another node");
    }

    /// Arrivals are counted in 32 bits, and the count of each lane goes on from communicator to
    /// communicator.
    #[test]
    fn the_last_arrival_is_noticed_when_counts_come_round() {
        let page = MachinePage::private(1, 2).unwrap();
        let (node, local) = (NodeId(0), 3);
        for lane in 0..ARRIVAL_HINTS_PER_CONTEXT as u64 {
            let before = u32::MAX - 7;
            page.arrival_word(node, 1, lane)
                .store(before, Ordering::Relaxed);
            for round in 1..=6 {
                let due = before.wrapping_add(round * local);
                let arrive = || page.arrive(node, 1, lane, due);
                assert_eq!(
                    [arrive(), arrive(), arrive()],
                    [false, false, true],
                    "{round}"
                );
            }
        }
    }

    #[test]
    fn a_last_arrival_is_not_missed_when_another_rank_is_far_ahead() {
        let page = MachinePage::private(1, 2).unwrap();
        let node = NodeId(0);
        assert_eq!(ARRIVAL_HINTS_PER_CONTEXT, 4);
        assert!(!page.arrive(node, 1, 0, 2));
        assert!(
            !page.arrive(node, 1, 4, 4),
            "the same rank, in the same lane"
        );
        assert!(page.arrive(node, 1, 0, 2), "the other one");
        assert!(page.arrive(node, 1, 4, 4));
        assert_eq!(page.arrivals(node, 1, 8), 4);
    }
}

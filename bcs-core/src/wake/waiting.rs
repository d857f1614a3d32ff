//! Waiting without taking a core from other threads (law 7; docs/waiting.md).
//!
//! The [`WaitAction`] of a thread that waits depends on how many threads of the job want a core.
//! While all awake threads have a core each, it spins for a multiple of the time of a wake. When
//! cores are short, it yields its core after each poll, or sleeps on its bell.
//!
//! A rank that waits for others of its node while cores are short first yields some times. If these
//! wait, too, the core comes round to the one that can go on, and no rank pays for a sleep and a
//! ring. Beside ranks that compute, a yield is two more switches of the core and no answer, or an
//! answer that comes when the other's time on the core is over (measured: 32 ranks on 2 cores take
//! 3 % longer with three yields in each wait). So a thread that gets its core back late does not
//! yield for a while.

use super::bell::{self, KernelFutex, SleepOutcome};
use super::core_sharing::{self, CoreSharing};
use super::machine_page::CoreLoad;
use super::profile::{RelativeTime, Thresholds};
use super::{MachinePage, home_core};
use crate::clock::now_ns;
use crate::lockstep;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;

/// How long a thread stays awake before it sleeps. Times are multiples of the time to wake a thread
/// on this machine ([`Profile`](super::Profile)), because a wake is the cost of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// How long it spins while there are enough cores.
    pub spin: RelativeTime,
    /// Whether it yields from time to time while it spins: a thread that was woken onto this core
    /// while another one was busy does not move there by itself once that is free. It first spins
    /// for several times as long as a yield takes ([`Thresholds::polite_ns`]). Otherwise, of two
    /// threads that answer each other at once, each would yield because the other one has, and all
    /// their messages would take as long as a yield.
    pub spins_politely: bool,
    /// How often it yields when cores are short.
    pub yields: u32,
    /// How long it goes on yielding while there are enough cores for all running threads.
    pub yield_time: RelativeTime,
    /// Whether it counts as running meanwhile: a NIC does, because without it no rank makes
    /// progress.
    pub counts_as_running: bool,
    /// Whether it spins although another thread wants its core.
    pub spins_on_shared_core: bool,
    /// The number of polls at the beginning without a pause between them.
    pub looks_without_pause: u32,
}

impl WaitPolicy {
    /// A rank: it waits for a peer that is about to answer.
    pub const RANK: Self = Self {
        spin: RelativeTime::Wakes(200),
        spins_politely: true,
        yields: 16,
        yield_time: RelativeTime::Wakes(40),
        counts_as_running: false,
        spins_on_shared_core: false,
        looks_without_pause: 0,
    };

    /// A rank whose NIC is struck by the clock, and releases nothing between two strobes. A peer
    /// that gets this core can bring nothing sooner, and one that computes keeps it for longer than
    /// that.
    pub const FIXED_STROBE_RANK: Self = Self {
        yields: 0,
        yield_time: RelativeTime::NONE,
        ..Self::RANK
    };

    /// A rank whose peer on this node may answer so soon that it is not worth announcing the wait.
    pub const SHORT: Self = Self {
        spin: RelativeTime::Wakes(4),
        spins_politely: true,
        yields: 16,
        yield_time: RelativeTime::NONE,
        counts_as_running: false,
        spins_on_shared_core: false,
        looks_without_pause: 0,
    };

    /// The same for a rank that waits for one message, which may be the answer to its last send. A
    /// pause takes as long as a fifth of a short message (23 ns, measured), and a poll after a
    /// pause is late by half of that.
    pub const ANSWER: Self = Self {
        looks_without_pause: 64,
        ..Self::SHORT
    };

    /// A rank that has announced that it waits for others of its node. If it has waited much longer
    /// than a wake takes, a sleep loses little, and saves processor time (measured: of eight ranks
    /// that wait for one for 10 ms, each took 8 % of that when it polled for a millisecond).
    pub const LOCAL_PEERS: Self = Self {
        spin: RelativeTime::Wakes(20),
        spins_politely: true,
        yields: 0,
        yield_time: RelativeTime::NONE,
        counts_as_running: false,
        spins_on_shared_core: false,
        looks_without_pause: 0,
    };

    /// A rank that lends a message to a peer that may be about to request it. A peer with a core
    /// requests it within this time.
    pub const LOAN: Self = Self {
        spin: RelativeTime::Switches(2),
        spins_politely: false,
        yields: 0,
        yield_time: RelativeTime::NONE,
        counts_as_running: false,
        spins_on_shared_core: false,
        looks_without_pause: 0,
    };

    /// A NIC: a rank that answers at once finds it awake, and an idle NIC soon takes no core. It
    /// does not yield: under EEVDF each yield gives away virtual time, and the strobe then comes
    /// milliseconds late on a busy core (measured: 4 ms at the 99th percentile, 0.5 ms without).
    pub const NIC: Self = Self {
        spin: RelativeTime::Wakes(4),
        spins_politely: false,
        yields: 0,
        yield_time: RelativeTime::NONE,
        counts_as_running: true,
        spins_on_shared_core: false,
        looks_without_pause: 0,
    };

    /// A NIC that is struck by the clock: nothing comes between two strobes.
    pub const BETWEEN_STROBES: Self = Self {
        spin: RelativeTime::NONE,
        ..Self::NIC
    };

    /// A NIC that waits for the next microphase of a slice. To sleep until then would cost two
    /// switches of its core, which take longer.
    pub const IN_SLICE: Self = Self {
        spins_on_shared_core: true,
        ..Self::NIC
    };

    /// A NIC that strikes whenever a rank waits: ranks that talk to each other demand a strobe
    /// again soon.
    pub const ELASTIC_NIC: Self = Self {
        yields: 16,
        yield_time: RelativeTime::Wakes(20),
        ..Self::NIC
    };
}

/// The action of a waiting thread until its next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitAction {
    /// It keeps its core.
    Spin,
    /// It yields its core after each poll, for a limited time.
    YieldWhilePatient,
    /// It yields its core after each poll, a limited number of times.
    Yield,
    /// It waits in the futex.
    Sleep,
}

impl WaitPolicy {
    /// Returns the action by law 7, whose table is in docs/waiting.md and in the test below.
    fn action(self, census: CoreLoad) -> WaitAction {
        if census.cores_suffice() || self.spins_on_shared_core {
            WaitAction::Spin
        } else if self.yields == 0 {
            WaitAction::Sleep
        } else if !self.yield_time.is_none() && census.cores_suffice_for_running() {
            WaitAction::YieldWhilePatient
        } else {
            WaitAction::Yield
        }
    }
}

/// The number of checks between two readings of the clock while spinning.
const CHECKS_PER_LOOK: u32 = 32;

/// Up to this many threads are a few on a core. If more share it, each may take a turn of its own
/// without computing ([`Thresholds::turn_ns`]). If that counted as computing, many threads that
/// wait for each other would all sleep. As sleeps make turns this long, they would never find out
/// that they need not sleep (measured: a barrier of 64 ranks on 2 cores in 560 us instead of 100).
const FEW_SHARE: usize = 16;

/// The yields of a rank that shares its core with very many. The rank it waits for may have another
/// core, where it comes round slightly later.
const LEAST_YIELDS: u32 = 4;

/// The number of waits without yields after a yield that came back late, if only a few share the
/// core. If more share it, each yields less, and loses more by sleeping.
const WAITS_WITHOUT_YIELDS: u32 = 100;

/// After a collective all ranks run for a moment. So a waiting thread takes cores as short only
/// after repeated checks.
const CHANCES: u32 = 3;

thread_local! {
    /// The number of coming waits without yields.
    static WITHOUT_YIELDS: Cell<u32> = const { Cell::new(0) };
    /// Whether a thread outside of the job's counts computes on this core.
    static COMPANY: Cell<CompetingLoad> = const { Cell::new(CompetingLoad::NONE) };
    /// Whether another thread wanted this core at the last yield. Then it may well be the thread
    /// that this one waits for, which cannot answer while this one spins: so this one yields at
    /// once.
    static SHARING: Cell<CoreSharing> = const { Cell::new(CoreSharing::NONE) };
}

/// A spinning thread's knowledge of other threads that compute on its core.
///
/// The thread finds them when it yields, and then loses the core while they compute. So it spins
/// ever more rarely as long as it finds them: in the end for a moment in a fifth of a second, and
/// that for as long after they have gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CompetingLoad {
    /// The time until which waits do not spin.
    until_ns: u64,
    /// The last such duration.
    for_ns: u64,
}

impl CompetingLoad {
    const SHORTEST_NS: u64 = 500_000;
    const LONGEST_NS: u64 = 200_000_000;

    /// A thread that computes lets this one spin until its time on the core is over, which takes
    /// milliseconds. If it has not been found for several times as long, it has gone.
    const GONE_NS: u64 = 20_000_000;

    const NONE: Self = Self {
        until_ns: 0,
        for_ns: 0,
    };

    /// Records a yield that took `took_ns` and ended now. Returns whether another thread has
    /// computed meanwhile.
    fn yielded(&mut self, took_ns: u64, now_ns: u64, thresholds: &Thresholds) -> bool {
        let found = took_ns > thresholds.late_from_ns;
        if found {
            let again = now_ns.saturating_sub(self.until_ns) < Self::GONE_NS.max(self.for_ns);
            let longer = if again { 2 * self.for_ns } else { 0 };
            self.for_ns = longer.clamp(Self::SHORTEST_NS, Self::LONGEST_NS);
            self.until_ns = now_ns + self.for_ns;
        }
        found
    }

    /// Returns whether a wait that begins now sleeps at once.
    fn sleeps(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns
    }
}

/// Waits until `check` finds something or the deadline passes. `check` is called often and must
/// be cheap; it is always called once more after the sleep was announced (law 6). Returns whether
/// it found something.
pub fn wait(
    word: &AtomicU32,
    page: &MachinePage,
    deadline_ns: Option<u64>,
    patience: WaitPolicy,
    mut check: impl FnMut() -> bool,
) -> bool {
    check()
        || spin(page, deadline_ns, patience, &mut check)
        || sleep(word, page, deadline_ns, check)
}

/// Sleeps until `check` finds something or the deadline passes: the second part of [`wait`].
/// Returns whether it found something.
pub fn sleep(
    word: &AtomicU32,
    page: &MachinePage,
    deadline_ns: Option<u64>,
    mut check: impl FnMut() -> bool,
) -> bool {
    let passed = || deadline_ns.is_some_and(|deadline| now_ns() >= deadline);
    loop {
        if passed() {
            return false;
        }
        let mut found = false;
        page.count_awake(false);
        let slept = bell::sleep(word, &KernelFutex, deadline_ns, || {
            found = check();
            found
        });
        if slept != SleepOutcome::Rung {
            page.count_awake(true); // a ringer has counted this thread already
        }
        if found || check() {
            return true;
        }
    }
}

/// Spins while there are enough cores and the policy allows it, at most until the deadline: the
/// first part of [`wait`]. Returns whether `check` found something.
pub fn spin(
    page: &MachinePage,
    deadline_ns: Option<u64>,
    patience: WaitPolicy,
    mut check: impl FnMut() -> bool,
) -> bool {
    if lockstep::is_active() {
        return look_some_times(check);
    }
    let thresholds = page.thresholds();
    let until = |now: u64, length| {
        let end = now + thresholds.ns(length);
        deadline_ns.map_or(end, |at| at.min(end))
    };
    let talks_until = |now: u64| until(now, patience.yield_time);
    let keeps_core = || patience.spins_on_shared_core || page.cores_suffice();
    if !keeps_core() {
        return give_away(page, talks_until(now_ns()), patience, check);
    }
    if patience.spin.is_none() {
        return false;
    }
    let start = now_ns();
    if patience.spins_politely && COMPANY.get().sleeps(start) {
        return false;
    }
    let end = until(start, patience.spin);
    let mut yields_ns = start + thresholds.polite_ns;
    let is_shared = || patience.spins_politely && SHARING.get().is_shared;
    if !is_shared() && (0..patience.looks_without_pause).any(|_| check()) {
        return true;
    }
    loop {
        let checks = match is_shared() {
            true => 1,
            false => CHECKS_PER_LOOK,
        };
        for _ in 0..checks {
            if check() {
                return true;
            }
            std::hint::spin_loop();
        }
        let now = now_ns();
        if now >= end {
            return false;
        }
        if !keeps_core() {
            return give_away(page, talks_until(now), patience, check);
        }
        if patience.spins_politely && (now >= yields_ns || is_shared()) {
            std::thread::yield_now();
            let back = now_ns();
            yields_ns = back + thresholds.polite_ns;
            let took_ns = back.saturating_sub(now);
            let mut sharing = SHARING.get();
            let moves = sharing.yielded(took_ns > thresholds.shared_from_ns, back);
            SHARING.set(sharing);
            let mut company = COMPANY.get();
            if company.yielded(took_ns, back, thresholds) {
                COMPANY.set(company);
                return check();
            }
            if moves {
                core_sharing::move_to_seat();
            }
        }
    }
}

/// Spins as [`spin`] does, for threads that run one at a time: nothing changes between two polls
/// unless other threads run.
#[cold]
fn look_some_times(mut check: impl FnMut() -> bool) -> bool {
    for _ in 0..lockstep::draw(4).unwrap_or(0) {
        if check() {
            return true;
        }
        lockstep::pause();
    }
    check()
}

/// Law 7: lets others run, for a program that polls again and again while cores are short.
pub fn give_way(page: &MachinePage) {
    if !lockstep::poll() && !page.cores_suffice() {
        std::thread::yield_now();
    }
}

/// Returns how often a rank yields on a core with `sharers` threads. The more there are, the more
/// have run before its next turn; and if they all wait for one thread that takes long, they are all
/// in its way.
fn yields_among(sharers: usize, times: u32) -> u32 {
    (times / crowd(sharers)).max(times.min(LEAST_YIELDS))
}

/// Returns how many times the number of [`FEW_SHARE`] threads share a core.
fn crowd(sharers: usize) -> u32 {
    u32::try_from(sharers.div_ceil(FEW_SHARE).max(1)).unwrap_or(u32::MAX)
}

/// Returns whether a yield of this duration has let another thread compute, where `sharers` threads
/// share a core.
fn is_late(took_ns: u64, sharers: usize, thresholds: &Thresholds) -> bool {
    let many = sharers.saturating_sub(FEW_SHARE) as u64;
    let turns_ns = many.saturating_mul(thresholds.turn_ns);
    took_ns > thresholds.late_from_ns.saturating_add(turns_ns)
}

/// Yields the core after each poll: some times in any case, and then as long as all running threads
/// have a core each. Returns whether `check` has found something.
fn give_away(
    page: &MachinePage,
    end_ns: u64,
    patience: WaitPolicy,
    mut check: impl FnMut() -> bool,
) -> bool {
    // The policy decides this, not the current action: a moment later there may be enough cores
    // again.
    if patience.yields == 0 {
        return false;
    }
    let without = WITHOUT_YIELDS.get();
    if without > 0 {
        WITHOUT_YIELDS.set(without - 1);
        return false;
    }
    let mut before = now_ns();
    home_core::return_home_if_due(before);
    let sharers = home_core::sharers();
    let least = yields_among(sharers, patience.yields);
    let mut left = least;
    let mut chances = CHANCES;
    // On one node no NIC needs the count of polling threads, whose cache line all ranks would
    // write.
    let _polls = (!patience.counts_as_running && page.nodes() > 1).then(|| PollGuard::new(page));
    loop {
        std::thread::yield_now();
        let found = check();
        let now = now_ns();
        if is_late(now.saturating_sub(before), sharers, page.thresholds()) {
            WITHOUT_YIELDS.set(WAITS_WITHOUT_YIELDS / crowd(sharers));
            return found;
        }
        if found {
            return true;
        }
        before = now;
        left -= 1;
        if left > 0 {
            continue;
        }
        // Waiting threads write the cache line of the counts, so it is not read more often than
        // this.
        chances = match patience.action(page.core_load()) {
            WaitAction::Spin | WaitAction::YieldWhilePatient => CHANCES,
            WaitAction::Yield | WaitAction::Sleep => chances - 1,
        };
        if now >= end_ns || chances == 0 {
            return false;
        }
        left = least;
    }
}

/// A guard: its thread yields its core while this lives.
struct PollGuard<'a>(&'a MachinePage);

impl<'a> PollGuard<'a> {
    fn new(page: &'a MachinePage) -> Self {
        page.count_polling(true);
        Self(page)
    }
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.0.count_polling(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::Profile;

    #[test]
    fn who_finds_company_spins_ever_more_rarely_until_it_is_gone() {
        let thresholds = &Profile::UNKNOWN.thresholds();
        let late = thresholds.late_from_ns;
        let mut company = CompetingLoad::NONE;
        let mut now = 7_000_000_000;
        assert!(!company.yielded(late, now, thresholds));
        assert!(!company.sleeps(now));
        let mut find = |company: &mut CompetingLoad, after: u64| {
            now = now.max(company.until_ns) + after;
            assert!(!company.sleeps(now));
            assert!(company.yielded(late + 1, now, thresholds));
            assert!(company.sleeps(now) && company.sleeps(company.until_ns - 1));
            (company.until_ns - now) / 100_000
        };
        let slice = 3_000_000; // of the core's time
        for expected in [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000] {
            assert_eq!(find(&mut company, slice), expected);
        }
        assert_eq!(
            find(&mut company, CompetingLoad::LONGEST_NS),
            5,
            "it had gone"
        );
        assert_eq!(find(&mut company, slice), 10);
        assert_eq!(find(&mut company, CompetingLoad::GONE_NS), 5);
    }

    #[test]
    fn what_a_waiter_does_depends_on_who_wants_a_core() {
        let who = [
            WaitPolicy::RANK,
            WaitPolicy::FIXED_STROBE_RANK,
            WaitPolicy::SHORT,
            WaitPolicy::LOCAL_PEERS,
            WaitPolicy::ELASTIC_NIC,
            WaitPolicy::NIC,
            WaitPolicy::IN_SLICE,
        ];
        use WaitAction::{Sleep, Spin, Yield, YieldWhilePatient};
        // On two cores: the number of awake threads, and how many of them yield.
        let table = [
            ((2, 0), [Spin; 7]),
            ((2, 1), [Spin; 7]),
            (
                (3, 1),
                [
                    YieldWhilePatient,
                    Sleep,
                    Yield,
                    Sleep,
                    YieldWhilePatient,
                    Sleep,
                    Spin,
                ],
            ),
            (
                (9, 7),
                [
                    YieldWhilePatient,
                    Sleep,
                    Yield,
                    Sleep,
                    YieldWhilePatient,
                    Sleep,
                    Spin,
                ],
            ),
            ((3, 0), [Yield, Sleep, Yield, Sleep, Yield, Sleep, Spin]),
            ((9, 6), [Yield, Sleep, Yield, Sleep, Yield, Sleep, Spin]),
        ];
        for ((awake, polling), expected) in table {
            let census = CoreLoad {
                awake,
                polling,
                cores: 2,
            };
            let stances = who.map(|patience| patience.action(census));
            assert_eq!(stances, expected, "{census:?}");
        }
    }

    /// Cores were short, and a moment later there were enough: a NIC, which never yields, counted
    /// its yields down from zero.
    #[test]
    fn who_does_not_yield_does_not_even_if_cores_suffice_again() {
        let page = MachinePage::private(1, 2).unwrap();
        assert!(page.cores_suffice());
        for patience in [WaitPolicy::NIC, WaitPolicy::LOCAL_PEERS, WaitPolicy::LOAN] {
            let looks = Cell::new(0);
            let look = || {
                looks.set(looks.get() + 1);
                false
            };
            assert!(!give_away(&page, u64::MAX, patience, look));
            assert_eq!(looks.get(), 0);
        }
    }

    #[test]
    fn the_more_share_a_core_the_fewer_yields() {
        let yields = |sharers| yields_among(sharers, WaitPolicy::SHORT.yields);
        assert_eq!([1, 16, 17, 64, 500].map(yields), [16, 16, 8, 4, 4]);
        assert_eq!(yields_among(500, 1), 1);
        assert_eq!(yields_among(500, WaitPolicy::LOCAL_PEERS.yields), 0);
    }

    #[test]
    fn those_who_share_a_core_may_take_their_turns_before_a_yield_is_late() {
        let thresholds = &Profile::UNKNOWN.thresholds();
        let Thresholds {
            late_from_ns: late,
            turn_ns,
            ..
        } = *thresholds;
        assert!(!is_late(late, 2, thresholds) && is_late(late + 1, 2, thresholds));
        let (some, many) = (late + turn_ns, FEW_SHARE + 1);
        assert!(!is_late(some, many, thresholds) && is_late(some + 1, many, thresholds));
    }
}

//! The machine profile: the costs of waiting on this machine, and the thresholds that follow from
//! them.
//!
//! How long a thread spins, and what it concludes from a yield, depends on the costs of a sleep, a
//! yield and a switch of a core. These differ by a factor of ten between machines that look alike:
//! an idle core of a virtual machine halts into its hypervisor, and a mitigation makes each system
//! call dearer. So they are measured where the job runs ([`measure`]), and every decision is a
//! *ratio* to them: a pure function of the profile, tested over many machines.
//!
//! The profile lies in the [machine page](super::MachinePage), because all ranks of the job on this
//! machine use it. Every rank can write there, so a reader limits the values
//! ([`Profile::within_bounds`]): a wrong figure makes the job slower, and never changes what it
//! computes.

mod measure;

pub use measure::{ProfileMeasurement, measure};

/// The costs of waiting on a machine. All are typical times in nanoseconds, on cores that no other
/// program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// A `sched_yield` while no other thread wants the core.
    pub yield_ns: u32,
    /// A `sched_yield` while one other thread wants the core, and yields itself: two switches of
    /// the core.
    pub shared_yield_ns: u32,
    /// The time from the ring of a thread's bell until it runs, if it has slept for a while on
    /// another core, which is idle.
    pub wake_ns: u32,
    /// The same on the core of the ringer, which then goes to sleep.
    pub switch_ns: u32,
}

/// A time, as a multiple of a cost on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeTime {
    /// A multiple of a [wake](Profile::wake_ns), which is the loss of each unnecessary sleep.
    Wakes(u32),
    /// A multiple of a [switch](Profile::switch_ns): a peer that has not answered by then has no
    /// core.
    Switches(u32),
}

impl RelativeTime {
    /// No time at all.
    pub const NONE: Self = Self::Wakes(0);

    /// Returns whether it is no time at all.
    #[must_use]
    pub const fn is_none(self) -> bool {
        matches!(self, Self::Wakes(0) | Self::Switches(0))
    }
}

impl Profile {
    /// For an unknown machine (a test, a process that waits for no other): the middle of the
    /// figures that were seen.
    pub const UNKNOWN: Self = Self {
        yield_ns: 400,
        shared_yield_ns: 2_000,
        wake_ns: 10_000,
        switch_ns: 2_000,
    };

    /// The least and the greatest credible value of each figure.
    const BOUNDS: [Self; 2] = [
        Self {
            yield_ns: 20,
            shared_yield_ns: 100,
            wake_ns: 500,
            switch_ns: 200,
        },
        Self {
            yield_ns: 100_000,
            shared_yield_ns: 500_000,
            wake_ns: 1_000_000,
            switch_ns: 500_000,
        },
    ];

    /// Returns the same profile with each figure between the bounds.
    #[must_use]
    pub fn within_bounds(self) -> Self {
        let [least, most] = Self::BOUNDS;
        Self {
            yield_ns: self.yield_ns.clamp(least.yield_ns, most.yield_ns),
            shared_yield_ns: self
                .shared_yield_ns
                .clamp(least.shared_yield_ns, most.shared_yield_ns),
            wake_ns: self.wake_ns.clamp(least.wake_ns, most.wake_ns),
            switch_ns: self.switch_ns.clamp(least.switch_ns, most.switch_ns),
        }
    }

    /// Returns the figures in a fixed order.
    #[must_use]
    pub fn figures(self) -> [u32; 4] {
        [
            self.yield_ns,
            self.shared_yield_ns,
            self.wake_ns,
            self.switch_ns,
        ]
    }

    /// Returns the profile with these [figures](Self::figures).
    #[must_use]
    pub fn from_figures([yield_ns, shared_yield_ns, wake_ns, switch_ns]: [u32; 4]) -> Self {
        Self {
            yield_ns,
            shared_yield_ns,
            wake_ns,
            switch_ns,
        }
    }

    /// Returns the thresholds that follow from the profile.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        let [alone, shared, wake, switch] = self.figures().map(u64::from);
        // A shared yield takes two more switches. If it was measured as hardly longer than an
        // unshared one, it was not shared.
        let shared = shared.max(2 * alone);
        let looking = LOOKERS * shared;
        Thresholds {
            wake_ns: wake,
            switch_ns: switch,
            shared_from_ns: (alone * shared).isqrt(),
            late_from_ns: looking.clamp(SHORTEST_COMPUTING_NS / 4, SHORTEST_COMPUTING_NS),
            polite_ns: YIELDS_BETWEEN * alone,
            turn_ns: SWITCHES_A_TURN * switch,
        }
    }
}

/// The longest time that a rank spins, whatever a wake costs: two of the paper's time slices. After
/// that an answer will not come soon.
const LONGEST_SPIN_NS: u64 = 1_000_000;

/// A thread that computes keeps the core until the kernel's scheduler takes it away: 0.7 ms on
/// kernels with the shortest slices (EEVDF's base slice), and some milliseconds on others.
const SHORTEST_COMPUTING_NS: u64 = 700_000;

/// This many other threads on a core may poll in turn before their turns are taken for computing.
const LOOKERS: u64 = 16;

/// A thread that spins yields only after the time of this many yields.
const YIELDS_BETWEEN: u64 = 8;

/// The turn, in switches of a core, of one of very many threads that share a core and do not
/// compute: it goes to sleep, is woken and notifies others, with cold caches.
const SWITCHES_A_TURN: u64 = 50;

/// Thresholds that follow from a [`Profile`], for threads that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    wake_ns: u64,
    switch_ns: u64,
    /// A yield that takes longer than this has let another thread run. It is the geometric mean of
    /// an unshared and a shared yield.
    pub shared_from_ns: u64,
    /// A yield that takes longer than this has let another thread compute, if no more than a few
    /// share the core. It lies between the turns of some threads that only poll and wait, and the
    /// turn of a thread that computes.
    pub late_from_ns: u64,
    /// The time between two yields of a thread that spins, so that a useless yield costs only a
    /// small part of it.
    pub polite_ns: u64,
    /// The turn that each of very many threads on a core may take without computing.
    pub turn_ns: u64,
}

impl Thresholds {
    /// Returns the time in nanoseconds, at most two slices.
    #[must_use]
    #[inline]
    pub fn ns(&self, length: RelativeTime) -> u64 {
        let ns = match length {
            RelativeTime::Wakes(times) => u64::from(times) * self.wake_ns,
            RelativeTime::Switches(times) => u64::from(times) * self.switch_ns,
        };
        ns.min(LONGEST_SPIN_NS)
    }
}

#[cfg(test)]
mod tests;

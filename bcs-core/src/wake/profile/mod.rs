//! The machine profile: what waiting costs on the machine that this runs on, and what follows from it.
//!
//! How long a thread spins, and what it concludes from a yield, hangs on what a sleep, a yield and a switch of a core
//! cost. These differ by a factor of ten between machines that look alike: an idle core of a virtual machine halts into
//! its hypervisor, and a mitigation makes each system call dearer. So they are measured where the job runs
//! ([`measure`]), and every decision is a *ratio* to them: a pure function of the profile, tested over many machines.
//!
//! The profile lies in the [machine page](super::MachinePage), because all ranks of the job on this machine go by it.
//! Every rank can write there, so what is read is brought into bounds ([`Profile::within_bounds`]): a wrong figure makes
//! the job slower, and never changes what it computes.

mod measure;

pub use measure::{ProfileMeasurement, measure};

/// What waiting costs on a machine. All are typical times in nanoseconds, on cores that nobody else uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// A `sched_yield` while nobody else wants the core.
    pub yield_ns: u32,
    /// A `sched_yield` while one other thread wants the core, and yields itself: two switches of the core.
    pub shared_yield_ns: u32,
    /// From the ring of a thread's bell until it runs, if it has slept for a while on another core, which is idle.
    pub wake_ns: u32,
    /// The same on the core of whoever rings, who goes to sleep then.
    pub switch_ns: u32,
}

/// How long a thread stays awake for what may come, as a multiple of what this machine takes for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeTime {
    /// Of a [wake](Profile::wake_ns): that is lost by each sleep too many.
    Wakes(u32),
    /// Of a [switch](Profile::switch_ns): who has not answered by then has no core.
    Switches(u32),
}

impl RelativeTime {
    /// No time at all.
    pub const NONE: Self = Self::Wakes(0);

    /// Whether it is no time at all.
    #[must_use]
    pub const fn is_none(self) -> bool {
        matches!(self, Self::Wakes(0) | Self::Switches(0))
    }
}

impl Profile {
    /// For a machine of which nothing is known (a test, a process that waits for nobody): in the middle of those that
    /// were seen.
    pub const UNKNOWN: Self = Self {
        yield_ns: 400,
        shared_yield_ns: 2_000,
        wake_ns: 10_000,
        switch_ns: 2_000,
    };

    /// The least and the most of each figure that is believed.
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

    /// The same profile with each figure between the bounds.
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

    /// The figures in an order of their own.
    #[must_use]
    pub fn figures(self) -> [u32; 4] {
        [
            self.yield_ns,
            self.shared_yield_ns,
            self.wake_ns,
            self.switch_ns,
        ]
    }

    /// The profile with these [figures](Self::figures).
    #[must_use]
    pub fn from_figures([yield_ns, shared_yield_ns, wake_ns, switch_ns]: [u32; 4]) -> Self {
        Self {
            yield_ns,
            shared_yield_ns,
            wake_ns,
            switch_ns,
        }
    }

    /// What follows from it.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        let [alone, shared, wake, switch] = self.figures().map(u64::from);
        // A shared yield is two switches more. If it was measured as hardly longer than one alone, it was not shared.
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

/// A rank spins for no longer than this, whatever a wake costs: two of the paper's time slices, after which nothing will
/// come soon.
const LONGEST_SPIN_NS: u64 = 1_000_000;

/// Who computes keeps the core until the kernel's scheduler takes it away: that is 0.7 ms on kernels with the shortest
/// slices (EEVDF's base slice) and some milliseconds on others.
const SHORTEST_COMPUTING_NS: u64 = 700_000;

/// So many others that share a core may look for what they wait for in turn before their turns are taken for computing.
const LOOKERS: u64 = 16;

/// Between two yields of who spins so many would have had time.
const YIELDS_BETWEEN: u64 = 8;

/// What one of very many that share a core does in its turn without computing, in switches of a core: it goes to sleep,
/// is woken and tells others, with nothing of it in the caches.
const SWITCHES_A_TURN: u64 = 50;

/// What follows from a [`Profile`], for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    wake_ns: u64,
    switch_ns: u64,
    /// A yield that takes longer than this has let somebody else run: as many times longer than one alone as one that
    /// is shared takes longer than this.
    pub shared_from_ns: u64,
    /// A yield that takes longer than this has let somebody compute, if no more than a few share the core. It lies
    /// between what some threads take that only look and wait, and what a thread gets that computes.
    pub late_from_ns: u64,
    /// Who spins yields after each such time, so that a yield that comes for nothing costs little of it.
    pub polite_ns: u64,
    /// What each of very many that share a core may take without computing.
    pub turn_ns: u64,
}

impl Thresholds {
    /// How long that takes, and at most two slices.
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

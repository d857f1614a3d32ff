//! When to set the timer so that a strobe is on time.
//!
//! An idle core wakes late: some 50 µs on a virtual machine, however exact the timer. That delay
//! hardly changes from one strobe to the next. So the alarm measures it and sets the timer earlier
//! by it, and the thread spins for the rest. While cores are short it does none of this: a
//! computing core takes its timer's interrupt within microseconds, and a second sleep would cost
//! more than these.

/// The most by which a timer is set early.
const MAX_LEAD_NS: u64 = 150_000;

/// How far one late strobe moves the lead.
const STEP_NS: u64 = 2_000;

/// One thread's timer.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// How late this thread wakes: the third quartile, followed step by step.
    lead_ns: u64,
    /// The time that the timer was last set to, if that was early.
    set_ns: Option<u64>,
}

impl Alarm {
    /// Returns the time to set the timer to for an event at `due_ns`.
    pub(super) fn set(&mut self, due_ns: u64, now_ns: u64, cores_suffice: bool) -> u64 {
        let early = due_ns.saturating_sub(self.lead_ns);
        // The second call for the same strobe: the timer came early, and this is the rest.
        self.set_ns = (cores_suffice && now_ns < early).then_some(early);
        self.set_ns.unwrap_or(due_ns)
    }

    /// Whether the time has come to which the timer was set early.
    pub(super) fn has_rung(&self, now_ns: impl FnOnce() -> u64) -> bool {
        self.set_ns.is_some_and(|set_ns| now_ns() >= set_ns)
    }

    /// Ends the wait, and adapts the lead.
    pub(super) fn end_wait(&mut self, now_ns: u64) {
        let Some(late_ns) = self.set_ns.take().and_then(|set| now_ns.checked_sub(set)) else {
            return; // the wait ended for another reason
        };
        // Three steps up for one step down settle where one wake-up in four is later.
        self.lead_ns = if late_ns > self.lead_ns {
            (self.lead_ns + 3 * STEP_NS).min(MAX_LEAD_NS)
        } else {
            self.lead_ns.saturating_sub(STEP_NS)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_always_late_is_set_early_by_as_much() {
        let mut alarm = Alarm::default();
        for strobe in 1..200 {
            let due = strobe * 500_000;
            let set = alarm.set(due, due - 400_000, true);
            alarm.end_wait(set + 50_000);
        }
        let early = 100_000_000 - alarm.set(100_000_000, 99_600_000, true);
        assert!((48_000..=56_000).contains(&early), "{early} ns early");
    }

    #[test]
    fn on_busy_cores_the_timer_is_set_to_the_time_itself() {
        let mut alarm = Alarm {
            lead_ns: 50_000,
            set_ns: None,
        };
        assert_eq!(alarm.set(500_000, 0, false), 500_000);
        alarm.end_wait(505_000);
        assert_eq!(alarm.lead_ns, 50_000, "and nothing is learnt from it");
        assert_eq!(alarm.set(500_000, 460_000, true), 500_000, "the rest");
    }
}

//! The time of a datagram and its acknowledgement, and the time after which it is late (as RFC 6298
//! and RFC 9002 estimate it).

/// The estimate before any measurement: some times what a local network takes.
const INITIAL_NS: u64 = 1_000_000;

/// The least wait for an answer before the link asks again. Often nothing is lost, and a timer that
/// fires in vain costs a wake.
const LEAST_SILENCE_NS: u64 = 1_000_000;

/// The longest wait for an answer before the link asks again: so the link soon works again after an
/// outage of a second.
const MOST_NS: u64 = 200_000_000;

/// The measurements so far.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// The latest round trip.
    latest_ns: u64,
    /// The mean, updated by an eighth of each measurement.
    mean_ns: u64,
    /// The mean deviation from it, updated by a quarter of each measurement.
    deviation_ns: u64,
    is_measured: bool,
    /// The least by which an answer may be late.
    grain_ns: u64,
}

impl RoundTrip {
    /// Makes an estimate without measurements. An answer may be late by at least `grain_ns`.
    #[must_use]
    pub fn new(grain_ns: u64) -> Self {
        Self {
            grain_ns,
            latest_ns: INITIAL_NS,
            mean_ns: INITIAL_NS,
            deviation_ns: INITIAL_NS / 2,
            is_measured: false,
        }
    }

    /// Adds a round trip of `took_ns`. The peer reports that it delayed its answer by `delay_ns`.
    pub fn add_measurement(&mut self, took_ns: u64, delay_ns: u64) {
        let took_ns = took_ns.saturating_sub(delay_ns.min(took_ns / 2));
        self.latest_ns = took_ns;
        if !self.is_measured {
            *self = Self {
                latest_ns: took_ns,
                mean_ns: took_ns,
                deviation_ns: took_ns / 2,
                is_measured: true,
                ..*self
            };
            return;
        }
        let off_ns = self.mean_ns.abs_diff(took_ns);
        self.deviation_ns = (3 * self.deviation_ns + off_ns) / 4;
        self.mean_ns = (7 * self.mean_ns + took_ns) / 8;
    }

    /// Returns the mean in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.mean_ns
    }

    /// Returns the time after which a datagram is lost if later ones were acknowledged.
    #[must_use]
    pub fn reorder_timeout_ns(&self) -> u64 {
        let longest_ns = self.mean_ns.max(self.latest_ns);
        (longest_ns + longest_ns / 8).max(self.grain_ns)
    }

    /// Returns the time without an answer after which the link asks again. It doubles each time.
    #[must_use]
    pub fn retry_timeout_ns(&self, asked: u32) -> u64 {
        let first_ns = self.mean_ns + (4 * self.deviation_ns).max(LEAST_SILENCE_NS);
        first_ns.saturating_mul(1_u64 << asked.min(20)).min(MOST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_to_rest_at_what_is_measured() {
        let mut trip = RoundTrip::new(200_000);
        for _ in 0..100 {
            trip.add_measurement(60_000, 10_000);
        }
        assert!((49_900..=50_000).contains(&trip.mean_ns()), "{trip:?}");
        assert_eq!(trip.reorder_timeout_ns(), 200_000);
        assert!(trip.retry_timeout_ns(0) < 1_300_000);
    }

    #[test]
    fn who_asks_again_waits_twice_as_long_and_not_for_ever() {
        let mut trip = RoundTrip::new(200_000);
        trip.add_measurement(1_000_000, 0);
        assert_eq!(trip.retry_timeout_ns(0), 3_000_000);
        assert_eq!(trip.retry_timeout_ns(3), 24_000_000);
        assert_eq!(trip.retry_timeout_ns(200), MOST_NS);
    }

    #[test]
    fn a_peer_that_lies_about_its_delay_makes_no_trip_of_no_time() {
        let mut trip = RoundTrip::new(200_000);
        trip.add_measurement(100_000, u64::MAX);
        assert_eq!(trip.mean_ns(), 50_000);
    }
}

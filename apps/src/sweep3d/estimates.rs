//! Estimates of a run before it starts: efficiencies and messages.

use super::deck::Deck;

/// Estimates of a deck fitted to its number of processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimates {
    /// Share of the steps in which a process has a block to compute, as the sweeps fill and drain
    /// the process grid.
    pub domain_efficiency: f64,
    /// Share of an SMP's CPUs that would have a line to compute, if the lines of a diagonal were
    /// spread over them.
    pub multitasking_efficiency: f64,
    /// Messages between all processes in an iteration.
    pub messages_per_iteration: u64,
}

impl Estimates {
    /// Computes the estimates for the process with the largest part of the grid.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    pub fn new(deck: &Deck) -> Estimates {
        let Deck {
            npe_i,
            npe_j,
            mk,
            mmi,
            ..
        } = *deck;
        let blocks = (8 * (deck.mm / mmi) * deck.kt.div_ceil(mk)) as f64;
        let filling = (2 * (npe_i - 1) + 4 * (npe_j - 1)) as f64;
        let jt = deck.jt_g.div_ceil(npe_j);
        let neighbours = (npe_i - 1) * npe_j + (npe_j - 1) * npe_i;
        Estimates {
            domain_efficiency: blocks / (blocks + filling),
            multitasking_efficiency: (mmi * jt * mk) as f64
                / (deck.ncpu * rounds(jt, mk, mmi, deck.ncpu)) as f64,
            messages_per_iteration: blocks_per_iteration(deck) * neighbours as u64,
        }
    }

    /// Returns the product of both efficiencies.
    pub fn efficiency(&self) -> f64 {
        self.domain_efficiency * self.multitasking_efficiency
    }
}

/// Returns the number of blocks that a process computes in an iteration.
fn blocks_per_iteration(deck: &Deck) -> u64 {
    (8 * (deck.mm / deck.mmi) * deck.kt.div_ceil(deck.mk)) as u64
}

/// Returns how many rounds of one line a CPU `ncpu` CPUs need for a block, with the angles of the
/// block pipelined: angle m starts a diagonal after angle m - 1.
fn rounds(jt: usize, mk: usize, mmi: usize, ncpu: usize) -> usize {
    let lines = |diagonal: usize, angle: usize| {
        // The diagonal that this angle has reached, from 1; 0 before it starts.
        let own = diagonal.saturating_sub(angle);
        own.min(jt).min(mk).min((jt + mk).saturating_sub(own))
    };
    (1..=jt + mk + mmi - 2)
        .map(|diagonal| {
            (0..mmi)
                .map(|angle| lines(diagonal, angle))
                .sum::<usize>()
                .div_ceil(ncpu)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_deck_sends_560_messages_an_iteration() {
        let deck = Deck::published_50_cubed(6);
        assert_eq!([deck.npe_i, deck.npe_j], [2, 3]);
        let estimates = Estimates::new(&deck);
        assert_eq!(estimates.messages_per_iteration, 560);
        // 80 blocks, and 2 + 8 steps to fill and drain.
        assert_eq!(estimates.domain_efficiency, 80.0 / 90.0);
    }

    #[test]
    fn one_cpu_computes_every_line_of_a_block() {
        assert_eq!(rounds(17, 10, 3, 1), 17 * 10 * 3);
        assert_eq!(rounds(4, 9, 6, 1), 4 * 9 * 6);
    }

    #[test]
    fn many_cpus_need_a_round_for_every_diagonal() {
        assert_eq!(rounds(17, 10, 3, 1000), 17 + 10 + 3 - 2);
    }
}

//! Gates keep ranks from getting too far apart ([`coll_info`]).

use super::agreement;
use super::group::LocalGroup;
use bcs_core::job::NodeRanks;
use bcs_core::smartmap::coll_info;

impl LocalGroup {
    /// Returns whether this rank may enter its next collective. Otherwise others have to come
    /// closer ([`coll_info`], gates).
    #[inline]
    pub(super) fn may_enter(&mut self, ranks: NodeRanks) -> bool {
        match coll_info::gate(self.number.wrapping_add(1)) {
            Some(gate) if gate > self.together => self.passes(gate, ranks),
            _ => true,
        }
    }

    fn passes(&mut self, gate: u64, ranks: NodeRanks) -> bool {
        if self.gate != gate {
            self.gate = gate;
            self.seen = 0;
        }
        let open = self.have_entered(gate);
        if open {
            self.together = gate;
            agreement::compare_at_gate(self, gate, ranks);
        }
        open
    }
}

//! The meanings of the values of some variables (MPI 5.0, 15.3.5).

use super::{Refusal, ToolOutcome};
use crate::c::MPI_T_enum;
use crate::table;

/// The kind of these handles. No table of the tool interface has it.
const KIND: u8 = 10;

/// A set of values, which are numbered from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enumeration {
    Switch,
    Strobe,
    NicThreads,
    Intranode,
    Collectives,
    Road,
    Folding,
}

impl Enumeration {
    const ALL: [Self; 7] = [
        Self::Switch,
        Self::Strobe,
        Self::NicThreads,
        Self::Intranode,
        Self::Collectives,
        Self::Road,
        Self::Folding,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Switch => "bcs_switch",
            Self::Strobe => "bcs_strobe",
            Self::NicThreads => "bcs_nic_threads",
            Self::Intranode => "bcs_intranode",
            Self::Collectives => "bcs_collectives",
            Self::Road => "bcs_copy_method",
            Self::Folding => "bcs_folding",
        }
    }

    /// Returns the values as a user writes them, in the order of the type of the setting
    /// ([`bcs_core::job::Settings`]).
    pub fn items(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["off", "on"],
            Self::Strobe => &["fixed", "elastic", "auto"],
            Self::NicThreads => &["shared", "coprocessor", "dedicated"],
            Self::Intranode => &["smartmap", "nic"],
            Self::Collectives => &["hierarchical", "nic"],
            Self::Road => &["slots", "kernel", "queues"],
            Self::Folding => &["threaded", "serial"],
        }
    }

    /// Returns its handle, which is always the same.
    pub fn handle(self) -> MPI_T_enum {
        MPI_T_enum(table::handle(KIND, self as usize, 1))
    }

    /// Returns the enumeration of a handle.
    ///
    /// # Errors
    /// If the handle is not one of ours.
    pub fn of(handle: MPI_T_enum) -> ToolOutcome<Self> {
        let found = table::parts(KIND, handle.0).filter(|(_, generation)| *generation == 1);
        let one = found.and_then(|(index, _)| Self::ALL.get(index));
        one.copied().ok_or(Refusal::InvalidHandle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::{
        CollectiveMode, CopyMethod, FoldingMode, IntranodeTransport, NicThreading, StrobeMode,
    };
    use std::fmt::Debug;

    #[test]
    fn a_handle_stands_for_its_enumeration() {
        for (index, one) in Enumeration::ALL.into_iter().enumerate() {
            assert_eq!(one as usize, index);
            assert_eq!(Enumeration::of(one.handle()), Ok(one));
        }
        let last = Enumeration::Folding.handle().0;
        for random in [
            0,
            1,
            4096,
            last + 1,
            last ^ 1 << 40,
            last ^ 1 << 32,
            usize::MAX,
        ] {
            let found = Enumeration::of(MPI_T_enum(random));
            assert_eq!(found, Err(Refusal::InvalidHandle), "{random:#x}");
        }
    }

    /// Returns the name of each variant of a setting, by its number.
    fn named<T: Debug>(variants: impl IntoIterator<Item = (T, usize)>, of: Enumeration) {
        let mut count = 0;
        for (variant, number) in variants {
            assert_eq!(of.items()[number], format!("{variant:?}").to_lowercase());
            count += 1;
        }
        assert_eq!(of.items().len(), count);
    }

    #[test]
    fn items_are_the_variants_of_settings() {
        use Enumeration as E;
        let strobes = [StrobeMode::Fixed, StrobeMode::Elastic, StrobeMode::Auto];
        named(strobes.map(|it| (it, it as usize)), E::Strobe);
        let drivers = [
            NicThreading::Shared,
            NicThreading::Coprocessor,
            NicThreading::Dedicated,
        ];
        named(drivers.map(|it| (it, it as usize)), E::NicThreads);
        let intranode = [IntranodeTransport::Smartmap, IntranodeTransport::Nic];
        named(intranode.map(|it| (it, it as usize)), E::Intranode);
        let collectives = [CollectiveMode::Hierarchical, CollectiveMode::Nic];
        named(collectives.map(|it| (it, it as usize)), E::Collectives);
        let roads = [CopyMethod::Slots, CopyMethod::Kernel, CopyMethod::Queues];
        named(roads.map(|it| (it, it as usize)), E::Road);
        let folding = [FoldingMode::Threaded, FoldingMode::Serial];
        named(folding.map(|it| (it, it as usize)), E::Folding);
    }
}

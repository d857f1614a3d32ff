//! The blocks of a collective whose types are compared in a checked job, as one rank knows them.

use super::blocks::BlockLayout;
use super::datatype::Datatype;

/// The types of a block that this rank gives to a member, or takes from it.
#[derive(Clone, Debug)]
pub(super) struct BlockTypes {
    pub(super) member: usize,
    /// Datatype and number of elements; `None` if an argument is wrong.
    pub(super) types: Option<(Datatype, u64)>,
}

/// The blocks of a call whose types are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct ComparedBlocks {
    pub(super) given: Vec<BlockTypes>,
    pub(super) taken: Vec<BlockTypes>,
}

impl ComparedBlocks {
    /// No blocks.
    pub(super) const NONE: Self = Self {
        given: Vec::new(),
        taken: Vec::new(),
    };
}

/// Returns a number that stands for all blocks of a layout; 0 if that is not known.
pub(super) fn signature_of_all(layout: &impl BlockLayout, blocks: usize) -> u64 {
    let mut all = Some(1_u64);
    for at in 0..blocks {
        let one = signature(layout.types(at).as_ref());
        all = all
            .filter(|_| one != 0)
            .map(|all| bcs_core::fingerprint::mix64(all.rotate_left(7) ^ one));
    }
    all.map_or(0, |all| all.max(1))
}

/// Returns the number of some elements' types; 0 if that is not known.
pub(super) fn signature(types: Option<&(Datatype, u64)>) -> u64 {
    let signature = types.and_then(|(datatype, count)| {
        let one = datatype.signature()?;
        Some(one.repeated(*count).word().max(1))
    });
    signature.unwrap_or(0)
}

impl BlockTypes {
    pub(super) fn of(layout: &impl BlockLayout, at: usize, member: usize) -> Self {
        let types = layout.types(at);
        Self { member, types }
    }

    pub(super) fn bytes(&self) -> u64 {
        let types = self.types.as_ref();
        types.map_or(0, |(datatype, count)| {
            count.saturating_mul(datatype.size() as u64)
        })
    }

    pub(super) fn datatype(&self) -> Option<&Datatype> {
        self.types.as_ref().map(|(datatype, _)| datatype)
    }
}

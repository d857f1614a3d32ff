//! The result of committing a type: the list of its runs.
//!
//! All displacements are between the true bounds of the type, which fit 64 bits. So sums of them do
//! not overflow.

use super::handle::{Datatype, DatatypeKind, DerivedType, StridedBlocks};
use super::pairs::predefined;
use bcs_core::layout::{DataLayout, LayoutBuilder, TooManyRuns};

impl DerivedType {
    pub(super) fn compile(&self) -> Result<DataLayout, TooManyRuns> {
        Ok(self.flatten()?.finish(self.bounds.extent()))
    }

    fn flatten(&self) -> Result<LayoutBuilder, TooManyRuns> {
        let mut all = LayoutBuilder::default();
        // An indexed type has as many parts as blocks, and all parts have one type.
        let mut known: Option<(&Datatype, LayoutBuilder)> = None;
        for part in &self.parts {
            if part.count == 0 || part.length == 0 || part.datatype.bounds().size == 0 {
                continue;
            }
            let element = match known {
                Some((datatype, element)) if *datatype == part.datatype => element,
                _ => part.datatype.flatten()?,
            };
            part.add_to(&mut all, &element)?;
            known = Some((&part.datatype, element));
        }
        Ok(all)
    }
}

impl Datatype {
    fn flatten(&self) -> Result<LayoutBuilder, TooManyRuns> {
        match &self.0 {
            DatatypeKind::Predefined(named) => predefined(named.element),
            DatatypeKind::Derived(derived) => match derived.layout.get() {
                Some(layout) => Ok(LayoutBuilder::from_layout(layout)),
                None => derived.flatten(),
            },
        }
    }
}

impl StridedBlocks {
    fn add_to(&self, all: &mut LayoutBuilder, element: &LayoutBuilder) -> Result<(), TooManyRuns> {
        if self.count == 1 && self.length == 1 {
            return all.append(element, self.displacement);
        }
        let block = element.repeat(self.length, self.datatype.bounds().extent())?;
        let blocks = block.repeat(self.count, self.stride)?;
        all.append(&blocks, self.displacement)
    }
}

//! What a commit makes of a type: the list of its runs.
//!
//! All displacements are between the true bounds of the type, which fit 64 bits: sums of them do
//! not overflow.

use super::{Datatype, Derived, Kind, Part};
use bcs_core::layout::{Builder, Layout, TooManyRuns};
use bcs_core::reduction::Datatype as Elementary;
use std::sync::{Arc, LazyLock};

impl Derived {
    pub(super) fn compile(&self) -> Result<Layout, TooManyRuns> {
        Ok(self.flatten()?.finish(self.bounds.extent()))
    }

    fn flatten(&self) -> Result<Builder, TooManyRuns> {
        let mut all = Builder::default();
        // An indexed type has as many parts as blocks, all of one type.
        let mut known: Option<(&Datatype, Builder)> = None;
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
    fn flatten(&self) -> Result<Builder, TooManyRuns> {
        match &self.0 {
            Kind::Predefined(element) => predefined(**element),
            Kind::Derived(derived) => match derived.layout.get() {
                Some(layout) => Ok(Builder::of(layout)),
                None => derived.flatten(),
            },
        }
    }
}

fn predefined(element: Elementary) -> Result<Builder, TooManyRuns> {
    let Some(pair) = element.pair() else {
        return Ok(Builder::block(0, element.size() as u64));
    };
    let mut builder = Builder::block(0, pair.value.size() as u64);
    let place_at = i64::try_from(pair.place_at()).expect("a few bytes");
    builder.push(place_at, pair.place.size() as u64)?;
    Ok(builder)
}

/// The layouts of the predefined types that have gaps.
static PAIRS: LazyLock<Vec<(Elementary, Arc<Layout>)>> = LazyLock::new(|| {
    let gaps = |element: &Elementary| element.data_size() < element.size();
    let layout = |element: Elementary| {
        let runs = predefined(element).expect("two of them");
        let extent = i64::try_from(element.size()).expect("a few bytes");
        (element, Arc::new(runs.finish(extent)))
    };
    Elementary::ALL
        .into_iter()
        .filter(gaps)
        .map(layout)
        .collect()
});

/// The layout of a predefined type, if it is a pair with gaps: a message has what a structure of the
/// two would have (MPI 5.0, 6.9.4).
#[inline]
pub(super) fn of_pair(element: Elementary) -> Option<&'static Arc<Layout>> {
    if element.data_size() == element.size() {
        return None;
    }
    let pair = PAIRS.iter().find(|(of, _)| *of == element);
    pair.map(|(_, layout)| layout)
}

impl Part {
    fn add_to(&self, all: &mut Builder, element: &Builder) -> Result<(), TooManyRuns> {
        if self.count == 1 && self.length == 1 {
            return all.append(element, self.displacement);
        }
        let block = element.repeat(self.length, self.datatype.bounds().extent())?;
        let blocks = block.repeat(self.count, self.stride)?;
        all.append(&blocks, self.displacement)
    }
}

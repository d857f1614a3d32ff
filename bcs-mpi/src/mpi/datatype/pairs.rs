//! Predefined types, whose runs are known: a value, or the value and the place of a pair.

use bcs_core::layout::{DataLayout, LayoutBuilder, TooManyRuns};
use bcs_core::reduction::Datatype as Elementary;
use std::sync::{Arc, LazyLock};

/// Returns the runs of a predefined type.
pub(super) fn predefined(element: Elementary) -> Result<LayoutBuilder, TooManyRuns> {
    let Some(pair) = element.pair() else {
        return Ok(LayoutBuilder::block(0, element.size() as u64));
    };
    let mut builder = LayoutBuilder::block(0, pair.value.size() as u64);
    let place_at = i64::try_from(pair.place_at()).expect("a few bytes");
    builder.push(place_at, pair.place.size() as u64)?;
    Ok(builder)
}

/// The layouts of the predefined types that have gaps.
static PAIRS: LazyLock<Vec<(Elementary, Arc<DataLayout>)>> = LazyLock::new(|| {
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

/// Returns the layout of a predefined type, if it is a pair with gaps. Its message is that of a
/// structure of value and place (MPI 5.0, 6.9.4).
#[inline]
pub(super) fn layout(element: Elementary) -> Option<&'static Arc<DataLayout>> {
    if element.data_size() == element.size() {
        return None;
    }
    let pair = PAIRS.iter().find(|(of, _)| *of == element);
    pair.map(|(_, layout)| layout)
}

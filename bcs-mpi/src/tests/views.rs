//! Sections and views.
#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers and ranks are small"
)]

use super::run;
use crate::{ErrorClass, Section, Source, Tag};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

fn numbers(len: usize, from: usize) -> Vec<u32> {
    (0..len).map(|nth| (from + nth) as u32).collect()
}

/// Returns the elements of a part of an array, by testing each element.
fn expected(sizes: [usize; 3], part: &[Range<usize>; 3]) -> Vec<usize> {
    let places = (0..sizes.iter().product()).filter(|place| {
        let [_, rows, columns] = sizes;
        let at = [
            place / (rows * columns),
            place / columns % rows,
            place % columns,
        ];
        at.iter().zip(part).all(|(at, range)| range.contains(at))
    });
    places.collect()
}

#[test]
fn a_part_of_an_array_goes_where_another_part_is() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut part = || {
            let sizes = [(); 3].map(|()| random.random_range(1..7));
            let ranges = sizes.map(|size| {
                let start = random.random_range(0..size);
                start..random.random_range(start..=size)
            });
            (sizes, ranges)
        };
        let ((sizes, from), (all, into)) = (part(), part());
        let (from_places, into_places) = (expected(sizes, &from), expected(all, &into));
        let len = sizes.iter().product();
        let (out, into) = (Section::subarray(sizes, from), Section::subarray(all, into));
        let (out, into) = (out.unwrap(), into.unwrap());
        assert_eq!(
            (out.len(), into.len()),
            (from_places.len(), into_places.len())
        );
        assert_eq!(out.is_empty(), from_places.is_empty());
        let fits = out.len() <= into.len();
        run(2, 2, |universe| {
            let world = universe.world();
            let data = numbers(len, 0);
            let sent = from_places.iter().map(|&place| place as u32);
            if world.rank() == 0 {
                let view = out.of(&data).unwrap();
                assert!(view.iter().eq(sent));
                return world.send_view(&view, 1, 7).unwrap();
            }
            let mut array = numbers(all.iter().product(), 1000);
            let mut left = array.clone();
            let came = world.recv_view(&mut into.of_mut(&mut array).unwrap(), 0, 7);
            if !fits {
                assert_eq!(came.unwrap_err().class, ErrorClass::Truncate);
                return;
            }
            assert_eq!(came.unwrap().count::<u32>(), Some(from_places.len()));
            for (&place, value) in into_places.iter().zip(sent) {
                left[place] = value;
            }
            assert_eq!(array, left, "seed {seed}");
        });
    }
}

#[test]
fn a_grid_exchanges_its_edges_in_a_scope() {
    const SIDE: usize = 60;
    let sizes = [SIDE, SIDE];
    run(4, 2, |universe| {
        let world = universe.world();
        let ring = world.cart_create(&[4], &[true]).unwrap().unwrap();
        let (before, behind) = ring.cart_shift(0, 1).unwrap();
        let column = |nth| Section::column(sizes, nth).unwrap();
        let edges = [column(0), column(1), column(SIDE - 2), column(SIDE - 1)];
        let mut grid = vec![[world.rank(), 0]; SIDE * SIDE];
        for (place, value) in grid.iter_mut().enumerate() {
            value[1] = place;
        }
        let [left, first, last, right] = &edges;
        let ([left, right], [first, last]) =
            Section::disjoint([left, right], [first, last], &mut grid).unwrap();
        crate::scope(|scope| {
            let receives = vec![
                ring.irecv_view(scope, left, before, 1)?,
                ring.irecv_view(scope, right, behind, 2)?,
            ];
            ring.isend_view(scope, last, behind, 1)?;
            let mut send = ring.isend_view(scope, first, before, 2)?;
            while !send.test()? {}
            for (view, status) in crate::wait_all(receives)? {
                assert_eq!(view.view().iter().count(), SIDE);
                assert_eq!(status.count::<[usize; 2]>(), Some(SIDE));
            }
            Ok(())
        })
        .unwrap();
        for row in grid.chunks(SIDE) {
            assert_eq!((row[0][0], row[0][1] % SIDE), (before.unwrap(), SIDE - 2));
            assert_eq!(
                (row[SIDE - 1][0], row[SIDE - 1][1] % SIDE),
                (behind.unwrap(), 1)
            );
            assert!(row[1..SIDE - 1].iter().all(|value| value[0] == ring.rank()));
        }
    });
}

#[test]
fn a_view_has_no_element_that_its_slice_has_not() {
    let mut data = [0_u16; 12];
    let refused = |section: crate::Result<Section<u16>>| section.unwrap_err().class;
    assert_eq!(refused(Section::row([3, 4], 3)), ErrorClass::Arg);
    assert_eq!(refused(Section::column([3, 4], 4)), ErrorClass::Arg);
    assert_eq!(
        refused(Section::column([3, 4], usize::MAX)),
        ErrorClass::Arg
    );
    assert_eq!(refused(Section::strided(0, 2, 3, 2)), ErrorClass::Arg);
    assert_eq!(
        refused(Section::strided(0, 2, 1, usize::MAX)),
        ErrorClass::Arg
    );
    assert_eq!(
        refused(Section::strided(usize::MAX, 1, 1, 1)),
        ErrorClass::Arg
    );
    let huge = Section::subarray([usize::MAX, 3], [1..usize::MAX, 0..3]);
    assert_eq!(refused(huge), ErrorClass::Arg);
    let section = Section::strided(2, 4, 2, 3).unwrap();
    assert!(section.of(&data[..12]).is_err());
    let section = Section::strided(2, 4, 1, 3).unwrap();
    assert_eq!(section.of(&data).unwrap().iter().count(), 4);
    let error = section.of_mut(&mut data[..11]).unwrap_err();
    assert!(
        error.to_string().contains("element 11 of a slice of 11"),
        "{error}"
    );
    let (row, column) = (Section::row([3, 4], 1), Section::column([3, 4], 2));
    let (row, column) = (row.unwrap(), column.unwrap());
    let error = Section::disjoint([&row], [&column], &mut data).unwrap_err();
    assert!(error.to_string().contains("sections 0 and 1"), "{error}");
    let error = Section::disjoint([&row, &column], [], &mut data).unwrap_err();
    assert_eq!(error.class, ErrorClass::Arg);
    // Sections that are only sent may overlap.
    let other = Section::row([3, 4], 0).unwrap();
    let both = Section::disjoint([&other], [&row, &row], &mut data);
    assert!(both.is_ok());
    let empty = Section::subarray([3, 4], [1..1, 0..4]).unwrap();
    assert!(empty.is_empty() && empty.of(&data[..0]).is_ok());
}

#[test]
fn columns_are_sent_to_nobody_and_to_itself() {
    run(1, 1, |universe| {
        let world = universe.world();
        let mut matrix = numbers(12, 0);
        let (first, last) = (Section::column([3, 4], 0), Section::column([3, 4], 3));
        let (first, last) = (first.unwrap(), last.unwrap());
        let ([mut into], [out]) = Section::disjoint([&first], [&last], &mut matrix).unwrap();
        world
            .sendrecv_view((&out, None, 7), (&mut into, None, 7))
            .unwrap();
        world
            .sendrecv_view((&out, 0, 7), (&mut into, Source::Any, Tag::Any))
            .unwrap();
        assert_eq!(matrix, [3, 1, 2, 3, 7, 5, 6, 7, 11, 9, 10, 11]);
    });
}

//! Types against their type maps, written out entry by entry.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::{Combiner, Datatype, Distribution, Order};
use crate::bcs::{gather, scatter};
use crate::mpi::error::Operation;
use crate::mpi::{Buffer, ErrorClass, Status};
use bcs_core::reduction::Datatype as Elementary;
use proptest::prelude::*;

/// A type and its type map by the definition of the standard.
#[derive(Clone, Debug)]
struct Mapped {
    datatype: Datatype,
    /// The displacement and size of each entry.
    map: Vec<(i64, i64)>,
    /// The displacements of markers of the lower and of the upper bound.
    markers: Option<(i64, i64)>,
    /// From the least lower to the largest upper bound of its parts, except empty ones.
    span: Option<(i64, i64)>,
}

const ELEMENTS: [Elementary; 7] = [
    Elementary::Byte,
    Elementary::Int16,
    Elementary::Int32,
    Elementary::Double,
    // Pairs with a gap behind the value, behind the place, and behind both.
    Elementary::SHORT_INT,
    Elementary::DOUBLE_INT,
    Elementary::LONG_DOUBLE_INT,
];

impl Mapped {
    fn elementary(of: Elementary) -> Self {
        let number = |number: usize| i64::try_from(number).unwrap();
        let map = match of.pair() {
            None => vec![(0, number(of.size()))],
            Some(pair) => vec![
                (0, number(pair.value.size())),
                (number(pair.place_at()), number(pair.place.size())),
            ],
        };
        Self {
            datatype: of.into(),
            map,
            markers: None,
            span: Some((0, number(of.size()))),
        }
    }

    /// Returns the lower and upper bound (MPI 5.0, 5.1.6). The alignment of entries is their size.
    /// Padding at the ends of parts belongs to the type.
    fn bounds(&self) -> (i64, i64) {
        if let Some(markers) = self.markers {
            return markers;
        }
        let (lower, upper) = self.span.unwrap_or((0, 0));
        let align = self.map.iter().map(|entry| entry.1).max().unwrap_or(1);
        let extent = upper - lower;
        (lower, lower + (extent + align - 1) / align * align)
    }

    fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    /// Returns copies at these displacements, as `datatype`.
    fn copies<'a>(datatype: Datatype, places: impl IntoIterator<Item = (i64, &'a Self)>) -> Self {
        let (mut map, mut markers, mut span) = (Vec::new(), None, None);
        let add = |to: &mut Option<(i64, i64)>, at: i64, (lower, upper): (i64, i64)| {
            let (low, high) = to.unwrap_or((i64::MAX, i64::MIN));
            *to = Some((low.min(at + lower), high.max(at + upper)));
        };
        for (at, of) in places {
            map.extend(of.map.iter().map(|&(place, size)| (at + place, size)));
            if let Some(bounds) = of.markers {
                add(&mut markers, at, bounds);
            }
            if !of.map.is_empty() {
                add(&mut span, at, of.bounds());
            }
        }
        Self {
            datatype,
            map,
            markers,
            span,
        }
    }

    fn blocks<'a>(&'a self, blocks: &[(i64, i64)]) -> Vec<(i64, &'a Self)> {
        let extent = self.extent();
        let block = |&(at, len): &(i64, i64)| (0..len).map(move |nth| (at + nth * extent, self));
        blocks.iter().flat_map(block).collect()
    }

    fn bytes(&self, count: i64) -> Vec<i64> {
        let extent = self.extent();
        let element = |nth: i64| {
            let entries = self.map.iter();
            entries.flat_map(move |&(at, size)| (0..size).map(move |byte| nth * extent + at + byte))
        };
        (0..count).flat_map(element).collect()
    }
}

fn mapped() -> impl Strategy<Value = Mapped> {
    let leaf = (0..ELEMENTS.len()).prop_map(|at| Mapped::elementary(ELEMENTS[at]));
    leaf.prop_recursive(3, 12, 3, |inner| {
        let lists = prop::collection::vec((0i64..4, -6i64..12), 0..5);
        prop_oneof![
            (inner.clone(), 0i64..5).prop_map(|(of, count)| {
                let made = of.datatype.contiguous(count).unwrap();
                Mapped::copies(made, of.blocks(&[(0, count)]))
            }),
            (inner.clone(), 0i64..4, 0i64..4, -5i64..9).prop_map(|(of, count, len, stride)| {
                let made = of.datatype.vector(count, len, stride).unwrap();
                let blocks: Vec<_> = (0..count)
                    .map(|nth| (nth * stride * of.extent(), len))
                    .collect();
                Mapped::copies(made, of.blocks(&blocks))
            }),
            (inner.clone(), 0i64..4, 0i64..4, -40i64..90).prop_map(|(of, count, len, stride)| {
                let made = of.datatype.hvector(count, len, stride).unwrap();
                let blocks: Vec<_> = (0..count).map(|nth| (nth * stride, len)).collect();
                Mapped::copies(made, of.blocks(&blocks))
            }),
            (inner.clone(), lists.clone(), any::<bool>()).prop_map(|(of, list, bytes)| {
                let (lens, places): (Vec<i64>, Vec<i64>) = list.into_iter().unzip();
                let unit = if bytes { 1 } else { of.extent() };
                let made = if bytes {
                    of.datatype.hindexed(&lens, &places)
                } else {
                    of.datatype.indexed(&lens, &places)
                };
                let places = places.iter().map(|at| at * unit);
                let blocks: Vec<_> = places.zip(lens).collect();
                Mapped::copies(made.unwrap(), of.blocks(&blocks))
            }),
            (inner.clone(), lists, 0i64..3, any::<bool>()).prop_map(
                |(of, list, len, bytes): (Mapped, Vec<(i64, i64)>, i64, bool)| {
                    let places: Vec<i64> = list.into_iter().map(|(_, at)| at).collect();
                    let unit = if bytes { 1 } else { of.extent() };
                    let made = if bytes {
                        of.datatype.hindexed_block(len, &places)
                    } else {
                        of.datatype.indexed_block(len, &places)
                    };
                    let blocks: Vec<_> = places.iter().map(|at| (at * unit, len)).collect();
                    Mapped::copies(made.unwrap(), of.blocks(&blocks))
                }
            ),
            prop::collection::vec((inner.clone(), 0i64..3, -20i64..60), 0..4).prop_map(|fields| {
                let lens: Vec<i64> = fields.iter().map(|field| field.1).collect();
                let places: Vec<i64> = fields.iter().map(|field| field.2).collect();
                let types: Vec<Datatype> = fields
                    .iter()
                    .map(|field| field.0.datatype.clone())
                    .collect();
                let made = Datatype::structure(&lens, &places, &types).unwrap();
                let all = fields
                    .iter()
                    .flat_map(|(of, len, at)| of.blocks(&[(*at, *len)]));
                Mapped::copies(made, all.collect::<Vec<_>>())
            }),
            (inner.clone(), -30i64..30, -50i64..100).prop_map(|(of, lower, extent)| {
                let datatype = of.datatype.resized(lower, extent).unwrap();
                let markers = Some((lower, lower + extent));
                Mapped {
                    datatype,
                    markers,
                    ..of
                }
            }),
            (
                inner.clone(),
                prop::collection::vec((1i64..5, any::<[u8; 2]>()), 1..4),
                any::<bool>()
            )
                .prop_map(|(of, dimensions, fortran)| subarray(
                    &of,
                    &dimensions,
                    fortran
                )),
            inner.prop_map(|of| Mapped {
                datatype: of.datatype.dup().unwrap(),
                ..of
            }),
        ]
    })
}

fn subarray(of: &Mapped, dimensions: &[(i64, [u8; 2])], fortran: bool) -> Mapped {
    let sizes: Vec<i64> = dimensions.iter().map(|dimension| dimension.0).collect();
    let part = |&(size, [len, start]): &(i64, [u8; 2])| {
        let len = 1 + i64::from(len) % size;
        (len, i64::from(start) % (size - len + 1))
    };
    let (subsizes, starts): (Vec<i64>, Vec<i64>) = dimensions.iter().map(part).unzip();
    let order = if fortran { Order::Fortran } else { Order::C };
    let made = of
        .datatype
        .subarray(&sizes, &subsizes, &starts, order)
        .unwrap();
    // The elements of the array in the order of memory, with their indices.
    let total: i64 = sizes.iter().product();
    let inside = |mut at: i64| {
        let fastest_first: Vec<usize> = if fortran {
            (0..sizes.len()).collect()
        } else {
            (0..sizes.len()).rev().collect()
        };
        fastest_first.into_iter().all(|dimension| {
            let index = at % sizes[dimension];
            at /= sizes[dimension];
            (starts[dimension]..starts[dimension] + subsizes[dimension]).contains(&index)
        })
    };
    let places = (0..total)
        .filter(|&at| inside(at))
        .map(|at| (at * of.extent(), of));
    let copies = Mapped::copies(made, places);
    Mapped {
        markers: Some((0, total * of.extent())),
        ..copies
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn types_are_what_their_maps_say(of in mapped(), count in 1i64..4, cut: [u16; 2]) {
        let datatype = &of.datatype;
        let size: i64 = of.map.iter().map(|entry| entry.1).sum();
        prop_assert_eq!(datatype.size() as i64, size);
        let (lower, upper) = of.bounds();
        prop_assert_eq!(datatype.extent(), (lower, upper - lower));
        let first = of.map.iter().map(|entry| entry.0).min().unwrap_or(0);
        let last = of.map.iter().map(|entry| entry.0 + entry.1).max().unwrap_or(0);
        prop_assert_eq!(datatype.true_extent(), (first, last - first));

        datatype.commit().unwrap();
        let layout = datatype.layout(&Operation::plain("a test")).unwrap();
        let bytes = of.bytes(count);
        if let (Some(layout), false) = (layout, bytes.is_empty()) {
            let mut ends = cut.map(|at| usize::from(at) % (bytes.len() + 1));
            ends.sort_unstable();
            let mut found = Vec::new();
            for strip in layout.pieces(ends[0] as u64, ends[1] as u64) {
                for at in strip.offsets() {
                    found.extend((0..strip.block.cast_signed()).map(|byte| at + byte));
                }
            }
            prop_assert!(found == bytes[ends[0]..ends[1]], "{ends:?} of {datatype:?}");
        }
    }

    #[test]
    fn elements_are_counted_entry_by_entry(of in mapped(), bytes in 0u64..300) {
        let status = Status { bytes, ..Status::EMPTY };
        let size: u64 = of.map.iter().map(|entry| entry.1.unsigned_abs()).sum();
        let expected = if size == 0 {
            (bytes == 0).then_some(0)
        } else {
            let mut left = bytes % size;
            let mut elements = bytes / size * of.map.len() as u64;
            for entry in &of.map {
                if left > 0 && left >= entry.1.unsigned_abs() {
                    left -= entry.1.unsigned_abs();
                    elements += 1;
                } else {
                    break;
                }
            }
            (left == 0).then_some(elements)
        };
        prop_assert_eq!(status.elements(&of.datatype), expected);
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed(of in mapped(), count in 1i64..4) {
        let bytes = of.bytes(count);
        let mut places = bytes.clone();
        places.sort_unstable();
        places.dedup();
        prop_assume!(!bytes.is_empty() && places.len() == bytes.len());
        let base = *places.first().unwrap();
        let span = usize::try_from(places.last().unwrap() - base).unwrap() + 1;
        let mut memory: Vec<u8> = (0..span)
            .map(|at| u8::try_from(at * 7 % 251).unwrap())
            .collect();
        let original = memory.clone();
        of.datatype.commit().unwrap();
        let start = memory.as_mut_ptr().wrapping_offset(isize::try_from(-base).unwrap());
        // SAFETY: it has all bytes of the elements, and is not used otherwise.
        let buffer = unsafe { Buffer::new(start, usize::try_from(count).unwrap(), &of.datatype) };
        let piece = buffer.piece(&Operation::plain("a test")).unwrap();
        prop_assert_eq!(piece.len(), bytes.len());
        let mut packed = vec![0; piece.len()];
        gather(&piece, 0, &mut packed);
        let at = |place: &i64| usize::try_from(place - base).unwrap();
        prop_assert!(packed.iter().zip(&bytes).all(|(byte, place)| *byte == original[at(place)]));
        // The data are written in two parts, and nothing else is written.
        memory.fill(255);
        let half = packed.len() / 2;
        scatter(&piece, half, &packed[half..]);
        scatter(&piece, 0, &packed[..half]);
        for (place, byte) in memory.iter().enumerate() {
            let data = places.binary_search(&(base + i64::try_from(place).unwrap())).is_ok();
            prop_assert_eq!(*byte, if data { original[place] } else { 255 });
        }
    }
}

proptest! {
    /// All processes together have each element of an array once, each process in the order of
    /// memory, and each process has the elements that its distribution assigns.
    #[test]
    fn distributed_arrays_are_dealt_out(
        dimensions in prop::collection::vec((1i64..9, 1i64..4, 0u8..6, 1i64..4), 1..4),
        fortran: bool,
    ) {
        let sizes: Vec<i64> = dimensions.iter().map(|of| of.0).collect();
        let (mut grid, mut how) = (Vec::new(), Vec::new());
        for &(size, processes, kind, block) in &dimensions {
            let none = kind == 0;
            grid.push(if none { 1 } else { processes });
            how.push(match kind {
                0 => Distribution::None,
                1 => Distribution::Block(None),
                2 => Distribution::Block(Some((size + processes - 1) / processes + block)),
                3 => Distribution::Cyclic(None),
                _ => Distribution::Cyclic(Some(block)),
            });
        }
        let order = if fortran { Order::Fortran } else { Order::C };
        let processes: i64 = grid.iter().product();
        let total: i64 = sizes.iter().product();
        let owner = |mut at: i64| {
            let mut owners = vec![0; sizes.len()];
            let fastest_first: Vec<usize> = if fortran {
                (0..sizes.len()).collect()
            } else {
                (0..sizes.len()).rev().collect()
            };
            for dimension in fastest_first {
                let (size, of) = (sizes[dimension], grid[dimension]);
                let index = at % size;
                at /= size;
                owners[dimension] = match how[dimension] {
                    Distribution::None => 0,
                    Distribution::Block(block) => index / block.unwrap_or((size + of - 1) / of),
                    Distribution::Cyclic(block) => index / block.unwrap_or(1) % of,
                };
            }
            owners.iter().zip(&grid).fold(0, |rank, (owner, of)| rank * of + owner)
        };
        for rank in 0..processes {
            let made = int().darray((processes, rank), &sizes, &how, &grid, order).unwrap();
            prop_assert_eq!(made.extent(), (0, 4 * total));
            made.commit().unwrap();
            let layout = made.layout(&Operation::plain("a test")).unwrap().unwrap();
            let mut found = Vec::new();
            for strip in layout.pieces(0, layout.size()) {
                for at in strip.offsets() {
                    found.extend((0..strip.block.cast_signed()).map(|byte| at + byte));
                }
            }
            let own = (0..total).filter(|&at| owner(at) == rank);
            let bytes: Vec<i64> = own.flat_map(|at| 4 * at..4 * at + 4).collect();
            prop_assert!(found == bytes, "{rank} of {grid:?}: {how:?} of {sizes:?}");
        }
    }
}

fn int() -> Datatype {
    Elementary::Int32.into()
}

fn class<T: std::fmt::Debug>(result: crate::Result<T>) -> ErrorClass {
    result.unwrap_err().class
}

#[test]
fn arguments_that_cannot_be_are_refused() {
    assert_eq!(class(int().contiguous(-1)), ErrorClass::Count);
    assert_eq!(class(int().vector(-1, 1, 1)), ErrorClass::Count);
    assert_eq!(class(int().vector(1, -1, 1)), ErrorClass::Arg);
    assert_eq!(class(int().indexed(&[1, -1], &[0, 1])), ErrorClass::Arg);
    assert_eq!(class(int().indexed(&[1], &[0, 1])), ErrorClass::Arg);
    let half = i64::MAX / 2;
    assert_eq!(class(int().contiguous(half)), ErrorClass::ValueTooLarge);
    assert_eq!(class(int().vector(2, 1, half)), ErrorClass::ValueTooLarge);
    assert_eq!(
        class(int().vector(half, half, half)),
        ErrorClass::ValueTooLarge
    );
    assert_eq!(
        class(int().hindexed(&[1], &[i64::MAX])),
        ErrorClass::ValueTooLarge
    );
    let apart = int().hindexed(&[1, 1], &[i64::MIN, i64::MAX - 8]);
    assert_eq!(class(apart), ErrorClass::ValueTooLarge);
    assert_eq!(class(int().resized(1, i64::MAX)), ErrorClass::ValueTooLarge);
    for (sizes, subsizes, starts) in [
        ([4, 4], [2, 5], [0, 0]),
        ([4, 4], [2, 2], [3, 0]),
        ([4, 4], [0, 2], [0, 0]),
    ] {
        let part = int().subarray(&sizes, &subsizes, &starts, Order::C);
        assert_eq!(class(part), ErrorClass::Arg);
    }
    assert_eq!(
        class(int().subarray(&[], &[], &[], Order::C)),
        ErrorClass::Arg
    );
    let deal = |how, grid: i64, rank| int().darray((3, rank), &[10], &[how], &[grid], Order::C);
    assert_eq!(
        class(deal(Distribution::Cyclic(None), 3, 3)),
        ErrorClass::Arg
    );
    assert_eq!(
        class(deal(Distribution::Cyclic(Some(0)), 3, 0)),
        ErrorClass::Arg
    );
    assert_eq!(
        class(deal(Distribution::Cyclic(None), 2, 0)),
        ErrorClass::Arg
    );
    assert_eq!(
        class(deal(Distribution::Block(Some(3)), 3, 0)),
        ErrorClass::Arg
    );
    assert_eq!(class(deal(Distribution::None, 3, 0)), ErrorClass::Arg);
    let mut deep = int();
    let refused = (0..1_000).find_map(|depth| {
        let deeper = deep.contiguous(1);
        let refused = deeper.map(|deeper| deep = deeper).err()?;
        Some((depth, refused.class))
    });
    assert_eq!(
        refused,
        Some((256, ErrorClass::Arg)),
        "types made of each other"
    );
}

#[test]
fn a_type_without_end_is_refused_when_it_is_committed() {
    let pair = int().hindexed(&[1, 2], &[0, 10]).unwrap();
    let endless = pair.hvector(1 << 40, 1, 100).unwrap();
    let error = endless.commit().unwrap_err();
    assert_eq!(error.class, ErrorClass::NoMem, "{error}");
    assert!(!endless.is_committed());
}

#[test]
fn long_types_are_short_lists() {
    let runs = |datatype: &Datatype| {
        datatype.commit().unwrap();
        let layout = datatype.layout(&Operation::plain("a test")).unwrap();
        layout.unwrap().runs().len()
    };
    assert_eq!(runs(&int().vector(1 << 40, 3, 5).unwrap()), 1);
    let matrix = int().vector(100, 100, 100).unwrap();
    assert_eq!(runs(&matrix), 1);
    assert_eq!(matrix.contiguous(7).unwrap().true_extent(), (0, 280_000));
    let halo = int()
        .subarray(&[50, 60, 70], &[50, 1, 70], &[0, 3, 0], Order::C)
        .unwrap();
    assert_eq!(runs(&halo), 1);
    let inside = int()
        .subarray(&[50, 60, 70], &[48, 58, 68], &[1, 1, 1], Order::C)
        .unwrap();
    assert_eq!(runs(&inside), 48);
}

#[test]
fn a_type_says_what_it_was_made_of() {
    let vector = int().vector(3, 2, 5).unwrap();
    let types = [vector.clone(), Datatype::BYTE];
    let made = Datatype::structure(&[1, 4], &[0, 100], &types).unwrap();
    let envelope = made.envelope();
    assert_eq!(
        (
            envelope.combiner,
            envelope.integers,
            envelope.addresses,
            envelope.datatypes
        ),
        (Combiner::Struct, 3, 2, 2)
    );
    let contents = made.contents().unwrap();
    assert_eq!(contents.integers, [2, 1, 4]);
    assert_eq!(contents.addresses, [0, 100]);
    assert_eq!(contents.datatypes, types);
    assert_eq!(vector.contents().unwrap().integers, [3, 2, 5]);
    let part = int()
        .subarray(&[4, 5], &[2, 3], &[1, 2], Order::Fortran)
        .unwrap();
    assert_eq!(
        part.contents().unwrap().integers,
        [2, 4, 5, 2, 3, 1, 2, 0xf]
    );
    assert_eq!(part.contents().unwrap().datatypes, [int()]);
    assert_eq!(int().envelope().combiner, Combiner::Named);
    assert_eq!(class(int().contents()), ErrorClass::Type);
    assert_ne!(vector, vector.dup().unwrap());
}

#[test]
fn names_and_ends() {
    let vector = int().vector(3, 2, 5).unwrap();
    assert_eq!(vector.name(), "");
    vector.set_name(&"ä".repeat(100)).unwrap();
    assert_eq!(vector.name(), "ä".repeat(63));
    assert_eq!(int().name(), "MPI_INT32_T");
    assert_eq!(class(int().set_name("x")), ErrorClass::Type);
    assert_eq!(class(int().free()), ErrorClass::Type);
    // A type that was made of a freed type stays valid.
    let twice = vector.contiguous(2).unwrap();
    vector.free().unwrap();
    twice.commit().unwrap();
    assert_eq!(twice.size(), 48);
    assert!(twice.dup().unwrap().is_committed());
}

#[test]
fn only_data_of_one_type_without_gaps_are_operands() {
    let [int, double, pair] = [
        Elementary::Int32,
        Elementary::Double,
        Elementary::DOUBLE_INT,
    ]
    .map(Datatype::predefined);
    let apart = |of: &Datatype, count, stride| of.vector(count, 1, stride).unwrap();
    let mixed = Datatype::structure(&[1, 1], &[0, 8], &[int.clone(), double]).unwrap();
    let element = Elementary::Int32;
    assert!(apart(&int, 3, 2).make_operand(element, None));
    assert!(!apart(&int, 3, 2).make_operand(Elementary::Double, None));
    assert!(!mixed.make_operand(element, None));
    assert!(!apart(&pair, 3, 2).make_operand(Elementary::DOUBLE_INT, None));

    let contribution = apart(&int, 3, 5);
    assert!(apart(&int, 3, 2).make_operand(element, Some(&contribution)));
    for other in [apart(&int, 2, 2), mixed] {
        assert!(!apart(&int, 3, 2).make_operand(element, Some(&other)));
    }
}

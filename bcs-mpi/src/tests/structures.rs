//! Structures of Rust as datatypes.
#![expect(unsafe_code, reason = "says which types are data")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers and ranks are small"
)]

use super::run;
use crate::{Equivalence as _, Source, Tag};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Particle {
    charge: i8,
    position: [f64; 3],
    spin: Spin,
    count: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spin(u8, u32);

crate::equivalence!(Spin { 0, 1 });
crate::equivalence!(Particle {
    charge,
    position,
    spin,
    count
});

#[test]
fn structures_of_rust() {
    assert_eq!(Particle::datatype().size(), 1 + 24 + 1 + 4 + 2);
    let extent = i64::try_from(size_of::<Particle>()).unwrap();
    assert_eq!(Particle::datatype().extent(), (0, extent));
    assert_eq!(Particle::datatype(), Particle::datatype());
    run(2, 2, |universe| {
        let world = universe.world();
        let (me, peer) = (world.rank(), 1 - world.rank());
        let particle = |of: usize, nth: usize| Particle {
            charge: of as i8 - 1,
            position: [nth as f64, of as f64, 0.5],
            spin: Spin(nth as u8, u32::MAX),
            count: nth as u16,
        };
        for len in [0, 1, 2, 20, 3_000, 10_000] {
            let all = |of| (0..len).map(|nth| particle(of, nth)).collect::<Vec<_>>();
            let mut into = vec![particle(7, 7); len + 1];
            let request = world.isend_owned(all(me), peer, 1).unwrap();
            let status = world
                .recv(&mut into, Source::Rank(peer), Tag::Is(1))
                .unwrap();
            assert_eq!(status.count::<Particle>(), Some(len));
            assert!(into[..len] == all(peer) && into[len] == particle(7, 7));
            request.wait().unwrap();
            let mut data = if me == 0 {
                all(0)
            } else {
                vec![particle(7, 7); len]
            };
            world.bcast(&mut data, 0).unwrap();
            assert!(data == all(0));
            let mut gathered = vec![particle(7, 7); 2 * len];
            world.allgather(&all(me), &mut gathered).unwrap();
            assert!(gathered == [all(0), all(1)].concat());
        }
    });
}

#[cfg(feature = "derive")]
mod derived {
    use super::run;
    use crate::{Equivalence, ErrorClass, Op, Section};
    use std::fmt::Debug;

    #[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
    #[repr(i16)]
    enum Phase {
        #[default]
        Solid = -3,
        Liquid,
        Vapor = 700,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Equivalence)]
    struct Cell<T: Debug, const N: usize>
    where
        T: PartialEq,
    {
        is_edge: bool,
        values: [T; N],
        phase: Phase,
        pair: Pair<T>,
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
    struct Pair<T>(u8, T);

    #[derive(Clone, Copy, Debug, PartialEq, Equivalence)]
    struct Nothing;

    type Small = Cell<u8, 1>;
    type Large = Cell<f64, 3>;

    fn small(is_edge: bool, phase: Phase) -> Small {
        let (values, pair) = ([5], Pair(6, 7));
        Cell {
            is_edge,
            values,
            phase,
            pair,
        }
    }

    #[test]
    fn each_type_of_a_generic_one_has_its_own_datatype() {
        assert_eq!(Small::datatype().size(), 1 + 1 + 2 + 2);
        assert_eq!(Large::datatype().size(), 1 + 3 * 8 + 2 + 9);
        assert_eq!(Small::datatype(), Small::datatype());
        assert_ne!(Small::datatype(), Large::datatype());
        assert_eq!(
            (Phase::datatype().size(), Nothing::datatype().size()),
            (2, 0)
        );
        assert!(Small::is_checked() && !Pair::<u8>::is_checked());
    }

    #[test]
    fn structures_and_enumerations_are_sent_and_gathered() {
        run(3, 2, |universe| {
            let world = universe.world();
            let phase = [Phase::Solid, Phase::Liquid, Phase::Vapor][world.rank()];
            let cell = small(world.rank() == 1, phase);
            let all = world.allgather_one(cell).unwrap();
            let expected = [
                small(false, Phase::Solid),
                small(true, Phase::Liquid),
                small(false, Phase::Vapor),
            ];
            assert_eq!(all, expected);
            let column = Section::column([3, 2], 1).unwrap();
            let mut matrix = [Phase::Solid; 6];
            let next = (world.rank() + 1) % 3;
            world.send(&[phase; 3], next, 7).unwrap();
            let mut view = column.of_mut(&mut matrix).unwrap();
            let came = world.recv_view(&mut view, crate::Source::Any, 7).unwrap();
            let before = [Phase::Solid, Phase::Liquid, Phase::Vapor][came.source];
            assert_eq!(matrix, [Phase::Solid, before].repeat(3)[..]);
            // No sum of phases is defined.
            assert_eq!(
                world.allreduce_one(phase, Op::Sum).unwrap_err().class,
                ErrorClass::Type
            );
        });
    }

    #[test]
    fn what_is_no_variant_is_an_error_wherever_it_is() {
        run(2, 1, |universe| {
            let world = universe.world();
            if world.rank() == 0 {
                world.send(&[-3_i16, 700, -1], 1, 7).unwrap();
                // In bytes: edge, value, phase, and the pair.
                let liquid = (-2_i16).to_ne_bytes();
                let cell = |edge, phase: [u8; 2]| [edge, 5, phase[0], phase[1], 6, 7];
                let cells = [cell(1, liquid), cell(9, liquid), cell(0, [9, 9])];
                world.send(cells.as_flattened(), 1, 8).unwrap();
                return;
            }
            let mut phases = [Phase::Liquid; 4];
            let error = world.recv(&mut phases, 0, 7).unwrap_err();
            assert!(error.to_string().contains("element 2"), "{error}");
            let expected = [Phase::Solid, Phase::Vapor, Phase::Solid, Phase::Liquid];
            assert_eq!(phases, expected);
            let mut cells = [small(true, Phase::Vapor); 3];
            let error = world.recv(&mut cells, 0, 8).unwrap_err();
            assert!(error.to_string().contains("element 1"), "{error}");
            let expected = [
                small(true, Phase::Liquid),
                small(false, Phase::Liquid),
                small(false, Phase::Solid),
            ];
            assert_eq!(cells, expected);
        });
    }
}

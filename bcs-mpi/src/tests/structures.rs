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

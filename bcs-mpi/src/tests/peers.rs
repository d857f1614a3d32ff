//! No process as a peer, grids in the safe layer, and environmental inquiries.
#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers and ranks are small"
)]

use super::run;
use crate::{ErrorClass, Source, Status, Tag, dims_create};

#[test]
fn what_is_sent_to_nobody_is_done_and_nothing_comes_from_there() {
    run(2, 2, |universe| {
        let world = universe.world();
        world.send(&[1], None, 7).unwrap();
        world.ssend(&[1], None, 7).unwrap();
        let mut data = [9];
        let status = world.recv(&mut data, None, 7).unwrap();
        assert_eq!(
            (data, status.source, status.bytes),
            ([9], Status::NOBODY, 0)
        );
        let status = world
            .sendrecv((&[1], None, 7), (&mut data, Source::Nobody, Tag::Any))
            .unwrap();
        assert_eq!((data, status.source), ([9], Status::NOBODY));
        let request = world.isend_owned(vec![3], None, 7).unwrap();
        assert_eq!(request.wait().unwrap().0, [3]);
        let request = world.irecv_owned(vec![4], None, 7).unwrap();
        assert_eq!(request.wait().unwrap().0, [4]);
        crate::scope(|scope| {
            world.isend(scope, &[1], None, 7)?;
            let (slice, status) = world.irecv(scope, &mut data, None, 7)?.wait()?;
            assert_eq!((slice, status.source), (&mut [9][..], Status::NOBODY));
            Ok(())
        })
        .unwrap();
        assert!(world.recv_vec::<u8>(None, 7).unwrap().0.is_empty());
        assert_eq!(world.recv_one::<u8>(None, 7).unwrap().0, 0);
        // A rank that does not exist is still an error.
        let error = world.send(&[1], Some(2), 7).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rank);
    });
}

#[test]
fn all_shift_along_a_line_and_around_a_ring() {
    run(6, 3, |universe| {
        let world = universe.world();
        let dims = dims_create(world.size(), [0, 0]).unwrap();
        assert_eq!(dims, [3, 2]);
        let grid = world.cart_create(&dims, &[false, true]).unwrap().unwrap();
        let place = grid.cart_coords().unwrap();
        let (line, ring) = (place[0], place[1]);
        let mut before = [99];
        let came = grid.shift(0, 1, &[grid.rank()], &mut before, 3).unwrap();
        if line == 0 {
            assert_eq!((came, before), (None, [99]));
        } else {
            let neighbor = grid.cart_rank(&[line as i32 - 1, ring as i32]).unwrap();
            assert_eq!((came.unwrap().source, before[0]), (neighbor, neighbor));
        }
        let came = grid.shift(1, -1, &[grid.rank()], &mut before, 3).unwrap();
        let neighbor = grid.cart_rank(&[line as i32, ring as i32 + 1]).unwrap();
        assert_eq!((came.unwrap().source, before[0]), (neighbor, neighbor));
        let error = grid.shift(2, 1, &[1], &mut [0], 3).unwrap_err();
        assert_eq!(error.class, ErrorClass::Dims);
    });
    assert_eq!(dims_create(12, [0, 5]).unwrap_err().class, ErrorClass::Dims);
}

#[test]
fn communicators_have_names() {
    run(2, 1, |universe| {
        let world = universe.world();
        assert_eq!(world.name(), "MPI_COMM_WORLD");
        let copy = world.dup().unwrap();
        assert_eq!(copy.name(), "");
        copy.set_name("ocean");
        assert_eq!(
            (copy.name(), copy.clone().name()),
            ("ocean".into(), "ocean".into())
        );
    });
}

#[test]
fn a_program_asks_where_it_is() {
    assert_eq!(crate::version(), (5, 0));
    assert!(crate::library_version().starts_with("BCS-MPI "));
    assert!(!crate::processor_name().is_empty());
    let tick = crate::wtick();
    assert!(tick > 0.0 && tick < 1e-3, "{tick}");
    let process = crate::mpi::Process::init().unwrap();
    assert!(crate::is_initialized());
    process.finalize().unwrap();
}

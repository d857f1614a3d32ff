//! Groups, communicators made of them, names, grids.

use super::run;
use crate::mpi::{Comparison, PROC_NULL};
use crate::{ErrorClass, Op, Source, Tag};

#[test]
fn a_group_becomes_a_communicator_in_its_order() {
    run(5, 2, |universe| {
        let world = universe.world();
        // Makes groups of the odd and the even ranks, each backwards, in one call.
        let (group, all) = (world.group(), [4, 3, 2, 1, 0]);
        let mine = all
            .into_iter()
            .filter(|rank| rank % 2 == world.untyped().rank() % 2);
        let group = group.include(&mine.collect::<Vec<_>>()).unwrap();
        let comm = world.create(&group).unwrap().unwrap();
        let expected = (world.size() - 1 - world.rank()) / 2;
        assert_eq!(
            (comm.rank(), comm.size()),
            (expected, group.members().len())
        );
        let mut sum = [world.rank()];
        comm.allreduce_in_place(&mut sum, Op::Sum).unwrap();
        assert_eq!(sum, [[6, 4][world.rank() % 2]]);
        // Rank 3 is alone. The others pass the same group and are not in it.
        let three = world.group().include(&[3]).unwrap();
        let alone = world.create(&three).unwrap();
        assert_eq!(
            alone.map(|comm| comm.size()),
            (world.rank() == 3).then_some(1)
        );
        let error = comm.create(&world.group()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Group);
    });
}

#[test]
fn communicators_compare_and_have_names() {
    run(3, 1, |universe| {
        let world = universe.world().untyped();
        let copy = world.dup().unwrap();
        let reversed = world.split(Some(0), -world.rank()).unwrap().unwrap();
        let part = world
            .split(Some(world.rank().cast_unsigned() / 2), 0)
            .unwrap()
            .unwrap();
        assert_eq!(
            world.compare(&world.process().world()),
            Comparison::Identical
        );
        assert_eq!(world.compare(&copy), Comparison::Congruent);
        assert_eq!(world.compare(&reversed), Comparison::Similar);
        assert_eq!(world.compare(&part), Comparison::Unequal);
        assert_eq!(
            (world.name().as_str(), copy.name().as_str()),
            ("MPI_COMM_WORLD", "")
        );
        copy.set_name(&"ä".repeat(100));
        assert_eq!(copy.clone().name(), "ä".repeat(63));
        assert_eq!(universe.itself().untyped().name(), "MPI_COMM_SELF");
    });
}

#[test]
fn ranks_of_a_node_find_each_other() {
    run(5, 2, |universe| {
        let node = universe.world().split_by_node(0).unwrap();
        let mut nodes = [universe.node().0];
        assert_eq!(node.size(), [3, 2][nodes[0]]);
        node.allreduce_in_place(&mut nodes, Op::Max).unwrap();
        assert_eq!(nodes, [universe.node().0]);
        // In the untyped core a rank may stay away.
        let takes_part = universe.world().rank() != 1;
        let part = universe.world().untyped().split_by_node(takes_part, 0);
        let sizes = part.unwrap().map(|part| part.size());
        assert_eq!(sizes, takes_part.then_some(2));
    });
}

#[test]
fn a_grid_shifts_along_its_dimensions() {
    run(7, 2, |universe| {
        let world = universe.world();
        let Some(grid) = world.cart_create(&[2, 3], &[false, true]).unwrap() else {
            assert_eq!(world.rank(), 6);
            return;
        };
        let coords = grid.cart_coords().unwrap();
        assert_eq!(coords, [grid.rank() / 3, grid.rank() % 3]);
        let (from, to) = grid.cart_shift(1, 1).unwrap();
        let (from, to) = (from.unwrap(), to.unwrap());
        let mut data = [grid.rank()];
        let source = Source::Rank(from);
        grid.sendrecv_replace(&mut data, (to, 0), (source, Tag::Is(0)))
            .unwrap();
        assert_eq!(data, [coords[0] * 3 + (coords[1] + 2) % 3]);
        let untyped = grid.untyped();
        let column = untyped.rank() % 3;
        let (up, down) = untyped.cart_shift(0, 1).unwrap();
        let expected = [(PROC_NULL, 3 + column), (column, PROC_NULL)];
        assert_eq!((up, down), expected[coords[0]]);
        assert_eq!(untyped.cart_shift(1, i32::MIN).unwrap().0, PROC_NULL);
        assert_eq!(
            untyped.cart_shift(2, 1).unwrap_err().class,
            ErrorClass::Dims
        );
        assert_eq!(untyped.cart_rank(&[1, -1]).unwrap(), 5);
        assert_eq!(
            untyped.cart_rank(&[2, 0]).unwrap_err().class,
            ErrorClass::Arg
        );
        let row = grid.dup().unwrap().cart_sub(&[false, true]).unwrap();
        assert_eq!((row.size(), row.rank()), (3, coords[1]));
        assert_eq!(row.untyped().cartesian().unwrap().dims(), [3]);
        let row = untyped.cart_sub(&[false, true]).unwrap();
        assert_eq!(row.cartesian().unwrap().dims(), [3]);
        let point = grid.cart_sub(&[false, false]).unwrap();
        assert_eq!((point.size(), point.cart_coords().unwrap()), (1, vec![]));
    });
}

/// Missing and superfluous arguments are errors.
#[test]
fn a_place_of_a_grid_has_a_coordinate_for_each_dimension() {
    run(6, 1, |universe| {
        let grid = universe.world().cart_create(&[2, 3], &[false, true]);
        let grid = grid.unwrap().expect("all ranks have a place");
        for coords in [&[][..], &[1], &[1, 2, 0]] {
            let error = grid.untyped().cart_rank(coords).unwrap_err();
            assert_eq!(error.class, ErrorClass::Arg, "{coords:?}");
        }
    });
}

#[test]
fn grids_that_do_not_fit_are_refused() {
    run(2, 1, |universe| {
        let world = universe.world();
        let class =
            |dims: &[usize], periods: &[bool]| world.cart_create(dims, periods).unwrap_err().class;
        assert_eq!(class(&[3], &[true]), ErrorClass::Dims);
        assert_eq!(class(&[1 << 20, 1 << 20], &[true, true]), ErrorClass::Dims);
        assert_eq!(class(&[0], &[true]), ErrorClass::Dims);
        assert_eq!(class(&[1, 2], &[true]), ErrorClass::Arg);
        assert_eq!(world.cart_coords().unwrap_err().class, ErrorClass::Topology);
    });
}

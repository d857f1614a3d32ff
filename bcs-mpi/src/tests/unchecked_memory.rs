//! Received data that may be invalid values.

use super::run;
use crate::{ErrorClass, Op, Result, Section, UserOp};

/// Rank 0 sends bytes as if they were of another type. Rank 1 receives them in several ways, and
/// gets valid values.
fn received(receive: impl Fn(&crate::Communicator, &mut [bool]) -> Result<()> + Sync) {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            for byte in [1_u8, 2] {
                let mut bytes = [0, 1, byte, 0, 1];
                world.send(&bytes, 1, 7).unwrap();
                world.recv(&mut bytes[..1], 1, 8).unwrap();
            }
            return;
        }
        let mut data = [true; 6];
        receive(world, &mut data).unwrap();
        assert_eq!(data, [false, true, true, false, true, true]);
        world.send_one(1_u8, 0, 8).unwrap();
        let error = receive(world, &mut data).unwrap_err();
        assert_eq!(error.class, ErrorClass::Other);
        assert!(
            error
                .to_string()
                .contains("element 2 of what arrived is no value of bool"),
            "{error}"
        );
        assert_eq!(data, [false, true, false, false, true, true]);
        world.send_one(1_u8, 0, 8).unwrap();
    });
}

#[test]
fn a_byte_that_is_no_value_is_an_error_and_becomes_one() {
    received(|world, data| world.recv(data, 0, 7).map(|_| ()));
    received(|world, data| world.mprobe(0, 7)?.recv(data).map(|_| ()));
    received(|world, data| {
        world
            .sendrecv((&[0_u8; 0], None, 7), (data, 0, 7))
            .map(|_| ())
    });
    received(|world, data| {
        crate::scope(|scope| world.irecv(scope, data, 0, 7)?.wait().map(|_| ()))
    });
    // This request is not waited for, and its slice is not returned.
    received(|world, data| crate::scope(|scope| world.irecv(scope, data, 0, 7).map(|_| ())));
    received(|world, data| {
        crate::scope(|scope| {
            let mut request = world.irecv(scope, data, 0, 7)?;
            while !request.test()? {}
            request.wait().map(|_| ())
        })
    });
    received(|world, data| {
        crate::scope(|scope| {
            let requests = vec![world.irecv(scope, data, 0, 7)?];
            crate::wait_all(requests).map(|_| ())
        })
    });
    let section = Section::strided(0, 5, 1, 1).unwrap();
    received(|world, data| {
        world
            .recv_view(&mut section.of_mut(data)?, 0, 7)
            .map(|_| ())
    });
    received(|world, data| {
        let view = section.of_mut(data)?;
        crate::scope(|scope| world.irecv_view(scope, view, 0, 7).map(|_| ()))
    });
}

#[test]
fn what_a_request_owns_is_looked_at_as_well() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send(&[7_u8], 1, 1).unwrap();
            world.send(&[7_u8], 1, 2).unwrap();
            return;
        }
        let error = world.irecv_owned(vec![true], 0, 1).unwrap().wait();
        assert_eq!(error.unwrap_err().class, ErrorClass::Other);
        let mut receive = world.recv_init(vec![true], 0, 2).unwrap();
        assert!(receive.start().unwrap().wait().is_err());
        assert_eq!(receive.data(), [false]);
    });
}

#[test]
fn flags_are_combined() {
    run(3, 2, |universe| {
        let world = universe.world();
        let is_last = world.rank() == 2;
        assert!(world.allreduce_one(is_last, Op::Lor).unwrap());
        assert!(!world.allreduce_one(is_last, Op::Land).unwrap());
        let same = UserOp::new(|one: bool, other: bool| one ^ other);
        assert!(world.allreduce_one(is_last, &same).unwrap());
        let flags = world.allgather_one([is_last, true]).unwrap();
        assert_eq!(flags, [[false, true], [false, true], [true, true]]);
        let error = world.allreduce_one(is_last, Op::Sum).unwrap_err();
        assert_eq!(error.class, ErrorClass::Op);
    });
}

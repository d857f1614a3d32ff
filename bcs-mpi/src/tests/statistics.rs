//! The counters of a rank in a world of one.
#![expect(unsafe_code, reason = "buffers are named by address")]

use crate::mpi::{Buffer, Process};
use bcs_core::reduction::Datatype;

#[test]
fn figures_follow_what_a_rank_does() {
    let process = Process::init().unwrap();
    let figures = process.statistics().expect("it is no forked child");
    let comm = process.world();
    let mut bytes = [7_u8; 100];
    let mut buffer = |len: usize| {
        // SAFETY: it stays during the call that it is given to, or until the request is done.
        unsafe { Buffer::new(bytes.as_mut_ptr(), len, Datatype::Byte) }
    };
    assert_eq!((figures.left().messages, figures.buffered_bytes()), (0, 0));
    comm.send(buffer(100), 0, 1).unwrap();
    assert!(comm.iprobe(0, 1).unwrap().is_some());
    let held = figures.held();
    assert_eq!(figures.left().messages, 1);
    assert_eq!((held.unexpected_so_far, held.unexpected_bytes), (1, 100));
    comm.recv(buffer(100), 0, 1).unwrap();
    let held = figures.held();
    assert_eq!(figures.left().messages, 0);
    assert_eq!((held.unexpected_so_far, held.unexpected_bytes), (1, 0));

    let idle = figures.left().requests;
    let mut request = comm.irecv(buffer(10), 0, 2).unwrap();
    assert_eq!(figures.left().requests, idle + 1);
    comm.send(buffer(10), 0, 2).unwrap();
    request.wait().unwrap();
    assert_eq!(figures.left().requests, idle);

    process.attach_buffer(1_000).unwrap();
    comm.bsend(buffer(100), 0, 3).unwrap();
    assert!(figures.buffered_bytes() <= 100);
    comm.recv(buffer(100), 0, 3).unwrap();
    process.detach_buffer().unwrap();
    assert_eq!(figures.buffered_bytes(), 0);

    assert_eq!(
        (figures.slices(), figures.slice_ns()),
        (0, 0),
        "nobody strikes"
    );
    assert_eq!((figures.slice_changes(), figures.completions()), (0, 0));
    assert!(figures.cores() > 0 && figures.awake_threads() > 0);
    assert_eq!(
        (figures.blocked_ranks(), held.copied_bytes, held.refusals),
        (0, 0, 0)
    );
    let recorded = (figures.calls(), figures.times(), figures.traffic());
    assert_eq!(recorded, (None, None, None), "there is no recorder");
    assert!(!figures.records() && !process.has_recorder());
    process.finalize().unwrap();
    assert!(process.statistics().is_some());
}

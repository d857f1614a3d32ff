//! A rank to which something happens, for tests: `unlucky CASE`. Rank 0 is the unlucky one; the
//! others receive from it for ever, or exchange messages with it, as the case is.
#![expect(
    unsafe_code,
    reason = "what happens to rank 0 is not what safe code does"
)]

use bcs_mpi::{Communicator, Result, Source, Tag, Universe, UserOp};
use std::process::Command;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> Result<()> {
    let case = std::env::args().nth(1).unwrap_or_default();
    let universe = Universe::init()?;
    let world = universe.world();
    if case == "is-alone" {
        assert_eq!(world.size(), 1);
        return world.barrier();
    }
    world.barrier()?;
    let unlucky = world.rank() == 0;
    let peer = world.size() - 1;
    match case.as_str() {
        // What was sent eagerly is not lost when its sender leaves, whoever receives it when.
        "finalizes-with-sends-pending" if unlucky => {
            for number in 0..2_000_u32 {
                world.send(&[number], peer, 1)?;
            }
        }
        "finalizes-with-sends-pending" => {
            let mut data = [0_u32];
            for number in (0..2_000).filter(|_| world.rank() == peer) {
                world.recv(&mut data, Source::Rank(0), Tag::Is(1))?;
                assert_eq!(data, [number]);
            }
        }
        // A receive that is not over is cancelled, and the rank may leave.
        "finalizes-with-a-receive-pending" if unlucky => {
            drop(world.irecv_owned(vec![0_u8; 8], Source::Any, Tag::Any)?);
        }
        "finalizes-with-a-receive-pending" => {}
        // A child knows nothing of MPI, and the rank goes on.
        "forks" => {
            if unlucky {
                let child = Command::new("sh").args(["-c", "exit 3"]).status();
                assert_eq!(child.ok().and_then(|status| status.code()), Some(3));
                // SAFETY: the child only leaves, without running anything of this process.
                match unsafe { libc::fork() } {
                    // SAFETY: as above.
                    0 => unsafe { libc::_exit(0) },
                    child => assert!(child > 0),
                }
            }
            exchange(world)?;
        }
        // A child that returns from `main` takes nothing along of what its parent has, requests included: the
        // parent goes on, and leaves without finalize, which nobody has done for it.
        "has-a-child-that-returns" => {
            if unlucky {
                let _pending = world.irecv_owned(vec![0_u8; 8], Source::Rank(peer), Tag::Is(9))?;
                let _duplicate = world.dup()?;
                if fork() == 0 {
                    return Ok(());
                }
                assert_eq!(end_of_child(), Some(0));
                exchange(world)?;
                std::process::exit(0)
            }
            world.dup()?;
            exchange(world)?;
            world.recv(&mut [0_u8], Source::Rank(0), Tag::Is(10))?;
        }
        // A child that calls MPI is told that it is no rank, and the parent gets the message.
        "has-a-child-that-calls" => {
            if unlucky {
                let mut byte = [0_u8];
                let receive = |byte: &mut [u8]| world.recv(byte, Source::Rank(peer), Tag::Is(9));
                if fork() == 0 {
                    let error = receive(&mut byte)
                        .expect_err("a child is no rank")
                        .to_string();
                    assert!(error.contains("a forked child of rank 0"), "{error}");
                    assert!(world.ibarrier().is_err() && universe.finalize().is_err());
                    std::process::exit(7)
                }
                assert_eq!(end_of_child(), Some(7));
                receive(&mut byte)?;
            } else if world.rank() == peer {
                world.send(&[1_u8], 0, 9)?;
            }
            exchange(world)?;
        }
        // What the parent has begun is not the child's to wait for.
        "has-a-child-that-waits" => {
            let pending = world.irecv_owned(vec![0_u8; 8], Source::Rank(0), Tag::Is(9))?;
            if unlucky {
                if fork() == 0 {
                    let _panics = pending.wait();
                    std::process::exit(0)
                }
                assert_eq!(end_of_child(), Some(101));
                for rank in 0..world.size() {
                    world.send(&[0_u8; 8], rank, 9)?;
                }
            }
            pending.wait()?;
        }
        "has-a-child-that-aborts" => {
            if unlucky {
                if fork() == 0 {
                    world.abort(9, "the child's affair");
                }
                assert_eq!(end_of_child(), Some(9));
            }
            exchange(world)?;
        }
        // What a rank starts is no rank, and a world of its own if it is a program of MPI.
        "starts-a-program-of-mpi" => {
            if unlucky {
                let myself = std::env::current_exe().expect("there is /proc");
                let alone = Command::new(myself).arg("is-alone").status();
                assert!(alone.is_ok_and(|status| status.success()));
            }
            exchange(world)?;
        }
        // The program that replaces this one is no rank, and ends without finalize.
        "executes-another-program" if unlucky => {
            use std::os::unix::process::CommandExt;
            panic!("{}", Command::new("true").exec());
        }
        // Its memory is still mapped, so messages go on; its node manager thinks it gone.
        "closes-its-descriptors" if unlucky => {
            for fd in 3..1_024 {
                // SAFETY: closes what this process does not use by itself any more.
                unsafe { libc::close(fd) };
            }
            exchange(world)?;
        }
        "closes-its-descriptors" => exchange(world)?,
        // Nothing that the NIC reads comes from this process's own mapping.
        "maps-over-its-nic-memory" if unlucky => {
            let maps = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
            let line = maps
                .lines()
                .find(|line| line.contains("memfd:bcs-nic-memory"));
            let (from, to) = line
                .and_then(|line| line.split(' ').next()?.split_once('-'))
                .expect("NIC memory");
            let address = |hex| usize::from_str_radix(hex, 16).expect("an address");
            let (from, to) = (address(from), address(to));
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: replaces shared memory by zeroes, which the library has to bear.
            let mapped = unsafe { libc::mmap(from as *mut _, to - from, access, flags, -1, 0) };
            assert_ne!(mapped, libc::MAP_FAILED);
            exchange(world)?;
        }
        "maps-over-its-nic-memory" => exchange(world)?,
        "runs-out-of-memory" if unlucky => {
            let limit = libc::rlimit {
                rlim_cur: 256 << 20,
                rlim_max: 256 << 20,
            };
            // SAFETY: the limit is a valid structure.
            unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
            // A slot is mapped before the limit is set, so only its own end bounds what lies there.
            let mut hoard: Vec<Vec<u8>> = Vec::new();
            loop {
                hoard.push(std::hint::black_box(Vec::with_capacity(100 << 30)));
            }
        }
        // Only the root calls the function; the others wait for it in the barrier.
        "panics-in-an-operation" => {
            let op = UserOp::new(|_: u64, _| panic!("an unlucky number"));
            world.reduce(&[1], &mut [0], &op, 0)?;
            world.barrier()?;
        }
        // A stop is no end: messages wait until it goes on.
        "is-stopped" => {
            if unlucky {
                let myself = std::process::id();
                let seconds = std::env::var("BCS_STOP_SECONDS").unwrap_or("0.3".to_owned());
                let script = format!("kill -STOP {myself}; sleep {seconds}; kill -CONT {myself}");
                let child = Command::new("sh").args(["-c", &script]).spawn();
                exchange(world)?;
                let _ended = child.and_then(|mut child| child.wait());
            } else {
                exchange(world)?;
            }
        }
        // Everybody else waits for the unlucky one.
        _ => {
            world.recv(&mut [0_u8], Source::Rank(0), Tag::Any)?;
        }
    }
    universe.finalize()
}

fn fork() -> i32 {
    // SAFETY: this program has one thread.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    child
}

/// The exit code of the child, when it has ended.
fn end_of_child() -> Option<i32> {
    let mut status = 0;
    // SAFETY: writes the status of a child.
    let child = unsafe { libc::wait(&raw mut status) };
    (child > 0 && libc::WIFEXITED(status)).then(|| libc::WEXITSTATUS(status))
}

/// Rank 0 and the last rank exchange messages of several sizes; the others do nothing.
fn exchange(world: &Communicator) -> Result<()> {
    let last = world.size() - 1;
    if world.rank() != 0 && world.rank() != last {
        return Ok(());
    }
    let peer = last - world.rank();
    for len in [1_usize, 64, 3_000, 200_000].repeat(20) {
        let out = vec![u8::try_from(len % 251).unwrap_or(0); len];
        let mut into = vec![0; len];
        world.sendrecv((&out, peer, 1), (&mut into, Source::Rank(peer), Tag::Is(1)))?;
        assert_eq!(into, out);
    }
    Ok(())
}

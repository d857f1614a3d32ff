//! A core dump of a rank holds its heap, and is not larger than its memory.

use crate::rank::{command, is_rank};
use std::os::unix::process::CommandExt as _;

const TEST: &str = "core_dump::a_core_dump_is_as_small_as_the_memory";

#[test]
fn a_core_dump_is_as_small_as_the_memory() {
    if is_rank() {
        let words = std::hint::black_box(vec![0x00c0_ffee_u32; 1 << 20]);
        assert_eq!(words.len(), 1 << 20);
        std::process::abort();
    }
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with('|') || pattern.contains('/') {
        println!(
            "skipped: core dumps of this machine go elsewhere ({})",
            pattern.trim()
        );
        return;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    if limit.maximum.is_some_and(|most| most < 1 << 30) {
        println!(
            "skipped: core dumps are limited to {:?} bytes",
            limit.maximum
        );
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut rank = command(TEST, "5");
    rank.current_dir(directory.path());
    // SAFETY: a system call.
    unsafe {
        rank.pre_exec(move || {
            let raised = rustix::process::Rlimit {
                current: limit.maximum,
                ..limit
            };
            Ok(rustix::process::setrlimit(
                rustix::process::Resource::Core,
                raised,
            )?)
        })
    };
    let output = rank.output().unwrap();
    assert!(!output.status.success());
    let file = std::fs::read_dir(directory.path()).unwrap().next();
    let Some(file) = file else {
        println!("skipped: no core dump was written");
        return;
    };
    let path = file.unwrap().path();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < 64 << 20, "{length} bytes");
    let core = std::fs::read(path).unwrap();
    let heap = 0x00c0_ffee_u32.to_ne_bytes().repeat(1000);
    let found = core.windows(heap.len()).any(|window| window == heap);
    assert!(found, "the heap is not in the dump of {length} bytes");
}

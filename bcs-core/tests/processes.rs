//! A ring and a bell between two processes, one of which is killed in the middle of a push.
//!
//! The pushing process is this test binary again, which runs the ignored test below.
#![cfg(not(loom))]

use bcs_core::clock::now_ns;
use bcs_core::descriptor::SendDescriptor;
use bcs_core::memory::ring::{Consumer, Producer};
use bcs_core::memory::{MappedWords, NicMemory};
use bcs_core::wake::bell::{self, KernelFutex};
use bcs_core::wake::machine_page::BellId;
use bcs_core::wake::{MachinePage, Profile};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

const WORDS: usize = SendDescriptor::WORDS;
const EAGER_LIMIT: usize = 64;
/// The place where the pushing process finds the memory: two paths of its parent's descriptors.
const VARIABLE: &str = "BCS_TEST_RING";

/// Returns an entry. Each of its words differs from all others, and from the same word of all other
/// entries.
fn entry(number: u64) -> [u64; WORDS] {
    std::array::from_fn(|place| number * WORDS as u64 + place as u64)
}

#[test]
#[ignore = "the pushing process of the other test"]
fn the_pushing_process() {
    let paths = std::env::var(VARIABLE).expect("started by the other test");
    let (memory, page) = paths.split_once(' ').unwrap();
    let open = |path| {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).open(path).unwrap()
    };
    let memory = NicMemory::map(open(memory), EAGER_LIMIT).unwrap();
    let page = MachinePage::map(open(page), 1).unwrap();
    let mut ring = Producer::new(memory.words(), NicMemory::send_ring());
    for number in 0.. {
        while ring.push(&entry(number)).is_err() {
            std::thread::yield_now();
        }
        page.ring(BellId::STROBE_SENDER);
    }
}

/// The entries that the other process has pushed, as far as they are taken.
struct Pushed {
    ring: Consumer<MappedWords>,
    taken: u64,
}

impl Pushed {
    /// Takes all published entries. Each must be complete, and must follow the last one.
    fn take(&mut self) {
        let cut = self.ring.published().expect("a position that can be");
        while let Some(words) = self.ring.pop::<WORDS>(cut) {
            assert_eq!(words, entry(self.taken), "entry {}", self.taken);
            self.taken += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.ring.published().unwrap() == self.ring.position()
    }
}

/// The pushing process. It pushes for ever, so it is killed even if the test fails.
struct Pushing(Child);

impl Drop for Pushing {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _collected_already = self.0.wait();
    }
}

fn start(memory: &impl AsRawFd, page: &impl AsRawFd) -> Pushing {
    let path = |fd: i32| format!("/proc/{}/fd/{fd}", std::process::id());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_pushing_process", "--ignored"])
        .env(
            VARIABLE,
            format!("{} {}", path(memory.as_raw_fd()), path(page.as_raw_fd())),
        )
        .stdout(Stdio::null())
        .spawn();
    Pushing(child.unwrap())
}

#[test]
fn what_a_process_published_before_it_was_killed_is_whole_and_nothing_else_is_there() {
    for round in 0..50 {
        let (memory_fd, memory) = NicMemory::create(EAGER_LIMIT).unwrap();
        let (page_fd, page) = MachinePage::create(1, 2, Profile::UNKNOWN).unwrap();
        let mut pushing = start(&memory_fd, &page_fd);
        let mut pushed = Pushed {
            ring: Consumer::new(memory.words(), NicMemory::send_ring()),
            taken: 0,
        };
        // The process pushes all the time, so it is killed in the middle of a push, at a different
        // place in the ring in every round.
        let enough = 1 + round * 997 % 20_000;
        while pushed.taken < enough {
            let deadline = now_ns() + 20_000_000_000;
            let bell = page.bell(BellId::STROBE_SENDER);
            // A late ring for entries that are taken already also ends the sleep.
            while pushed.is_empty() {
                assert!(now_ns() < deadline, "the bell was not rung in 20 s");
                bell::sleep(bell, &KernelFutex, Some(deadline), || !pushed.is_empty());
            }
            pushed.take();
        }
        pushing.0.kill().unwrap();
        assert_eq!(pushing.0.wait().unwrap().signal(), Some(libc::SIGKILL));
        pushed.take();
        assert!(pushed.taken >= enough && pushed.is_empty());
    }
}

//! The end of a node manager on another machine whose launcher is gone.
//!
//! There no launcher ends what is left, and no kernel kills us with the launcher. We notice only
//! the end of our input. The agent sees it when it next polls, and then ends in order. But it does
//! not poll while it makes memory, reads a program from a file system that does not answer, starts
//! ranks, or writes dumps. So an OS thread waits for the end, gives the agent a moment, and then
//! ends everything by force. It does the same when the [`supervisor`](crate::supervisor) is gone,
//! which nobody else would notice.

use crate::limits::ORDERLY_END;
use crate::reaper;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

/// Watches for the end of the input and of the parent, as long as the process lives.
///
/// # Errors
/// The kernel gives no descriptor or no OS thread, or the parent is gone.
pub(crate) fn watch(input: BorrowedFd<'_>, parent: &str) -> io::Result<()> {
    let input = input.try_clone_to_owned()?;
    let gone = || io::Error::from(Errno::SRCH);
    let parent = parent.parse().ok().and_then(Pid::from_raw);
    let parent = parent.ok_or_else(gone)?;
    let pidfd = pidfd_open(parent, PidfdFlags::empty())?;
    // Otherwise the id belongs to another process by now.
    if getppid() != Some(parent) {
        return Err(gone());
    }
    let watch = move || {
        wait_for_end(&input, &pidfd);
        // An orderly end ends this OS thread, too.
        let moment = Timespec::try_from(ORDERLY_END).expect("less than a second");
        let _nothing = poll(&mut [], Some(&moment));
        // Kill what ranks have started. Ranks die with this process, even one that is just being
        // started.
        reaper::kill_descendants_until(Instant::now() + ORDERLY_END);
        let _ends_here = kill_process(getpid(), Signal::KILL);
    };
    let thread = std::thread::Builder::new().name("bcs-launcher".to_owned());
    thread.spawn(watch).map(drop)
}

fn wait_for_end(input: &OwnedFd, parent: &OwnedFd) {
    // The end of a pipe or a socket; unread data does not matter.
    let ends = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR | PollFlags::NVAL;
    loop {
        let mut fds = [
            PollFd::new(input, PollFlags::RDHUP),
            PollFd::new(parent, PollFlags::IN),
        ];
        let polled = poll(&mut fds, None);
        let has_ended = fds[0].revents().intersects(ends) || !fds[1].revents().is_empty();
        if polled.is_ok() && has_ended {
            return;
        }
    }
}

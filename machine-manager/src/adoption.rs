//! Jobs whose ranks another launcher has started: the `mpiexec` of MPICH or Intel MPI, or `srun`.
//!
//! Rank 0 starts this program in the role [`JOB_ROLE`]. It does what `bcs run` does, but it starts
//! no ranks: they connect to their node managers. It starts the node manager of node 0. The first
//! rank of each other node connects to our TCP port, and starts a node manager ([`NODE_ROLE`]). The
//! standard input and output of that are this connection. From there on it is a node manager of a
//! job on several machines ([`hosts`](crate::hosts)).
//!
//! The port's address and a random token reach these ranks through the key-value space of their
//! launcher, which only processes of the job see. A connection that does not begin with the token
//! is closed, and does not delay the others.
//!
//! Both roles end at once and leave a child of nobody: the program that rank 0 or another rank runs
//! must not find a child that it has not started.

use crate::agent_links::ManagerHandle;
use crate::exit_code;
use crate::hosts::{Hosts, Limits, StartInterruption};

use anyhow::{Context as _, bail};
use bcs_core::job::NodeId;
use bcs_fabric::udp::choose_address;
use node_manager::spawn::{Image, Setup, Spawner};
use node_manager::{ADOPTING, FAR_ROLE, take_inherited};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The role of a launcher that starts no ranks. Arguments: the numbers of three inherited
/// descriptors (the channel to rank 0, the rank listener of node 0, the PMI socket of rank 0), the
/// number of ranks of each node, the host of each node, and the program.
pub const JOB_ROLE: &str = "adopt-job";

/// The role of a process that starts a node manager whose ranks are there. Argument: the number of
/// an inherited descriptor, the rank listener. Its standard input and output are the channel to the
/// launcher.
pub const NODE_ROLE: &str = "adopt-node";

/// Told to people who type one of these commands.
const NOT_FOR_PEOPLE: &str = "MPI_Init of a program starts this command, not a person";

/// The first argument after [`JOB_ROLE`] of the process that is a child of nobody.
const DETACHED: &str = "detached";

/// Where that process finds its descriptors.
const DESCRIPTORS: [&str; 3] = ["3", "4", "5"];

/// Node managers that are not there after this time do not come: the ranks that start them have
/// passed a barrier with rank 0.
const PATIENCE: Duration = Duration::from_mins(1);

/// The bytes of the token. Nobody guesses it.
const TOKEN_BYTES: usize = 32;

/// The longest first line of a connection: the token in hexadecimal digits, and a node.
const HELLO_BYTES: usize = 2 * TOKEN_BYTES + 16;

/// Connections that have not sent their first line, beside one for each node. Further ones wait in
/// the kernel, and the oldest is closed in favour of the next one.
const STRANGERS_AT_ONCE: usize = 64;

/// A job of ranks that are there.
#[derive(Debug)]
pub struct AdoptedJob {
    /// The channel to rank 0, which waits for a line.
    rank_zero: OwnedFd,
    /// The rank listener of node 0.
    pub(crate) rank_listener: OwnedFd,
    /// The PMI socket of rank 0, by which the other launcher gets the exit code.
    launcher: OwnedFd,
    /// The number of ranks of each node.
    pub(crate) counts: Vec<usize>,
    /// The host of each node.
    names: Vec<String>,
    program: OsString,
}

/// Runs in [`JOB_ROLE`], with the arguments after it. `adopt` runs the job as `bcs run` does, by a
/// command line of it.
#[must_use]
pub fn main(
    arguments: &[OsString],
    adopt: impl FnOnce(&[OsString], AdoptedJob) -> ExitCode,
) -> ExitCode {
    let ended = match arguments.split_first() {
        Some((first, rest)) if first == DETACHED => AdoptedJob::take(rest).map(|job| {
            let ranks = job.counts.iter().sum::<usize>().to_string();
            let line = ["bcs", "run", "-n", &ranks].map(OsString::from);
            let program = [job.program.clone()];
            adopt(&[&line[..], &program[..]].concat(), job)
        }),
        _ => detach_job(arguments),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("bcs: {error:#}");
        ExitCode::from(exit_code::RUNTIME)
    })
}

/// Runs in [`NODE_ROLE`].
#[must_use]
pub fn start_node_manager(arguments: &[OsString]) -> ExitCode {
    let started = inherited(arguments.first()).and_then(|rank_listener| {
        let channel = (rustix::stdio::stdin(), rustix::stdio::stdout());
        spawn(
            &["bcs", FAR_ROLE, ADOPTING].map(OsStr::new),
            channel,
            &[rank_listener.as_fd()],
        )
    });
    match started {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bcs: {error:#}");
            ExitCode::from(exit_code::RUNTIME)
        }
    }
}

fn detach_job(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let [first, second, third, rest @ ..] = arguments else {
        bail!(NOT_FOR_PEOPLE);
    };
    let descriptors = [first, second, third].map(|number| inherited(Some(number)));
    let descriptors: Vec<OwnedFd> = descriptors.into_iter().collect::<anyhow::Result<_>>()?;
    let rest = rest.iter().map(OsString::as_os_str);
    let words = ["bcs", JOB_ROLE, DETACHED].map(OsStr::new).into_iter();
    let words = words.chain(DESCRIPTORS.map(OsStr::new)).chain(rest);
    let words: Vec<&OsStr> = words.collect();
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .context("failed to open /dev/null")?;
    let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(|fd| fd.as_fd()).collect();
    spawn(&words, (null.as_fd(), null.as_fd()), &descriptors)?;
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again. The new process lives on when this one has ended.
fn spawn(
    words: &[&OsStr],
    (input, output): (BorrowedFd<'_>, BorrowedFd<'_>),
    inherited: &[BorrowedFd<'_>],
) -> anyhow::Result<()> {
    let image = Image::new("/proc/self/exe".as_ref(), words, [], None)?;
    let setup = Setup {
        standard: [input, output, rustix::stdio::stderr()],
        inherited,
        dies_with_parent: false,
        open_files: None,
        cores: &[],
        variables: &[c"BCS_SLOT="],
    };
    let started = Spawner::default().spawn(&image, &setup);
    started
        .map(drop)
        .context("failed to start this program again")
}

/// Takes the descriptor that an argument names.
fn inherited(number: Option<&OsString>) -> anyhow::Result<OwnedFd> {
    let number = number.and_then(|number| number.to_str()?.parse().ok());
    let number = number.context(NOT_FOR_PEOPLE)?;
    take_inherited(number).with_context(|| format!("descriptor {number} was not inherited"))
}

impl AdoptedJob {
    fn take(arguments: &[OsString]) -> anyhow::Result<Self> {
        let [rank_zero, rank_listener, launcher, counts, names, program] = arguments else {
            bail!(NOT_FOR_PEOPLE);
        };
        let words = |list: &OsString| -> Vec<String> {
            list.to_string_lossy()
                .split(',')
                .map(str::to_owned)
                .collect()
        };
        let counts = words(counts)
            .iter()
            .map(|count| count.parse())
            .collect::<Result<_, _>>();
        Ok(Self {
            rank_zero: inherited(Some(rank_zero))?,
            rank_listener: inherited(Some(rank_listener))?,
            launcher: inherited(Some(launcher))?,
            counts: counts.context("the numbers of ranks make no sense")?,
            names: words(names),
            program: program.clone(),
        })
    }

    /// Returns the hosts of the nodes, unless there is one node. `template` has the options of the
    /// user.
    pub(crate) fn hosts(&self, template: Hosts) -> Option<Hosts> {
        if self.counts.len() == 1 {
            return None;
        }
        let is_one = self.names.iter().all(|name| *name == self.names[0]);
        Some(Hosts {
            names: (!is_one).then(|| self.names.clone()),
            launcher: vec!["the launcher of its ranks".to_owned()],
            ..template
        })
    }

    /// Tells rank 0 that the job starts, if no other node manager has to come.
    pub(crate) fn has_started(&mut self) {
        self.tell_rank_zero("-");
    }

    fn tell_rank_zero(&mut self, line: &str) {
        // If it is gone, its node manager notices.
        let _gone = rustix::io::write(&self.rank_zero, format!("{line}\n").as_bytes());
    }

    /// Waits for the node managers of all nodes but the first.
    pub(crate) fn await_node_managers(
        &mut self,
        hosts: &Hosts,
        limits: Limits<'_>,
    ) -> anyhow::Result<Vec<ManagerHandle>> {
        let address = match (&hosts.interface, &hosts.names) {
            (None, None) => IpAddr::from([127, 0, 0, 1]),
            (interface, _) => choose_address(interface.as_deref())?,
        };
        let listener =
            TcpListener::bind((address, 0)).context("failed to listen for node managers")?;
        listener.set_nonblocking(true)?;
        let token = token().context("the system gives no random bytes")?;
        self.tell_rank_zero(&format!("{} {token}", listener.local_addr()?));
        let mut found: Vec<Option<TcpStream>> = (1..self.counts.len()).map(|_| None).collect();
        let mut strangers: Vec<(TcpStream, Vec<u8>)> = Vec::new();
        let end = Instant::now() + PATIENCE;
        while let Some(missing) = found.iter().position(Option::is_none) {
            self.wait(&listener, &strangers, end, missing + 1, limits)?;
            let known = strangers.extract_if(.., |(stream, line)| has_line(stream, line));
            for (stream, line) in known.collect::<Vec<_>>() {
                let node = node_of(&line, &token).and_then(|node| node.checked_sub(1));
                if let Some(place @ None) = node.and_then(|node| found.get_mut(node)) {
                    *place = Some(stream);
                }
            }
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                if strangers.len() >= STRANGERS_AT_ONCE + self.counts.len() {
                    strangers.remove(0);
                }
                strangers.push((stream, Vec::new()));
            }
        }
        let managers = found.into_iter().flatten().zip(1..);
        let managers = managers.map(|(stream, node)| {
            let nodes = vec![NodeId::from_index(node)];
            let host = hosts.names.as_ref().map(|names| names[node].clone());
            ManagerHandle {
                is_elsewhere: true,
                ..ManagerHandle::new(nodes, host, Some(stream.into()))
            }
        });
        Ok(managers.collect())
    }

    fn wait(
        &self,
        listener: &TcpListener,
        strangers: &[(TcpStream, Vec<u8>)],
        end: Instant,
        missing: usize,
        limits: Limits<'_>,
    ) -> anyhow::Result<()> {
        let ranks = self.counts.iter().sum();
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!(
                "no node manager of node {missing} has come within {} s",
                PATIENCE.as_secs()
            );
        }
        let mut fds = vec![
            PollFd::from_borrowed_fd(limits.signals.fd(), PollFlags::IN),
            PollFd::new(&self.rank_zero, PollFlags::RDHUP),
            PollFd::new(listener, PollFlags::IN),
        ];
        fds.extend(
            strangers
                .iter()
                .map(|(stream, _)| PollFd::new(stream, PollFlags::IN)),
        );
        let left = Timespec::try_from(left).expect("at most PATIENCE");
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("failed to wait for node managers"),
        }
        if !fds[1].revents().is_empty() {
            bail!("rank 0 has ended before all node managers were there");
        }
        match limits.signals.next() {
            Some(signal) => Err(StartInterruption::Signal { signal, ranks }.into()),
            None => Ok(()),
        }
    }
}

/// The other launcher, which gets the exit code of the job.
#[derive(Debug)]
pub struct ForeignLauncher(OwnedFd);

impl AdoptedJob {
    /// Returns the way to tell the other launcher how the job ended.
    ///
    /// # Errors
    /// The kernel gives no descriptor.
    pub fn foreign_launcher(&self) -> anyhow::Result<ForeignLauncher> {
        Ok(ForeignLauncher(self.launcher.try_clone()?))
    }
}

/// The time that the other launcher has to read our report, which it might drop when it ends the
/// job. One that runs reads it within milliseconds.
const READ_PATIENCE: Duration = Duration::from_millis(500);

impl ForeignLauncher {
    /// Prints the last lines of a report on standard error, and waits until it has read them, if
    /// that is a pipe to it.
    pub fn print(&self, lines: &str) {
        eprintln!("{lines}");
        let end = Instant::now() + READ_PATIENCE;
        // No event says that a pipe is empty.
        let moment = Timespec::try_from(Duration::from_millis(1)).expect("a millisecond");
        let is_full =
            || rustix::io::ioctl_fionread(rustix::stdio::stderr()).is_ok_and(|left| left > 0);
        while is_full() && Instant::now() < end {
            let _nothing = poll(&mut [], Some(&moment));
        }
    }

    /// Tells it to end the job with this exit code.
    pub fn abort(&self, code: u8) {
        let line = format!("cmd=abort exitcode={code}\n");
        // If it is gone, its ranks end, too.
        let _gone = rustix::io::write(&self.0, line.as_bytes());
    }
}

/// Makes a random token, in hexadecimal digits.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads the first line of a connection. Returns whether it is whole, or will never be. The bytes
/// after it are the node manager's, which sends none before we answer.
fn has_line(stream: &mut TcpStream, line: &mut Vec<u8>) -> bool {
    let mut byte = [0];
    while line.len() < HELLO_BYTES {
        match stream.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => return true,
            Ok(1) => line.push(byte[0]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    // It is no node manager of this job.
    line.clear();
    true
}

/// Returns the node that a first line names, if it has the token.
fn node_of(line: &[u8], token: &str) -> Option<usize> {
    let (said, node) = line.split_at_checked(token.len())?;
    // The time must not depend on how much of it is right.
    let pairs = said.iter().zip(token.as_bytes());
    let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
    if difference != 0 {
        return None;
    }
    std::str::from_utf8(node)
        .ok()?
        .strip_prefix(' ')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_the_token_is_accepted() {
        let token = token().unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        let line =
            |token: &str, rest: &str| node_of(format!("{token}{rest}").as_bytes(), &token_of());
        fn token_of() -> String {
            "ab".repeat(TOKEN_BYTES)
        }
        assert_eq!(line(&token_of(), " 3"), Some(3));
        assert_eq!(line(&token_of(), "3"), None);
        assert_eq!(line(&token_of(), " x"), None);
        assert_eq!(line(&token, " 3"), None);
        assert_eq!(node_of(b"", &token), None);
    }

    #[test]
    fn a_first_line_is_read_and_nothing_behind_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = Vec::new();
        sender.write_all(b"hello 1\nrest").unwrap();
        assert!(has_line(&mut stream, &mut line));
        assert_eq!(line, b"hello 1");
        let mut rest = [0; 4];
        stream.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"rest");
        sender.write_all(&[b'x'; 2 * HELLO_BYTES]).unwrap();
        line.clear();
        assert!(has_line(&mut stream, &mut line) && line.is_empty());
    }
}

//! Starts the processes of an agent's children: with inherited memory on one machine, by the
//! launcher's command on another host.

use crate::job_memory::SharedJobMemory;
use crate::roles::FAR_ROLE;
use crate::spawn::{Image, Setup, SpawnError, SpawnedProcess, Spawner};
use crate::subtree::{AgentStart, HOST, Subtree};
use rustix::fs::{Access, Mode, OFlags, access};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// A child that was just started.
#[derive(Debug)]
pub(crate) struct StartedAgent {
    pub(crate) process: SpawnedProcess,
    /// Our end of its link.
    pub(crate) link: OwnedFd,
    /// The standard error of the command that starts it on another host.
    pub(crate) standard_error: Option<OwnedFd>,
}

/// The descriptors and words that children get from this process.
#[derive(Debug)]
enum Inheritance {
    /// Descriptors: the machine page, the segment, and the standard input for the child that leads
    /// to its reader.
    Memory {
        page: OwnedFd,
        segment: OwnedFd,
        input: OwnedFd,
        reader: Option<u32>,
    },
    /// Nothing but their link. The words of the command for other hosts.
    Link(Vec<String>),
}

/// A starter of children. It holds what they inherit, so it is dropped after the last one.
#[derive(Debug)]
pub(crate) struct AgentStarter {
    spawner: Spawner,
    inheritance: Inheritance,
    null: OwnedFd,
    own_host: Option<String>,
}

impl AgentStarter {
    /// Makes one for an agent with this message.
    ///
    /// # Errors
    /// The kernel gives no descriptor, or (EINVAL) the agent has no memory to pass on.
    pub(crate) fn new(subtree: &Subtree, memory: Option<&SharedJobMemory>) -> Result<Self, Errno> {
        let dup = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, 3);
        let inheritance = match &subtree.start {
            AgentStart::Inherit { reader } => {
                let memory = memory.ok_or(Errno::INVAL)?;
                Inheritance::Memory {
                    page: dup(memory.page.as_fd())?,
                    segment: dup(memory.segment.as_fd())?,
                    input: dup(rustix::stdio::stdin())?,
                    reader: *reader,
                }
            }
            AgentStart::Command { words } => Inheritance::Link(words.clone()),
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        Ok(Self {
            spawner: Spawner::default(),
            inheritance,
            null: rustix::fs::open("/dev/null", flags, Mode::empty())?,
            own_host: subtree.hosts.first().cloned().flatten(),
        })
    }

    /// Starts the first of these parties, which is on this host.
    ///
    /// # Errors
    /// The reason, for the user.
    pub(crate) fn start(
        &mut self,
        parties: &Range<u32>,
        host: Option<&str>,
    ) -> Result<StartedAgent, String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |errno: Errno| format!("{what}: {errno}")
        };
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let (link, theirs) = pair.map_err(failed("failed to make a link"))?;
        let null = self.null.as_fd();
        let variables = &[c"BCS_SLOT="];
        let setup = Setup {
            standard: [null, null, rustix::stdio::stderr()],
            inherited: &[],
            dies_with_parent: false,
            open_files: None,
            cores: &[],
            variables,
        };
        let spawn_error = |error: SpawnError| error.to_string();
        let (process, standard_error) = match &self.inheritance {
            Inheritance::Memory {
                page,
                segment,
                input,
                reader,
            } => {
                let words = ["bcs", "node-manager"];
                let image = Image::new("/proc/self/exe".as_ref(), &words, [], None);
                let reads = reader.is_some_and(|reader| parties.contains(&reader));
                let stdin = if reads { input.as_fd() } else { null };
                let setup = Setup {
                    standard: [stdin, null, rustix::stdio::stderr()],
                    inherited: &[theirs.as_fd(), page.as_fd(), segment.as_fd()],
                    ..setup
                };
                let image = image.map_err(spawn_error)?;
                let started = self.spawner.spawn(&image, &setup);
                (started.map_err(spawn_error)?, None)
            }
            Inheritance::Link(_) if host == self.own_host.as_deref() => {
                let own = rustix::process::getpid().as_raw_nonzero().to_string();
                let words = ["bcs", FAR_ROLE, &own];
                let image = Image::new("/proc/self/exe".as_ref(), &words, [], None);
                let setup = Setup {
                    standard: [theirs.as_fd(), theirs.as_fd(), rustix::stdio::stderr()],
                    ..setup
                };
                let image = image.map_err(spawn_error)?;
                let started = self.spawner.spawn(&image, &setup);
                (started.map_err(spawn_error)?, None)
            }
            Inheritance::Link(words) => {
                let words = words.iter();
                let words = words.map(|word| word.replace(HOST, host.unwrap_or_default()));
                let words: Vec<String> = words.collect();
                let program = find_program(&words[0])
                    .ok_or_else(|| format!("there is no program {} on its host", words[0]))?;
                let image = Image::new(&program, &words, [], None).map_err(spawn_error)?;
                let pipe = pipe_with(PipeFlags::CLOEXEC);
                let (ours, stderr) = pipe.map_err(failed("failed to make a pipe"))?;
                let setup = Setup {
                    standard: [theirs.as_fd(), theirs.as_fd(), stderr.as_fd()],
                    // As in the launcher: an ssh that waits for a host does not notice our end.
                    dies_with_parent: true,
                    ..setup
                };
                let started = self.spawner.spawn(&image, &setup);
                (started.map_err(spawn_error)?, Some(ours))
            }
        };
        Ok(StartedAgent {
            process,
            link,
            standard_error,
        })
    }
}

/// Finds a program on this host, as a shell does.
fn find_program(name: &str) -> Option<OsString> {
    if name.contains('/') {
        return Some(name.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    let runs = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    files.find(|file| runs(file)).map(OsString::from)
}

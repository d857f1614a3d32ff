//! Starting a process: clone as a vfork, a few calls in the child, execve.
//!
//! `std::process::Command` must fork when it has anything to do in the child, and a rank must
//! request in the child to be killed with its node manager. Fork copies page tables and then faults
//! on every page it writes. A clone that borrows the parent's memory until execve does neither, and
//! needs no pipe to report an execve that failed. Measured by `spawning_costs` below (2 cores,
//! release, 16 MiB of touched memory, spawn to exit of /bin/true): 0.6 ms, against 1.15 ms for the
//! same code as a fork and 1.2 ms for `Command` with a `pre_exec`. So there is no need for a
//! trampoline that would make the request for a foreign program, and cost a second execve.
//!
//! Between clone and execve the child runs in the parent's memory, with the parent suspended. It
//! makes only system calls; it does not allocate, lock, unwind or keep state.
#![expect(
    unsafe_code,
    reason = "clone, and the calls of a child that borrows its parent's memory"
)]

use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The first descriptor after the standard ones: where [`Setup::inherited`] begins.
const FIRST_INHERITED: RawFd = 3;

/// Stack of the child until execve. Its few frames take some hundred bytes.
const STACK_BYTES: usize = 64 << 10;

/// A process could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {errno}")]
pub struct SpawnError {
    /// The system call that failed.
    pub step: &'static str,
    /// The kernel's error.
    pub errno: Errno,
}

/// A program, its arguments, its environment and its directory, as system calls take them. Made
/// once for many ranks.
#[derive(Debug)]
pub struct Image {
    path: CString,
    directory: Option<CString>,
    // The strings that the pointers below point to: arguments, then variables.
    strings: Vec<CString>,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl Image {
    /// Makes the image of a file, the arguments (the name first), and this process's environment
    /// with some variables set; of two with one name the later counts. It runs in this process's
    /// directory or another.
    ///
    /// # Errors
    /// EINVAL when a string contains a NUL byte.
    pub fn new(
        path: &OsStr,
        arguments: &[impl AsRef<OsStr>],
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        directory: Option<&Path>,
    ) -> Result<Self, SpawnError> {
        let nul = |_| SpawnError {
            step: "an argument contains a NUL byte",
            errno: Errno::INVAL,
        };
        let mut strings = Vec::new();
        for argument in arguments {
            strings.push(CString::new(argument.as_ref().as_bytes()).map_err(nul)?);
        }
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        environment.extend(variables);
        for (name, value) in environment {
            let pair = [name.as_bytes(), b"=", value.as_bytes()].concat();
            strings.push(CString::new(pair).map_err(nul)?);
        }
        let directory = directory.map(|path| CString::new(path.as_os_str().as_bytes()));
        let pointers = |strings: &[CString]| {
            strings
                .iter()
                .map(|s| s.as_ptr())
                .chain([std::ptr::null()])
                .collect()
        };
        let (first, rest) = strings.split_at(arguments.len());
        Ok(Self {
            path: CString::new(path.as_bytes()).map_err(nul)?,
            directory: directory.transpose().map_err(nul)?,
            arguments: pointers(first),
            environment: pointers(rest),
            strings,
        })
    }

    /// Returns the environment for `execve`, with some more variables.
    fn environment_with(&self, variables: &[&CStr]) -> Vec<*const c_char> {
        if variables.is_empty() {
            return self.environment.clone();
        }
        let name = |pair: &CStr| {
            let bytes = pair.to_bytes();
            let end = bytes.iter().position(|&byte| byte == b'=');
            bytes[..end.unwrap_or(bytes.len())].to_vec()
        };
        let added: Vec<Vec<u8>> = variables.iter().map(|variable| name(variable)).collect();
        let own = self.strings[self.arguments.len() - 1..].iter();
        let others = own.filter(|pair| !added.contains(&name(pair)));
        let pointers = others.map(|pair| pair.as_ptr());
        let more = variables.iter().map(|variable| variable.as_ptr());
        pointers.chain(more).chain([std::ptr::null()]).collect()
    }
}

/// The differences between children.
#[derive(Debug)]
pub struct Setup<'a> {
    /// Standard input, output and error.
    pub standard: [BorrowedFd<'a>; 3],
    /// Become descriptors 3, 4, ... of the child; at most eight.
    pub inherited: &'a [BorrowedFd<'a>],
    /// Whether the child gets SIGKILL when this OS thread ends.
    pub dies_with_parent: bool,
    /// The limit of open files (soft, hard), if this process has raised its own.
    pub open_files: Option<(u64, u64)>,
    /// The cores it may use; if empty, all of this thread's.
    pub cores: &'a [usize],
    /// Variables (`NAME=value`), which replace those of their names in the image.
    pub variables: &'a [&'a CStr],
}

/// A started process.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// Its id, which is also that of its process group.
    pub pid: Pid,
    /// Its pidfd.
    pub pidfd: OwnedFd,
}

/// A starter of processes.
#[derive(Debug)]
pub struct Spawner {
    stack: Vec<u128>,
    borrow_memory: bool,
}

/// The data that parent and child share during a spawn.
struct SpawnTask<'a> {
    image: &'a Image,
    environment: Vec<*const c_char>,
    standard: [RawFd; 3],
    inherited: [RawFd; 8],
    inherited_count: usize,
    parent: Option<c_int>,
    open_files: Option<libc::rlimit>,
    cores: Option<libc::cpu_set_t>,
    failure: Option<(&'static str, c_int)>,
}

impl Default for Spawner {
    fn default() -> Self {
        Self {
            stack: vec![0; STACK_BYTES / size_of::<u128>()],
            borrow_memory: true,
        }
    }
}

impl Spawner {
    /// Starts a process in a process group of its own, with all signals unblocked, and SIGPIPE and
    /// SIGXFSZ at their defaults. The child dies with the calling OS thread.
    ///
    /// # Errors
    /// [`SpawnError`]; no child is left then.
    pub fn spawn(
        &mut self,
        image: &Image,
        setup: &Setup<'_>,
    ) -> Result<SpawnedProcess, SpawnError> {
        let mut errand = SpawnTask {
            image,
            environment: image.environment_with(setup.variables),
            standard: setup.standard.map(|fd| fd.as_raw_fd()),
            inherited: [-1; 8],
            inherited_count: setup.inherited.len(),
            parent: setup
                .dies_with_parent
                .then(|| rustix::process::getpid().as_raw_nonzero().get()),
            open_files: setup.open_files.map(|(soft, hard)| libc::rlimit {
                rlim_cur: soft,
                rlim_max: hard,
            }),
            cores: (!setup.cores.is_empty()).then(|| set_of(setup.cores)),
            failure: None,
        };
        for (to, from) in errand.inherited[..setup.inherited.len()]
            .iter_mut()
            .zip(setup.inherited)
        {
            *to = from.as_raw_fd();
        }
        let (pid, pidfd) = self.clone(&mut errand)?;
        if let Some((step, errno)) = errand.failure {
            // The child has exited: collect it, so that a failed spawn leaves no zombie.
            let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            return Err(SpawnError {
                step,
                errno: Errno::from_raw_os_error(errno),
            });
        }
        Ok(SpawnedProcess { pid, pidfd })
    }

    fn clone(&mut self, errand: &mut SpawnTask<'_>) -> Result<(Pid, OwnedFd), SpawnError> {
        let mut pidfd: c_int = -1;
        let sharing = if self.borrow_memory {
            libc::CLONE_VM | libc::CLONE_VFORK
        } else {
            0
        };
        let flags = sharing | libc::CLONE_PIDFD | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end;
        // SAFETY: the stack is ours, aligned, large enough for the child's few frames, and used by
        // one child at a time because the parent is suspended until execve. The task and `pidfd`
        // outlive that.
        let pid = unsafe {
            libc::clone(
                child,
                top.cast(),
                flags,
                std::ptr::from_mut(errand).cast(),
                &raw mut pidfd,
            )
        };
        // An id below 0 is no process, and must not be used.
        let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
            let errno = std::io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EAGAIN);
            return Err(SpawnError {
                step: "clone",
                errno: Errno::from_raw_os_error(errno),
            });
        };
        // SAFETY: CLONE_PIDFD has put a fresh descriptor there that nobody else owns.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Ok((pid, pidfd))
    }
}

/// Makes the set of some cores, which the kernel has named.
fn set_of(cores: &[usize]) -> libc::cpu_set_t {
    // SAFETY: an array of integers, for which zeroes are valid: no core.
    let mut set = unsafe { std::mem::zeroed() };
    for &core in cores {
        // SAFETY: the set is initialised, and the call checks the bound.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    set
}

/// Runs in the child, up to execve.
extern "C" fn child(errand: *mut c_void) -> c_int {
    // SAFETY: the parent lends its task for as long as it is suspended, which is until execve or
    // exit; so this is the only reference in use.
    let errand = unsafe { &mut *errand.cast::<SpawnTask<'_>>() };
    let step = prepare(errand);
    errand.failure = Some((step, errno()));
    // SAFETY: ends only the child, without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

fn errno() -> c_int {
    // SAFETY: the address is that of this thread's errno, which parent and child share.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: valid as long as the thread lives.
    unsafe { *errno }
}

/// Prepares the child and calls execve. Returns only on failure, with the step that failed.
fn prepare(errand: &SpawnTask<'_>) -> &'static str {
    // SAFETY: async-signal-safe, and affects only the child itself.
    if unsafe { libc::setpgid(0, 0) } < 0 {
        return "setpgid";
    }
    if let Some(parent) = errand.parent {
        // SAFETY: as above.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
            return "prctl(PR_SET_PDEATHSIG)";
        }
        // A parent that died before the call above sends no signal any more.
        //
        // SAFETY: as above.
        if unsafe { libc::getppid() } != parent {
            return "its node manager is gone";
        }
    }
    if !place_descriptors(errand) {
        return "dup";
    }
    if let Some(limit) = &errand.open_files {
        // SAFETY: as above; the limit is a valid structure.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) };
    }
    if let Some(set) = &errand.cores {
        // SAFETY: as above; the set is a valid structure.
        if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } < 0 {
            return "sched_setaffinity";
        }
    }
    if let Some(directory) = &errand.image.directory {
        // SAFETY: as above; a NUL-terminated string in the suspended parent.
        if unsafe { libc::chdir(directory.as_ptr()) } < 0 {
            return "chdir";
        }
    }
    reset_signals();
    bcs_core::wake::scheduling::prefer_short_slices();
    // SAFETY: path, arguments and environment are NUL-terminated strings, the latter two in
    // arrays that end with a null pointer; they live in the suspended parent.
    unsafe {
        libc::execve(
            errand.image.path.as_ptr(),
            errand.image.arguments.as_ptr(),
            errand.environment.as_ptr(),
        )
    };
    "execve"
}

/// Resets signals for the program. Rust ignores SIGPIPE, `bcs` ignores SIGXFSZ, and its parent may
/// block signals; programs expect none of that.
fn reset_signals() {
    for ignored in [libc::SIGPIPE, libc::SIGXFSZ] {
        // SAFETY: signal dispositions are the child's own (no CLONE_SIGHAND).
        unsafe { libc::signal(ignored, libc::SIG_DFL) };
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set it is given.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: the set is initialised; the mask is the child's own.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
}

/// Puts descriptors in their places, without FD_CLOEXEC.
fn place_descriptors(errand: &SpawnTask<'_>) -> bool {
    let count = errand.inherited_count;
    let end = FIRST_INHERITED + RawFd::try_from(count).unwrap_or(8);
    let mut from = [-1; 11];
    from[..3].copy_from_slice(&errand.standard);
    from[3..3 + count].copy_from_slice(&errand.inherited[..count]);
    // First move them out of the places to be filled, then into these.
    for fd in &mut from[..3 + count] {
        if *fd < end {
            // SAFETY: duplicates a descriptor in the child's own table.
            *fd = unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, end) };
        }
        if *fd < 0 {
            return false;
        }
    }
    (0..end).zip(&from).all(|(place, &fd)| {
        // SAFETY: as above.
        unsafe { libc::dup2(fd, place) >= 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn null() -> OwnedFd {
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()).unwrap()
    }

    fn run(spawner: &mut Spawner, image: &Image) -> Result<Option<i32>, SpawnError> {
        let null = null();
        let setup = Setup {
            standard: [null.as_fd(); 3],
            inherited: &[],
            dies_with_parent: true,
            open_files: None,
            cores: &[],
            variables: &[],
        };
        let child = spawner.spawn(image, &setup)?;
        let status =
            rustix::process::waitpid(Some(child.pid), rustix::process::WaitOptions::empty());
        Ok(status.unwrap().and_then(|(_, status)| status.exit_status()))
    }

    #[test]
    fn arguments_variable_and_descriptors_reach_the_child() {
        let script = r#"test "$BCS_X" = 1 && read line <&3 && test "$line" = hi && exit 7"#;
        let arguments = ["sh", "-c", script];
        let image = Image::new(
            "/bin/sh".as_ref(),
            &arguments,
            [("BCS_X".into(), "1".into())],
            None,
        )
        .unwrap();
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        rustix::io::write(&writer, b"hi\n").unwrap();
        let null = null();
        let setup = Setup {
            standard: [null.as_fd(); 3],
            inherited: &[reader.as_fd()],
            dies_with_parent: true,
            open_files: None,
            cores: &[],
            variables: &[],
        };
        let child = Spawner::default().spawn(&image, &setup).unwrap();
        let status =
            rustix::process::waitpid(Some(child.pid), rustix::process::WaitOptions::empty());
        assert_eq!(status.unwrap().unwrap().1.exit_status(), Some(7));
    }

    #[test]
    fn an_execve_that_fails_is_told_and_leaves_no_zombie() {
        let image = Image::new("/nowhere/at/all".as_ref(), &["x"], [], None).unwrap();
        let error = run(&mut Spawner::default(), &image).unwrap_err();
        assert_eq!(
            error,
            SpawnError {
                step: "execve",
                errno: Errno::NOENT
            }
        );
    }

    /// `cargo test --release -p node-manager spawning_costs -- --ignored --nocapture`
    #[test]
    #[ignore = "a measurement"]
    fn spawning_costs() {
        use std::os::unix::process::CommandExt;
        let image = Image::new("/bin/true".as_ref(), &["true"], [], None).unwrap();
        let ballast = vec![1_u8; 16 << 20];
        let time = |what: &str, mut spawn: Box<dyn FnMut() + '_>| {
            let start = std::time::Instant::now();
            (0..500).for_each(|_| spawn());
            println!(
                "{what}: {:?} a process, until it has exited",
                start.elapsed() / 500
            );
        };
        for _ in 0..3 {
            let mut spawner = Spawner::default();
            time("clone as vfork", Box::new(|| _ = run(&mut spawner, &image)));
            let mut plain = Spawner {
                borrow_memory: false,
                ..Spawner::default()
            };
            time("clone as fork", Box::new(|| _ = run(&mut plain, &image)));
            time(
                "Command with pre_exec",
                Box::new(|| {
                    let mut command = std::process::Command::new("/bin/true");
                    let die_with_parent = || {
                        let kill = Some(rustix::process::Signal::KILL);
                        Ok(rustix::process::set_parent_process_death_signal(kill)?)
                    };
                    // SAFETY: a single system call.
                    unsafe { command.pre_exec(die_with_parent) };
                    command.status().unwrap();
                }),
            );
        }
        assert_eq!(ballast[5], 1);
    }
}

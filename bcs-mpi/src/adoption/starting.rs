//! Starts the command `bcs` in roles of its own: a launcher without ranks, and a node manager.
#![expect(
    unsafe_code,
    reason = "finds the file of this library, and lets a child inherit descriptors"
)]

use super::error::{AdoptionError, COMMAND_VARIABLE, kernel};
use super::layout::Layout;
use super::pmi_client::PmiClient;
use super::rank_listener::RankListener;
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::{CStr, OsStr};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders of the command, seen from that of the library or of the program.
const BESIDE: [&str; 5] = ["../bin", "../../bin", ".", "..", "../.."];

/// The longest line of the launcher: an address and a token.
const LONGEST_LINE: u64 = 512;

/// Starts the launcher, in rank 0. Returns where the node managers of other nodes find it, and the
/// channel to it.
pub(super) fn start_launcher(
    rank_listener: &RankListener,
    pmi: &PmiClient,
    layout: &Layout,
) -> Result<(String, UnixStream), AdoptionError> {
    let flags = SocketFlags::CLOEXEC;
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (ours, theirs) = pair.map_err(kernel("make a socket"))?;
    let inherited = [
        theirs.as_raw_fd(),
        rank_listener.0.as_raw_fd(),
        pmi.fd().as_raw_fd(),
    ];
    let path = find()?;
    let mut command = Command::new(&path);
    command.arg("adopt-job");
    command.args(inherited.map(|number| number.to_string()));
    command.arg(layout.counts()).arg(layout.names());
    command.arg(std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    start(command, &path, inherited.to_vec())?;
    drop(theirs);
    let mut line = String::new();
    let ours = UnixStream::from(ours);
    let read = BufReader::new((&ours).take(LONGEST_LINE)).read_line(&mut line);
    let failed = |reason: String| AdoptionError::Command {
        command: path.display().to_string(),
        reason,
    };
    match read {
        Ok(_) if line.ends_with('\n') => Ok((line.trim_end().to_owned(), ours)),
        Ok(_) => Err(failed("it has ended, and says why".to_owned())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Starts the node manager of a node that is not the first, connected to the launcher.
pub(super) fn start_node_manager(
    rank_listener: &RankListener,
    node: usize,
    launcher: &str,
) -> Result<(), AdoptionError> {
    let path = find()?;
    let failed = |reason: String| AdoptionError::Command {
        command: path.display().to_string(),
        reason: format!(
            "its launcher at {} is not reached: {reason}",
            launcher.split('/').next().unwrap_or_default()
        ),
    };
    let (address, token) = launcher
        .split_once('/')
        .ok_or_else(|| failed("it gives no address".to_owned()))?;
    let mut stream = TcpStream::connect(address).map_err(|error| failed(error.to_string()))?;
    let hello = format!("{token} {node}\n");
    let connected = stream
        .set_nodelay(true)
        .and_then(|()| stream.write_all(hello.as_bytes()))
        .and_then(|()| stream.try_clone());
    let input = connected.map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(&path);
    let number = rank_listener.0.as_raw_fd();
    command.arg("adopt-node").arg(number.to_string());
    command
        .stdin(OwnedFd::from(input))
        .stdout(OwnedFd::from(stream));
    start(command, &path, vec![number])
}

/// Runs a command that inherits these descriptors, and ends at once.
fn start(mut command: Command, path: &Path, inherited: Vec<RawFd>) -> Result<(), AdoptionError> {
    let inherit = move || {
        for &number in &inherited {
            // SAFETY: it is open in the parent, and so in this copy of it, for as long as `start`
            // runs.
            let fd = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(inherit) };
    let failed = |reason: String| AdoptionError::Command {
        command: path.display().to_string(),
        reason,
    };
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("{status}"))),
        // The program does not want to know how its children end.
        Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Finds the command.
fn find() -> Result<PathBuf, AdoptionError> {
    if let Some(path) = std::env::var_os(COMMAND_VARIABLE) {
        return Ok(path.into());
    }
    let library = library();
    let folder = library.parent().unwrap_or(Path::new(""));
    let beside = BESIDE.iter().map(|place| folder.join(place));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.chain(std::env::split_paths(&path));
    let mut commands = folders.map(|folder| folder.join("bcs"));
    commands
        .find(|command| {
            rustix::fs::access(command, rustix::fs::Access::EXEC_OK).is_ok() && command.is_file()
        })
        .ok_or_else(|| AdoptionError::NoCommand {
            beside: folder.display().to_string(),
        })
}

/// Returns the file of this library: a shared one, or the program.
fn library() -> PathBuf {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let place: *const () = library as fn() -> PathBuf as *const ();
    // SAFETY: any address may be asked for, and the result is a valid structure.
    let is_known = unsafe { libc::dladdr(place.cast(), found.as_mut_ptr()) } != 0;
    // SAFETY: zeroes are valid for it, and `dladdr` has written valid pointers if it was found.
    let found = unsafe { found.assume_init() };
    let program = || std::env::current_exe().unwrap_or_default();
    if !is_known || found.dli_fname.is_null() {
        return program();
    }
    // SAFETY: the name is a string that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    // If that is the program, the name is the word that was typed.
    std::fs::canonicalize(path)
        .ok()
        .filter(|path| path.is_file())
        .unwrap_or_else(program)
}

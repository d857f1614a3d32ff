//! The name of a job's socket: `bcs-mpi/USER/JOB`, in the abstract namespace. A job's id ends with
//! the process of its `bcs run`.

use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use std::fmt;

const PREFIX: &str = "bcs-mpi";

/// The longest id of a job: a time and a process.
const MAX_ID: usize = 32;

/// The name of a job's socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobName {
    /// The user of `bcs run`.
    pub user: u32,
    /// The job's id.
    pub id: String,
    /// The process of `bcs run`.
    pub pid: i32,
}

impl JobName {
    /// Makes the name of a user's job; returns `None` if no job has such an id.
    #[must_use]
    pub fn new(user: u32, id: &str) -> Option<Self> {
        let (time, pid) = id.rsplit_once('-')?;
        let is_time = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_pid = pid.bytes().all(|byte| byte.is_ascii_digit());
        let pid: i32 = pid.parse().ok()?;
        let is_id = is_time && is_pid && pid > 0 && id.len() <= MAX_ID;
        is_id.then(|| Self {
            user,
            id: id.to_owned(),
            pid,
        })
    }

    /// Returns the address of its socket.
    ///
    /// # Errors
    /// None that is known: names are short.
    pub fn address(&self) -> Result<SocketAddrUnix, Errno> {
        let name = format!("{PREFIX}/{}/{}", self.user, self.id);
        SocketAddrUnix::new_abstract_name(name.as_bytes())
    }

    /// Returns whether a user means this job: by its id, or by the process of `bcs run`.
    #[must_use]
    pub fn is(&self, called: &str) -> bool {
        called == self.id || called.parse() == Ok(self.pid)
    }

    fn parse(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('@')?.split('/');
        let (prefix, user, id) = (parts.next()?, parts.next()?, parts.next()?);
        let is_name = prefix == PREFIX && parts.next().is_none();
        Self::new(user.parse().ok()?, id).filter(|_| is_name)
    }

    /// Returns the names in `/proc/net/unix` of sockets with a listener. Others can make such a
    /// name, too.
    #[must_use]
    pub fn listed(table: &str) -> Vec<Self> {
        let name = |line: &str| {
            // Num RefCount Protocol Flags Type St Inode Path
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            match fields[..] {
                [_, _, _, LISTENS, _, _, _, path] => Self::parse(path),
                _ => None,
            }
        };
        let mut names: Vec<Self> = table.lines().filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The flag of a listening socket, alone.
const LISTENS: &str = "00010000";

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.id, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_called_by_its_id_or_its_process() {
        let name = JobName::new(1000, "18f3a2b4c5d-4242").unwrap();
        assert_eq!(name.pid, 4242);
        assert!(name.is("18f3a2b4c5d-4242") && name.is("4242"));
        assert!(!name.is("424") && !name.is("18f3a2b4c5d") && !name.is(""));
        for none in [
            "",
            "-",
            "4242",
            "x-1",
            "1-0",
            "1--1",
            "1-+1",
            "1-99999999999",
        ] {
            assert_eq!(JobName::new(0, none), None, "{none}");
        }
        assert_eq!(JobName::new(0, &format!("{}-1", "a".repeat(31))), None);
    }

    #[test]
    fn jobs_are_found_among_all_sockets() {
        let table = "\
Num       RefCount Protocol Flags    Type St Inode Path
000000007a125fe1: 00000003 00000000 00000000 0001 03 10772860
000000007a125fe2: 00000002 00000000 00010000 0001 01 10772861 @bcs-mpi/0/1a-7
000000007a125fe3: 00000003 00000000 00000000 0001 03 10772862 @bcs-mpi/0/1a-7
000000007a125fe4: 00000002 00000000 00010000 0001 01 10772863 /run/bcs-mpi/0/1a-8
000000007a125fe5: 00000002 00000000 00010000 0001 01 10772864 @bcs-mpi/1000/1b-9
000000007a125fe6: 00000002 00000000 00010000 0001 01 10772865 @bcs-mpi/1000/1b-9/x
000000007a125fe7: 00000002 00000000 00010000 0001 01 10772866 @bcs-mpi/-1/1b-9
000000007a125fe8: 00000002 00000000 00010000 0001 01 10772867 @bcs-mpi/0/1a-7 @bcs-mpi/0/1a-6
rubbish
";
        let names = [JobName::new(0, "1a-7"), JobName::new(1000, "1b-9")];
        assert_eq!(JobName::listed(table), names.map(Option::unwrap));
    }
}

//! Advice for shortages that the kernel reports.

use crate::limits::DESCRIPTORS_PER_RANK;
use rustix::io::Errno;

/// Returns the rest of a sentence that ends with this error of the kernel.
pub(crate) fn advice(errno: Errno) -> String {
    match errno {
        Errno::MFILE => format!(
            "; a node manager has up to {DESCRIPTORS_PER_RANK} open files for each of its ranks: raise the \
             hard limit (ulimit -Hn), or give each node a node manager (--nic-threads coprocessor)"
        ),
        Errno::NFILE => "; the machine allows no more open files (fs.file-max)".to_owned(),
        Errno::AGAIN => "; no more processes and threads are allowed: see ulimit -u, and pids.max of the \
                         control group (of the container)"
            .to_owned(),
        Errno::NOMEM => {
            "; see ulimit -v, vm.max_map_count, and memory.max of the control group (of the container)"
                .to_owned()
        }
        _ => String::new(),
    }
}

//! Examines what this machine allows, and what the runtime does as a result.

use crate::cores::ranges;
use crate::quantities::date;
use bcs_core::job::{Cores, NicThreading, Placement};
use bcs_core::limits::{MAX_RANKS_PER_NODE, MAX_SLOTS};
use bcs_core::memory::OwnSlot;
use bcs_core::wake::profile::RelativeTime;
use bcs_core::wake::scheduling;
use bcs_fabric::shm::{ProcessMemoryAccess, probe_process_memory};
use bcs_nic::driver::{ThreadPlacement, place_os_threads};
use node_manager::limits::{DESCRIPTORS_PER_RANK, OWN_DESCRIPTORS};
use node_manager::machine_profile::{self, Measurement, WaitCosts};
use rustix::fs::MemfdFlags;
use rustix::process::{Resource, getrlimit};
use std::fmt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The help text for the user.
pub const HELP: &str = "\
Say what this machine allows, and what the runtime will do therefore.

Each line begins with ok, with slow (it works, but not as well as it could), or with bad (it will \
not work). The exit code is 1 when a line is bad.";

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// As it should.
    Ok,
    /// Less well than it could.
    Slow,
    /// Not at all.
    Bad,
}

/// A finding about this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// Its subject.
    pub what: &'static str,
    /// How well it works.
    pub health: Health,
    /// The finding, and the reaction of the runtime to it.
    pub found: String,
}

impl fmt::Display for DoctorFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let health = match self.health {
            Health::Ok => "ok",
            Health::Slow => "slow",
            Health::Bad => "bad",
        };
        write!(f, "{health:<4}  {:<18} {}", self.what, self.found)
    }
}

/// Examines everything. For the OS threads of NICs it uses this driver, or the one that a job would
/// have. Takes some hundred slices, because it tries timers.
#[must_use]
pub fn examine(
    time_slice: Duration,
    driver: Option<NicThreading>,
    cores: &Cores,
) -> Vec<DoctorFinding> {
    vec![
        look_at_cores(cores),
        look_at_nic_threads(driver, cores),
        look_at_process_memory(),
        look_at_memfd(),
        look_at_slots(),
        look_at_slices(),
        look_at_real_time(),
        look_at_timers(time_slice),
        look_at_open_files(),
        look_at_locked_memory(),
        look_at_shared_memory(),
        look_at_bandwidth(),
        look_at_waiting(),
    ]
}

fn look_at_cores(cores: &Cores) -> DoctorFinding {
    let (allowed, usable) = (&cores.allowed, cores.usable);
    let driver = |ranks| NicThreading::for_cores(usable, ranks, 1).name();
    let (health, advice) = if allowed.is_empty() {
        (
            Health::Slow,
            "; the kernel does not say which, so --bind core is refused",
        )
    } else if usable < 2 {
        (Health::Slow, "; ranks and NIC take turns on it")
    } else {
        (Health::Ok, "")
    };
    DoctorFinding {
        what: "cores",
        health,
        found: format!(
            "{usable} can be busy at once, allowed are {}; --nic-threads is {} for 2 ranks and {} \
             for {usable}{advice}",
            ranges(allowed),
            driver(2),
            driver(usable),
        ),
    }
}

/// The number of ranks of the job whose NIC threads are placed.
const TRIED_RANKS: usize = 2;

fn look_at_nic_threads(driver: Option<NicThreading>, cores: &Cores) -> DoctorFinding {
    let driver = driver.unwrap_or_else(|| NicThreading::for_cores(cores.usable, TRIED_RANKS, 1));
    let placement = Placement::block(TRIED_RANKS, 1).expect("two ranks fit on a node");
    let nics = place_os_threads(driver, &placement, cores);
    let where_each = |nic: &ThreadPlacement| match nic.core {
        Ok(core) => format!("{} on core {core}", nic.name),
        Err(_) => nic.name.clone(),
    };
    let threads: Vec<String> = nics.iter().map(where_each).collect();
    let (health, pinned) = match nics.iter().find_map(|nic| nic.core.err()) {
        None => (Health::Ok, "pinned".to_owned()),
        Some(why) => (Health::Slow, format!("not pinned ({why})")),
    };
    DoctorFinding {
        what: "NIC threads",
        health,
        found: format!(
            "{pinned} for {TRIED_RANKS} ranks on a node with --nic-threads {}: {}",
            driver.name(),
            threads.join(", ")
        ),
    }
}

/// Tries it on a child, which waits for an input that never comes.
fn look_at_process_memory() -> DoctorFinding {
    let what = "process_vm_readv";
    let mut cat = Command::new("cat");
    cat.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = match cat.spawn() {
        Ok(child) => child,
        Err(error) => {
            return DoctorFinding {
                what,
                health: Health::Slow,
                found: format!("could not be tried: cat cannot be started ({error})"),
            };
        }
    };
    let tried = try_process_memory(child.id());
    drop(child.stdin.take());
    let _ = child.wait();
    let (health, found) = match tried {
        Ok(ProcessMemoryAccess::Calls) => (
            Health::Ok,
            "allowed: the NIC has the kernel copy messages that do not lie in slots".into(),
        ),
        Ok(ProcessMemoryAccess::File(error)) => (
            Health::Slow,
            format!(
                "refused ({error}): the NIC copies messages that do not lie in slots by \
                 /proc/PID/mem, which costs a copy more; see the container's seccomp profile"
            ),
        ),
        Err(error) => (
            Health::Bad,
            format!(
                "refused ({error}): messages of more than 64 bytes that do not lie in slots will \
                 fail; see /proc/sys/kernel/yama/ptrace_scope, or the container's seccomp profile"
            ),
        ),
    };
    DoctorFinding {
        what,
        health,
        found,
    }
}

fn try_process_memory(child: u32) -> std::io::Result<ProcessMemoryAccess> {
    let maps = std::fs::read_to_string(format!("/proc/{child}/maps"))?;
    // The first mapping is the program's own file, which can be read.
    let address = maps
        .split('-')
        .next()
        .and_then(|start| u64::from_str_radix(start, 16).ok())
        .ok_or_else(|| std::io::Error::other("a child without memory"))?;
    probe_process_memory(i32::try_from(child).unwrap_or(i32::MAX), address)
}

fn look_at_memfd() -> DoctorFinding {
    let (health, found) = match rustix::fs::memfd_create("bcs-doctor", MemfdFlags::CLOEXEC) {
        Ok(_) => (
            Health::Ok,
            "allowed: NIC memory has no name in any file system".into(),
        ),
        Err(errno) => (
            Health::Bad,
            format!("refused ({errno}): no job can be started"),
        ),
    };
    DoctorFinding {
        what: "memfd_create",
        health,
        found,
    }
}

/// Makes a slot, as a rank does, and unmaps it.
#[expect(unsafe_code, reason = "unmaps the slot that it has made")]
fn look_at_slots() -> DoctorFinding {
    let (health, found) = match OwnSlot::make(0) {
        Ok(own) => {
            // SAFETY: the line above made it, and it holds no data.
            unsafe { own.unmap() };
            let (health, pages) = match node_manager::slot_folder::make() {
                Some(_folder) => (Health::Ok, "with huge pages"),
                None => (
                    Health::Slow,
                    "without huge pages, so new memory costs more: you may mount no tmpfs here, nor in a user \
                     namespace; allow these, or, as root: echo advise > \
                     /sys/kernel/mm/transparent_hugepage/shmem_enabled",
                ),
            };
            (
                health,
                format!(
                    "can be made: ranks of a node can read and write each other's heaps, up to \
                     {MAX_SLOTS} ranks on a node, {pages}"
                ),
            )
        }
        Err(refusal) => (
            Health::Slow,
            format!("cannot be made, ranks will have ordinary heaps: {refusal}"),
        ),
    };
    DoctorFinding {
        what: "slots",
        health,
        found,
    }
}

fn look_at_slices() -> DoctorFinding {
    // In a thread of its own, which takes the request with it.
    let granted = std::thread::spawn(|| {
        scheduling::prefer_short_slices();
        scheduling::has_short_slices()
    });
    let (health, found) = match granted.join() {
        Ok(true) => (
            Health::Ok,
            "granted: a NIC thread that wakes gets a busy core soon",
        ),
        _ => (
            Health::Slow,
            "not granted (Linux 6.12 and later do): beside ranks that compute, slices are late",
        ),
    };
    DoctorFinding {
        what: "short EEVDF slices",
        health,
        found: found.into(),
    }
}

fn look_at_real_time() -> DoctorFinding {
    let allowed = match getrlimit(Resource::Rtprio).current {
        Some(0) => "not allowed".into(),
        Some(most) => format!("allowed up to {most}"),
        None => "allowed".into(),
    };
    DoctorFinding {
        what: "real-time priority",
        health: Health::Ok,
        found: format!("{allowed} (ulimit -r): not asked for, short slices do without privilege"),
    }
}

/// The number of slices to wake up at.
const TRIED_SLICES: u32 = 200;

#[expect(
    clippy::disallowed_methods,
    reason = "how late a timer is can only be seen by waiting for it"
)]
fn look_at_timers(time_slice: Duration) -> DoctorFinding {
    // In a thread with the kernel settings of NIC threads.
    let late = std::thread::spawn(move || {
        scheduling::prefer_short_slices();
        scheduling::prefer_exact_timers();
        let mut late: Vec<Duration> = (0..TRIED_SLICES)
            .map(|_| {
                let start = Instant::now();
                std::thread::sleep(time_slice);
                start.elapsed().saturating_sub(time_slice)
            })
            .collect();
        late.sort_unstable();
        late
    });
    let late = late.join().unwrap_or_default();
    let at = |hundredths: usize| late.get(late.len() * hundredths / 100).copied();
    let (median, most) = (at(50).unwrap_or_default(), at(90).unwrap_or_default());
    let (health, advice) = judge_lateness(median, most, time_slice);
    DoctorFinding {
        what: "timers",
        health,
        found: format!(
            "at slices of {} half of the wake-ups are at most {median:.0?} late, nine in ten \
             {most:.0?}{advice}",
            humantime::format_duration(time_slice)
        ),
    }
}

/// Judges how late strobes are. A strobe that comes a tenth of a slice late costs that much time;
/// one that comes more than a slice late misses its slice.
fn judge_lateness(
    median: Duration,
    most: Duration,
    time_slice: Duration,
) -> (Health, &'static str) {
    if most > time_slice {
        (
            Health::Slow,
            ": fixed strobes will miss slices; choose longer ones or elastic strobes",
        )
    } else if median > time_slice / 10 {
        (
            Health::Slow,
            ": a good part of each slice; longer ones lose less",
        )
    } else {
        (Health::Ok, "")
    }
}

fn look_at_open_files() -> DoctorFinding {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let ranks = hard.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS_PER_RANK;
    let health = if ranks == 0 {
        Health::Bad
    } else if ranks < MAX_RANKS_PER_NODE as u64 {
        Health::Slow
    } else {
        Health::Ok
    };
    let ranks = ranks.min(MAX_RANKS_PER_NODE as u64);
    DoctorFinding {
        what: "open files",
        health,
        found: format!(
            "at most {hard} (ulimit -Hn): enough for {ranks} ranks on a node; the soft limit is \
             raised as needed"
        ),
    }
}

fn look_at_locked_memory() -> DoctorFinding {
    let limit = match getrlimit(Resource::Memlock).current {
        Some(bytes) => bytesize::ByteSize(bytes).display().iec().to_string(),
        None => "unlimited".into(),
    };
    DoctorFinding {
        what: "locked memory",
        health: Health::Ok,
        found: format!("{limit} (ulimit -l): no memory is locked, so any limit will do"),
    }
}

fn look_at_shared_memory() -> DoctorFinding {
    let found = match rustix::fs::statvfs("/dev/shm") {
        Ok(stat) => {
            let free = bytesize::ByteSize(stat.f_bavail.saturating_mul(stat.f_frsize));
            format!("{} free", free.display().iec())
        }
        Err(errno) => format!("not there ({errno})"),
    };
    DoctorFinding {
        what: "/dev/shm",
        health: Health::Ok,
        found: format!("{found}: not used, NIC memory is memfds"),
    }
}

fn look_at_bandwidth() -> DoctorFinding {
    let measured = machine_profile::link_bandwidth();
    let rate = bytesize::ByteSize(measured.found.bytes_per_second);
    let rate = format!(
        "{}/s, measured {}",
        rate.display().si(),
        date(measured.measured)
    );
    let (health, found) = match measured.file {
        Ok(file) => (
            Health::Ok,
            format!(
                "{rate}: times the slice it is the budget of a node; to measure anew, remove {}",
                file.display()
            ),
        ),
        Err(why) => (
            Health::Slow,
            format!("{rate} and anew at each start, so budgets differ from run to run: {why}"),
        ),
    };
    DoctorFinding {
        what: "link bandwidth",
        health,
        found,
    }
}

/// An idle core that takes longer than this to run a woken thread has gone to sleep too deeply.
const SLOW_WAKE_NS: u32 = 20_000;

/// Reports the costs of waiting here, and what ranks and NICs do as a result.
fn look_at_waiting() -> DoctorFinding {
    match machine_profile::wait_costs() {
        Ok(measured) => judge_waiting(&measured),
        Err(error) => DoctorFinding {
            what: "waiting",
            health: Health::Bad,
            found: error.to_string(),
        },
    }
}

fn judge_waiting(measured: &Measurement<WaitCosts>) -> DoctorFinding {
    let WaitCosts {
        yield_ns,
        shared_yield_ns,
        wake_ns,
        switch_ns,
        undisturbed,
    } = measured.found;
    let us = |ns: u64| format!("{} us", (ns as f64 / 10.0).round() / 100.0);
    let [alone, shared, wake, switch] =
        [yield_ns, shared_yield_ns, wake_ns, switch_ns].map(|ns| us(ns.into()));
    let thresholds = measured.found.profile().thresholds();
    let spin = us(thresholds.ns(RelativeTime::Wakes(4)));
    let follows = format!(
        "a yield takes {alone}, one beside a thread that yields {shared}, to wake a thread on an idle core {wake}, on \
         the same core {switch}; so a rank looks {spin} before it says that it waits, and takes its core for shared \
         when a yield takes {}",
        us(thresholds.shared_from_ns)
    );
    let mut remarks = Vec::new();
    if wake_ns > SLOW_WAKE_NS {
        remarks.push(
            "idle cores are slow to wake, as those of a virtual machine whose hypervisor halts them: each sleep costs \
             that, and peers that poll do not feel it"
                .to_owned(),
        );
    }
    if !undisturbed {
        remarks.push("others wanted the cores meanwhile: measured anew in some minutes".to_owned());
    }
    match &measured.file {
        Ok(file) => remarks.push(format!(
            "measured {}; to measure anew, remove {}",
            date(measured.measured),
            file.display()
        )),
        Err(why) => remarks.push(format!("measured anew at each start: {why}")),
    }
    let health = match measured.file.is_ok() && undisturbed && wake_ns <= SLOW_WAKE_NS {
        true => Health::Ok,
        false => Health::Slow,
    };
    DoctorFinding {
        what: "waiting",
        health,
        found: format!("{follows}; {}", remarks.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_judged_by_the_slice() {
        let us = Duration::from_micros;
        let judge = |median, most| judge_lateness(us(median), us(most), us(500)).0;
        assert_eq!(judge(5, 100), Health::Ok);
        assert_eq!(judge(60, 100), Health::Slow);
        assert_eq!(judge(5, 600), Health::Slow);
    }
}

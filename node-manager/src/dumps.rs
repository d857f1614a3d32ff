//! Writes what the ranks and NICs of this process recorded.

use crate::control::JobStart;
use crate::rank_process::RankProcess;
use bcs_core::clock::now_ns;
use bcs_core::mapped_code::MappedCode;
use bcs_fabric::udp::InboundBytes;
use bcs_nic::driver::Recordings;
use mds::dump::RankDump;

/// Writes the dump of every node, if the user wants them.
pub(crate) fn write(
    start: &JobStart,
    recordings: Recordings,
    brought: InboundBytes,
) -> Result<(), String> {
    let Some(directory) = &start.mds else {
        return Ok(());
    };
    let (mut strobe, mut brought) = (recordings.global, Some(brought));
    for mut dump in recordings.nodes {
        let InboundBytes { placed, copied } = brought.take().unwrap_or_default();
        (dump.placed_bytes, dump.copied_bytes) = (placed, copied);
        dump.job.clone_from(&start.job);
        // The Strobe Sender runs beside node 0.
        if dump.node == 0 {
            dump.global = strobe.take();
        }
        mds::dump::write_node(directory, &dump).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Replaces sites that are addresses by places in files, which are valid after the process has
/// ended, too.
fn name_places(dump: &mut RankDump, code: &MappedCode) {
    for site in &mut dump.sites {
        let digits = site.place.strip_prefix("0x");
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if let Some(place) = address.and_then(|address| code.place(address)) {
            site.place = place.to_string();
        }
    }
}

/// Writes the dump of every rank that records. The ranks have ended; the dump of a killed rank
/// covers the time up to its death. If one dump cannot be written, the others still are.
pub(crate) fn write_ranks(start: &JobStart, ranks: &[RankProcess]) -> Result<(), String> {
    let Some(directory) = &start.mds else {
        return Ok(());
    };
    let over_ns = now_ns();
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64);
    let mut failed = Vec::new();
    for process in ranks {
        let Some(recorder) = &process.recorder else {
            continue;
        };
        let ended_ns = process.ended_ns.unwrap_or(over_ns);
        let written = match recorder.dump(ended_ns) {
            Ok(mut dump) => {
                dump.job.clone_from(&start.job);
                name_places(&mut dump, &process.code);
                (dump.rank, dump.node) = (process.rank, process.node.0.into());
                (dump.host, dump.host_cores) = (host.clone(), cores);
                mds::dump::write_rank(directory, &dump).map_err(|error| error.to_string())
            }
            Err(error) => Err(format!(
                "failed to read what rank {} recorded: {error}",
                process.rank
            )),
        };
        failed.extend(written.err().map(|message| (process.rank, message)));
    }
    let Some((_, first)) = failed.first() else {
        return Ok(());
    };
    Err(match failed.len() {
        1 => first.clone(),
        more => format!("{first}; {more} ranks have no dump in all"),
    })
}

//! What the NICs of this process recorded (EMDS), written for the user.

use crate::control::Start;
use bcs_nic::driver::Recordings;

/// Writes the dump of every node, if the user wants them.
pub(crate) fn write(start: &Start, recordings: Recordings) -> Result<(), String> {
    let Some(directory) = &start.mds else {
        return Ok(());
    };
    let mut strobe = recordings.global;
    for mut dump in recordings.nodes {
        dump.job.clone_from(&start.job);
        // The Strobe Sender runs beside node 0.
        if dump.node == 0 {
            dump.global = strobe.take();
        }
        mds::dump::write_node(directory, &dump).map_err(|error| error.to_string())?;
    }
    Ok(())
}

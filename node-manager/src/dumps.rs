//! What the NICs of this process recorded, written for the user.

use crate::control::Start;
use bcs_nic::driver::Recordings;

/// Writes the dump of every node, if the user wants them. `global` is what the Strobe Sender
/// recorded in the launcher, as JSON.
pub(crate) fn write(
    start: &Start,
    recordings: Recordings,
    global: Option<&str>,
) -> Result<(), String> {
    let Some(directory) = &start.mds else {
        return Ok(());
    };
    let mut strobe = recordings.global;
    if let Some(json) = global {
        strobe = serde_json::from_str(json)
            .map_err(|error| format!("the Strobe Sender's figures cannot be read: {error}"))?;
    }
    for mut dump in recordings.nodes {
        dump.job.clone_from(&start.job);
        // The Strobe Sender counts as running beside node 0.
        if dump.node == 0 {
            dump.global = strobe.take();
        }
        mds::dump::write_node(directory, &dump).map_err(|error| error.to_string())?;
    }
    Ok(())
}

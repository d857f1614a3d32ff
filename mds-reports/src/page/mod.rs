//! A run as one page for a browser: it needs no network and no other file.
//!
//! The page is `page.html`, with its own style, its scripts, and one line of data. Large amounts of
//! data are first aggregated: slices by neighbours, ranks by nodes, buckets by ranges. Only the
//! timeline holds every call and message that is kept, packed; the rest stays below 5 MB.

mod data;
mod timeline;

use serde_json::Value;

use mds::dump::RunDumps;

/// The page without its data.
const PAGE: &str = include_str!("page.html");

/// The script of the timeline and of the matrix of waits.
const TIMELINE: &str = include_str!("timeline.js");

/// The marker that this script replaces.
const TIMELINE_PLACE: &str = "/*TIMELINE*/";

/// The marker that the data replace.
const PLACE: &str = "/*DATA*/ null";

/// Makes the page of a run. `faults` lists what could not be read.
///
/// # Errors
///
/// Never for dumps that were read: JSON can represent all their values.
pub fn page(dumps: &RunDumps, faults: &[String]) -> serde_json::Result<String> {
    let data = data::data(dumps, faults)?;
    let page = PAGE.replacen(TIMELINE_PLACE, TIMELINE, 1);
    Ok(page.replacen(PLACE, &embedded(&data)?, 1))
}

/// Makes JSON that can stand in a script: no text of a program may end the script.
fn embedded(data: &Value) -> serde_json::Result<String> {
    let json = serde_json::to_string(data)?;
    Ok(json.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::RunDump;

    #[test]
    fn a_command_cannot_end_the_script() {
        let run = RunDump {
            command: vec!["</script><script>alert(1)</script>".to_owned()],
            ..RunDump::default()
        };
        let dumps = RunDumps {
            run: Some(run),
            ..RunDumps::default()
        };
        let page = page(&dumps, &[]).unwrap();
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(page.contains("\\u003c/script>"));
        assert!(!page.contains(PLACE));
    }

    #[test]
    fn a_page_needs_no_network() {
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!PAGE.contains(word) && !TIMELINE.contains(word), "{word}");
        }
    }
}

//! A run as one page for a browser: it needs no network and no other file.
//!
//! The page is `page.html`, with its own style and script, in which one line of data is put. What there is much of is put
//! together before: slices by neighbours, ranks by nodes, buckets by ranges. So it stays below 5 MB.

mod data;

use serde_json::Value;

use crate::dump::RunDumps;

/// The page without its data.
const PAGE: &str = include_str!("page.html");

/// Where the data go.
const PLACE: &str = "/*DATA*/ null";

/// The page of a run. `faults` is what could not be read.
///
/// # Errors
///
/// Never with dumps that were read; they are made of what JSON has.
pub fn page(dumps: &RunDumps, faults: &[String]) -> serde_json::Result<String> {
    let data = data::data(dumps, faults)?;
    Ok(PAGE.replacen(PLACE, &embedded(&data)?, 1))
}

/// JSON within a script: no text of a program's may end it.
fn embedded(data: &Value) -> serde_json::Result<String> {
    let json = serde_json::to_string(data)?;
    Ok(json.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::RunDump;

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
            assert!(!PAGE.contains(word), "{word}");
        }
    }
}

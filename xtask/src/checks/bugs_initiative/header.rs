//! The head of a program of the suite, which describes its runs.
//!
//! ```text
//!   $ mpirun -np 2 $zero_buffer ${EXE} 1
//!   | ERROR: CallMatching
//!   | Collective mistmatch. MPI_Bcast at File.c:57 is matched with MPI_Barrier line File.c:62.
//! ```

use std::collections::BTreeSet;

/// A run of a program, and its expected outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedRun {
    pub(super) ranks: u32,
    /// The class of the mistake; nothing if the run is right.
    pub(super) mistake: Option<String>,
    /// The lines with calls of MPI that the head names. Where a call is missing, and where a
    /// variable gets a wrong value, there is no call that a report could name.
    pub(super) lines: BTreeSet<u32>,
    /// Whether the mistake shows only if no message is buffered.
    pub(super) is_unbuffered: bool,
    pub(super) arguments: Vec<String>,
}

/// Reads the runs of a program whose file has this name. A run without a known outcome is left out.
pub(super) fn runs(text: &str, file: &str) -> Vec<ExpectedRun> {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut runs = Vec::new();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ mpirun -np ") else {
            continue;
        };
        let Some((options, arguments)) = command.split_once("${EXE}") else {
            continue;
        };
        let Some(ranks) = options.split_whitespace().next() else {
            continue;
        };
        let mut said = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            said.push(line.trim_start_matches('|').trim());
        }
        let mistake = match said.first() {
            Some(&"OK") => None,
            Some(first) => match first.strip_prefix("ERROR:") {
                Some(class) => Some(class.trim().to_owned()),
                None => continue,
            },
            None => continue,
        };
        let Ok(ranks) = ranks.parse() else { continue };
        runs.push(ExpectedRun {
            ranks,
            mistake,
            lines: lines_of(&said.join("\n"), file)
                .into_iter()
                .filter(|&line| has_call(text, line))
                .collect(),
            is_unbuffered: options.contains("$zero_buffer"),
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        });
    }
    runs
}

/// Returns the lines of a file that a text names as `file:17`.
pub(super) fn lines_of(text: &str, file: &str) -> BTreeSet<u32> {
    let place = format!("{file}:");
    let named = text.split(place.as_str()).skip(1);
    let number = |rest: &str| {
        let end = rest.find(|it: char| !it.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    named.filter_map(number).collect()
}

/// Returns whether there is a call of MPI in a line of a program.
fn has_call(text: &str, line: u32) -> bool {
    let number = usize::try_from(line).unwrap_or(usize::MAX);
    let line = text.lines().nth(number.saturating_sub(1)).unwrap_or("");
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut named = line.split("MPI_").skip(1);
    !line.trim_start().starts_with("/*")
        && named.any(|rest| rest.trim_start_matches(is_name).starts_with('('))
}

/// Returns whether a program uses a feature of the suite's list, such as `RMA`.
pub(super) fn uses(text: &str, feature: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let said = lines.filter_map(|line| line.strip_prefix(feature)?.strip_prefix(':'));
    said.map(str::trim).any(|said| said != "Lacking")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "
    RMA: Lacking
  $ mpirun -np 4 $zero_buffer ${EXE}
  | ERROR: BufferingHazard
  | Buffering Hazard. MPI_Send at A_nok.c:10, and A_nok.c:11 and A_nok.c:12 and A_nok.c:99.
  $ mpirun -np 2 $infty_buffer ${EXE} 1
  | OK
  | OK
END_MBI_TESTS
    MPI_Send(&here, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    /* MISSING: MPI_Wait(&there, MPI_STATUS_IGNORE); */
    int there = MPI_ANY_TAG;";

    #[test]
    fn a_head_is_read() {
        let [wrong, right] = runs(HEAD, "A_nok.c").try_into().unwrap();
        assert_eq!(wrong.mistake.as_deref(), Some("BufferingHazard"));
        assert_eq!((wrong.ranks, wrong.is_unbuffered), (4, true));
        assert_eq!(wrong.lines, BTreeSet::from([10]));
        assert_eq!((right.mistake, right.ranks), (None, 2));
        assert_eq!(right.arguments, ["1"]);
        assert!(!right.is_unbuffered && right.lines.is_empty());
        assert!(!uses(HEAD, "RMA") && uses("RMA: Yes", "RMA"));
    }
}

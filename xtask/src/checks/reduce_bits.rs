//! Sums are the same to the bit, whether the NICs add in software or on the processor.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::beat_peers::SIZES;

pub(super) const CHECK: Check = Check {
    name: "reduce-bits",
    about: "`--reduce soft:1048576` and `--reduce host` give equal bits in every operation that beat-peers measures",
    about_time: false,
    quick: true,
    run,
};

/// The two ways to add.
const ADDERS: [&str; 2] = ["soft:1048576", "host"];

/// The layouts of the contests between nodes.
const LAYOUTS: [&str; 2] = ["-n 2 --nodes 2", "-n 8 --nodes 4"];

const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut outcomes = Vec::new();
    for layout in LAYOUTS {
        let [soft, host] =
            ADDERS.map(|adder| lines(workspace, &format!("{layout} --reduce {adder}")));
        outcomes.push(compared(layout, &soft?, &host?));
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

fn compared(layout: &str, soft: &[String], host: &[String]) -> CheckOutcome {
    let pairs = soft.iter().zip(host);
    let differ: Vec<String> = pairs
        .filter(|(soft, host)| soft != host)
        .map(|(soft, host)| format!("\n    {soft} in software, {host} by the processor"))
        .collect();
    let figure = format!(
        "{layout}: {} of {} results differ{}",
        differ.len(),
        host.len(),
        differ.concat()
    );
    let all_equal = differ.is_empty() && soft.len() == host.len();
    CheckOutcome::exact(all_equal, figure, "none")
}

/// Returns the lines of the ranks, sorted: `RANK OPERATION BYTES FINGERPRINT`.
fn lines(workspace: &Workspace, layout: &str) -> Result<Vec<String>> {
    let sizes = SIZES.map(|bytes| bytes.to_string());
    let mut command = workspace.fixture(layout, "bits", sizes.iter().map(String::as_str))?;
    let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
    // Ranks print in any order. The lines of each rank are in the order of the roots, which they do
    // not name.
    let mut lines: Vec<(String, String)> = said
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(what, print)| (what.to_owned(), print.to_owned()))
        .collect();
    lines.sort_by(|one, other| one.0.cmp(&other.0));
    ensure!(
        SIZES.iter().all(|bytes| lines
            .iter()
            .any(|line| line.0.ends_with(&format!("allreduce {bytes}")))),
        "bits {layout} did not tell all sizes: {said}"
    );
    Ok(lines
        .into_iter()
        .map(|(what, print)| format!("{what} {print}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn one_bit_is_a_miss() {
        let lines = ["0 allreduce 8 00ff", "1 allreduce 8 00ff"].map(String::from);
        let mut others = lines.clone();
        assert_eq!(compared("", &lines, &others).verdict, Verdict::Held);
        assert_eq!(compared("", &lines, &others[..1]).verdict, Verdict::Missed);
        others[1] = "1 allreduce 8 00fe".into();
        let outcome = compared("-n 2", &lines, &others);
        assert_eq!(outcome.verdict, Verdict::Missed);
        assert!(
            outcome.figure.contains("1 of 2 results differ"),
            "{outcome}"
        );
    }
}

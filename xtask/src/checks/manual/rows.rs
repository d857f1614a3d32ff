//! The functions that the manual lists: links in the rows of its tables.

use std::collections::BTreeMap;

use super::types::Signatures;

/// Returns the functions that the rows link to, each with the function of the standard in its row.
pub(super) fn functions(list: &str, signatures: &Signatures) -> BTreeMap<String, String> {
    let rows = list
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `MPI_"));
    let mut functions = BTreeMap::new();
    for row in rows {
        let standard = row.split('`').next().unwrap_or_default();
        let links = row.split("](crate::").skip(1);
        for link in links.filter_map(|link| link.split(')').next()) {
            let words: Vec<String> = link.split("::").map(str::to_owned).collect();
            let function = signatures.absolute(&words);
            functions.insert(function, format!("MPI_{standard}"));
        }
    }
    functions
}

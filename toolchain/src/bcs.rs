//! `bcs.h`, the paper's API in C. Tests compare the crate `mpi-abi` with it.

/// The header.
pub const HEADER: &str = include_str!("../../mpi-abi/include/bcs.h");

/// Returns the names of the functions that it declares.
pub fn functions() -> impl Iterator<Item = &'static str> {
    HEADER.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("int ")?.split_once('(')?;
        name.starts_with("bcs_").then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_declares_the_calls_of_the_table() {
        let table =
            "send recv probe test testall barrier bcast reduce scatter gather allgather alltoall";
        let declared: Vec<&str> = functions()
            .filter_map(|name| name.strip_prefix("bcs_"))
            .collect();
        assert_eq!(declared.join(" "), table);
    }
}

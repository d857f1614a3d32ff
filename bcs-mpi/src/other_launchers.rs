//! A program that another library's launcher has started without PMI-1. By that its processes would
//! become a job ([`adoption`](crate::adoption)). So each of them runs as a world of one rank. That
//! is legal but seldom meant, so the library prints a warning.

use bcs_core::job::handshake::SOCKET_VARIABLE;
use std::io::Write as _;

/// The variables in which a launcher gives its processes their number and their rank, the
/// launcher's usual name, and the command that makes it offer PMI-1, if there is one.
type Launcher = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const LAUNCHERS: [Launcher; 3] = [
    (
        "PMI_SIZE",
        "PMI_RANK",
        "the mpiexec of MPICH or another library",
        None,
    ),
    (
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "the mpirun of Open MPI",
        None,
    ),
    (
        "SLURM_NTASKS",
        "SLURM_PROCID",
        "Slurm's srun or sbatch",
        Some("srun --mpi=pmi2"),
    ),
];

/// Prints the warning on standard error if this process is the first of several that such a
/// launcher has started.
pub(crate) fn tell_who_is_alone() {
    // A process that one of our ranks started inherits this variable. It is meant to be alone.
    if std::env::var_os(SOCKET_VARIABLE).is_some() {
        return;
    }
    if let Some(line) = line(|name| std::env::var(name).ok()) {
        // If standard error is closed, the user does not want the warning.
        let _unheard = writeln!(std::io::stderr(), "{line}");
    }
}

fn line(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name| variable(name)?.trim().parse::<u64>().ok();
    LAUNCHERS.iter().find_map(|&(size, rank, launcher, other)| {
        let count = number(size).filter(|&count| count > 1)?;
        // One process is enough to print it.
        (number(rank).unwrap_or(0) == 0).then(|| {
            let other = other.map(|command| format!("`{command} -n {count}` or "));
            let other = other.unwrap_or_default();
            format!(
                "bcs-mpi: this program runs alone, as rank 0 of 1: {size}={count} is of {launcher}, which offers \
                 it no PMI-1 (PMI_FD); start it with {other}`bcs run -n {count}`"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::line;

    fn told(variables: &[(&str, &str)]) -> Option<String> {
        line(|name| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_of_several_says_that_it_is_alone() {
        let line = told(&[("PMI_SIZE", "4"), ("PMI_RANK", "0")]).unwrap();
        assert!(
            line.contains("PMI_SIZE=4") && line.ends_with("`bcs run -n 4`"),
            "{line}"
        );
        assert!(told(&[("OMPI_COMM_WORLD_SIZE", "2")]).is_some());
        assert!(told(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]).is_some());
        assert_eq!(
            told(&[("PMI_SIZE", "4"), ("PMI_RANK", "3")]),
            None,
            "another one has said it"
        );
        assert_eq!(told(&[("PMI_SIZE", "1"), ("SLURM_NTASKS", "many")]), None);
        assert_eq!(told(&[]), None);
    }
}

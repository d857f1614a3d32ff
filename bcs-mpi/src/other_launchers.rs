//! A program that another library's launcher has started: it finds no node manager, and runs as a world of one rank as
//! often as it was started. That is legal, but seldom meant, so it is said.

use bcs_core::job::handshake::SOCKET_VARIABLE;
use std::io::Write as _;

/// What a launcher tells its processes: how many there are, which one this is, and how people know the launcher.
type Launcher = (&'static str, &'static str, &'static str);

const LAUNCHERS: [Launcher; 3] = [
    (
        "PMI_SIZE",
        "PMI_RANK",
        "the mpiexec of MPICH or another library",
    ),
    (
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "the mpirun of Open MPI",
    ),
    ("SLURM_NTASKS", "SLURM_PROCID", "Slurm's srun or sbatch"),
];

/// Says so on standard error if this process is the first of several that such a launcher has started.
pub(crate) fn tell_who_is_alone() {
    // What a rank of ours has started inherits this variable, and is alone because it is meant to be.
    if std::env::var_os(SOCKET_VARIABLE).is_some() {
        return;
    }
    if let Some(line) = line(|name| std::env::var(name).ok()) {
        // Whoever has closed it does not want to know.
        let _unheard = writeln!(std::io::stderr(), "{line}");
    }
}

fn line(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name| variable(name)?.trim().parse::<u64>().ok();
    LAUNCHERS.iter().find_map(|&(size, rank, launcher)| {
        let count = number(size).filter(|&count| count > 1)?;
        // One of them is enough to say it.
        (number(rank).unwrap_or(0) == 0).then(|| {
            format!(
                "bcs-mpi: this program runs alone, as rank 0 of 1: {size}={count} is of {launcher}, which knows \
                 nothing of BCS-MPI; start it with `bcs run -n {count}`"
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

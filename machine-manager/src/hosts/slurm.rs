//! The allocation of Slurm in which `bcs run` was started, by `sbatch` or `salloc`.
//!
//! Slurm's variables name the nodes of the allocation, and the number of tasks that each takes.
//! They stand for `--hosts` and `-n` where the user gives none, and `srun` starts the node managers
//! instead of ssh, since a user may often not log in to a node. Each node manager is a job step of
//! its own ([`LAUNCHER`]), so `scancel` ends them as it ends all steps.

use super::{HostList, parse_names};

/// The command that starts a program on a node of the allocation. The step overlaps others, as the
/// node manager's ranks have all of the node's cores. Without `--unbuffered` srun would keep what
/// is no whole line.
pub const LAUNCHER: &str = "srun --overlap --nodes=1 --ntasks=1 --nodelist={host} --cpu-bind=none \
                            --mpi=none --unbuffered --quiet";

/// The allocation, as Slurm describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmAllocation {
    /// Its nodes, and the number of tasks on each.
    pub hosts: HostList,
    /// The number of tasks.
    pub tasks: usize,
    /// The name of the node on which this process is, if it is on one.
    pub own: Option<String>,
}

/// Variables of Slurm that contradict themselves.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSlurm {
    /// The list of nodes.
    #[error("SLURM_JOB_NODELIST is {0}, which names no hosts: name them by --hosts")]
    Nodes(String),
    /// The tasks of the nodes.
    #[error(
        "SLURM_TASKS_PER_NODE is {found}, which is not a number for each of {nodes} nodes: name the \
         hosts by --hosts"
    )]
    Tasks {
        /// The value.
        found: String,
        /// The number of nodes.
        nodes: usize,
    },
}

impl SlurmAllocation {
    /// Returns the allocation of this process. Returns `None` outside of one, and in a job step
    /// with several tasks: there srun has started this program several times, each for a job of
    /// its own.
    ///
    /// # Errors
    /// [`BadSlurm`].
    pub fn of_environment() -> Result<Option<Self>, BadSlurm> {
        Self::of_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, BadSlurm> {
        let number = |name| variable(name).and_then(|value| value.parse::<usize>().ok());
        let nodes = variable("SLURM_JOB_NODELIST").filter(|_| variable("SLURM_JOB_ID").is_some());
        let steps_tasks = number("SLURM_STEP_NUM_TASKS").unwrap_or(1);
        let Some(nodes) = nodes.filter(|_| steps_tasks == 1) else {
            return Ok(None);
        };
        let names = match parse_names(&nodes) {
            Ok(HostList { names, slots: None }) => names,
            Ok(_) | Err(_) => return Err(BadSlurm::Nodes(nodes)),
        };
        let slots = match variable("SLURM_TASKS_PER_NODE") {
            None => None,
            Some(found) => match tasks_of_nodes(&found, names.len()) {
                Some(slots) => Some(slots),
                None => {
                    let nodes = names.len();
                    return Err(BadSlurm::Tasks { found, nodes });
                }
            },
        };
        let all = slots.as_ref().map(|slots| slots.iter().sum());
        let tasks = number("SLURM_NTASKS").or(all).unwrap_or(names.len());
        Ok(Some(Self {
            hosts: HostList { names, slots },
            tasks,
            own: variable("SLURMD_NODENAME"),
        }))
    }

    /// Returns the hosts for this number of ranks. More ranks than the allocation has tasks share
    /// its nodes evenly.
    #[must_use]
    pub fn hosts_for(&self, ranks: usize) -> HostList {
        let mut hosts = self.hosts.clone();
        let room = hosts.slots.as_ref().map(|slots| slots.iter().sum());
        if room.is_some_and(|room: usize| ranks > room) {
            hosts.slots = None;
        }
        hosts
    }
}

/// Parses the tasks of this number of nodes, as in `4,2,1(x2)`.
fn tasks_of_nodes(text: &str, nodes: usize) -> Option<Vec<usize>> {
    let mut tasks = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.split_once("(x") {
            None => (part, 1),
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
        };
        let number: usize = number.parse().ok().filter(|&number| number > 0)?;
        if tasks.len() + times > nodes {
            return None;
        }
        tasks.extend(std::iter::repeat_n(number, times));
    }
    (tasks.len() == nodes).then_some(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(variables: &[(&str, &str)]) -> Result<Option<SlurmAllocation>, BadSlurm> {
        SlurmAllocation::of_variables(|name| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const JOB: [(&str, &str); 3] = [
        ("SLURM_JOB_ID", "17"),
        ("SLURM_JOB_NODELIST", "n[1-4]"),
        ("SLURM_TASKS_PER_NODE", "4,2,1(x2)"),
    ];

    #[test]
    fn a_batch_job_has_nodes_and_tasks() {
        assert_eq!(allocation(&[]), Ok(None));
        let found = allocation(&JOB).unwrap().unwrap();
        assert_eq!(found.hosts.names, ["n1", "n2", "n3", "n4"]);
        assert_eq!(found.hosts.slots, Some(vec![4, 2, 1, 1]));
        assert_eq!((found.tasks, found.own.as_deref()), (8, None));
        let batch = [
            &JOB[..],
            &[("SLURM_NTASKS", "6"), ("SLURMD_NODENAME", "n1")],
        ]
        .concat();
        let found = allocation(&batch).unwrap().unwrap();
        assert_eq!((found.tasks, found.own.as_deref()), (6, Some("n1")));
        let found = allocation(&JOB[..2]).unwrap().unwrap();
        assert_eq!((found.tasks, found.hosts.slots), (4, None));
    }

    #[test]
    fn more_ranks_than_tasks_share_the_nodes() {
        let found = allocation(&JOB).unwrap().unwrap();
        assert!(found.hosts_for(8).slots.is_some());
        assert_eq!(found.hosts_for(9).slots, None);
    }

    #[test]
    fn a_step_of_several_tasks_is_no_allocation() {
        let step = |tasks| [&JOB[..], &[("SLURM_STEP_NUM_TASKS", tasks)]].concat();
        assert!(allocation(&step("1")).unwrap().is_some());
        assert_eq!(allocation(&step("4")), Ok(None));
    }

    #[test]
    fn variables_that_contradict_themselves_are_refused() {
        let with = |name, value| {
            let mut job = JOB;
            let place = job.iter_mut().find(|(of, _)| *of == name).unwrap();
            place.1 = value;
            allocation(&job).unwrap_err().to_string()
        };
        for bad in ["n[1-", "n1:4", "n1,,n2"] {
            assert!(with("SLURM_JOB_NODELIST", bad).contains(bad));
        }
        for bad in ["4", "4(x5)", "1,1,1,x", "0(x4)", "1(x4", "1(x99999999999)"] {
            assert!(
                with("SLURM_TASKS_PER_NODE", bad).contains("each of 4 nodes"),
                "{bad}"
            );
        }
    }
}

//! Process creation and ports (MPI 5.0, 11.8 to 11.10).

use super::communicators::{free, info as hints_of, text as string};
use super::{calls, environment};
use crate::answer::{Outcome, comm_of};
use crate::c::*;
use crate::objects::{COMMS, comm_handle, list, list_mut, put, text};
use crate::state;
use bcs_mpi::mpi::{Comm, Command, Result, SpawnOutcome};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Returns the strings of a list that ends with a null pointer; none for `MPI_ARGV_NULL`.
fn arguments<'a>(argv: *const *mut c_char) -> Result<Vec<&'a [u8]>> {
    let mut all = Vec::new();
    let mut at = argv;
    while !at.is_null() {
        let [argument] = list(at, 1)? else { break };
        if argument.is_null() {
            break;
        }
        all.push(text(*argument)?);
        at = at.wrapping_add(1);
    }
    Ok(all)
}

/// Starts ranks. Writes the communicator with them, and a code for each rank that was asked for.
fn spawn<'a>(
    name: &'static str,
    comm: MPI_Comm,
    root: c_int,
    (intercomm, codes): (*mut MPI_Comm, *mut c_int),
    commands: impl FnOnce() -> Result<Vec<Command<'a>>>,
) -> Outcome {
    comm_of(comm)?.run_comm_creation(name, |comm| {
        put(intercomm, MPI_COMM_NULL)?;
        let commands = match comm.rank() == root {
            true => commands()?,
            false => Vec::new(),
        };
        let SpawnOutcome { counts, comm } = comm.spawn(&name[1..], &commands, root);
        if !codes.is_null() {
            put_codes(codes, &counts)?;
        }
        put(intercomm, comm_handle(Some(comm?)))
    })
}

/// The code of a rank that was not started, in the numbers of the ABI that the program calls by.
pub static CODE_OF_NOT_STARTED: AtomicI32 = AtomicI32::new(MPI_ERR_SPAWN);

fn put_codes(codes: *mut c_int, counts: &[(usize, usize)]) -> Result<()> {
    let all: usize = counts.iter().map(|&(asked, _)| asked).sum();
    let places = list_mut(codes, i64::try_from(all).expect("a job has few ranks"))?;
    let found = counts.iter().flat_map(|&(asked, started)| {
        let code = move |place| match place < started {
            true => MPI_SUCCESS,
            false => CODE_OF_NOT_STARTED.load(Ordering::Relaxed),
        };
        (0..asked).map(code)
    });
    places
        .iter_mut()
        .zip(found)
        .for_each(|(place, code)| *place = code);
    Ok(())
}

/// The handle of the communicator with the parents, when the program has asked for it.
static PARENT: Mutex<MPI_Comm> = Mutex::new(MPI_COMM_NULL);

/// Returns the handle of the communicator with the parents.
fn parent() -> Outcome<MPI_Comm> {
    let mut known = PARENT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(parent) = state::process()?.parent() else {
        return Ok(MPI_COMM_NULL);
    };
    if *known == MPI_COMM_NULL || COMMS.get(known.0).is_none() {
        *known = comm_handle(Some(parent));
    }
    Ok(*known)
}

/// Makes a communicator with another group; `name` is the function's name with the P.
fn meet(
    name: &'static str,
    port: *const c_char,
    root: c_int,
    comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
    make: impl FnOnce(&Comm, &str) -> Result<Comm>,
) -> Outcome {
    comm_of(comm)?.run_comm_creation(name, |comm| {
        put(newcomm, MPI_COMM_NULL)?;
        // Only that of the root counts.
        let port = match comm.rank() == root {
            true => string(port)?,
            false => String::new(),
        };
        put(newcomm, comm_handle(Some(make(comm, &port)?)))
    })
}

calls! {
    fn PMPI_Comm_spawn(command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: MPI_Info, root: c_int, comm: MPI_Comm, intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int) {
        spawn("PMPI_Comm_spawn", comm, root, (intercomm, array_of_errcodes), || {
            Ok(vec![Command {
                program: text(command)?,
                arguments: arguments(argv)?,
                ranks: maxprocs,
                info: hints_of(info)?,
            }])
        })
    }

    fn PMPI_Comm_spawn_multiple(count: c_int, array_of_commands: *mut *mut c_char, array_of_argv: *mut *mut *mut c_char, array_of_maxprocs: *const c_int, array_of_info: *const MPI_Info, root: c_int, comm: MPI_Comm, intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int) {
        spawn("PMPI_Comm_spawn_multiple", comm, root, (intercomm, array_of_errcodes), || {
            let programs = list(array_of_commands, count)?;
            let most = list(array_of_maxprocs, count)?;
            let hints = list(array_of_info, count)?;
            // MPI_ARGVS_NULL stands for no arguments of any command.
            let argvs = match array_of_argv.is_null() {
                true => None,
                false => Some(list(array_of_argv, count)?),
            };
            let command = |nth: usize| {
                Ok(Command {
                    program: text(programs[nth])?,
                    arguments: argvs.map_or(Ok(Vec::new()), |argvs| arguments(argvs[nth]))?,
                    ranks: most[nth],
                    info: hints_of(hints[nth])?,
                })
            };
            (0..programs.len()).map(command).collect()
        })
    }

    fn PMPI_Comm_get_parent(parent: *mut MPI_Comm) {
        let known = self::parent()?;
        Ok(put(parent, known)?)
    }

    fn PMPI_Comm_disconnect(comm: *mut MPI_Comm) {
        // Everything on it is complete by then (11.10.4), so this need not wait.
        free(comm)
    }

    fn PMPI_Comm_join(fd: c_int, intercomm: *mut MPI_Comm) {
        comm_of(MPI_COMM_SELF)?.run(|itself| {
            put(intercomm, MPI_COMM_NULL)?;
            put(intercomm, comm_handle(Some(itself.join_over(fd)?)))
        })
    }

    fn PMPI_Open_port(_info: MPI_Info, port_name: *mut c_char) {
        let port = state::process()?.open_port()?;
        let mut length = 0;
        let room = usize::try_from(MPI_MAX_PORT_NAME).expect("positive");
        Ok(environment::put_string(port_name, &raw mut length, port.as_bytes(), room)?)
    }

    fn PMPI_Close_port(port_name: *const c_char) {
        Ok(state::process()?.close_port(&string(port_name)?)?)
    }

    fn PMPI_Comm_accept(port_name: *const c_char, _info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        meet("PMPI_Comm_accept", port_name, root, comm, newcomm, |comm, port| comm.accept(port, root))
    }

    fn PMPI_Comm_connect(port_name: *const c_char, _info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        meet("PMPI_Comm_connect", port_name, root, comm, newcomm, |comm, port| comm.connect(port, root))
    }

    fn PMPI_Publish_name(service_name: *const c_char, _info: MPI_Info, port_name: *const c_char) {
        Ok(state::process()?.publish_name(&string(service_name)?, &string(port_name)?)?)
    }

    fn PMPI_Unpublish_name(service_name: *const c_char, _info: MPI_Info, _port_name: *const c_char) {
        Ok(state::process()?.unpublish_name(&string(service_name)?)?)
    }

    fn PMPI_Lookup_name(service_name: *const c_char, _info: MPI_Info, port_name: *mut c_char) {
        let port = state::process()?.lookup_name(&string(service_name)?)?;
        let mut length = 0;
        let room = usize::try_from(MPI_MAX_PORT_NAME).expect("positive");
        Ok(environment::put_string(port_name, &raw mut length, port.as_bytes(), room)?)
    }
}

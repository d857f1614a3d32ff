//! Clients of a running job that misbehave: the job goes on undisturbed, and other clients are
//! answered.

use super::job::{Job, PATIENCE, bcs, signal};
use super::live::{Asked, ask, listed};
use machine_manager::live::name::JobName;
use machine_manager::live::question::Question;
use rustix::process::{Signal, Uid, geteuid};
use rustix::thread::set_thread_uid;
use std::io::{Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

const NOBODY: u32 = 65_534;

fn address(user: u32, id: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("bcs-mpi/{user}/{id}")).unwrap()
}

/// Returns the socket of a job.
fn socket_of(pid: i32) -> SocketAddr {
    let job = listed(pid).unwrap();
    address(geteuid().as_raw(), job["job"].as_str().unwrap())
}

fn connect(to: &SocketAddr) -> UnixStream {
    let client = UnixStream::connect_addr(to).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_write_timeout(Some(PATIENCE)).unwrap();
    client
}

/// Reads until the job hangs up.
fn rest(mut client: UnixStream) -> Vec<u8> {
    let mut answer = Vec::new();
    if let Err(error) = client.read_to_end(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    answer
}

fn is_answered(pid: i32) {
    let output = ask(&format!("state {pid}"));
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn clients_that_do_not_behave_disturb_nobody() {
    let asked = Asked::start("-n 4 --nodes 2");
    let (pid, socket) = (asked.pid(), socket_of(asked.pid()));
    let question = Question::State.encode();
    // Seven clients that send nothing, or half of a question, leave one place.
    let start = Instant::now();
    let mut silent: Vec<UnixStream> = (0..7).map(|_| connect(&socket)).collect();
    silent[0].write_all(&question[..5]).unwrap();
    is_answered(pid);
    // The job finishes with each of these at once.
    drop(connect(&socket));
    let mut gone = connect(&socket);
    gone.write_all(&question).unwrap();
    drop(gone);
    let mut rubbish = connect(&socket);
    // The job hangs up in the middle of that.
    let _broken = rubbish.write_all(&vec![0xff; 1 << 20]);
    let _answer = rest(rubbish);
    let mut other = question;
    other[4] = 77;
    let mut of_later = connect(&socket);
    of_later.write_all(&other).unwrap();
    let answer = String::from_utf8_lossy(&rest(of_later)).into_owned();
    assert!(answer.contains("another version of bcs"), "{answer}");
    is_answered(pid);
    // No place is left: a new client waits until the job hangs up on the silent ones.
    silent.push(connect(&socket));
    is_answered(pid);
    for client in silent {
        assert_eq!(rest(client), b"");
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    asked.ends_well();
}

/// Clients send questions and read nothing: their answers are bounded, and the job hangs up on
/// them.
#[test]
fn a_client_that_does_not_read_is_hung_up_on() {
    let asked = Asked::start("-n 64 --nodes 2");
    let socket = socket_of(asked.pid());
    let mut clients: Vec<UnixStream> = (0..4).map(|_| connect(&socket)).collect();
    for client in &mut clients {
        rustix::net::sockopt::set_socket_recv_buffer_size(&*client, 1).unwrap();
        client.write_all(&Question::State.encode()).unwrap();
    }
    is_answered(asked.pid());
    asked.ends_well();
}

/// Runs as another user, in a thread of its own: credentials belong to a thread.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let other = || {
        set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        act()
    };
    std::thread::scope(|threads| threads.spawn(other).join().unwrap())
}

#[test]
fn a_job_answers_no_other_user_but_root() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let asked = Asked::start("-n 2");
    let socket = socket_of(asked.pid());
    let answer = as_nobody(|| {
        let mut stranger = connect(&socket);
        let _broken = stranger.write_all(&Question::State.encode());
        rest(stranger)
    });
    assert_eq!(answer, b"", "it is hung up on");
    let mut root = connect(&socket);
    root.write_all(&Question::State.encode()).unwrap();
    assert!(!rest(root).is_empty());
    // Another user's `bcs ps` does not list it either.
    let mut ps = bcs("ps --json");
    match ps.uid(NOBODY).output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "[]\n"),
        Err(error) => eprintln!("skipped: another user cannot run bcs: {error}"),
    }
    asked.ends_well();
}

#[test]
fn root_finds_and_ends_the_job_of_another_user() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let mut command = bcs("run -n 1 sh -c");
    command
        .arg("sleep 1000 & wait")
        .current_dir("/")
        .uid(NOBODY);
    if let Err(error) = bcs("ps").uid(NOBODY).output() {
        eprintln!("skipped: another user cannot run bcs: {error}");
        return;
    }
    let job = Job::spawn(command);
    job.find(|process| process.line.starts_with("sleep"));
    assert_eq!(listed(job.pid()).unwrap()["user"], NOBODY);
    let output = ask(&format!("kill {}", job.pid()));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(job.finish().status.code(), Some(143));
}

/// Any user may make a socket of any name.
#[test]
fn a_socket_of_another_process_is_no_job() {
    let user = geteuid().as_raw();
    let innocent = Job::start("run -n 1", "sleep 1000 & wait");
    let process = innocent
        .find(|process| process.line.starts_with("sleep"))
        .pid;
    let id = format!("abc-{process}");
    assert!(JobName::new(user, &id).is_some(), "it could be a job's");
    let impostor = UnixListener::bind_addr(&address(user, &id)).unwrap();
    assert_eq!(listed(process), None);
    for command in ["state", "kill", "mds top"] {
        let output = ask(&format!("{command} {id}"));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    drop(impostor);
    assert!(!innocent.left().is_empty(), "nothing was ended");
    signal(innocent.pid(), Signal::TERM);
    assert_eq!(innocent.finish().status.code(), Some(143));
}

//! A Slurm of a test's own: four nodes, which are all this machine. If it cannot be started, the
//! tests are skipped and print why. With `BCS_REQUIRE_SLURM` in the environment, as in CI, they
//! fail.

use super::job::PATIENCE;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// If this is set, a test that needs Slurm fails instead of being skipped.
const REQUIRED: &str = "BCS_REQUIRE_SLURM";

/// The daemons, which Debian's packages slurm-wlm and munge bring.
const DAEMONS: [&str; 3] = ["munged", "slurmctld", "slurmd"];

/// The daemons and their files, which end with this value.
pub(crate) struct SlurmCluster {
    directory: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl SlurmCluster {
    /// Starts one, with the nodes `n1` to `n4` of four cores each.
    pub(crate) fn start_or_skip() -> Option<Self> {
        let missing = DAEMONS.iter().find(|name| daemon(name).is_none());
        let reason = match missing {
            Some(name) => format!("there is no {name} (apt-get install slurm-wlm munge)"),
            None if !rustix::process::geteuid().is_root() => "Slurm's daemons need root".to_owned(),
            None => return Some(Self::start()),
        };
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "{REQUIRED} is set: {reason}"
        );
        eprintln!("skipped: {reason}");
        None
    }

    fn start() -> Self {
        let mut this = Self {
            directory: tempfile::tempdir().unwrap(),
            daemons: Vec::new(),
        };
        fs::write(this.at("slurm.conf"), this.configuration()).unwrap();
        let key: Vec<u8> = (0..=255).collect();
        fs::write(this.at("key"), &key).unwrap();
        let mut only_ours = Command::new("chmod");
        only_ours.arg("600").arg(this.at("key"));
        assert!(only_ours.status().unwrap().success());
        let file = |option: &str, name: &str| format!("--{option}={}", this.at(name).display());
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            file("socket", "munge.socket"),
            file("key-file", "key"),
            file("pid-file", "munged.pid"),
            file("log-file", "munged.log"),
            file("seed-file", "munged.seed"),
        ];
        let munge: Vec<&str> = munge.iter().map(String::as_str).collect();
        this.spawn("munged", &munge);
        this.wait_until("munged listens", |this| this.at("munge.socket").exists());
        this.spawn("slurmctld", &["-D", "-i"]);
        for node in ["n1", "n2", "n3", "n4"] {
            this.spawn("slurmd", &["-D", "-N", node]);
        }
        this.wait_until("all nodes are idle", |this| {
            let output = this
                .command("sinfo", &["--noheader", "--format=%T %D"])
                .output();
            output.is_ok_and(|output| output.stdout.starts_with(b"idle 4"))
        });
        this
    }

    fn configuration(&self) -> String {
        let here = self.directory.path().display();
        let uname = rustix::system::uname();
        let name = uname.nodename().to_str().unwrap();
        let host = name.split('.').next().unwrap();
        let folders = ["state", "spool-n1", "spool-n2", "spool-n3", "spool-n4"];
        for folder in folders {
            fs::create_dir(self.at(folder)).unwrap();
        }
        // Nobody else has these ports now.
        let sockets: Vec<TcpListener> = (0..5)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let mut ports = sockets
            .iter()
            .map(|socket| socket.local_addr().unwrap().port());
        let controller = ports.next().unwrap();
        let nodes: Vec<String> = (1..)
            .zip(ports)
            .map(|(number, port)| {
                format!(
                    "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 \
                     RealMemory=100 State=UNKNOWN\n"
                )
            })
            .collect();
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={here}/munge.socket\n\
             SlurmctldPort={controller}\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool-%n\nSlurmctldPidFile={here}/slurmctld.pid\n\
             SlurmdPidFile={here}/slurmd-%n.pid\nSlurmctldLogFile={here}/slurmctld.log\n\
             SlurmdLogFile={here}/slurmd-%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nSchedulerType=sched/builtin\nMpiDefault=none\n\
             ReturnToService=2\nSlurmdParameters=config_overrides\nKillWait=5\n{}\
             PartitionName=all Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP\n",
            nodes.concat()
        )
    }

    /// Returns a command of Slurm's, for this cluster.
    pub(crate) fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(name);
        command
            .args(words)
            .current_dir(self.directory.path())
            .env("SLURM_CONF", self.at("slurm.conf"))
            .stdin(Stdio::null());
        command
    }

    /// Returns the path of a file of the cluster.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn spawn(&mut self, name: &str, words: &[&str]) {
        let program = daemon(name).expect("it was found before");
        let mut command = self.command(program.to_str().unwrap(), words);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }

    /// Waits for what the daemons tell nobody.
    fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            let ended = self
                .daemons
                .iter_mut()
                .any(|daemon| daemon.try_wait().unwrap().is_some());
            assert!(
                !ended && start.elapsed() < PATIENCE,
                "{what}: {}",
                self.logs()
            );
            std::thread::yield_now();
        }
    }

    fn logs(&self) -> String {
        let logs = ["munged.log", "slurmctld.log", "slurmd-n1.log"];
        let text = logs.map(|log| fs::read_to_string(self.at(log)).unwrap_or_default());
        text.concat()
    }
}

/// Finds a daemon: the folders of root's commands are not on everybody's path.
fn daemon(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"];
    let mut paths = folders.iter().map(|folder| Path::new(folder).join(name));
    paths.find(|path| path.exists())
}

impl Drop for SlurmCluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        // The controller and munged are the last: others say good-bye to them.
        for daemon in self.daemons.iter_mut().rev() {
            let pid = rustix::process::Pid::from_child(daemon);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = daemon.wait();
        }
    }
}

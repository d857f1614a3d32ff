//! An sshd of a test's own, which is several hosts: each address of the loopback is one. If it
//! cannot be started, the tests are skipped and print why. With `BCS_REQUIRE_SSHD` in the
//! environment, as in CI, they fail.

use super::job::PATIENCE;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// If this is set, a test that needs sshd fails instead of being skipped.
const REQUIRED: &str = "BCS_REQUIRE_SSHD";

/// Where distributions install it: it is not on the path of users.
const PLACES: [&str; 3] = ["/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"];

/// The hosts.
pub(crate) const HOSTS: [&str; 4] = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];

/// The key that may log in, and run any command.
pub(crate) const USER: &str = "user";

/// A key that may not log in.
pub(crate) const STRANGER: &str = "stranger";

/// The daemon and its files, which end with this value.
pub(crate) struct Sshd {
    directory: tempfile::TempDir,
    pub(crate) port: u16,
    daemon: Child,
}

impl Sshd {
    /// Starts one that lets [`USER`] in, and the owners of these other keys. For these it runs a
    /// script instead of the requested command.
    pub(crate) fn start_or_skip(scripts: &[(&str, &str)]) -> Option<Self> {
        Self::start_with_or_skip("", scripts)
    }

    /// Does the same with more lines of configuration.
    pub(crate) fn start_with_or_skip(more: &str, scripts: &[(&str, &str)]) -> Option<Self> {
        let reason = match PLACES.iter().find(|place| Path::new(place).exists()) {
            None => "there is no sshd (apt-get install openssh-server)",
            Some(_) if !rustix::process::geteuid().is_root() => "sshd needs root",
            Some(sshd) => return Some(Self::start(sshd, more, scripts)),
        };
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "{REQUIRED} is set: {reason}"
        );
        eprintln!("skipped: {reason}");
        None
    }

    fn start(sshd: &str, more: &str, scripts: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let here = place.display();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        // sshd needs it, and distributions make it when they start theirs.
        fs::create_dir_all("/run/sshd").unwrap();
        let host_key = key(place, "host");
        let known = HOSTS.map(|host| format!("[{host}]:{port} {host_key}"));
        fs::write(place.join("known_hosts"), known.concat()).unwrap();
        let _not_let_in = key(place, STRANGER);
        let mut let_in = key(place, USER);
        for (name, script) in scripts {
            fs::write(place.join(format!("{name}.sh")), script).unwrap();
            let key = key(place, name);
            let_in.push_str(&format!("command=\"exec sh {here}/{name}.sh\" {key}"));
        }
        fs::write(place.join("authorized_keys"), let_in).unwrap();
        let listen = HOSTS.map(|host| format!("ListenAddress {host}\n")).concat();
        // The files of root's shell must not matter here.
        let configuration = format!(
            "Port {port}\n{listen}HostKey {here}/host\nAuthorizedKeysFile {here}/authorized_keys\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n\
             AcceptEnv BCS_TEST_MARK\nSetEnv HOME={here}\n{more}\n"
        );
        fs::write(place.join("sshd_config"), configuration).unwrap();
        let client = format!(
            "Host *\n  Port {port}\n  IdentitiesOnly yes\n  UserKnownHostsFile {here}/known_hosts\n\
             \x20 StrictHostKeyChecking yes\n  SendEnv BCS_TEST_MARK\n"
        );
        fs::write(place.join("ssh_config"), client).unwrap();
        let log = fs::File::create(place.join("log")).unwrap();
        let daemon = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(place.join("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut this = Self {
            directory,
            port,
            daemon,
        };
        let start = Instant::now();
        while TcpStream::connect((HOSTS[3], port)).is_err() {
            let ended = this.daemon.try_wait().unwrap();
            assert!(
                ended.is_none() && start.elapsed() < PATIENCE,
                "{ended:?}: {}",
                this.log()
            );
            std::thread::yield_now();
        }
        this
    }

    /// Returns its log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Returns a folder for files, which is removed with it.
    pub(crate) fn place(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Returns the value of `--launcher` for a key.
    pub(crate) fn launcher(&self, key: &str) -> String {
        let here = self.directory.path().display();
        format!("ssh -F {here}/ssh_config -i {here}/{key}")
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Makes a key in a file. Returns its public half, a line.
fn key(place: &Path, name: &str) -> String {
    let path = place.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]);
    let made = command.arg(&path).stdin(Stdio::null()).status().unwrap();
    assert!(made.success());
    fs::read_to_string(path.with_extension("pub")).unwrap()
}

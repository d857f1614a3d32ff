//! The program `lossy-switch` in the switch's namespace.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::switch::counts::SwitchCounts;
use crate::switch::faults::SwitchFaults;

use super::error::NetworkError;

const PROGRAM: &str = "lossy-switch";

/// The switch's process. It ends with this value, or when its standard input ends because this
/// process has ended.
#[derive(Debug)]
pub(super) struct SwitchProcess {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl SwitchProcess {
    /// Starts it with these ports as its arguments, and waits until it has opened all.
    pub(super) fn start(
        namespace: &str,
        ports: impl Iterator<Item = String>,
    ) -> Result<Self, NetworkError> {
        let mut child = Command::new("ip")
            .args(["netns", "exec", namespace])
            .arg(program()?)
            .arg("join")
            .args(ports)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| NetworkError::System {
                what: format!("start {PROGRAM}"),
                source,
            })?;
        let orders = child.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut switch = Self {
            child,
            orders,
            answers,
        };
        switch.answer().map(|_ready| switch)
    }

    pub(super) fn counts(&mut self) -> Result<SwitchCounts, NetworkError> {
        self.ask("counts")
    }

    /// Sets the faults. They apply when this returns.
    pub(super) fn set_faults(&mut self, faults: SwitchFaults) -> Result<(), NetworkError> {
        let line = serde_json::to_string(&faults).expect("faults are JSON");
        self.ask(&line).map(|_counts| ())
    }

    fn ask(&mut self, line: &str) -> Result<SwitchCounts, NetworkError> {
        writeln!(self.orders, "{line}").map_err(|error| NetworkError::Switch(error.to_string()))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<SwitchCounts, NetworkError> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(|error| NetworkError::Switch(error.to_string()))?;
        serde_json::from_str(&line)
            .map_err(|error| NetworkError::Switch(format!("{error}: {line:?}")))
    }
}

impl Drop for SwitchProcess {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            eprintln!("test-network: {PROGRAM} does not end: {error}");
        }
    }
}

/// Returns the path at which Cargo puts it: beside this program, or beside the folder of this test.
fn program() -> Result<PathBuf, NetworkError> {
    let own = env::current_exe().map_err(|source| NetworkError::System {
        what: "find this program".to_owned(),
        source,
    })?;
    let beside = own.ancestors().skip(1).take(2);
    beside
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.is_file())
        .ok_or_else(|| NetworkError::NotBuilt(own.with_file_name(PROGRAM).display().to_string()))
}

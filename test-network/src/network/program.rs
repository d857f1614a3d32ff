//! The programs that set up networks: `ip` and `nft`.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

use super::error::NetworkError;

/// Runs `ip` with these arguments.
pub(super) fn ip(words: &[&str]) -> Result<String, NetworkError> {
    run("ip", "iproute2", words, "")
}

/// Has `ip` execute all lines of a text, in a namespace.
pub(super) fn ip_lines(namespace: &str, lines: &str) -> Result<(), NetworkError> {
    run("ip", "iproute2", &["-n", namespace, "-batch", "-"], lines).map(|_| ())
}

/// Has `nft` execute a text, in a namespace.
pub(super) fn nft(namespace: &str, rules: &str) -> Result<(), NetworkError> {
    // `ip` would report only that its command has failed.
    run("nft", "nftables", &["--version"], "")?;
    let words = ["netns", "exec", namespace, "nft", "-f", "-"];
    run("ip", "iproute2", &words, rules).map(|_| ())
}

fn run(
    program: &'static str,
    package: &'static str,
    words: &[&str],
    input: &str,
) -> Result<String, NetworkError> {
    let Output {
        status,
        stdout,
        stderr,
    } = output(Command::new(program).args(words), input).map_err(|source| {
        NetworkError::Absent {
            program,
            package,
            source,
        }
    })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let command = format!("{program} {}", words.join(" "));
    let said = String::from_utf8_lossy(&stderr);
    Err(NetworkError::Refused {
        command: [command.as_str(), input.trim()]
            .join("\n")
            .trim()
            .to_owned(),
        said: format!("{status}: {}", said.trim()),
    })
}

/// Returns the output of a command for a short input.
fn output(command: &mut Command, input: &str) -> io::Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    // A program that ends without reading all has a reason, and prints it.
    let _heard = written.is_ok();
    child.wait_with_output()
}

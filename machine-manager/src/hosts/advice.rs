//! Advice about a host where no node manager could be started, from the messages of ssh or of the
//! shell there.

/// A command that should start a node manager on a host, and did not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt<'a> {
    /// The words of the launcher.
    pub(super) launcher: &'a [String],
    pub(super) host: &'a str,
    /// The path of `bcs`, which is the same on all hosts.
    pub(super) bcs: &'a str,
    /// Its exit code, if it has exited.
    pub(super) code: Option<i32>,
    /// Its messages.
    pub(super) words: &'a [String],
}

/// The exit code of a shell that finds no such program, or may not execute it.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

impl Attempt<'_> {
    /// Returns the advice, in half a sentence.
    pub(super) fn advice(&self) -> String {
        let Self { host, bcs, .. } = *self;
        let launcher = self.launcher.join(" ");
        let words = self.words.join("\n").to_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        if says(&["host key", "host identification has changed"]) {
            format!(
                "log in once by hand (`{launcher} {host}`) and compare the key of the host, or add it to the \
                 known hosts (ssh-keyscan)"
            )
        } else if self.code == Some(NOT_EXECUTABLE) {
            format!("{bcs} must be executable on {host}")
        } else if self.code == Some(NOT_FOUND) {
            format!("install bcs on {host} at the same path as here, {bcs}")
        } else if says(&["permission denied", "authentication failures"]) {
            format!(
                "let this user log in to {host} without a password: a key that `ssh-copy-id` takes there, \
                 or an agent"
            )
        } else if says(&["could not resolve", "name or service not known"]) {
            "check the names in --hosts".to_owned()
        } else if says(&["connection refused"]) {
            format!(
                "start sshd on {host}, or name the port at which it listens (--launcher 'ssh -p PORT')"
            )
        } else if says(&["timed out", "no route to host", "unreachable"]) {
            format!(
                "is {host} up, and reached from here? --launcher 'ssh -oConnectTimeout=30' waits longer"
            )
        } else if says(&[
            "connection closed",
            "closed by remote",
            "connection reset",
            "maxstartups",
        ]) {
            format!(
                "the sshd of {host} may have too many logins at once: try again, start fewer node managers there \
                 (--nic-threads shared), or raise MaxStartups in its sshd_config"
            )
        } else {
            format!("does `{launcher}` start a program on {host}?")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_has_its_advice() {
        let launcher = ["ssh".to_owned()];
        for (code, words, expected) in [
            (255, "Host key verification failed.", "known hosts"),
            (
                255,
                "a@b: Permission denied (publickey).",
                "without a password",
            ),
            (
                255,
                "ssh: Could not resolve hostname b: Name or service not known",
                "check the names",
            ),
            (
                255,
                "ssh: connect to host b port 22: Connection refused",
                "start sshd",
            ),
            (
                255,
                "ssh: connect to host b port 22: Connection timed out",
                "up",
            ),
            (
                255,
                "ssh: connect to host b port 22: No route to host",
                "up",
            ),
            (
                255,
                "kex_exchange_identification: Connection closed by remote host",
                "MaxStartups",
            ),
            (
                127,
                "sh: 1: /opt/bcs: not found",
                "at the same path as here, /opt/bcs",
            ),
            (126, "sh: 1: /opt/bcs: Permission denied", "executable"),
            (1, "anything else", "does `ssh` start a program on b?"),
        ] {
            let words = [words.to_owned()];
            let attempt = Attempt {
                launcher: &launcher,
                host: "b",
                bcs: "/opt/bcs",
                code: Some(code),
                words: &words,
            };
            let advice = attempt.advice();
            assert!(advice.contains(expected), "{words:?}: {advice}");
        }
    }
}

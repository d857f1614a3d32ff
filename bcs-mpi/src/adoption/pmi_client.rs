//! A client of PMI-1. Each request waits for its reply.

use bcs_core::pmi::{BadLine, Line, LineReader};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The launcher does not answer as PMI-1 says.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PmiError {
    /// The connection broke off.
    #[error("the connection is lost ({0})")]
    Socket(Errno),
    /// It was closed.
    #[error("it has closed the connection")]
    Closed,
    /// The answer is no line.
    #[error("it sends {0}")]
    Line(#[from] BadLine),
    /// Another answer came, or an error.
    #[error("it answers {answer:?} to {asked}")]
    Answer {
        /// The request.
        asked: String,
        /// The answer.
        answer: String,
    },
}

/// The connection to the launcher.
#[derive(Debug)]
pub(crate) struct PmiClient {
    socket: OwnedFd,
    reader: LineReader,
    space: String,
}

impl PmiClient {
    /// Begins a conversation over the socket that the launcher has given.
    pub(super) fn begin(socket: OwnedFd) -> Result<Self, PmiError> {
        let mut client = Self {
            socket,
            reader: LineReader::default(),
            space: String::new(),
        };
        client.ask(
            "init pmi_version=1 pmi_subversion=1",
            "response_to_init",
            "rc",
        )?;
        client.ask("get_maxes", "maxes", "vallen_max")?;
        client.space = client.ask("get_my_kvsname", "my_kvsname", "kvsname")?;
        Ok(client)
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let put = format!("put kvsname={} key={key} value={value}", self.space);
        self.request(&put, "put_result").map(drop)
    }

    pub(super) fn get(&mut self, key: &str) -> Result<String, PmiError> {
        let get = format!("get kvsname={} key={key}", self.space);
        self.ask(&get, "get_result", "value")
    }

    pub(super) fn barrier(&mut self) -> Result<(), PmiError> {
        self.request("barrier_in", "barrier_out").map(drop)
    }

    /// Tells the launcher that this process ends well.
    pub(crate) fn finalize(&mut self) -> Result<(), PmiError> {
        self.request("finalize", "finalize_ack").map(drop)
    }

    /// Tells the launcher to end the job with this exit code.
    pub(crate) fn abort(&mut self, code: i32) {
        let _gone = self.send(&format!("abort exitcode={code}"));
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a request, and returns a value of its reply.
    fn ask(&mut self, request: &str, reply: &str, key: &str) -> Result<String, PmiError> {
        let answer = self.request(request, reply)?;
        match Line::parse(&answer)?.value(key) {
            Some(value) => Ok(value.to_owned()),
            None => Err(unexpected(request, &answer)),
        }
    }

    /// Sends a request, and returns its reply, which reports success.
    fn request(&mut self, request: &str, reply: &str) -> Result<String, PmiError> {
        self.send(request)?;
        let answer = self.line()?;
        let line = Line::parse(&answer)?;
        match line.command == reply && line.is_success() {
            true => Ok(answer),
            false => Err(unexpected(request, &answer)),
        }
    }

    fn send(&mut self, request: &str) -> Result<(), PmiError> {
        let text = format!("cmd={request}\n");
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let sent = rustix::io::retry_on_intr(|| send(&self.socket, rest, SendFlags::NOSIGNAL));
            rest = &rest[sent.map_err(PmiError::Socket)?..];
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String, PmiError> {
        let mut buffer = [0; 1024];
        loop {
            if let Some(line) = self.reader.line()? {
                return Ok(line);
            }
            let received = rustix::io::retry_on_intr(|| {
                recv(&self.socket, &mut buffer[..], RecvFlags::empty()).map(|(length, _)| length)
            });
            match received.map_err(PmiError::Socket)? {
                0 => return Err(PmiError::Closed),
                length => self.reader.push(&buffer[..length]),
            }
        }
    }
}

fn unexpected(request: &str, answer: &str) -> PmiError {
    let command = request.split(' ').next().unwrap_or_default();
    PmiError::Answer {
        asked: command.to_owned(),
        answer: answer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixStream;

    /// Begins with a launcher that answers each line in turn. Returns the lines it has got.
    fn talk(
        answers: &'static [&'static str],
        say: impl FnOnce(OwnedFd) -> Result<(), PmiError>,
    ) -> (Result<(), PmiError>, Vec<String>) {
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let (ours, theirs) = pair.unwrap();
        let launcher = std::thread::spawn(move || {
            let stream = UnixStream::from(theirs);
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut got = Vec::new();
            for answer in answers {
                let Some(line) = lines.next() else { break };
                got.push(line.unwrap());
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
            got
        });
        (say(ours), launcher.join().unwrap())
    }

    const BEGIN: [&str; 3] = [
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
        "cmd=my_kvsname kvsname=kvs_1\n",
    ];

    #[test]
    fn requests_have_their_replies() {
        const ANSWERS: [&str; 7] = [
            BEGIN[0],
            BEGIN[1],
            BEGIN[2],
            "cmd=put_result rc=0 msg=success\n",
            "cmd=barrier_out\n",
            "cmd=get_result rc=0 msg=success value=v=1\n",
            "cmd=finalize_ack\n",
        ];
        let (ended, got) = talk(&ANSWERS, |socket| {
            let mut client = PmiClient::begin(socket)?;
            client.put("k", "v=1")?;
            client.barrier()?;
            assert_eq!(client.get("k")?, "v=1");
            client.finalize()
        });
        ended.unwrap();
        assert_eq!(got[3], "cmd=put kvsname=kvs_1 key=k value=v=1");
        assert_eq!(got[5], "cmd=get kvsname=kvs_1 key=k");
    }

    #[test]
    fn a_launcher_that_answers_otherwise_is_an_error() {
        for answer in [
            "cmd=response_to_init rc=-1\n",
            "cmd=other rc=0\n",
            "hello\n",
        ] {
            let answers: &'static [&'static str] = Vec::leak(vec![answer]);
            let (ended, _) = talk(answers, |socket| PmiClient::begin(socket).map(drop));
            assert!(ended.is_err(), "{answer}");
        }
        let (ended, _) = talk(&BEGIN[..1], |socket| PmiClient::begin(socket).map(drop));
        assert!(matches!(ended, Err(PmiError::Closed | PmiError::Socket(_))));
    }
}

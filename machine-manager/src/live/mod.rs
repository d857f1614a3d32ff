//! Running jobs, seen and ended from outside.
//!
//! ```text
//!  bcs ps, bcs state, bcs kill, bcs mds top              bcs run
//!  jobs: who is there ── /proc/net/unix
//!  client ── eight bytes ──────────────────────► control_socket ── survey_rounds ── node managers
//!         ◄──────── answers, one after the other ──────────┘
//!  snapshot ── text, JSON, top
//! ```
//!
//! | file | is |
//! |---|---|
//! | `name.rs`, `jobs.rs` | the name of a job's socket; which jobs there are |
//! | `question.rs` | the questions and answers |
//! | `control_socket.rs`, `survey_rounds.rs` | the side of `bcs run`: the socket and its clients; the surveys of node managers |
//! | `client.rs` | the side of the client |
//! | `snapshot.rs`, `text.rs` | what all ranks do at a moment; the same for a person and for a program |
//! | `top` | two moments: what happened in between |
//!
//! **No file.** The socket is in Linux's abstract namespace, which ends with the process. Its name
//! holds the job, the user and the process of `bcs run`. So a list of sockets shows the jobs even
//! if none answers.
//!
//! **Who trusts whom.** The kernel reports who connects and who listens (SO_PEERCRED). `bcs run`
//! answers its own user and root, and hangs up on all others at once. A client believes a socket
//! only if the process and the user of its name listen there: anybody may make one of that name.
//!
//! **What it costs the job.** One descriptor in the one poll of `bcs run`, and no OS thread. A
//! client sends at most eight bytes; then it has its answer or has left. `bcs run` hangs up after a
//! time on a client that sends nothing, too much or something else, or does not read. There is room
//! for a few at once; others wait for it in the kernel. A client's message is one of two questions,
//! or invalid.

pub mod client;
pub mod control_socket;
pub mod jobs;
pub mod name;
pub mod question;
pub mod snapshot;
pub mod survey_rounds;
pub mod text;
pub mod top;

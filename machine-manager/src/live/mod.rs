//! Running jobs, seen and ended from outside.
//!
//! ```text
//!  bcs ps, bcs state, bcs kill, bcs mds top                        bcs run
//!  jobs: who is there ── /proc/net/unix
//!  call ── eight bytes ──────────────────────────────────────────► door ── inquiry ── node managers
//!       ◄───────────────────────────────── answers, one after the other ┘
//!  moment ── words, JSON, top
//! ```
//!
//! | file | is |
//! |---|---|
//! | `name.rs`, `jobs.rs` | what a job's socket is called; which jobs there are |
//! | `question.rs` | what is asked and answered |
//! | `door.rs`, `inquiry.rs` | the side of `bcs run`: the socket and its clients; what node managers are asked |
//! | `call.rs` | the side of who asks |
//! | `moment.rs`, `words.rs` | what all ranks do at a moment; the same for a person and for a program |
//! | `top` | two moments: what happened in between |
//!
//! **No file.** The socket is in Linux's abstract namespace, which ends with the process. Its name is that of the job,
//! with the user and the process of `bcs run`, so whoever lists sockets finds jobs even where nobody answers.
//!
//! **Who is asked by whom.** The kernel says who connects and who listens (SO_PEERCRED). `bcs run` answers its own user
//! and root, and hangs up on all others at once. Who asks believes a socket only if the process and the user of its name
//! listen there: anybody may make one of that name.
//!
//! **What it costs the job.** A descriptor in the one poll of `bcs run` that nobody wakes. There is no OS thread for it. A
//! client is eight bytes long at most, then it has its answer or has left: whoever says nothing, too much or something
//! else, or does not read, is hung up on after a time; there is room for a few at once, and others wait for it in the
//! kernel. What a client says is one of two questions, or rubbish.

pub mod client;
pub mod control_socket;
pub mod jobs;
pub mod name;
pub mod question;
pub mod snapshot;
pub mod survey_rounds;
pub mod text;
pub mod top;

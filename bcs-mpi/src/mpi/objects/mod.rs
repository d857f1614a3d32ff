//! The objects behind the handles of a process and a communicator (MPI 5.0, 2.5.1: opaque objects),
//! and their parts. Calls are elsewhere.
//!
//! | module | is |
//! |---|---|
//! | `handles` | a process, a communicator |
//! | `members` | the members of a communicator, and those of the other group |
//! | `context_ids`, `group_families`, `closing_contexts` | which context ids are free, who chooses them, how they come back |
//! | `single_contexts` | the numbers of communicators of one rank |
//! | `part_tags` | the tags of parts of messages |
//! | [`keyval`], [`error_handler`], `properties` | what a program keeps with an object |
//! | `invalid_calls` | a rank's part in collectives that it called with wrong arguments |
//! | `user_error_codes` | the program's error codes |
//! | `universe` | what a rank knows of ranks that were spawned |
//! | `lent_functions` | functions of operations in use |
//! | `thread_level` | how threads of a program use MPI |

pub(super) mod closing_contexts;
pub(super) mod context_ids;
pub mod error_handler;
pub(super) mod group_families;
pub(super) mod handles;
pub(super) mod invalid_calls;
pub mod keyval;
pub(super) mod lent_functions;
pub(super) mod members;
pub(super) mod part_tags;
pub(super) mod properties;
pub(super) mod single_contexts;
pub(super) mod thread_level;
pub(super) mod universe;
pub(super) mod user_error_codes;

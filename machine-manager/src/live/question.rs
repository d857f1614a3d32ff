//! The questions to a running job, and its answers.

use bcs_core::job::NodeId;
use node_manager::survey::SurveyPart;
use serde::{Deserialize, Serialize};

/// The bytes of a question: four that mark it, the version, the question, and two zeroes.
pub const QUESTION_BYTES: usize = 8;

const MAGIC: [u8; 4] = *b"bcs?";

/// The version, which changes when a question or an answer does.
const VERSION: u8 = 1;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which job it is.
    Job,
    /// The same, and what all its ranks do now.
    State,
}

/// Bytes that are no known question, with the message for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// They do not begin like a question.
    #[error("that is no question")]
    Rubbish,
    /// They are of another version.
    #[error(
        "this job is run by another version of bcs (its questions have version {VERSION}, and not \
         {0}): ask with the one that runs it"
    )]
    Version(u8),
}

impl Question {
    /// Returns its bytes.
    #[must_use]
    pub fn encode(self) -> [u8; QUESTION_BYTES] {
        let [a, b, c, d] = MAGIC;
        let what = match self {
            Self::Job => 1,
            Self::State => 2,
        };
        [a, b, c, d, VERSION, what, 0, 0]
    }

    /// Decodes a question.
    ///
    /// # Errors
    /// When the bytes are no question.
    pub fn decode(bytes: &[u8; QUESTION_BYTES]) -> Result<Self, BadQuestion> {
        let [a, b, c, d, version, what, rest @ ..] = *bytes;
        match (version, what, rest) {
            _ if [a, b, c, d] != MAGIC => Err(BadQuestion::Rubbish),
            (VERSION, 1, [0, 0]) => Ok(Self::Job),
            (VERSION, 2, [0, 0]) => Ok(Self::State),
            (VERSION, ..) => Err(BadQuestion::Rubbish),
            (version, ..) => Err(BadQuestion::Version(version)),
        }
    }
}

/// A part of an answer. The last part is [`Done`](Self::Done) or [`Refused`](Self::Refused), which
/// stays the first of the variants in all versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerPart {
    /// There is no answer, for this reason.
    Refused(String),
    /// The job's description.
    Job(Box<JobFacts>),
    /// A part of the survey of its ranks.
    Part(Box<SurveyPart>),
    /// The answer is complete, except for these nodes.
    Done(Vec<NodeId>),
}

/// The description of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// Its id.
    pub id: String,
    /// The process of `bcs run`.
    pub pid: i32,
    /// The user.
    pub user: u32,
    /// Its nodes.
    pub nodes: usize,
    /// Its ranks.
    pub ranks: usize,
    /// Its age.
    pub age_ms: u64,
    /// Whether it is ending.
    pub is_ending: bool,
    /// Whether it records dumps.
    pub is_recorded: bool,
    /// The programs with their arguments, shortened for a reader.
    pub command: Vec<String>,
}

/// The most bytes of a command line.
const COMMAND_BYTES: usize = 4_096;

impl JobFacts {
    /// Shortens the command to that.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let mut room = COMMAND_BYTES;
        let mut fits = |word: &String| {
            let fits = word.len() < room;
            room = room.saturating_sub(word.len() + 1);
            fits
        };
        let kept = self.command.iter().take_while(|word| fits(word)).count();
        if kept < self.command.len() {
            self.command.truncate(kept);
            self.command.push("...".to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_its_bytes_and_nothing_else_is_one() {
        for question in [Question::Job, Question::State] {
            let bytes = question.encode();
            assert_eq!(Question::decode(&bytes), Ok(question));
            for at in 0..QUESTION_BYTES {
                for bit in 0..8 {
                    let mut other = bytes;
                    other[at] ^= 1 << bit;
                    assert_ne!(Question::decode(&other), Ok(question));
                }
            }
        }
        let of_later = [b'b', b'c', b's', b'?', 9, 200, 1, 2];
        assert_eq!(Question::decode(&of_later), Err(BadQuestion::Version(9)));
        assert_eq!(Question::decode(b"GET / HT"), Err(BadQuestion::Rubbish));
    }

    #[test]
    fn a_long_command_is_cut_between_words() {
        let facts = |command: Vec<String>| JobFacts {
            command,
            ..JobFacts::default()
        };
        let short = facts(vec!["a".into(), "b".into()]);
        assert_eq!(short.clone().shortened(), short);
        let long = facts(vec!["a".into(), "b".repeat(1 << 20), "c".into()]);
        assert_eq!(long.shortened().command, ["a", "..."]);
    }
}

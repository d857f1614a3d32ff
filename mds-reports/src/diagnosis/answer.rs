//! The answer: the causes, and three sentences.

use serde_json::{Value, json};

use super::cause::{CostlyCause, SlowCause};
use super::words;

/// The answer to "why is it slow".
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The largest cause, with its cost; [`SlowCause::NothingWrong`] costs nothing.
    pub largest: CostlyCause,
    /// All causes that were found, the most expensive first.
    pub causes: Vec<CostlyCause>,
    /// They say what share of time is in MPI, name the cause, and say what to try.
    pub sentences: [String; 3],
}

impl Diagnosis {
    /// Returns the sentences as a paragraph with lines of at most `width` columns.
    #[must_use]
    pub fn paragraph(&self, width: usize) -> String {
        words::wrapped(&self.sentences, width)
    }

    /// Returns the same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let cause = |found: &CostlyCause| {
            let mut value = json!({"cause": found.cause.name(), "cost_ns": found.cost_ns});
            match &found.cause {
                SlowCause::LoadImbalance { rank }
                | SlowCause::SlowCore { rank }
                | SlowCause::FileInput { rank }
                | SlowCause::Sleep { rank }
                | SlowCause::SerialisedRoot { rank } => value["rank"] = json!(rank),
                SlowCause::LateSender { place }
                | SlowCause::LateReceiver { place }
                | SlowCause::WaitAtCollective { place, .. } => value["place"] = json!(place),
                _ => {}
            }
            value
        };
        json!({
            "largest": cause(&self.largest),
            "causes": self.causes.iter().map(cause).collect::<Vec<_>>(),
            "sentences": self.sentences,
        })
    }
}

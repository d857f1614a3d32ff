//! The rows to measure: the program's arguments, which `bcs bench` and `apps/c/bench.c` take as
//! well.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// An operation that is timed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BenchOperation {
    /// Half a round trip between ranks 0 and 1
    Latency,
    /// Windows of 64 messages from rank 0 to 1, each acknowledged: the time of a message
    Bandwidth,
    /// The same with messages of 8 bytes
    Rate,
    /// Ranks 0 and 1 send to each other at once
    Exchange,
    /// Everybody sends to the next rank and receives from the one before
    Sendrecv,
    /// MPI_Barrier
    Barrier,
    /// MPI_Bcast from rank 0, or from all ranks in turn
    Bcast,
    /// MPI_Reduce of doubles to rank 0, or to all ranks in turn
    Reduce,
    /// MPI_Allreduce of doubles
    Allreduce,
    /// MPI_Alltoall; the size is that from each rank to each
    Alltoall,
    /// Rank 0 computes 10 ms between all reductions of one double
    Lag,
}

impl BenchOperation {
    /// Returns its name on command lines and in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BenchOperation::Latency => "latency",
            BenchOperation::Bandwidth => "bandwidth",
            BenchOperation::Rate => "rate",
            BenchOperation::Exchange => "exchange",
            BenchOperation::Sendrecv => "sendrecv",
            BenchOperation::Barrier => "barrier",
            BenchOperation::Bcast => "bcast",
            BenchOperation::Reduce => "reduce",
            BenchOperation::Allreduce => "allreduce",
            BenchOperation::Alltoall => "alltoall",
            BenchOperation::Lag => "lag",
        }
    }

    /// Returns its fixed size, if the requested sizes do not apply to it.
    #[must_use]
    pub fn fixed_bytes(self) -> Option<usize> {
        match self {
            BenchOperation::Barrier => Some(0),
            BenchOperation::Rate | BenchOperation::Lag => Some(8),
            _ => None,
        }
    }

    /// Returns whether it can be measured at a size. Reductions take whole doubles. Size 0 is
    /// measured only where it still takes a message.
    #[must_use]
    pub fn takes(self, bytes: usize) -> bool {
        match self {
            BenchOperation::Latency | BenchOperation::Exchange | BenchOperation::Sendrecv => true,
            BenchOperation::Bandwidth | BenchOperation::Bcast | BenchOperation::Alltoall => {
                bytes > 0
            }
            BenchOperation::Reduce | BenchOperation::Allreduce => {
                bytes > 0 && bytes.is_multiple_of(size_of::<f64>())
            }
            BenchOperation::Rate | BenchOperation::Barrier | BenchOperation::Lag => {
                self.fixed_bytes() == Some(bytes)
            }
        }
    }
}

impl fmt::Display for BenchOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which buffers the messages have, and who uses them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BufferMode {
    /// The MPI only: they may stay in its caches
    Untouched,
    /// The program, too: it writes what it sends and reads what it has received
    Touched,
    /// The MPI only, and roots take turns
    Turns,
    /// The same, and each message has the next buffer of several
    Fresh,
}

impl fmt::Display for BufferMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BufferMode::Untouched => "untouched",
            BufferMode::Touched => "touched",
            BufferMode::Turns => "turns",
            BufferMode::Fresh => "fresh",
        })
    }
}

/// A number of bytes as it is written on command lines: `8`, `64K`, `4M`, or with `KiB`, `MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub usize);

/// The largest message.
const MAX_BYTES: usize = 1 << 30;

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let shift = match &text[digits.len()..] {
            "" | "B" => Some(0),
            "K" | "KiB" => Some(10),
            "M" | "MiB" => Some(20),
            _ => None,
        };
        let number = digits.parse::<usize>().ok();
        shift
            .zip(number)
            .and_then(|(shift, number)| number.checked_mul(1 << shift))
            .filter(|bytes| *bytes <= MAX_BYTES)
            .map(ByteSize)
            .ok_or_else(|| {
                format!(
                    "give bytes as in 8, 64K or 4M, at most {}M",
                    MAX_BYTES >> 20
                )
            })
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self.0 {
            0 => "0".to_owned(),
            bytes if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
            bytes => bytes.to_string(),
        })
    }
}

/// The options of a benchmark: its measurements and their durations.
#[derive(Debug, Clone, Args)]
pub struct BenchOptions {
    /// What to time, in this order [default: all but lag]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "OPS",
        hide_default_value = true,
        default_value = "latency,bandwidth,rate,exchange,sendrecv,barrier,bcast,reduce,allreduce,alltoall"
    )]
    pub ops: Vec<BenchOperation>,

    /// Sizes of a message; those that an operation does not take are left out
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "BYTES",
        default_value = "0,1,4,16,64,256,1K,4K,16K,64K,256K,1M,4M"
    )]
    pub sizes: Vec<ByteSize>,

    /// Use of the buffers between the calls, by the MPI only or by the program as well; whether
    /// roots take turns; and whether each message has another buffer. Several are measured one
    /// after the other
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "MODES",
        default_value = "untouched"
    )]
    pub mode: Vec<BufferMode>,

    /// How long to measure each row, in milliseconds; warming up comes on top
    #[arg(long, value_name = "MS", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    pub row_ms: u32,

    /// How many samples to take of each row, of which the median is told
    #[arg(long, value_name = "N", default_value_t = 9,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub samples: u32,
}

/// A requested row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BenchCase {
    /// The timed operation.
    pub op: BenchOperation,
    /// The size of a message.
    pub bytes: usize,
    /// Which buffers, and who uses them. Rows without data, and `lag`, are always `Untouched`.
    pub mode: BufferMode,
}

impl BenchOptions {
    /// Returns the requested rows, in order.
    #[must_use]
    pub fn cases(&self) -> Vec<BenchCase> {
        let mut cases = Vec::new();
        for &op in &self.ops {
            let given = self.sizes.iter().map(|size| size.0);
            let sizes: Vec<usize> = match op.fixed_bytes() {
                Some(bytes) => vec![bytes],
                None => given.filter(|bytes| op.takes(*bytes)).collect(),
            };
            for bytes in sizes {
                if bytes == 0 || op == BenchOperation::Lag {
                    let mode = BufferMode::Untouched;
                    cases.push(BenchCase { op, bytes, mode });
                } else {
                    cases.extend(self.mode.iter().map(|&mode| BenchCase { op, bytes, mode }));
                }
            }
        }
        cases
    }

    /// Returns the arguments that request the same rows.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        fn list<T: ToString>(all: &[T]) -> String {
            let all: Vec<String> = all.iter().map(T::to_string).collect();
            all.join(",")
        }
        let words = [
            ("--ops", list(&self.ops)),
            ("--sizes", list(&self.sizes)),
            ("--mode", list(&self.mode)),
            ("--row-ms", self.row_ms.to_string()),
            ("--samples", self.samples.to_string()),
        ];
        words
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct OptionLine {
        #[command(flatten)]
        options: BenchOptions,
    }

    fn options(line: &str) -> BenchOptions {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        OptionLine::try_parse_from(words).unwrap().options
    }

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("8", 8),
            ("1000", 1000),
            ("1K", 1024),
            ("64K", 65_536),
            ("4M", 4 << 20),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)));
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
        assert_eq!("4KiB".parse(), Ok(ByteSize(4096)));
        for bad in [
            "",
            "K",
            "-1",
            "1.5K",
            "8k",
            "2000M",
            "1G",
            "é",
            "99999999999999999999M",
        ] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_operation_is_left_out_at_sizes_that_it_does_not_take() {
        let options = options("--ops barrier,latency,allreduce,rate --sizes 0,4,8 --mode touched");
        let cases: Vec<_> = options
            .cases()
            .iter()
            .map(|case| format!("{} {} {}", case.op, case.bytes, case.mode))
            .collect();
        assert_eq!(
            cases,
            [
                "barrier 0 untouched",
                "latency 0 untouched",
                "latency 4 touched",
                "latency 8 touched",
                "allreduce 8 touched",
                "rate 8 touched",
            ]
        );
    }

    #[test]
    fn the_words_say_the_same() {
        let line = "--ops lag,bcast --sizes 8,4M --mode untouched,touched --row-ms 5 --samples 3";
        assert_eq!(options(line).words().join(" "), line);
        let default = options("");
        assert_eq!(options(&default.words().join(" ")).cases(), default.cases());
        assert_eq!(
            default.ops.len(),
            BenchOperation::value_variants().len() - 1,
            "all but lag"
        );
    }

    #[test]
    fn names_on_the_command_line_are_those_of_the_rows() {
        for op in BenchOperation::value_variants() {
            assert_eq!(op.to_possible_value().unwrap().get_name(), op.name());
            assert_eq!(serde_json::to_string(op).unwrap(), format!("\"{op}\""));
        }
    }
}

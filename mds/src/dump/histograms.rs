//! The histograms of a rank or node as a file: an HdrHistogram V2 interval log, which the tools of
//! that project read, with a Tag for each distribution. The first line names the owner; to those
//! tools it is a comment.
//!
//! The `hdrhistogram` crate writes the logs. A decoder of our own reads them: the crate's decoder
//! allocates whatever size the log states, and panics at a count that cannot be negated.

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

use super::limits::MOST_HISTOGRAM_BYTES;

use super::columns::Owner;
use super::label::{Label, labelled};
use super::{DistributionDump, DumpError};

const FORMAT: &str = "bcs-mds-histograms";

/// The first four bytes of a deflated histogram, and of a plain one (V2, words of one byte and
/// more).
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;

/// The length of a plain histogram's header, before its counts.
const HEADER: usize = 40;

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    job: String,
    of: u32,
}

/// A distribution in a log: its tag and its buckets.
pub(super) type LoggedHistogram = (String, Vec<(u64, u64)>);

/// Writes the histograms of distributions that are not empty, each under its tag, as recorded in
/// `run_ns`.
pub(super) fn write<'a>(
    to: &mut impl Write,
    owner: Owner<'_>,
    run_ns: u64,
    distributions: impl Iterator<Item = (String, &'a DistributionDump)>,
) -> io::Result<()> {
    let head = Head {
        job: owner.job.to_owned(),
        of: owner.number,
    };
    let head = serde_json::to_string(&Label::new(FORMAT, head))?;
    let mut serializer = DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(&head)
        .begin_log_with(to, &mut serializer)?;
    for (tag, distribution) in distributions {
        if distribution.histogram.is_empty() {
            continue;
        }
        let Some(tag) = Tag::new(&tag) else {
            return Err(io::Error::other(format!("{tag:?} cannot be a tag")));
        };
        let histogram = histogram(&distribution.histogram)?;
        let run = Duration::from_nanos(run_ns);
        let written = log.write_histogram(&histogram, Duration::ZERO, run, Some(tag));
        written.map_err(|error| io::Error::other(error.to_string()))?;
    }
    Ok(())
}

/// Writes the same as the crate's own serializer, but with one compressor for all histograms. The
/// crate's makes a new one for each; for a thousand ranks that takes longer than everything else.
struct DeflateSerializer {
    serializer: V2Serializer,
    plain: Vec<u8>,
    deflated: Vec<u8>,
    compressor: Compress,
}

impl DeflateSerializer {
    fn new() -> Self {
        Self {
            serializer: V2Serializer::new(),
            plain: Vec::new(),
            deflated: Vec::new(),
            compressor: Compress::new(Compression::default(), true),
        }
    }
}

impl Serializer for DeflateSerializer {
    type SerializeError = io::Error;

    fn serialize<T: Counter, W: Write>(
        &mut self,
        histogram: &Histogram<T>,
        to: &mut W,
    ) -> io::Result<usize> {
        self.plain.clear();
        let plain = self.serializer.serialize(histogram, &mut self.plain);
        plain.map_err(io::Error::other)?;
        self.deflated.clear();
        // Data that cannot be compressed grows by some bytes for each 16 KiB.
        self.deflated
            .reserve(self.plain.len() + self.plain.len() / 64 + 64);
        self.compressor.reset();
        let whole = FlushCompress::Finish;
        let status = self
            .compressor
            .compress_vec(&self.plain, &mut self.deflated, whole)?;
        if status != Status::StreamEnd {
            return Err(io::Error::other(
                "a histogram has more bytes compressed than plain",
            ));
        }
        let length = u32::try_from(self.deflated.len()).map_err(io::Error::other)?;
        to.write_all(&DEFLATED.to_be_bytes())?;
        to.write_all(&length.to_be_bytes())?;
        to.write_all(&self.deflated)?;
        Ok(8 + self.deflated.len())
    }
}

/// Returns the coarsest histogram that keeps all buckets apart and each in its place.
fn histogram(buckets: &[(u64, u64)]) -> io::Result<Histogram<u64>> {
    let largest = buckets.last().map_or(2, |bucket| bucket.0.max(2));
    let mut made = None;
    for digits in 1..=5 {
        let empty: Histogram<u64> =
            Histogram::new_with_bounds(1, largest, digits).map_err(io::Error::other)?;
        if buckets
            .iter()
            .all(|(low, _)| empty.lowest_equivalent(*low) == *low)
        {
            made = Some(empty);
            break;
        }
    }
    let Some(mut histogram) = made else {
        return Err(io::Error::other("a histogram is finer than five digits"));
    };
    for (low, count) in buckets {
        histogram.record_n(*low, *count).map_err(io::Error::other)?;
    }
    Ok(histogram)
}

/// Returns everything that the log of `owner` holds.
///
/// # Errors
///
/// If the file is anything but a whole log. `path` is only for the message.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    owner: Owner<'_>,
) -> Result<Vec<LoggedHistogram>, DumpError> {
    if bytes.last() != Some(&b'\n') {
        return Err(DumpError::Truncated {
            path: path.to_owned(),
            length: bytes.len(),
        });
    }
    let head = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let head = head.strip_prefix(b"#").unwrap_or(head);
    let Label { content: head, .. } = labelled::<Label<Head>>(path, head, FORMAT)?;
    if head.job != owner.job {
        return Err(DumpError::TwoRuns {
            path: path.to_owned(),
            job: head.job,
            other: owner.job.to_owned(),
        });
    }
    if head.of != owner.number {
        return Err(DumpError::Misnamed {
            path: path.to_owned(),
            content: format!("the log of number {}", head.of),
        });
    }
    let mut logged = Vec::new();
    for entry in IntervalLogIterator::new(bytes) {
        let broken = |_| DumpError::malformed(path, "a line of it is none of a histogram log");
        let LogEntry::Interval(interval) = entry.map_err(broken)? else {
            continue;
        };
        let tag = interval.tag().map_or("", |tag| tag.as_str()).to_owned();
        let buckets = buckets(interval.encoded_histogram());
        let buckets = buckets
            .map_err(|what| DumpError::malformed(path, format!("the histogram {tag:?} {what}")))?;
        logged.push((tag, buckets));
    }
    Ok(logged)
}

/// Decodes the buckets of a histogram from the log. The error explains why it is not valid.
fn buckets(encoded: &str) -> Result<Vec<(u64, u64)>, String> {
    let deflated = STANDARD
        .decode(encoded)
        .map_err(|error| format!("is not base64 ({error})"))?;
    let length = deflated.len().saturating_sub(8);
    let known =
        word(&deflated, 0) == Some(DEFLATED) && word(&deflated, 4).map(as_usize) == Some(length);
    if !known {
        return Err("is in no encoding that is known".to_owned());
    }
    let mut plain = Vec::new();
    let inflated = ZlibDecoder::new(&deflated[8..])
        .take(MOST_HISTOGRAM_BYTES + 1)
        .read_to_end(&mut plain);
    inflated.map_err(|error| format!("cannot be inflated ({error})"))?;
    if plain.len() as u64 > MOST_HISTOGRAM_BYTES {
        return Err("is too long".to_owned());
    }
    counts(&plain)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn as_usize(word: u32) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// Returns the counts of a plain histogram that are not zero, with the smallest figure of their
/// buckets.
fn counts(plain: &[u8]) -> Result<Vec<(u64, u64)>, String> {
    let low = plain
        .get(16..24)
        .is_some_and(|low| low == 1_u64.to_be_bytes());
    let ratio = plain
        .get(32..40)
        .is_some_and(|ratio| ratio == 1_f64.to_be_bytes());
    let digits = word(plain, 12).filter(|digits| (1..=5).contains(digits));
    let (Some(PLAIN), Some(0), Some(digits), true, true) =
        (word(plain, 0), word(plain, 8), digits, low, ratio)
    else {
        return Err("has a header that is not known".to_owned());
    };
    let mut left = &plain[HEADER..];
    if word(plain, 4).map(as_usize) != Some(left.len()) {
        return Err("is not as long as it says".to_owned());
    }
    let scale = HdrScale::of(digits);
    let mut buckets = Vec::new();
    let mut index = 0_u64;
    while !left.is_empty() {
        let number = signed(&mut left).ok_or("ends within a number")?;
        if number < 0 {
            // A negative number stands for that many zeros in a row.
            index = index.saturating_add(number.unsigned_abs());
            continue;
        }
        if number > 0 {
            let low = scale
                .lowest(index)
                .ok_or("has more buckets than there are figures")?;
            buckets.push((low, number.unsigned_abs()));
        }
        index = index.saturating_add(1);
    }
    Ok(buckets)
}

/// The numbering of buckets: the first `2 * half` buckets hold one figure each. The buckets of each
/// following group of `half` are twice as wide as those of the group before.
struct HdrScale {
    half_bits: u32,
}

impl HdrScale {
    fn of(digits: u32) -> Self {
        let single = 2 * 10_u64.pow(digits);
        Self {
            half_bits: single.next_power_of_two().ilog2() - 1,
        }
    }

    /// Returns the smallest figure of a bucket.
    fn lowest(&self, index: u64) -> Option<u64> {
        let half = 1 << self.half_bits;
        let block = index >> self.half_bits;
        if block < 2 {
            return Some(index);
        }
        let shift = u32::try_from(block - 1).ok()?;
        let low = (index & (half - 1)) + half;
        (shift <= low.leading_zeros()).then(|| low << shift)
    }
}

/// Decodes the next number: seven bits in a byte, the lowest first, eight in the ninth; then the
/// sign in the lowest bit.
fn signed(left: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for byte_index in 0..9 {
        let (byte, rest) = left.split_first()?;
        *left = rest;
        let last = byte_index == 8;
        let bits = if last { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * byte_index);
        if last || byte & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

    const OWNER: Owner<'static> = Owner {
        job: "job 1",
        number: 3,
    };

    fn encoded(histogram: &Histogram<u64>) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            .unwrap();
        STANDARD.encode(bytes)
    }

    #[test]
    fn what_the_crate_writes_is_read_at_every_resolution() {
        for digits in 1..=5 {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, u64::MAX, digits).unwrap();
            for power in 0..62 {
                histogram.record_n((1 << power) + 3, power + 1).unwrap();
            }
            histogram.record_n(0, 7).unwrap();
            let expected: Vec<(u64, u64)> = histogram
                .iter_recorded()
                .map(|step| {
                    let low = histogram.lowest_equivalent(step.value_iterated_to());
                    (low, step.count_at_value())
                })
                .collect();
            assert_eq!(
                buckets(&encoded(&histogram)).unwrap(),
                expected,
                "{digits} digits"
            );
        }
    }

    #[test]
    fn the_crate_reads_what_is_written() {
        let histogram = histogram(&[(0, 3), (77, 1), (1 << 40, 9)]).unwrap();
        let mut bytes = Vec::new();
        let mut deflated = DeflateSerializer::new();
        for _ in 0..2 {
            bytes.clear();
            let length = deflated.serialize(&histogram, &mut bytes).unwrap();
            assert_eq!(length, bytes.len());
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            assert_eq!(read, histogram);
        }
    }

    #[test]
    fn a_log_gives_back_the_histograms_with_their_tags() {
        let mut live = crate::Distribution::new();
        for figure in [0, 1, 999, 123_456_789, 1 << 40] {
            live.record_many(figure, figure % 100 + 1);
        }
        let fine = DistributionDump::from(&live);
        let coarse = DistributionDump::of([32, 34, 36]);
        let empty = DistributionDump::default();
        let all = [("a.b", &fine), ("empty", &empty), ("site.0", &coarse)];
        let all = all.map(|(tag, distribution)| (tag.to_owned(), distribution));
        let mut bytes = Vec::new();
        write(&mut bytes, OWNER, 5_000, all.into_iter()).unwrap();
        let logged = read(Path::new("x.hlog"), &bytes, OWNER).unwrap();
        let expected = [
            ("a.b".to_owned(), fine.histogram),
            ("site.0".to_owned(), coarse.histogram),
        ];
        assert_eq!(logged, expected);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("#{\"format\":\"bcs-mds-histograms\",\"version\":2,"));
        assert!(text.contains("\nTag=a.b,0.000,0.000,"), "{text}");
    }

    #[test]
    fn histograms_that_lie_are_refused() {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&histogram(&[(5, 1)]).unwrap(), &mut bytes)
            .unwrap();
        let mut longer = bytes.clone();
        longer[7] += 1;
        assert!(
            buckets(&STANDARD.encode(&longer))
                .unwrap_err()
                .contains("no encoding")
        );
        assert!(buckets("????").unwrap_err().contains("base64"));
        assert!(buckets("").unwrap_err().contains("no encoding"));

        let header = |counts: &[u8]| {
            let mut plain = Vec::new();
            plain.extend(PLAIN.to_be_bytes());
            plain.extend(u32::try_from(counts.len()).unwrap().to_be_bytes());
            plain.extend([0; 4]);
            plain.extend(2_u32.to_be_bytes());
            plain.extend(1_u64.to_be_bytes());
            plain.extend(u64::MAX.to_be_bytes());
            plain.extend(1_f64.to_be_bytes());
            plain.extend(counts);
            plain
        };
        assert_eq!(super::counts(&header(&[2])).unwrap(), [(0, 1)]);
        // The smallest number has no opposite.
        let least = super::counts(&header(&[0xff; 9]));
        assert_eq!(least.unwrap(), []);
        let beyond = super::counts(&header(&[&[0xff; 9][..], &[2]].concat()));
        assert!(beyond.unwrap_err().contains("more buckets"));
        assert!(
            super::counts(&header(&[0x80]))
                .unwrap_err()
                .contains("ends within")
        );
        assert!(
            super::counts(&header(&[2])[..40])
                .unwrap_err()
                .contains("as long")
        );
    }
}

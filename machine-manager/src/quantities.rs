//! Numbers with units, as users write them.

use crate::cores::CoreList;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A quantity as the user wrote it: it is printed in the unit in which it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenQuantity<T> {
    /// The quantity.
    pub value: T,
    text: String,
}

impl<T> fmt::Display for GivenQuantity<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text.trim())
    }
}

/// Formats a time: to the second, in UTC.
#[must_use]
pub fn date(then: SystemTime) -> String {
    humantime::format_rfc3339_seconds(then).to_string()
}

/// Parses a quantity, and remembers how it was written.
pub fn given<T>(
    parse: fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<GivenQuantity<T>, String> + Clone + Send + Sync + 'static
where
    T: 'static,
{
    move |text| {
        let value = parse(text)?;
        let text = text.to_owned();
        Ok(GivenQuantity { value, text })
    }
}

/// Parses a number of ranks or nodes.
///
/// # Errors
/// The error in the text.
pub fn parse_count(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "this is no number of ranks or nodes: give one from 1".into())
}

/// Parses the degree of the launch tree.
///
/// # Errors
/// The error in the text.
pub fn parse_degree(text: &str) -> Result<usize, String> {
    let degree = text.parse().ok().filter(|&degree| degree > 0);
    degree.ok_or_else(|| "this is no number of node managers: give one from 1".into())
}

/// Parses ports such as `4000-4999`, or one.
///
/// # Errors
/// The error in the text, and the format of ports.
pub fn parse_ports(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err("these are no ports: give the first and the last, as in 4000-4999".into()),
    }
}

/// Parses a duration such as `500us`, `1ms`, `2s` or `1m 30s`. A bare number is in seconds, as with
/// other launchers.
///
/// # Errors
/// The error in the text, and the format of a duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad = || "this is no duration: give a number and a unit, as in 500us, 1ms or 2s".into();
    let text = text.trim();
    if !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        let seconds: f64 = text.parse().map_err(|_| bad())?;
        return Duration::try_from_secs_f64(seconds).map_err(|_| bad());
    }
    humantime::parse_duration(&text.replace('µ', "u")).map_err(|_| bad())
}

/// Parses a size such as `4096` or `4KiB`, in bytes.
///
/// # Errors
/// The error in the text, and the format of a size.
pub fn parse_size(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.0)
        .map_err(|_| "this is no size: give bytes, or a number and a unit, as in 4KiB".into())
}

/// Parses a bandwidth such as `2GB/s` or `2GB`, in bytes per second.
///
/// # Errors
/// The error in the text, and the format of a bandwidth.
pub fn parse_bandwidth(text: &str) -> Result<u64, String> {
    parse_size(text.trim().strip_suffix("/s").unwrap_or(text))
        .map_err(|_| "this is no bandwidth: give a number and a unit, as in 2GB/s".into())
}

/// Parses `soft:LIMIT` or `host`, as a number of elements.
///
/// # Errors
/// The error in the text, and the possible values.
pub fn parse_reduce(text: &str) -> Result<u32, String> {
    match text.strip_prefix("soft:") {
        Some(limit) => limit.parse().ok(),
        None => (text == "host").then_some(0),
    }
    .ok_or_else(|| "this is neither soft:LIMIT, with a number of elements, nor host".into())
}

/// Parses a list of cores such as `2-5,7`.
///
/// # Errors
/// The error in the text, and the format of a list.
pub fn parse_cores(text: &str) -> Result<CoreList, String> {
    CoreList::parse(text)
        .ok_or_else(|| "this is no list of cores: give numbers and ranges, as in 3 or 2-5,7".into())
}

/// Parses `K=V`, an environment variable to set.
///
/// # Errors
/// The error in the text, and the format of an assignment.
pub fn parse_assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("this sets no variable: give a name and a value, as in OMP_NUM_THREADS=1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_written() {
        assert_eq!(parse_duration("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(parse_duration("500µs"), Ok(Duration::from_micros(500)));
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_duration("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(given(parse_duration)("90s").unwrap().to_string(), "90s");
        assert_eq!(parse_size("4KiB"), Ok(4096));
        assert_eq!(parse_size("0"), Ok(0));
        assert_eq!(parse_bandwidth("2GB/s"), Ok(2_000_000_000));
        assert_eq!(parse_bandwidth("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_reduce("soft:16"), Ok(16));
        assert_eq!(parse_reduce("host"), Ok(0));
        let assignment = ("A".into(), "b=c".into());
        assert_eq!(parse_assignment("A=b=c"), Ok(assignment));
    }

    #[test]
    fn what_is_no_quantity_says_how_one_looks() {
        for bad in ["", "soon", "1.2.3", "5 parsecs"] {
            assert!(parse_duration(bad).unwrap_err().contains("500us"), "{bad}");
        }
        assert!(parse_size("4 parsecs").unwrap_err().contains("4KiB"));
        assert!(parse_assignment("=x").unwrap_err().contains("OMP_NUM"));
        assert!(parse_bandwidth("fast").unwrap_err().contains("2GB/s"));
        assert!(
            parse_reduce("soft:many")
                .unwrap_err()
                .contains("soft:LIMIT")
        );
    }
}

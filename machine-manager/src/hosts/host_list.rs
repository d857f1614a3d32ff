//! Lists of hosts, as users and Slurm write them: `a,b:4,n[01-16]`.

use super::bad_hosts::BadHosts;
use bcs_core::limits::MAX_RANKS;

/// The hosts that a job may use, and how many ranks each takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList {
    /// The names, with ranges of numbers expanded.
    pub names: Vec<String>,
    /// The slots of each; `None` if the user gave no slots.
    pub slots: Option<Vec<usize>>,
}

impl HostList {
    /// Returns whether all of them are this machine, which needs no launcher. `own` is another name
    /// of it, if there is one.
    #[must_use]
    pub fn are_here(&self, own: Option<&str>) -> bool {
        let uname = rustix::system::uname();
        let name = uname.nodename().to_str().unwrap_or_default();
        let here = ["localhost", "127.0.0.1", "::1", name, own.unwrap_or(name)];
        self.names.iter().all(|name| here.contains(&&**name))
    }
}

/// Parses names between commas, with slots as in `a:4`, and ranges of numbers as in `n[01-16]`. If
/// any host has slots, a host without them has one.
///
/// # Errors
/// [`BadHosts::NoName`].
pub fn parse_names(text: &str) -> Result<HostList, BadHosts> {
    let bad = || BadHosts::NoName(text.to_owned());
    let mut hosts = Vec::new();
    for part in parts(text) {
        let (name, slots) = name_and_slots(part.trim()).ok_or_else(bad)?;
        let names = expanded(name).ok_or_else(bad)?;
        hosts.extend(names.into_iter().map(|name| (name, slots)));
    }
    let any = hosts.iter().any(|(_, slots)| slots.is_some());
    let slots = any.then(|| hosts.iter().map(|(_, slots)| slots.unwrap_or(1)).collect());
    let names = hosts.into_iter().map(|(name, _)| name).collect();
    Ok(HostList { names, slots })
}

/// Splits a list at its commas, but not at those between brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    text.split(|c| {
        match c {
            '[' => is_inside = true,
            ']' => is_inside = false,
            _ => {}
        }
        c == ',' && !is_inside
    })
    .collect()
}

/// Returns all names that a name with ranges of numbers stands for. The numbers have as many digits
/// as the first of their range. Returns `None` if a range is not one, or if there are more names
/// than a job can have ranks.
fn expanded(name: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = name.split_once('[') else {
        return (!name.contains(']')).then(|| vec![name.to_owned()]);
    };
    let (ranges, after) = rest.split_once(']')?;
    let endings = expanded(after)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return None;
        }
        let width = first.len();
        for number in first.parse::<usize>().ok()?..=last.parse().ok()? {
            let ending = |ending: &String| format!("{before}{number:0width$}{ending}");
            names.extend(endings.iter().map(ending));
            if names.len() > MAX_RANKS {
                return None;
            }
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Splits a host and its slots, which follow a colon. An address with more colons (IPv6) has no
/// slots.
pub(crate) fn name_and_slots(text: &str) -> Option<(&str, Option<usize>)> {
    let (name, slots) = match text.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => {
            let slots = slots.parse().ok().filter(|&slots| slots > 0)?;
            (name, Some(slots))
        }
        _ => (text, None),
    };
    (!name.is_empty()).then_some((name, slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_slots_if_one_of_them_has() {
        let named = |text| parse_names(text).unwrap();
        assert_eq!(named("a, b").slots, None);
        assert_eq!(named("a:4,b").slots, Some(vec![4, 1]));
        assert_eq!(named("fe80::1:4").names, ["fe80::1:4"], "an address");
        assert!(named("localhost:2,127.0.0.1").are_here(None));
        assert!(!named("localhost,no-such-host").are_here(None));
        assert!(named("localhost,n1").are_here(Some("n1")));
    }

    #[test]
    fn ranges_of_numbers_are_expanded() {
        let names = |text| parse_names(text).map(|list| list.names.join(" ")).unwrap();
        assert_eq!(names("n[1-3]"), "n1 n2 n3");
        assert_eq!(names("n[08-10,12],m"), "n08 n09 n10 n12 m");
        assert_eq!(names("a[1-2]b[1-2]"), "a1b1 a1b2 a2b1 a2b2");
        assert_eq!(names("r[7].cluster, x"), "r7.cluster x");
        let list = parse_names("n[1-2]:3,m").unwrap();
        assert_eq!(list.slots, Some(vec![3, 3, 1]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for bad in [
            "a,,b",
            "a:0",
            "a:x",
            ":2",
            "",
            "n[",
            "n]",
            "n[]",
            "n[2-1]",
            "n[a-b]",
            "n[1-]",
            "n[-1]",
            "n[0-99999999]",
            "n[1-9999][1-9999]",
        ] {
            assert!(parse_names(bad).is_err(), "{bad}");
        }
    }
}

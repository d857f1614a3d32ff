//! Values of other launchers' options that are about hosts and cores.

/// A list of hosts as `--hosts` takes it, from the text of a host file: `h`, `h:n` (MPICH) or
/// `h slots=n` (Open MPI) in a line. A host that stands there again, as in the files of batch
/// systems, has one more slot.
///
/// # Errors
/// The line, what was found there and what belongs there.
pub(super) fn hosts(text: &str) -> Result<String, String> {
    let mut hosts: Vec<(String, Option<usize>)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let bad = |what: &str| {
            format!(
                "line {number} has '{what}': give a host in each line, as in a, a:4 or a slots=4"
            )
        };
        let (name, mut slots) = crate::hosts::name_and_slots(first).ok_or_else(|| bad(first))?;
        for word in words {
            match word.split_once('=') {
                Some(("slots", count)) => {
                    let count = count.parse().ok().filter(|&count| count > 0);
                    slots = Some(count.ok_or_else(|| bad(word))?);
                }
                // A maximum of slots; fewer may be used.
                Some(("max_slots" | "max-slots", _)) => {}
                _ => return Err(bad(word)),
            }
        }
        match hosts.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = Some(known.unwrap_or(1) + slots.unwrap_or(1)),
            None => hosts.push((name.to_owned(), slots)),
        }
    }
    if hosts.is_empty() {
        return Err("it names no host: give one in each line".into());
    }
    let written = hosts.into_iter().map(|(name, slots)| match slots {
        Some(slots) => format!("{name}:{slots}"),
        None => name,
    });
    Ok(written.collect::<Vec<String>>().join(","))
}

/// The meaning of a value of `--map-by`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RankMapping {
    /// This number of ranks on each node.
    PerNode(String),
    /// Consecutive ranks beside each other, as they are in any case.
    InOrder,
}

/// Parses the value of `--map-by`.
///
/// # Errors
/// The error says what is not possible, and what is.
pub(super) fn mapping(value: &str) -> Result<RankMapping, String> {
    let value = value.to_lowercase();
    let mut parts = value.split(':');
    let unit = parts.next().unwrap_or_default();
    let mapping = match unit {
        "ppr" => match (parts.next(), parts.next()) {
            (Some(count), Some("node")) => RankMapping::PerNode(count.to_owned()),
            _ => return Err("ranks are counted by node here: write --ppn N".into()),
        },
        "slot" | "core" | "hwthread" | "l1cache" | "l2cache" | "l3cache" | "numa" | "socket"
        | "package" | "board" => RankMapping::InOrder,
        "node" => return Err(super::table::NO_ROUND_ROBIN.into()),
        _ => {
            return Err(
                "there is no such unit here: leave it out, or write --ppn N for N ranks on each node"
                    .into(),
            );
        }
    };
    for modifier in parts {
        if !["oversubscribe", "nooversubscribe", "span", "nolocal", ""].contains(&modifier) {
            let why =
                format!("'{modifier}' has no equal here: leave it out, or bind with --bind core");
            return Err(why);
        }
    }
    Ok(mapping)
}

/// Parses the value of `--bind-to`, into one of `--bind`.
///
/// # Errors
/// The error says what is not possible, and what is.
pub(super) fn binding(value: &str) -> Result<&'static str, String> {
    let value = value.to_lowercase();
    let mut parts = value.split(':');
    let unit = parts.next().unwrap_or_default();
    let bound = match unit {
        "none" | "no" => "none",
        // A core is what the kernel calls one: a hardware thread.
        "core" | "hwthread" => "core",
        _ => {
            return Err(format!(
                "ranks are bound to a core each or not at all, not to a {unit}: write --bind core or --bind none"
            ));
        }
    };
    match parts.find(|part| !["overload-allowed", "if-supported", "1"].contains(part)) {
        None => Ok(bound),
        Some(part) => Err(format!(
            "'{part}' has no equal here: write --bind core, for a core each, or --bind none"
        )),
    }
}

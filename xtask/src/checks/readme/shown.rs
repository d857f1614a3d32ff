//! Compares the output shown in a document with that of a command. Three dots match anything: alone
//! in a line any lines, within a line any part of it.

/// Returns a shown line that is missing in the output, if any.
pub(super) fn lacks(shown: &str, said: &str) -> Option<String> {
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    // The first line may match anywhere: a document may show only the relevant part.
    let (mut next, mut anywhere) = (0, true);
    for shown in shown.lines().map(str::trim_end) {
        if shown.trim() == "..." {
            anywhere = true;
            continue;
        }
        let mut rest = said[next..].iter();
        let found = match anywhere {
            true => rest.position(|said| is_like(shown, said)),
            false => rest.next().filter(|said| is_like(shown, said)).map(|_| 0),
        };
        let Some(found) = found else {
            let instead = said.get(next).filter(|_| !anywhere);
            let instead = instead.map(|said| format!(", but `{said}`"));
            let instead = instead.unwrap_or_default();
            return Some(format!("`{shown}` was not said{instead}"));
        };
        (next, anywhere) = (next + found + 1, false);
    }
    None
}

/// Returns whether a line matches a shown one.
fn is_like(shown: &str, said: &str) -> bool {
    let mut parts = shown.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = said.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str =
        "building\nSWEEP 50 x 50\n\n its = 1  err = 1.0\n its = 2  err = 0.5\nElapsed: 0.67 s\n";

    #[test]
    fn dots_stand_for_what_is_there() {
        let shown = "SWEEP 50 x 50\n\n its = 1  err = 1.0\n ...\nElapsed: ... s\n";
        assert_eq!(lacks(shown, SAID), None);
        assert_eq!(lacks("Elapsed: ...\n", SAID), None);
        assert_eq!(lacks("S...P 5...0\n", SAID), None);
    }

    #[test]
    fn what_was_not_said_is_named() {
        let lack = |shown| lacks(shown, SAID).expect("it was not said");
        assert_eq!(lack("SWEEP\n"), "`SWEEP` was not said");
        let skipped = lack("SWEEP 50 x 50\n its = 1  err = 1.0\n");
        assert_eq!(skipped, "` its = 1  err = 1.0` was not said, but ``");
        assert_eq!(lack("Elapsed: ...\nmore\n"), "`more` was not said");
        assert_eq!(lack("SWEEP ... 51\n"), "`SWEEP ... 51` was not said");
        assert!(lacks(" its = 2 ...\n...\n its = 1 ...\n", SAID).is_some());
    }
}

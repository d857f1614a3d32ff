//! Complaints of clap, in one line.

use super::foreign_options::did_you_mean;

/// A complaint of clap in one line: what is wrong.
#[must_use]
pub fn complaint(error: &clap::Error) -> String {
    use clap::error::ErrorKind;
    if error.kind() == ErrorKind::MissingSubcommand {
        return "no program is named: say what to run, as in `bcs run -n 4 hello`".into();
    }
    let text = error.render().to_string();
    let what = text.split("\n\n").next().unwrap_or_default();
    let what: Vec<&str> = what.split_whitespace().collect();
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    format!("{what}{}", did_you_mean(suggested(error).as_deref()))
}

/// Returns the name that clap suggests.
fn suggested(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let kinds = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let mut found = kinds.into_iter().filter_map(|kind| error.get(kind));
    found.find_map(|value| match value {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.first().cloned(),
        _ => None,
    })
}

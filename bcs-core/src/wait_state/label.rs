//! The label of a communicator for users: the name that they gave it, or the call that made it, its
//! parent, and the place of the call.
//!
//! ```text
//! context, bytes of the text │ text, 8 bytes each │ site, 13
//! ```

use super::context_name::ContextName;
use super::site::{self, Site};
use crate::request::{high, low};

/// Bytes of a text that are sent.
const TEXT_BYTES: usize = 96;

/// Words of a label.
pub(super) const WORDS: usize = 1 + TEXT_BYTES / 8 + site::WORDS;

/// A communicator as users know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicatorLabel {
    /// Its context id.
    pub context: u32,
    /// Its name in quotes, or the way it was made.
    text: String,
    /// The place where it was made, if that is to be shown.
    pub site: Option<Site>,
}

impl CommunicatorLabel {
    /// Returns the label of a communicator that has a name.
    #[must_use]
    pub fn named(context: u32, name: &str) -> Self {
        Self::new(context, format!("{name:?}"), None)
    }

    /// Returns the label of a communicator that a call has made of another, at a place if that is
    /// known.
    #[must_use]
    pub fn made(context: u32, call: &str, of: &str, site: Option<Site>) -> Self {
        Self::new(
            context,
            format!("the communicator made by {call} of {of}"),
            site,
        )
    }

    /// Returns the label of a window that has a name, by the context of its private communicator.
    #[must_use]
    pub fn window(context: u32, name: &str) -> Self {
        Self::new(context, format!("the window {name:?}"), None)
    }

    /// Returns the label of a window that a call has made of a communicator.
    #[must_use]
    pub fn window_made(context: u32, call: &str, of: &str, site: Option<Site>) -> Self {
        Self::new(context, format!("the window made by {call} of {of}"), site)
    }

    fn new(context: u32, mut text: String, site: Option<Site>) -> Self {
        text.truncate(text.floor_char_boundary(TEXT_BYTES));
        Self {
            context,
            text,
            site,
        }
    }

    /// Returns its name, or the way it was made.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces this communicator's context in a text by its label: in full, or without the place.
    #[must_use]
    pub fn put_into(&self, text: &str, in_full: bool) -> String {
        let number = ContextName(self.context).to_string();
        let title = match &self.site {
            // An address means nothing to a person.
            Some(site) if in_full && !matches!(site, Site::Address(_)) => {
                format!("{} at {site}", self.text)
            }
            _ => self.text.clone(),
        };
        let mut said = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(&number) {
            let (before, found) = rest.split_at(at);
            let after = &found[number.len()..];
            // In a longer number, the match is only the beginning.
            let whole = !after.starts_with(|next: char| next.is_ascii_digit());
            said += before;
            said += if whole { &title } else { &number };
            rest = after;
        }
        said + rest
    }

    pub(super) fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let (head, place) = words.split_at_mut(1 + TEXT_BYTES / 8);
        head[0] = u64::from(self.context) | (self.text.len() as u64) << 32;
        for (word, bytes) in head[1..].iter_mut().zip(self.text.as_bytes().chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(eight);
        }
        place.copy_from_slice(&site::encode(self.site.as_ref()));
        words
    }

    /// Decodes a label. Invalid words are no label, and neither is a text with terminal control
    /// characters.
    pub(super) fn decode(words: &[u64]) -> Option<Self> {
        let (head, place) = words.split_at_checked(1 + TEXT_BYTES / 8)?;
        let bytes: Vec<u8> = head[1..].iter().flat_map(|it| it.to_le_bytes()).collect();
        let text = bytes.get(..high(head[0]) as usize)?;
        let text = std::str::from_utf8(text).ok()?;
        let plain = !text.is_empty() && !text.chars().any(char::is_control);
        plain.then(|| Self {
            context: low(head[0]),
            text: text.to_owned(),
            site: place.try_into().ok().and_then(site::decode),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::SourceLine;
    use super::*;

    #[test]
    fn a_title_comes_back_from_its_words() {
        let site = Some(Site::Line(SourceLine::new("src/main.rs", 17)));
        let made = CommunicatorLabel::made(5, "MPI_Comm_split", "MPI_COMM_WORLD", site);
        for title in [
            made,
            CommunicatorLabel::named(7, "rows"),
            CommunicatorLabel::named(7, &"ä".repeat(80)),
        ] {
            assert_eq!(CommunicatorLabel::decode(&title.encode()), Some(title));
        }
        assert_eq!(CommunicatorLabel::decode(&[7; WORDS]), None);
    }

    #[test]
    fn contexts_in_a_text_become_titles() {
        let site = Some(Site::Line(SourceLine::new("a.rs", 9)));
        let title = CommunicatorLabel::made(5, "MPI_Comm_dup", "\"rows\"", site);
        let text = "in the communicator with context 5, and the communicator with context 51";
        let rest = ", and the communicator with context 51";
        let made = "in the communicator made by MPI_Comm_dup of \"rows\"";
        assert_eq!(
            title.put_into(text, true),
            format!("{made} at a.rs:9{rest}")
        );
        assert_eq!(title.put_into(text, false), format!("{made}{rest}"));
    }
}

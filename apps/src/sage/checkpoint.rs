//! A run as a file, from which it can continue later on any number of ranks.
//!
//! The file begins with a line of JSON that describes it. Then come the cells along the curve, as
//! 64-bit words with the lowest byte first: the key and the conserved quantities of each cell. The
//! last word is the XXH3 of all bytes before.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::deck::Deck;

const FORMAT: &str = "sage-checkpoint";
const VERSION: u32 = 1;

/// Bytes of a word, and of the checksum at the end.
const WORD: usize = size_of::<u64>();

/// The description of the run in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    format: String,
    version: u32,
    /// The digest of everything in the deck that matters for later cycles.
    deck: u64,
    pub(crate) cycle: u64,
    /// The bits of a double, so that the time is exact.
    time: u64,
    pub(crate) updates: u64,
    /// The number of words that follow.
    words: usize,
}

impl Header {
    pub(crate) fn new(deck: &Deck, cycle: u64, time: f64, updates: u64) -> Self {
        let format = FORMAT.to_owned();
        let (version, deck, time) = (VERSION, digest(deck), time.to_bits());
        Self {
            format,
            version,
            deck,
            cycle,
            time,
            updates,
            words: 0,
        }
    }

    pub(crate) fn time(&self) -> f64 {
        f64::from_bits(self.time)
    }
}

/// The reason why a checkpoint cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file could not be written or read.
    #[error("{}: {why}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Rank 0 has reported the error.
    #[error("rank 0 could not use the checkpoint")]
    OfRank0,
}

impl CheckpointError {
    fn new(path: &Path, why: impl Into<String>) -> Self {
        let path = path.to_owned();
        Self::File {
            path,
            why: why.into(),
        }
    }
}

/// Writes a checkpoint, completely or not at all.
pub(crate) fn write(path: &Path, mut header: Header, words: &[f64]) -> Result<(), CheckpointError> {
    header.words = words.len();
    let write = || -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        words
            .iter()
            .for_each(|word| bytes.extend(word.to_bits().to_le_bytes()));
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut partial = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o666)) // without the bits of the user's mask
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        partial.write_all(&bytes)?;
        partial.as_file().sync_all()?;
        partial.persist(path)?;
        Ok(())
    };
    write().map_err(|error| {
        CheckpointError::new(path, format!("failed to write the checkpoint: {error}"))
    })
}

/// Reads a checkpoint of a run of this deck, with `cell` words for each cell.
pub(crate) fn read(
    path: &Path,
    deck: &Deck,
    cell: usize,
) -> Result<(Header, Vec<f64>), CheckpointError> {
    let refuse = |why: String| CheckpointError::new(path, why);
    let bytes = contents(path)
        .map_err(|error| refuse(format!("failed to read the checkpoint: {error}")))?;
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or_else(|| refuse("it is no checkpoint: it has no header".to_owned()))?;
    let header: Header = serde_json::from_slice(&bytes[..end])
        .map_err(|error| refuse(format!("it is no checkpoint: {error}")))?;
    if (header.format.as_str(), header.version) != (FORMAT, VERSION) {
        let (format, version) = (&header.format, header.version);
        return Err(refuse(format!(
            "it is {format}, version {version}, not {FORMAT}, version {VERSION}"
        )));
    }
    let rest = &bytes[end + 1..];
    let expected = header
        .words
        .checked_mul(WORD)
        .and_then(|bytes| bytes.checked_add(WORD));
    if expected != Some(rest.len()) {
        let (found, words) = (rest.len(), header.words);
        return Err(refuse(format!(
            "it is cut: {found} bytes follow the header, which says {words} words"
        )));
    }
    let (body, sum) = bytes.split_at(bytes.len() - WORD);
    if xxh3_64(body).to_le_bytes() != *sum {
        return Err(refuse(
            "it is damaged: its bytes do not have the sum that it says".to_owned(),
        ));
    }
    if header.deck != digest(deck) {
        return Err(refuse("it is of another deck".to_owned()));
    }
    if header.words == 0 || !header.words.is_multiple_of(cell) {
        return Err(refuse(format!(
            "{} words are no number of cells",
            header.words
        )));
    }
    let word = |word: &[u8]| word.try_into().map(u64::from_le_bytes).map(f64::from_bits);
    let words: Result<Vec<f64>, _> = rest[..rest.len() - WORD]
        .chunks_exact(WORD)
        .map(word)
        .collect();
    Ok((header, words.expect("words of eight bytes")))
}

/// Reads a regular file; other files may have no end.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Hashes what matters for later cycles: neither the end of the run nor the name of the deck.
fn digest(deck: &Deck) -> u64 {
    let Deck {
        courant,
        mesh,
        materials,
        regions,
        conduction,
        ..
    } = deck;
    xxh3_64(format!("{courant:?} {mesh:?} {materials:?} {regions:?} {conduction:?}").as_bytes())
}

//! Input decks: files that rank 0 reads for all.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use crate::MessagePassing;
use crate::usage::{FAILURE, complain, refuse};

/// The longest deck, in bytes. A deck has some lines of numbers and perhaps remarks.
const LONGEST_DECK: u64 = 64 * 1024;

/// Returns the text of a deck on all processes. On failure rank 0 prints the reason, and all
/// processes get the exit code of `program`.
pub(crate) fn deck_text<M: MessagePassing>(
    mpi: &M,
    program: &str,
    path: &Path,
) -> Result<String, ExitCode> {
    match shared_text(mpi, path) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(complaint)) => Err(refuse(mpi, program, complaint)),
        Err(error) => {
            complain(
                mpi,
                program,
                format_args!("failed to pass the deck on: {error}"),
            );
            Err(ExitCode::from(FAILURE))
        }
    }
}

/// Returns the text of a file as rank 0 reads it, on all processes. The file need not be on every
/// node, and all processes get the same result. The inner error is for rank 0 to print.
fn shared_text<M: MessagePassing>(
    mpi: &M,
    path: &Path,
) -> Result<Result<String, String>, M::Error> {
    let text = if mpi.rank() == 0 {
        read(path)
    } else {
        Ok(String::new())
    };
    // Minus one stands for a file that cannot be used.
    let mut length = [text.as_ref().map_or(-1.0, |text| f64::from(size(text)))];
    mpi.bcast(&mut length, 0)?;
    if length[0] < 0.0 {
        return Ok(Err(text
            .err()
            .unwrap_or_else(|| "rank 0 cannot read the deck".to_owned())));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a length from rank 0, at most a deck's"
    )]
    #[expect(clippy::cast_sign_loss, reason = "not negative, as just checked")]
    let mut bytes = vec![0.0; length[0] as usize];
    if let Ok(text) = &text {
        for (element, byte) in bytes.iter_mut().zip(text.bytes()) {
            *element = f64::from(byte);
        }
    }
    mpi.bcast(&mut bytes, 0)?;
    #[expect(clippy::cast_possible_truncation, reason = "bytes as elements")]
    #[expect(clippy::cast_sign_loss, reason = "bytes as elements")]
    let bytes: Vec<u8> = bytes.into_iter().map(|element| element as u8).collect();
    Ok(Ok(String::from_utf8_lossy(&bytes).into_owned()))
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// Reads a deck, or returns what is wrong with the file.
fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST_DECK + 1).read_to_string(&mut text))
        .map_err(|error| {
            format!(
                "failed to read the deck {}: {error}; give a deck's path",
                path.display()
            )
        })?;
    if text.len() as u64 > LONGEST_DECK {
        return Err(format!(
            "{} is longer than {LONGEST_DECK} bytes",
            path.display()
        ));
    }
    Ok(text)
}

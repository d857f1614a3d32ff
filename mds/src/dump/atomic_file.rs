//! Files that appear whole or not at all, and whose readers limit their length.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, process};

use super::DumpError;

/// Distinguishes the files that threads of one process write at the same time.
static PARTIAL: AtomicU64 = AtomicU64::new(0);

/// Has `content` write a file under a hidden name, and then renames the file.
///
/// # Errors
///
/// [`DumpError::Write`]; no file is left behind then.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), DumpError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // In the same directory, so that the rename cannot cross file systems; hidden, so that no
    // pattern for dumps matches it; with the process and a number in its name, so that two writers
    // do not share it.
    let number = PARTIAL.fetch_add(1, Ordering::Relaxed);
    let partial = folder.join(format!(".{name}.{}.{number}.partial", process::id()));
    let attempt = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = BufWriter::new(fs::File::create(&partial)?);
        content(&mut file)?;
        file.flush()?;
        drop(file);
        fs::rename(&partial, path)
    };
    attempt().map_err(|source| {
        // The write has failed already. A failure to remove its remains adds no information.
        drop(fs::remove_file(&partial));
        DumpError::Write {
            path: path.to_owned(),
            source,
        }
    })
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
///
/// [`DumpError::Read`], [`DumpError::TooLong`].
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, DumpError> {
    let refused = |source| DumpError::Read {
        path: path.to_owned(),
        source,
    };
    let too_long = |length| DumpError::TooLong {
        path: path.to_owned(),
        length,
        most,
    };
    let file = fs::File::open(path).map_err(refused)?;
    let length = file.metadata().map_err(refused)?.len();
    if length > most {
        return Err(too_long(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // The length may have changed since, or be unknown, as that of a pipe or a device.
    let mut bounded = io::Read::take(file, most + 1);
    io::Read::read_to_end(&mut bounded, &mut bytes).map_err(refused)?;
    match bytes.len() as u64 {
        length if length > most => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_leaves_nothing_behind_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rank-00000.calls");
        let refused = write(&path, |file| {
            file.write_all(b"a part")?;
            file.flush()?;
            Err(io::ErrorKind::StorageFull.into())
        });
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("rank-00000.calls"), "{message}");
        assert!(message.contains("no storage space"), "{message}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_longer_than_its_bound_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, |file| file.write_all(&[7; 10])).unwrap();
        assert_eq!(read(&path, 10).unwrap(), [7; 10]);
        assert!(matches!(
            read(&path, 9),
            Err(DumpError::TooLong {
                length: 10,
                most: 9,
                ..
            })
        ));
        // An endless device has no length.
        assert!(matches!(
            read(Path::new("/dev/zero"), 1000),
            Err(DumpError::TooLong { length: 1001, .. })
        ));
    }
}

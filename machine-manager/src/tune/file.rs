//! The choice, written into a `bcs.toml`.

use anyhow::Context as _;
use std::io::ErrorKind;
use std::path::Path;
use toml_edit::{DocumentMut, value};

/// Sets options in a file, and leaves the rest of it as it is, comments too. Makes the file or
/// options if they do not exist. The new file is written under another name and then renamed.
///
/// # Errors
/// The file cannot be read or written, or is no TOML.
pub fn write(path: &Path, options: &[(&'static str, String)]) -> anyhow::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read,
    };
    let name = || format!("failed to write {}", path.display());
    let text = text.with_context(name)?;
    let mut document: DocumentMut = text.parse().with_context(name)?;
    for (key, option) in options {
        match document.get_mut(key).and_then(|item| item.as_value_mut()) {
            // With the comment behind it.
            Some(known) => {
                let decor = known.decor().clone();
                *known = option.as_str().into();
                *known.decor_mut() = decor;
            }
            None => document[key] = value(option.as_str()),
        }
    }
    let new = path.with_extension(format!("toml.{}.new", std::process::id()));
    let written = std::fs::write(&new, document.to_string());
    let renamed = written.and_then(|()| std::fs::rename(&new, path));
    if renamed.is_err() {
        // It may not exist.
        let _ = std::fs::remove_file(&new);
    }
    renamed.with_context(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_is_in_the_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bcs.toml");
        let options = [
            ("time-slice", "50us".to_owned()),
            ("strobe", "fixed".to_owned()),
        ];
        write(&path, &options).unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        assert_eq!(read(), "time-slice = \"50us\"\nstrobe = \"fixed\"\n");
        std::fs::write(&path, "# ours\nranks = 2\ntime-slice = \"1ms\" # long\n").unwrap();
        write(&path, &options[..1]).unwrap();
        assert_eq!(read(), "# ours\nranks = 2\ntime-slice = \"50us\" # long\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = write(&path.join("x"), &options).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("failed to write "),
            "{error:#}"
        );
    }
}

//! The layer of another ABI: what an archive of cargo has beyond the archive of the standard ABI.
//!
//! An archive of cargo contains a crate and all that it depends on. The crates `standard-abi` and
//! `mpich-abi` depend on the same crates of the same build, so both archives contain the same
//! objects of these, under the same names. The other objects of the second one are the layer. It is
//! linked to the library of the first one, which therefore exports what the layer needs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSymbol as _};

/// The objects of a layer.
#[derive(Debug)]
pub struct Layer {
    objects: Vec<LayerObject>,
}

/// An object: its name in the archive, and its bytes.
#[derive(Debug)]
struct LayerObject {
    name: String,
    bytes: Vec<u8>,
}

impl Layer {
    /// Reads the objects of `archive` that the archive of the standard ABI lacks.
    ///
    /// # Errors
    ///
    /// An archive cannot be read, or the two are not of one build.
    pub fn read(archive: &Path, standard: &Path) -> Result<Self> {
        let below = members(standard, |_| false)?;
        let below: BTreeSet<String> = below.into_iter().map(|member| member.name).collect();
        let mut objects = members(archive, |name| !below.contains(name))?;
        let total = objects.len();
        objects.retain(|object| !below.contains(&object.name));
        // Another build has other names for everything.
        ensure!(
            !objects.is_empty() && objects.len() * 2 < total,
            "{} of the {total} objects of {} are not in {}: build both by one command of cargo",
            objects.len(),
            archive.display(),
            standard.display()
        );
        Ok(Self { objects })
    }

    /// Returns the symbols that the layer needs and does not define, sorted.
    ///
    /// # Errors
    ///
    /// An object is not one of ELF.
    pub fn needs(&self) -> Result<Vec<String>> {
        let mut needed = BTreeSet::new();
        let mut defined = BTreeSet::new();
        for LayerObject { name, bytes } in &self.objects {
            let object = ElfFile64::<Endianness>::parse(&bytes[..])
                .with_context(|| format!("failed to read the object {name}"))?;
            for symbol in object.symbols() {
                let set = match symbol.is_undefined() {
                    true => &mut needed,
                    false if symbol.is_global() => &mut defined,
                    false => continue,
                };
                set.insert(symbol.name()?.to_owned());
            }
        }
        needed.remove("");
        // The linker makes it.
        needed.remove("_GLOBAL_OFFSET_TABLE_");
        Ok(needed.difference(&defined).cloned().collect())
    }

    /// Writes the objects into a folder, and returns their paths.
    pub(crate) fn write_into(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let paths = self.objects.iter().map(|object| {
            let path = folder.join(&object.name);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, &object.bytes))
                .with_context(|| format!("failed to write {}", path.display()))?;
            Ok(path)
        });
        paths.collect()
    }
}

/// Returns the members of an archive, with the bytes of those that are wanted.
fn members(archive: &Path, mut wants: impl FnMut(&str) -> bool) -> Result<Vec<LayerObject>> {
    let context = || format!("failed to read {}", archive.display());
    let mut reader = ar::Archive::new(File::open(archive).with_context(context)?);
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry() {
        let mut entry = entry.with_context(context)?;
        let name = String::from_utf8_lossy(entry.header().identifier()).into_owned();
        // It becomes the name of a file.
        ensure!(
            !name.contains('/'),
            "{} has a member {name}",
            archive.display()
        );
        let mut bytes = Vec::new();
        if wants(&name) {
            entry.read_to_end(&mut bytes).with_context(context)?;
        }
        found.push(LayerObject { name, bytes });
    }
    Ok(found)
}

//! The modules of a crate, and the file that defines the item of a path.
//!
//! The tree does not distinguish names of types, values and macros, nor declarations in a function
//! from those of its module. An import of one of two equal names imports both. If a module lacks a
//! requested name, the tree assumes that a macro defines it there, or that the module re-exports it
//! from another crate.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, Token, UseTree};

/// The files of a crate by their paths from `src`, and their text.
pub(in crate::checks) type Sources = BTreeMap<String, String>;

pub(super) type ModuleId = usize;
pub(super) type FileId = usize;

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Module(ModuleId),
    /// An item that this file defines.
    Item(FileId),
}

/// The binding of a name in a module.
#[derive(Debug)]
enum NameBinding {
    Target(Target),
    /// The target of this path, seen from the module.
    Import(Vec<String>),
}

#[derive(Debug, Default)]
struct Module {
    file: FileId,
    parent: Option<ModuleId>,
    names: BTreeMap<String, Vec<NameBinding>>,
    /// Modules whose names it imports by a glob.
    globs: Vec<Vec<String>>,
}

struct File {
    path: String,
    module: ModuleId,
    syntax: syn::File,
}

/// A crate without its tests.
pub(super) struct Tree {
    files: Vec<File>,
    modules: Vec<Module>,
}

impl Tree {
    pub(super) fn of(sources: &Sources) -> Result<Self> {
        let mut tree = Self {
            files: Vec::new(),
            modules: vec![Module::default()],
        };
        tree.add_file(sources, "lib.rs", 0)?;
        Ok(tree)
    }

    /// Reads the file of the module `module`, and all files below it.
    fn add_file(&mut self, sources: &Sources, path: &str, module: ModuleId) -> Result<()> {
        let text = sources
            .get(path)
            .with_context(|| format!("there is no {path}"))?;
        let syntax = syn::parse_file(text).with_context(|| format!("failed to parse {path}"))?;
        let file = self.files.len();
        self.modules[module].file = file;
        let folder = path
            .strip_suffix("lib.rs")
            .or_else(|| path.strip_suffix("mod.rs"))
            .map_or_else(
                || format!("{}/", path.trim_end_matches(".rs")),
                str::to_owned,
            );
        let mut planter = TreeBuilder {
            tree: self,
            module,
            folder,
            elsewhere: Vec::new(),
        };
        planter.visit_file(&syntax);
        let elsewhere = planter.elsewhere;
        self.files.push(File {
            path: path.to_owned(),
            module,
            syntax,
        });
        for (module, stem) in elsewhere {
            let nested = format!("{stem}/mod.rs");
            let path = if sources.contains_key(&nested) {
                nested
            } else {
                format!("{stem}.rs")
            };
            self.add_file(sources, &path, module)?;
        }
        Ok(())
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Returns all files with their modules and their syntax.
    pub(super) fn parsed(&self) -> impl Iterator<Item = (&str, ModuleId, &syn::File)> {
        let files = self.files.iter();
        files.map(|file| (file.path.as_str(), file.module, &file.syntax))
    }

    pub(super) fn path_of(&self, file: FileId) -> &str {
        &self.files[file].path
    }

    pub(super) fn file_of(&self, module: ModuleId) -> FileId {
        self.modules[module].file
    }

    /// Returns the module that `module` itself declares under this name.
    pub(super) fn inner(&self, module: ModuleId, name: &str) -> Option<ModuleId> {
        let named = self.modules[module].names.get(name)?;
        named.iter().find_map(|named| match named {
            NameBinding::Target(Target::Module(inner)) => Some(*inner),
            _ => None,
        })
    }

    /// Returns the targets of a path, seen from a module: none if it is of another crate.
    pub(super) fn resolve(&self, from: ModuleId, words: &[String]) -> BTreeSet<Target> {
        self.follow(from, words, &mut Vec::new())
    }

    fn follow(
        &self,
        from: ModuleId,
        words: &[String],
        under_way: &mut ImportStack,
    ) -> BTreeSet<Target> {
        let Some((first, behind)) = words.split_first() else {
            return BTreeSet::new();
        };
        let mut found = match first.as_str() {
            "crate" => BTreeSet::from([Target::Module(0)]),
            "self" => BTreeSet::from([Target::Module(from)]),
            "super" => {
                let parent = self.modules[from].parent.unwrap_or(from);
                BTreeSet::from([Target::Module(parent)])
            }
            word => self.look_up(from, word, under_way),
        };
        for word in behind {
            let modules: Vec<ModuleId> = found
                .iter()
                .filter_map(|target| match target {
                    Target::Module(module) => Some(*module),
                    Target::Item(_) => None,
                })
                .collect();
            // Names behind an item belong to the item.
            if modules.is_empty() {
                return found;
            }
            found = modules
                .into_iter()
                .flat_map(|module| self.member(module, word, under_way))
                .collect();
        }
        found
    }

    fn member(
        &self,
        module: ModuleId,
        word: &str,
        under_way: &mut ImportStack,
    ) -> BTreeSet<Target> {
        if word == "super" {
            let parent = self.modules[module].parent.unwrap_or(module);
            return BTreeSet::from([Target::Module(parent)]);
        }
        let found = self.look_up(module, word, under_way);
        if found.is_empty() && under_way.is_empty() {
            return BTreeSet::from([Target::Item(self.modules[module].file)]);
        }
        found
    }

    /// Returns the targets of a name in a module. `under_way` are the imports that are being
    /// resolved.
    fn look_up(
        &self,
        module: ModuleId,
        word: &str,
        under_way: &mut ImportStack,
    ) -> BTreeSet<Target> {
        let mut found = BTreeSet::new();
        let here = &self.modules[module];
        for named in here.names.get(word).into_iter().flatten() {
            match named {
                NameBinding::Target(target) => drop(found.insert(*target)),
                NameBinding::Import(path) => {
                    found.extend(self.through(module, path, word, under_way))
                }
            }
        }
        if found.is_empty() {
            for glob in &here.globs {
                for target in self.through(module, glob, word, under_way) {
                    if let Target::Module(module) = target {
                        found.extend(self.look_up(module, word, under_way));
                    }
                }
            }
        }
        found
    }

    /// Returns the targets of an import, unless the import itself is being resolved.
    fn through(
        &self,
        module: ModuleId,
        path: &[String],
        word: &str,
        under_way: &mut ImportStack,
    ) -> BTreeSet<Target> {
        let step = (module, path.to_vec(), word.to_owned());
        if under_way.contains(&step) {
            return BTreeSet::new();
        }
        under_way.push(step);
        let found = self.follow(module, path, under_way);
        under_way.pop();
        found
    }
}

type ImportStack = Vec<(ModuleId, Vec<String>, String)>;

/// Adds the declarations of one file.
struct TreeBuilder<'a> {
    tree: &'a mut Tree,
    module: ModuleId,
    /// The folder with the files of the modules that it declares.
    folder: String,
    /// Modules in other files, and the paths of these files without `.rs`.
    elsewhere: Vec<(ModuleId, String)>,
}

impl TreeBuilder<'_> {
    fn declare(&mut self, name: String, named: NameBinding) {
        let names = &mut self.tree.modules[self.module].names;
        names.entry(name).or_default().push(named);
    }

    fn define(&mut self, name: &impl ToString) {
        let file = self.tree.modules[self.module].file;
        self.declare(name.to_string(), NameBinding::Target(Target::Item(file)));
    }

    /// Adds the items in the tokens of a macro call.
    fn define_all(&mut self, tokens: TokenStream) {
        const KINDS: [&str; 8] = [
            "struct", "enum", "union", "trait", "fn", "const", "static", "type",
        ];
        let mut kind = false;
        for token in tokens {
            let word = match token {
                TokenTree::Ident(word) => word,
                TokenTree::Group(group) => {
                    self.define_all(group.stream());
                    continue;
                }
                _ => continue,
            };
            if kind {
                self.define(&word);
            }
            kind = KINDS.iter().any(|kind| word == kind);
        }
    }
}

impl<'ast> Visit<'ast> for TreeBuilder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_of_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Const(item) => self.define(&item.ident),
            Item::Enum(item) => self.define(&item.ident),
            Item::Fn(item) => self.define(&item.sig.ident),
            Item::Static(item) => self.define(&item.ident),
            Item::Struct(item) => self.define(&item.ident),
            Item::Trait(item) => self.define(&item.ident),
            Item::TraitAlias(item) => self.define(&item.ident),
            Item::Type(item) => self.define(&item.ident),
            Item::Union(item) => self.define(&item.ident),
            Item::Macro(item) => match &item.ident {
                Some(name) => self.define(name),
                None => self.define_all(item.mac.tokens.clone()),
            },
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_foreign_item_fn(&mut self, item: &'ast syn::ForeignItemFn) {
        self.define(&item.sig.ident);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        for import in imports(&item.tree) {
            match import.name {
                Some(name) => self.declare(name, NameBinding::Import(import.words)),
                None => self.tree.modules[self.module].globs.push(import.words),
            }
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        let inner = self.tree.modules.len();
        self.tree.modules.push(Module {
            file: self.tree.modules[self.module].file,
            parent: Some(self.module),
            ..Module::default()
        });
        self.declare(name.clone(), NameBinding::Target(Target::Module(inner)));
        let stem = format!("{}{name}", self.folder);
        let Some((_, items)) = &item.content else {
            self.elsewhere.push((inner, stem));
            return;
        };
        let outer = std::mem::replace(&mut self.module, inner);
        let folder = std::mem::replace(&mut self.folder, stem + "/");
        for item in items {
            self.visit_item(item);
        }
        self.folder = folder;
        self.module = outer;
    }
}

/// One path of a `use`.
pub(in crate::checks) struct Import {
    pub(in crate::checks) words: Vec<String>,
    pub(super) at: Span,
    /// Its name here; `None` for a glob, whose path is that of the module.
    pub(in crate::checks) name: Option<String>,
}

pub(in crate::checks) fn imports(tree: &UseTree) -> Vec<Import> {
    fn add(tree: &UseTree, before: &[String], found: &mut Vec<Import>) {
        let with = |word: &syn::Ident| {
            // `a::{self}` is `a`.
            let own = (word != "self" || before.is_empty()).then(|| word.to_string());
            before.iter().cloned().chain(own).collect::<Vec<String>>()
        };
        match tree {
            UseTree::Path(path) => add(&path.tree, &with(&path.ident), found),
            UseTree::Group(group) => group.items.iter().for_each(|tree| add(tree, before, found)),
            UseTree::Name(name) => {
                let words = with(&name.ident);
                found.push(Import {
                    name: words.last().cloned(),
                    words,
                    at: name.ident.span(),
                });
            }
            UseTree::Rename(name) => found.push(Import {
                words: with(&name.ident),
                at: name.ident.span(),
                name: Some(name.rename.to_string()),
            }),
            UseTree::Glob(glob) => found.push(Import {
                words: before.to_vec(),
                at: glob.star_token.spans[0],
                name: None,
            }),
        }
    }
    let mut found = Vec::new();
    add(tree, &[], &mut found);
    found
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether an item with these attributes exists only under test.
pub(in crate::checks) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.parse_args::<Meta>();
        attribute.path().is_ident("cfg")
            && condition.is_ok_and(|condition| without_tests(&condition) == Some(false))
    })
}

/// Returns whether a condition holds outside of tests, if that is known.
fn without_tests(condition: &Meta) -> Option<bool> {
    if condition.path().is_ident("test") {
        return Some(false);
    }
    let Meta::List(list) = condition else {
        return None;
    };
    let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let inner: Vec<Option<bool>> = inner.ok()?.iter().map(without_tests).collect();
    let decided = |by: bool| inner.contains(&Some(by)).then_some(by);
    let same = |all: bool| inner.iter().all(|one| *one == Some(all)).then_some(all);
    if list.path.is_ident("not") {
        return inner.first()?.map(|holds| !holds);
    }
    if list.path.is_ident("all") {
        return decided(false).or_else(|| same(true));
    }
    if list.path.is_ident("any") {
        return decided(true).or_else(|| same(false));
    }
    None
}

//! The targets of paths, and the results of functions, as far as they determine the receiver of a
//! call.
//!
//! Only the core of a type counts: references, boxes, vectors, results and the like count as their
//! content. The name of a function is its layer, its type if it has one, and its name:
//! `mpi::Comm::rank` is that of the untyped core, `Communicator::rank` that of the safe layer.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

use super::super::layers::tree::{Import, imports};
use super::expansion::Macros;

/// Types whose core is that of their first argument.
const WRAPPERS: [&str; 9] = [
    "Arc",
    "Box",
    "Iter",
    "Mutex",
    "MutexGuard",
    "Option",
    "Rc",
    "Result",
    "Vec",
];

/// The core of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CoreType {
    Unknown,
    Named(String),
    Tuple(Vec<CoreType>),
}

impl CoreType {
    pub(super) fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Unknown => other(),
            heart => heart,
        }
    }
}

/// A file and its imports.
pub(super) struct File {
    pub(super) syntax: syn::File,
    /// Whether only its test modules are tests.
    pub(super) library: bool,
    /// The folder of its layer, if it is in one.
    layer: &'static str,
    imports: BTreeMap<String, Vec<String>>,
    pub(super) macros: Macros,
}

impl File {
    pub(super) fn parse(path: &str, text: &str, library: bool) -> Result<Self> {
        let syntax = syn::parse_file(text).with_context(|| format!("failed to parse {path}"))?;
        let mut importer = Importer::default();
        importer.visit_file(&syntax);
        let mut layers = ["mpi", "rust"].into_iter();
        let layer = layers.find(|layer| path.split('/').next() == Some(layer));
        let layer = layer.unwrap_or_default();
        Ok(Self {
            macros: Macros::of(&syntax),
            syntax,
            library,
            layer,
            imports: importer.0,
        })
    }

    /// Returns the target of a path, as a path from the root of `bcs-mpi` if it is in that crate.
    fn resolve(&self, words: &[String]) -> Vec<String> {
        let Some((first, rest)) = words.split_first() else {
            return Vec::new();
        };
        match self.imports.get(first) {
            Some(import) if import.as_slice() != words => {
                let whole = [import.as_slice(), rest].concat();
                // An import may begin with the name of another one, but not with its own.
                match import.first() == Some(first) {
                    true => whole,
                    false => self.resolve(&whole),
                }
            }
            _ => words.to_vec(),
        }
    }
}

#[derive(Default)]
struct Importer(BTreeMap<String, Vec<String>>);

impl<'ast> Visit<'ast> for Importer {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for Import { name, words, .. } in imports(&item.tree) {
            self.0.extend(name.map(|name| (name, words)));
        }
    }
}

/// The result of a function, and the argument types of those of its arguments that are functions.
#[derive(Debug, Clone)]
pub(super) struct Signature {
    pub(super) gives: CoreType,
    pub(super) arguments: Vec<Vec<CoreType>>,
}

/// All known functions and types.
#[derive(Clone)]
pub(super) struct Signatures {
    /// Names of the root that belong to the untyped core.
    aliases: BTreeMap<String, String>,
    functions: BTreeMap<String, Signature>,
    /// The types of fields, by type and field.
    fields: BTreeMap<String, CoreType>,
}

impl Signatures {
    /// Makes an empty table for a crate with this root.
    pub(super) fn new(root: &str) -> Result<Self> {
        let root = syn::parse_file(root).context("failed to parse lib.rs")?;
        let mut aliases = BTreeMap::new();
        for item in &root.items {
            let syn::Item::Use(item) = item else {
                continue;
            };
            for Import { name, words, .. } in imports(&item.tree) {
                if let Some(name) = name.filter(|_| words[0] == "mpi") {
                    aliases.insert(name.clone(), format!("mpi::{name}"));
                }
            }
        }
        Ok(Self {
            aliases,
            functions: BTreeMap::new(),
            fields: BTreeMap::new(),
        })
    }

    /// Returns the name of the target of a path from the root of the crate, without its modules.
    pub(super) fn absolute(&self, words: &[String]) -> String {
        let modules = words.iter().take_while(|word| {
            let first = word.chars().next();
            first.is_some_and(|first| first.is_ascii_lowercase())
        });
        let modules = modules.count().min(words.len() - 1);
        let item = words[modules..].join("::");
        let layer = words[..modules].first().map_or("", String::as_str);
        let first = words[modules].as_str();
        match layer {
            "" => match self.aliases.get(first) {
                Some(alias) => item.replacen(first, alias, 1),
                None => item,
            },
            "rust" => item,
            layer => format!("{layer}::{item}"),
        }
    }

    /// Returns the name of the target of a path in a file.
    pub(super) fn name(&self, file: &File, words: &[String]) -> String {
        let whole = file.resolve(words);
        let (first, rest) = whole.split_first().expect("a path has words");
        match first.as_str() {
            "crate" | "bcs_mpi" if !rest.is_empty() => self.absolute(rest),
            "super" | "self" if !rest.is_empty() => self.name_here(file, rest),
            _ => self.name_here(file, &whole),
        }
    }

    /// Returns the name of the target of a path that begins near the file.
    fn name_here(&self, file: &File, words: &[String]) -> String {
        let from = words
            .iter()
            .position(|word| word != "super" && word != "self");
        let words = &words[from.unwrap_or(0)..];
        match file.layer {
            "" => words.join("::"),
            layer => self.absolute(&[&[layer.to_owned()], words].concat()),
        }
    }

    pub(super) fn function(&self, name: &str) -> Option<&Signature> {
        self.functions.get(name)
    }

    /// Returns the result of a method. Macros make some methods of communicators; their names
    /// determine the results.
    pub(super) fn method(&self, of: &str, name: &str) -> CoreType {
        let known = self.functions.get(&format!("{of}::{name}"));
        let made = || match (of, name.starts_with('i'), name.ends_with("_init")) {
            ("mpi::Comm", true, _) => CoreType::Named("mpi::Request".to_owned()),
            ("mpi::Comm", _, true) => CoreType::Named("mpi::Persistent".to_owned()),
            ("Communicator", true, _) => CoreType::Named("CollectiveRequest".to_owned()),
            ("Communicator", _, true) => CoreType::Named("PersistentCollective".to_owned()),
            _ => CoreType::Unknown,
        };
        known.map_or_else(made, |known| known.gives.clone())
    }

    pub(super) fn field(&self, of: &str, name: &str) -> CoreType {
        let known = self.fields.get(&format!("{of}::{name}"));
        known.cloned().unwrap_or(CoreType::Unknown)
    }

    /// Adds the signatures of a file.
    pub(super) fn learn(&mut self, file: &File) {
        let mut learner = SignatureReader {
            file,
            signatures: self,
            of: None,
        };
        learner.visit_file(&file.syntax);
    }

    /// Returns the core of a type that a file names; `of` is the type of `Self`.
    pub(super) fn core_type(&self, file: &File, of: Option<&str>, named: &syn::Type) -> CoreType {
        let heart = |named| self.core_type(file, of, named);
        match named {
            syn::Type::Reference(named) => heart(&named.elem),
            syn::Type::Paren(named) => heart(&named.elem),
            syn::Type::Group(named) => heart(&named.elem),
            syn::Type::Array(named) => heart(&named.elem),
            syn::Type::Slice(named) => heart(&named.elem),
            syn::Type::Tuple(named) => CoreType::Tuple(named.elems.iter().map(heart).collect()),
            syn::Type::Path(named) => {
                let words = words(&named.path);
                let last = named.path.segments.last().expect("a path has words");
                if let (Some(of), true) = (of, words[0] == "Self") {
                    return CoreType::Named(of.to_owned());
                }
                if !WRAPPERS.contains(&words[words.len() - 1].as_str()) {
                    return CoreType::Named(self.name(file, &words));
                }
                let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
                    return CoreType::Unknown;
                };
                let mut types = arguments.args.iter().filter_map(|argument| match argument {
                    syn::GenericArgument::Type(named) => Some(named),
                    _ => None,
                });
                types.next().map_or(CoreType::Unknown, heart)
            }
            _ => CoreType::Unknown,
        }
    }
}

/// Returns the words of a path.
pub(super) fn words(path: &syn::Path) -> Vec<String> {
    let segments = path.segments.iter();
    segments.map(|segment| segment.ident.to_string()).collect()
}

/// Reads signatures.
struct SignatureReader<'a> {
    file: &'a File,
    signatures: &'a mut Signatures,
    /// The type of the current `impl`.
    of: Option<String>,
}

impl SignatureReader<'_> {
    fn learn(&mut self, signature: &syn::Signature) {
        let of = self.of.as_deref();
        let heart = |named: &syn::Type| self.signatures.core_type(self.file, of, named);
        let gives = match &signature.output {
            syn::ReturnType::Default => CoreType::Tuple(Vec::new()),
            syn::ReturnType::Type(_, named) => heart(named),
        };
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(input) => Some(&*input.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let arguments = typed.map(|named| {
            let taken = taken_by(named, &signature.generics);
            taken.into_iter().map(heart).collect()
        });
        let arguments = arguments.collect();
        let name = signature.ident.to_string();
        let name = match of {
            Some(of) => format!("{of}::{name}"),
            None => self.signatures.name(self.file, &[name]),
        };
        let learned = Signature { gives, arguments };
        // The functions of a file override others of the same name.
        self.signatures.functions.insert(name, learned);
    }
}

impl<'ast> Visit<'ast> for SignatureReader<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let CoreType::Named(of) = self.signatures.core_type(self.file, None, &item.self_ty) {
            self.of = Some(of);
            visit::visit_item_impl(self, item);
            self.of = None;
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.learn(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.learn(&item.sig);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let of = self.signatures.name(self.file, &[item.ident.to_string()]);
        for (nth, field) in item.fields.iter().enumerate() {
            let name = field
                .ident
                .as_ref()
                .map_or(nth.to_string(), ToString::to_string);
            let heart = self.signatures.core_type(self.file, Some(&of), &field.ty);
            self.signatures
                .fields
                .insert(format!("{of}::{name}"), heart);
        }
    }
}

/// Returns the argument types of an argument that is itself a function.
fn taken_by<'a>(named: &'a syn::Type, generics: &'a syn::Generics) -> Vec<&'a syn::Type> {
    let bounds: Vec<&Punctuated<syn::TypeParamBound, _>> = match named {
        syn::Type::Reference(named) => return taken_by(&named.elem, generics),
        syn::Type::FnPtr(named) => return named.inputs.iter().map(|input| &input.ty).collect(),
        syn::Type::ImplTrait(named) => vec![&named.bounds],
        syn::Type::TraitObject(named) => vec![&named.bounds],
        syn::Type::Path(named) => {
            let of_that = |parameter: &&syn::TypeParam| named.path.is_ident(&parameter.ident);
            let parameters = generics.type_params().filter(of_that);
            parameters.map(|parameter| &parameter.bounds).collect()
        }
        _ => Vec::new(),
    };
    for bound in bounds.into_iter().flatten() {
        if let syn::TypeParamBound::Trait(bound) = bound
            && let Some(last) = bound.path.segments.last()
            && let syn::PathArguments::Parenthesized(taken) = &last.arguments
        {
            return taken.inputs.iter().map(|input| &input.ty).collect();
        }
    }
    Vec::new()
}

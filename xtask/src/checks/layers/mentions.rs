//! The names that each file uses: in private imports, and in paths elsewhere. Re-exports do not
//! count, because their importers name the defining file.

use std::fmt;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::tree::{self, Target, Tree};

/// A use of a name from another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) line: usize,
    /// The path as written.
    pub(super) name: String,
    /// The path names an item, not a module on the way to one.
    pub(super) item: bool,
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            line,
            name,
            ..
        } = self;
        write!(f, "{from}:{line} → {to}: {name}")
    }
}

/// Returns all names that the files of a crate use, in the order of the files.
pub(super) fn of(tree: &Tree) -> Vec<Mention> {
    let mut found = Vec::new();
    for (file, module, syntax) in tree.parsed() {
        let mut reader = MentionReader {
            tree,
            file,
            module,
            found: &mut found,
        };
        reader.visit_file(syntax);
    }
    found
}

/// Reads one file.
struct MentionReader<'a> {
    tree: &'a Tree,
    file: &'a str,
    module: tree::ModuleId,
    found: &'a mut Vec<Mention>,
}

impl MentionReader<'_> {
    fn names(&mut self, words: &[String], at: Span) {
        for length in 1..=words.len() {
            for target in self.tree.resolve(self.module, &words[..length]) {
                let (to, item) = match target {
                    Target::Item(file) => (file, true),
                    Target::Module(module) => (self.tree.file_of(module), false),
                };
                let to = self.tree.path_of(to);
                if to != self.file {
                    self.found.push(Mention {
                        from: self.file.to_owned(),
                        to: to.to_owned(),
                        line: at.start().line,
                        name: words.join("::"),
                        item,
                    });
                }
            }
        }
    }

    /// Reads names in the tokens of a macro, which are not a syntax tree: words with `::` between
    /// them. A word behind a dot is a member, and a word behind a dollar sign is a variable of the
    /// macro.
    fn reads(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut words: Vec<Ident> = Vec::new();
        let mut before = ' ';
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if before == '.' => drop(word),
                TokenTree::Ident(word) if before == '$' && word != "crate" => {}
                TokenTree::Ident(word) => {
                    words.push(word);
                    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ':');
                    if tokens.next_if(colon).is_some() && tokens.next_if(colon).is_some() {
                        before = ':';
                        continue;
                    }
                }
                TokenTree::Group(group) => self.reads(group.stream()),
                TokenTree::Punct(sign) => {
                    before = sign.as_char();
                    continue;
                }
                TokenTree::Literal(_) => {}
            }
            before = ' ';
            if let Some(first) = words.first() {
                let at = first.span();
                let named: Vec<String> = words.drain(..).map(|word| word.to_string()).collect();
                self.names(&named, at);
            }
        }
    }
}

impl<'ast> Visit<'ast> for MentionReader<'_> {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !tree::is_of_tests(tree::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Const(item) => item.attrs.as_slice(),
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            syn::ImplItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        if !tree::is_of_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !tree::is_of_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !tree::is_of_tests(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !tree::is_of_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_field_value(&mut self, value: &'ast syn::FieldValue) {
        if !tree::is_of_tests(&value.attrs) {
            visit::visit_field_value(self, value);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !tree::is_of_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        if !tree::is_of_tests(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let Some((_, items)) = &item.content else {
            return;
        };
        let Some(inner) = self.tree.inner(self.module, &item.ident.to_string()) else {
            return;
        };
        let outer = std::mem::replace(&mut self.module, inner);
        for item in items {
            self.visit_item(item);
        }
        self.module = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let private = matches!(item.vis, syn::Visibility::Inherited);
        if private && item.leading_colon.is_none() {
            for import in tree::imports(&item.tree) {
                self.names(&import.words, import.at);
            }
        }
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.visits_qualified(path.qself.as_ref(), &path.path);
    }

    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        self.visits_qualified(path.qself.as_ref(), &path.path);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let words: Vec<String> = path
                .segments
                .iter()
                .map(|word| word.ident.to_string())
                .collect();
            if let Some(first) = path.segments.first() {
                self.names(&words, first.ident.span());
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if item.ident.is_none() {
            self.visit_path(&item.mac.path);
        }
        self.reads(item.mac.tokens.clone());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.reads(call.tokens.clone());
    }
}

impl MentionReader<'_> {
    /// The path of `<Type as Trait>::name` is that of the trait; `<Type>::name` alone names
    /// nothing.
    fn visits_qualified(&mut self, qself: Option<&syn::QSelf>, path: &syn::Path) {
        if let Some(qself) = qself {
            self.visit_qself(qself);
        }
        if qself.is_none_or(|qself| qself.position > 0) {
            self.visit_path(path);
        } else {
            visit::visit_path(self, path);
        }
    }
}

//! Finds the functions that a file calls, or names as a function to call.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Stmt, Token};

use super::super::layers::tree::is_of_tests;
use super::types::{CoreType, File, Signatures, words};

/// External methods that return the content of their receiver.
const INNER: &[&str] = &[
    "as_mut",
    "as_ref",
    "as_slice",
    "borrow",
    "by_ref",
    "chain",
    "clone",
    "cloned",
    "collect",
    "copied",
    "drain",
    "each_mut",
    "each_ref",
    "expect",
    "filter",
    "first",
    "first_mut",
    "get",
    "get_mut",
    "inspect",
    "into_iter",
    "iter",
    "iter_mut",
    "last",
    "last_mut",
    "lock",
    "next",
    "ok",
    "pop",
    "remove",
    "rev",
    "skip",
    "split_at_mut",
    "step_by",
    "swap_remove",
    "take",
    "to_owned",
    "to_vec",
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
    "unwrap_or_else",
    "windows",
];

/// External methods that return the result of the function that they get.
const MAPPED: &[&str] = &[
    "and_then",
    "flat_map",
    "map",
    "map_or_else",
    "then",
    "unwrap_or_else",
];

/// External functions that return the content of their first argument.
const WRAPS: &[&str] = &["Some", "Ok", "new", "from", "from_fn", "replace", "take"];

/// Adds the functions that a file calls. In a library file only its tests count.
pub(super) fn of(file: &File, signatures: &Signatures, called: &mut BTreeSet<String>) {
    let mut signatures = signatures.clone();
    if !file.library {
        signatures.learn(file);
    }
    let mut reader = CallReader {
        file,
        signatures: &signatures,
        called,
        of: None,
        scopes: vec![CallScope::new()],
    };
    if !file.library {
        return reader.visit_file(&file.syntax);
    }
    for item in &file.syntax.items {
        if let syn::Item::Mod(item) = item
            && is_of_tests(&item.attrs)
        {
            reader.visit_item_mod(item);
        }
    }
}

/// Variables with their types, and functions with their results.
type CallScope = BTreeMap<String, CoreType>;

struct CallReader<'a> {
    file: &'a File,
    signatures: &'a Signatures,
    called: &'a mut BTreeSet<String>,
    /// The type of the current `impl`.
    of: Option<String>,
    scopes: Vec<CallScope>,
}

impl CallReader<'_> {
    fn within<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(CallScope::new());
        let answer = read(self);
        self.scopes.pop();
        answer
    }

    fn variable(&self, name: &str) -> Option<&CoreType> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    fn named(&self, path: &syn::Path) -> String {
        let mut words = words(path);
        if let (Some(of), true) = (&self.of, words[0] == "Self") {
            words.remove(0);
            return [std::slice::from_ref(of), words.as_slice()]
                .concat()
                .join("::");
        }
        self.signatures.name(self.file, &words)
    }

    /// Records the types of the variables of a pattern.
    fn bind(&mut self, pattern: &Pat, heart: &CoreType) {
        match pattern {
            Pat::Ident(variable) => {
                let scope = self.scopes.last_mut().expect("there is one of the file");
                scope.insert(variable.ident.to_string(), heart.clone());
            }
            Pat::Type(typed) => {
                let stated = self
                    .signatures
                    .core_type(self.file, self.of.as_deref(), &typed.ty);
                self.bind(&typed.pat, &stated);
            }
            Pat::Reference(pattern) => self.bind(&pattern.pat, heart),
            Pat::Paren(pattern) => self.bind(&pattern.pat, heart),
            Pat::Tuple(patterns) => {
                let parts = match heart {
                    CoreType::Tuple(parts) => parts.as_slice(),
                    _ => &[],
                };
                for (nth, pattern) in patterns.elems.iter().enumerate() {
                    self.bind(pattern, parts.get(nth).unwrap_or(&CoreType::Unknown));
                }
            }
            Pat::TupleStruct(patterns) => {
                for pattern in &patterns.elems {
                    self.bind(pattern, heart);
                }
            }
            Pat::Slice(patterns) => {
                for pattern in &patterns.elems {
                    self.bind(pattern, heart);
                }
            }
            Pat::Struct(pattern) => {
                let of = self.named(&pattern.path);
                for field in &pattern.fields {
                    if let syn::Member::Named(name) = &field.member {
                        let heart = self.signatures.field(&of, &name.to_string());
                        self.bind(&field.pat, &heart);
                    }
                }
            }
            _ => {}
        }
    }

    fn core_type(&mut self, value: &Expr) -> CoreType {
        match value {
            Expr::Path(path) => {
                let variable = path.path.get_ident().map(ToString::to_string);
                let known = variable.and_then(|name| self.variable(&name).cloned());
                known.unwrap_or_else(|| self.given_by(&path.path))
            }
            Expr::Reference(value) => self.core_type(&value.expr),
            Expr::Paren(value) => self.core_type(&value.expr),
            Expr::Group(value) => self.core_type(&value.expr),
            Expr::Try(value) => self.core_type(&value.expr),
            Expr::Unary(value) => self.core_type(&value.expr),
            Expr::Index(value) => self.core_type(&value.expr),
            Expr::Array(values) => self.core_type_of_first(values.elems.iter()),
            Expr::Repeat(value) => self.core_type(&value.expr),
            Expr::Tuple(values) => {
                let parts = values.elems.iter().map(|value| self.core_type(value));
                CoreType::Tuple(parts.collect())
            }
            Expr::Unsafe(block) => self.core_type_of_block(&block.block),
            Expr::Block(block) => self.core_type_of_block(&block.block),
            Expr::If(choice) => self.core_type_of_block(&choice.then_branch),
            Expr::Match(choice) => {
                self.core_type_of_first(choice.arms.iter().map(|arm| &*arm.body))
            }
            Expr::Struct(value) => CoreType::Named(self.named(&value.path)),
            Expr::Field(value) => match (self.core_type(&value.base), &value.member) {
                (CoreType::Named(of), syn::Member::Named(name)) => {
                    self.signatures.field(&of, &name.to_string())
                }
                (CoreType::Named(of), syn::Member::Unnamed(nth)) => {
                    self.signatures.field(&of, &nth.index.to_string())
                }
                (CoreType::Tuple(parts), syn::Member::Unnamed(nth)) => {
                    let part = parts.get(nth.index as usize);
                    part.cloned().unwrap_or(CoreType::Unknown)
                }
                _ => CoreType::Unknown,
            },
            Expr::Closure(closure) => self.core_type(&closure.body),
            Expr::Macro(call) => {
                if let Some(block) = self.file.macros.expanded(&call.mac) {
                    return self.core_type_of_block(&block);
                }
                let values = arguments(&call.mac);
                self.core_type_of_first(values.iter())
            }
            Expr::Call(call) => self.core_type_of_call(call),
            Expr::MethodCall(call) => self.core_type_of_method(call),
            _ => CoreType::Unknown,
        }
    }

    fn core_type_of_first<'e>(&mut self, values: impl Iterator<Item = &'e Expr>) -> CoreType {
        let mut hearts = values.map(|value| self.core_type(value));
        hearts
            .find(|heart| *heart != CoreType::Unknown)
            .unwrap_or(CoreType::Unknown)
    }

    fn core_type_of_block(&mut self, block: &syn::Block) -> CoreType {
        self.within(|reader| {
            for statement in &block.stmts {
                match statement {
                    Stmt::Local(local) => reader.bind_local(local),
                    Stmt::Expr(value, None) => return reader.core_type(value),
                    _ => {}
                }
            }
            CoreType::Unknown
        })
    }

    fn core_type_of_call(&mut self, call: &syn::ExprCall) -> CoreType {
        let Expr::Path(function) = &*call.func else {
            return CoreType::Unknown;
        };
        let variable = function.path.get_ident().map(ToString::to_string);
        if let Some(gives) = variable.and_then(|name| self.variable(&name).cloned()) {
            return gives;
        }
        let last = function.path.segments.last().expect("a path has words");
        let wraps = WRAPS.contains(&last.ident.to_string().as_str());
        let given = self.given_by(&function.path);
        given.or_else(|| match call.args.first() {
            Some(first) if wraps => self.core_type(first),
            _ => CoreType::Unknown,
        })
    }

    fn given_by(&self, function: &syn::Path) -> CoreType {
        let known = self.signatures.function(&self.named(function));
        known.map_or(CoreType::Unknown, |known| known.gives.clone())
    }

    fn core_type_of_method(&mut self, call: &syn::ExprMethodCall) -> CoreType {
        let (of, name) = (self.core_type(&call.receiver), call.method.to_string());
        let own = match &of {
            CoreType::Named(of) => self.signatures.method(of, &name),
            _ => CoreType::Unknown,
        };
        own.or_else(|| {
            match (name.as_str(), call.args.first()) {
                ("enumerate", _) => return CoreType::Tuple(vec![CoreType::Unknown, of]),
                ("zip", Some(other)) => return CoreType::Tuple(vec![of, self.core_type(other)]),
                _ => {}
            }
            let mapped = MAPPED.contains(&name.as_str()).then(|| call.args.last());
            match mapped.flatten() {
                Some(Expr::Closure(closure)) => self.within(|reader| {
                    reader.bind_inputs(closure, std::slice::from_ref(&of));
                    reader.core_type(&closure.body)
                }),
                Some(Expr::Path(function)) => self.given_by(&function.path),
                _ if INNER.contains(&name.as_str()) => of,
                _ => CoreType::Unknown,
            }
        })
    }

    fn bind_local(&mut self, local: &syn::Local) {
        let value = local.init.as_ref().map(|init| self.core_type(&init.expr));
        self.bind(&local.pat, &value.unwrap_or(CoreType::Unknown));
    }

    fn bind_inputs(&mut self, closure: &syn::ExprClosure, given: &[CoreType]) {
        for (nth, input) in closure.inputs.iter().enumerate() {
            self.bind(input, given.get(nth).unwrap_or(&CoreType::Unknown));
        }
    }

    /// Reads the arguments of a call; `given` has the argument types of those that are functions.
    fn reads<'e>(&mut self, arguments: impl Iterator<Item = &'e Expr>, given: &[Vec<CoreType>]) {
        for (nth, argument) in arguments.enumerate() {
            let given = given.get(nth).map_or(&[][..], Vec::as_slice);
            match argument {
                Expr::Closure(closure) => self.within(|reader| {
                    reader.bind_inputs(closure, given);
                    reader.visit_expr(&closure.body);
                }),
                argument => self.visit_expr(argument),
            }
        }
    }

    fn reads_function(&mut self, inputs: &Punctuated<syn::FnArg, Token![,]>, body: &syn::Block) {
        self.within(|reader| {
            for input in inputs {
                match input {
                    syn::FnArg::Typed(input) => {
                        let of = reader.of.as_deref();
                        let heart = reader.signatures.core_type(reader.file, of, &input.ty);
                        reader.bind(&input.pat, &heart);
                    }
                    syn::FnArg::Receiver(_) => {
                        let own = reader.of.clone().map_or(CoreType::Unknown, CoreType::Named);
                        let scope = reader.scopes.last_mut().expect("it was just made");
                        scope.insert("self".to_owned(), own);
                    }
                }
            }
            reader.visit_block(body);
        });
    }
}

impl<'ast> Visit<'ast> for CallReader<'_> {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("ignore"))
        {
            self.reads_function(&item.sig.inputs, &item.block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = self.signatures.core_type(self.file, None, &item.self_ty);
        if let CoreType::Named(of) = of {
            let outer = self.of.replace(of);
            visit::visit_item_impl(self, item);
            self.of = outer;
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.reads_function(&item.sig.inputs, &item.block);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.within(|reader| visit::visit_block(reader, block));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        self.bind_local(local);
    }

    fn visit_expr_let(&mut self, choice: &'ast syn::ExprLet) {
        visit::visit_expr_let(self, choice);
        let heart = self.core_type(&choice.expr);
        self.bind(&choice.pat, &heart);
    }

    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        self.visit_expr(&each.expr);
        let heart = self.core_type(&each.expr);
        self.within(|reader| {
            reader.bind(&each.pat, &heart);
            reader.visit_block(&each.body);
        });
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        self.visit_expr(&choice.expr);
        let heart = self.core_type(&choice.expr);
        for arm in &choice.arms {
            self.within(|reader| {
                reader.bind(&arm.pat, &heart);
                reader.visit_arm(arm);
            });
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.within(|reader| {
            reader.bind_inputs(closure, &[]);
            reader.visit_expr(&closure.body);
        });
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.visit_expr(&call.func);
        let function = match &*call.func {
            Expr::Path(function) => self.signatures.function(&self.named(&function.path)),
            _ => None,
        };
        let given = function.map_or(Vec::new(), |function| function.arguments.clone());
        self.reads(call.args.iter(), &given);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let of = self.core_type(&call.receiver);
        // The core type of a value is also what its iterators, options and results pass to
        // functions.
        let mut given = vec![vec![of.clone()]; call.args.len()];
        if let CoreType::Named(of) = of {
            let name = format!("{of}::{}", call.method);
            if let Some(known) = self.signatures.function(&name) {
                given.clone_from(&known.arguments);
            }
            self.called.insert(name);
        }
        self.reads(call.args.iter(), &given);
    }

    /// A named function counts as called, because another function will call it.
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let name = self.named(&path.path);
        self.called.insert(name);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(block) = self.file.macros.expanded(call) {
            self.visit_block(&block);
        }
        for argument in &arguments(call) {
            self.visit_expr(argument);
        }
    }
}

/// Returns the arguments of a macro that takes expressions; none for other macros.
fn arguments(call: &syn::Macro) -> Vec<Expr> {
    let listed = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
    let repeated = |input: syn::parse::ParseStream<'_>| {
        let value = input.parse::<Expr>()?;
        input.parse::<Token![;]>()?;
        Ok(vec![value, input.parse::<Expr>()?])
    };
    match listed {
        Ok(listed) => listed.into_iter().collect(),
        Err(_) => call.parse_body_with(repeated).unwrap_or_default(),
    }
}

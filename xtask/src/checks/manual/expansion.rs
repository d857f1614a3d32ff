//! Expands the macros that a test file defines itself, with one rule each. A call that does not
//! match expands to nothing.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::visit::Visit;

/// The parameters and the body of each macro, by name.
#[derive(Default)]
pub(super) struct Macros(BTreeMap<String, [Vec<TokenTree>; 2]>);

/// The tokens of a name: several, if it is in a repetition.
type MacroBindings = BTreeMap<String, Vec<Vec<TokenTree>>>;

impl<'ast> Visit<'ast> for Macros {
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let groups = item
            .mac
            .tokens
            .clone()
            .into_iter()
            .filter_map(|token| match token {
                TokenTree::Group(group) => Some(group.stream().into_iter().collect()),
                _ => None,
            });
        let rule: Vec<Vec<TokenTree>> = groups.collect();
        if let (Some(name), Ok(rule)) = (&item.ident, rule.try_into()) {
            self.0.insert(name.to_string(), rule);
        }
    }
}

impl Macros {
    pub(super) fn of(file: &syn::File) -> Self {
        let mut macros = Self::default();
        macros.visit_file(file);
        macros
    }

    /// Returns the expansion of a call of one of them.
    pub(super) fn expanded(&self, call: &syn::Macro) -> Option<syn::Block> {
        let [given, made] = self.0.get(&call.path.get_ident()?.to_string())?;
        let tokens: Vec<TokenTree> = call.tokens.clone().into_iter().collect();
        let mut bound = MacroBindings::new();
        if !binds(given, &tokens, &mut bound) {
            return None;
        }
        let block = Group::new(Delimiter::Brace, transcribed(made, &bound, 0));
        syn::parse2(TokenTree::Group(block).into()).ok()
    }
}

fn is(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// Matches a call with the parameters of a macro.
fn binds(given: &[TokenTree], call: &[TokenTree], bound: &mut MacroBindings) -> bool {
    match given {
        [] => call.is_empty(),
        // `$name:kind`
        [
            dollar,
            TokenTree::Ident(name),
            _,
            TokenTree::Ident(kind),
            rest @ ..,
        ] if is(Some(dollar), '$') => {
            let one = ["ident", "literal", "tt"].iter().any(|one| kind == one);
            let ends = |token: &TokenTree| {
                rest.first()
                    .is_some_and(|next| token.to_string() == next.to_string())
            };
            let len = match one {
                true => call.len().min(1),
                false => call.iter().position(ends).unwrap_or(call.len()),
            };
            bound
                .entry(name.to_string())
                .or_default()
                .push(call[..len].to_vec());
            len > 0 && binds(rest, &call[len..], bound)
        }
        // `$(each),*`, which matches the rest
        [dollar, TokenTree::Group(each), comma, _]
            if is(Some(dollar), '$') && is(Some(comma), ',') =>
        {
            let each: Vec<TokenTree> = each.stream().into_iter().collect();
            let mut parts = call.split(|token| is(Some(token), ','));
            call.is_empty() || parts.all(|part| binds(&each, part, bound))
        }
        [TokenTree::Group(inner), rest @ ..] => match call {
            [TokenTree::Group(own), others @ ..] if own.delimiter() == inner.delimiter() => {
                let [inner, own] =
                    [inner, own].map(|group| group.stream().into_iter().collect::<Vec<_>>());
                binds(&inner, &own, bound) && binds(rest, others, bound)
            }
            _ => false,
        },
        [token, rest @ ..] => match call {
            [own, others @ ..] if own.to_string() == token.to_string() => {
                binds(rest, others, bound)
            }
            _ => false,
        },
    }
}

/// Returns the expansion of a body, in round `nth` of a repetition.
fn transcribed(made: &[TokenTree], bound: &MacroBindings, nth: usize) -> TokenStream {
    let mut tokens = TokenStream::new();
    let mut made = made.iter().peekable();
    while let Some(token) = made.next() {
        match (is(Some(token), '$'), made.peek()) {
            (true, Some(TokenTree::Ident(name))) => {
                let stands = bound.get(&name.to_string());
                let stands = stands.and_then(|list| list.get(nth).or_else(|| list.first()));
                tokens.extend(stands.into_iter().flatten().cloned());
                made.next();
            }
            (true, Some(TokenTree::Group(each))) => {
                let each: Vec<TokenTree> = each.stream().into_iter().collect();
                made.next();
                let sign = made.next_if(|token| is(Some(token), ','));
                made.next();
                for nth in 0..times(&each, bound) {
                    tokens.extend(transcribed(&each, bound, nth));
                    tokens.extend(sign.cloned());
                }
            }
            _ => match token {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    let inner = transcribed(&inner, bound, nth);
                    tokens.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
                }
                token => tokens.extend([token.clone()]),
            },
        }
    }
    tokens
}

/// Returns the number of rounds of a repetition.
fn times(each: &[TokenTree], bound: &MacroBindings) -> usize {
    let names = each.windows(2).filter(|pair| is(pair.first(), '$'));
    let lists = names.filter_map(|pair| bound.get(&pair[1].to_string()));
    lists.map(Vec::len).max().unwrap_or(0)
}

//! Enumerations without fields: their discriminants, of which only those of variants are values.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DataEnum, DeriveInput, Error, Fields, Ident, Result};

/// The integer types that can represent an enumeration.
const INTEGERS: [&str; 10] = [
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
];

/// The integer that an enumeration says it is.
fn representation(attributes: &[Attribute]) -> Result<Option<Ident>> {
    let mut integer = None;
    for attribute in attributes.iter().filter(|one| one.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let found = meta
                .path
                .get_ident()
                .filter(|name| INTEGERS.contains(&name.to_string().as_str()));
            if let Some(name) = found {
                integer = Some(name.clone());
            } else if meta.input.peek(syn::token::Paren) {
                let _other: proc_macro2::Group = meta.input.parse()?;
            }
            Ok(())
        })?;
    }
    Ok(integer)
}

pub(crate) fn implementation(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = &input.ident;
    let Some(integer) = representation(&input.attrs)? else {
        return Err(Error::new_spanned(
            name,
            "an enumeration that is sent says which integer it is: add #[repr(u8)]",
        ));
    };
    if let Some(variant) = data
        .variants
        .iter()
        .find(|one| !matches!(one.fields, Fields::Unit))
    {
        return Err(Error::new_spanned(
            variant,
            "an enumeration that is sent has no fields: send a structure of its kind and its data",
        ));
    }
    let Some(first) = data.variants.first().map(|variant| &variant.ident) else {
        return Err(Error::new_spanned(
            name,
            "an enumeration without variants has no value that could be sent",
        ));
    };
    let variants = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        // SAFETY: its data are its discriminant; what is that of no variant becomes the first one.
        #[automatically_derived]
        unsafe impl ::bcs_mpi::Equivalence for #name {
            fn datatype() -> ::bcs_mpi::mpi::Datatype {
                static DATATYPE: ::std::sync::OnceLock<::bcs_mpi::mpi::Datatype> =
                    ::std::sync::OnceLock::new();
                DATATYPE
                    .get_or_init(::bcs_mpi::enumeration::<Self, #integer>)
                    .clone()
            }

            fn is_checked() -> bool {
                true
            }

            unsafe fn amend(at: *mut Self) -> bool {
                // SAFETY: the caller's promise; any bytes are such an integer.
                let found = unsafe { at.cast::<#integer>().read() };
                let is_value = false #(|| found == Self::#variants as #integer)*;
                if !is_value {
                    // SAFETY: the caller's promise.
                    unsafe { at.write(Self::#first) };
                }
                is_value
            }
        }
    })
}

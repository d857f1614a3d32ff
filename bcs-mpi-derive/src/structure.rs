//! Structures: each field is data, at its offset; what is between them is not.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, GenericParam, Index, Member, Result, parse_quote};

pub(crate) fn implementation(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::bcs_mpi::Equivalence));
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let member = |(nth, field): (usize, &syn::Field)| match &field.ident {
        Some(name) => Member::from(name.clone()),
        None => Member::from(Index::from(nth)),
    };
    let members: Vec<Member> = data.fields.iter().enumerate().map(member).collect();
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let make = quote! {
        ::bcs_mpi::structure::<Self>(&[#((
            ::core::mem::offset_of!(Self, #members),
            <#types as ::bcs_mpi::Equivalence>::datatype(),
        )),*])
    };
    let is_generic = |parameter: &GenericParam| !matches!(parameter, GenericParam::Lifetime(_));
    // All types that a generic one becomes would share a static.
    let datatype = if generics.params.iter().any(is_generic) {
        quote! { ::bcs_mpi::datatype_of::<Self>(|| #make) }
    } else {
        quote! {
            static DATATYPE: ::std::sync::OnceLock<::bcs_mpi::mpi::Datatype> =
                ::std::sync::OnceLock::new();
            DATATYPE.get_or_init(|| #make).clone()
        }
    };
    Ok(quote! {
        // SAFETY: each field is an `Equivalence` and is where the compiler says; what is no field
        // is no data.
        #[automatically_derived]
        unsafe impl #parameters ::bcs_mpi::Equivalence for #name #arguments #bounds {
            fn datatype() -> ::bcs_mpi::mpi::Datatype {
                #datatype
            }

            fn is_checked() -> bool {
                false #(|| <#types as ::bcs_mpi::Equivalence>::is_checked())*
            }

            unsafe fn amend(at: *mut Self) -> bool {
                true #(& {
                    let field = at.wrapping_byte_add(::core::mem::offset_of!(Self, #members));
                    // SAFETY: the caller's promise, of each field.
                    unsafe { <#types as ::bcs_mpi::Equivalence>::amend(field.cast::<#types>()) }
                })*
            }
        }
    })
}

//! Constructing, freeing and measuring datatypes (MPI 5.0, 5.1).

use super::calls;
use super::fortran::is_of_fortran;
use super::type_attributes::{copied, delete_all};
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::objects::{
    DATATYPES, DatatypeContents, DatatypeEntry, DatatypeProperties, DerivedDatatype, Ingredient,
    Number, datatype, datatype_entry, datatype_handle, elementary, list, place, put,
};
use crate::state;
use bcs_mpi::mpi::datatype::{Distribution, Order};
use bcs_mpi::mpi::{Datatype, ErrorClass, Result};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

/// The numeric arguments of a datatype constructor.
#[derive(Default)]
struct Numbers {
    combiner: c_int,
    integers: Vec<c_int>,
    addresses: Vec<MPI_Aint>,
    counts: Vec<MPI_Count>,
}

/// Collects the numbers of most functions: integers and then addresses, which are all large counts
/// in the large form.
fn numbers<A: Number>(
    large: bool,
    combiner: c_int,
    integers: &[&[i64]],
    addresses: &[A],
) -> Numbers {
    let integers = integers.concat();
    let addresses = addresses.iter().map(|address| address.wide());
    if large {
        return Numbers {
            combiner,
            counts: integers.into_iter().chain(addresses).collect(),
            ..Numbers::default()
        };
    }
    Numbers {
        combiner,
        integers: integers.into_iter().map(narrow).collect(),
        addresses: addresses.map(address).collect(),
        counts: Vec::new(),
    }
}

/// Converts an integer of a small function back to `int`.
fn narrow(number: i64) -> c_int {
    c_int::try_from(number).unwrap_or(MPI_UNDEFINED)
}

/// Does the same for an address.
fn address(number: i64) -> MPI_Aint {
    MPI_Aint::try_from(number).unwrap_or(MPI_Aint::MAX)
}

/// No addresses.
const NONE: &[MPI_Count] = &[];

/// Makes a datatype from one other.
fn derive(
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
    numbers: Numbers,
    make: impl FnOnce(&Datatype) -> Result<Datatype>,
) -> Outcome {
    state::process()?;
    let newtype = place(newtype)?;
    let (old, ingredient) = Ingredient::of(oldtype)?;
    *newtype = datatype_handle(derived(make(&old)?, numbers, vec![ingredient]));
    Ok(())
}

fn derived(datatype: Datatype, numbers: Numbers, datatypes: Vec<Ingredient>) -> DerivedDatatype {
    let contents = Arc::new(DatatypeContents {
        combiner: numbers.combiner,
        integers: numbers.integers,
        addresses: numbers.addresses,
        counts: numbers.counts,
        datatypes,
    });
    DerivedDatatype { datatype, contents }
}

/// Returns the length of lists, which is a count.
fn counted(count: impl Number) -> Result<i64> {
    let count = count.wide();
    if count < 0 {
        return Err(error(ErrorClass::Count, format!("the count is {count}")));
    }
    Ok(count)
}

fn wide<N: Number>(start: *const N, len: i64) -> Result<Vec<i64>> {
    let list = list(start, len)?;
    Ok(list.iter().map(|number| number.wide()).collect())
}

fn order_of(order: c_int) -> Result<Order> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => Err(error(
            ErrorClass::Arg,
            format!("the order is {order}, which is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
        )),
    }
}

fn distribution(how: i64, argument: i64) -> Result<Distribution> {
    let block = (argument != i64::from(MPI_DISTRIBUTE_DFLT_DARG)).then_some(argument);
    match narrow(how) {
        MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block(block)),
        MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic(block)),
        _ => Err(error(
            ErrorClass::Arg,
            format!("a distribution is {how}, which is no MPI_DISTRIBUTE_..."),
        )),
    }
}

/// Collects the numbers of a function for arrays, whose small form has only integers.
fn array_numbers(combiner: c_int, integers: &[&[i64]], counts: &[&[i64]]) -> Numbers {
    Numbers {
        combiner,
        integers: integers.concat().into_iter().map(narrow).collect(),
        addresses: Vec::new(),
        counts: counts.concat(),
    }
}

/// Stores a lower bound and an extent.
fn bounds<A: TryFrom<i64>>(of: (i64, i64), lb: *mut A, extent: *mut A) -> Outcome {
    let fitting = |bytes: i64| {
        A::try_from(bytes).map_err(|_| {
            let reason = format!("{bytes} bytes do not fit where they are to be stored");
            error(ErrorClass::ValueTooLarge, reason)
        })
    };
    put(lb, fitting(of.0)?)?;
    Ok(put(extent, fitting(of.1)?)?)
}

calls! {
    fn PMPI_Type_contiguous | PMPI_Type_contiguous_c(count: N, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let count = count.wide();
        let numbers = numbers(LARGE, MPI_COMBINER_CONTIGUOUS, &[&[count]], NONE);
        derive(oldtype, newtype, numbers, |old| old.contiguous(count))
    }

    fn PMPI_Type_vector | PMPI_Type_vector_c(count: N, blocklength: N, stride: N, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let (count, blocklength, stride) = (count.wide(), blocklength.wide(), stride.wide());
        let numbers = numbers(LARGE, MPI_COMBINER_VECTOR, &[&[count, blocklength, stride]], NONE);
        derive(oldtype, newtype, numbers, |old| old.vector(count, blocklength, stride))
    }

    fn PMPI_Type_create_hvector | PMPI_Type_create_hvector_c(count: N, blocklength: N, stride: A, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let (count, blocklength) = (count.wide(), blocklength.wide());
        let numbers = numbers(LARGE, MPI_COMBINER_HVECTOR, &[&[count, blocklength]], &[stride]);
        derive(oldtype, newtype, numbers, |old| old.hvector(count, blocklength, stride.wide()))
    }

    fn PMPI_Type_indexed | PMPI_Type_indexed_c(count: N, array_of_blocklengths: *const N, array_of_displacements: *const N, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let count = counted(count)?;
        let (lengths, displacements) = (super::wide(array_of_blocklengths, count)?, super::wide(array_of_displacements, count)?);
        let numbers = numbers(LARGE, MPI_COMBINER_INDEXED, &[&[count], &lengths, &displacements], NONE);
        derive(oldtype, newtype, numbers, |old| old.indexed(&lengths, &displacements))
    }

    fn PMPI_Type_create_hindexed | PMPI_Type_create_hindexed_c(count: N, array_of_blocklengths: *const N, array_of_displacements: *const A, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let count = counted(count)?;
        let (lengths, displacements) = (super::wide(array_of_blocklengths, count)?, super::wide(array_of_displacements, count)?);
        let numbers = numbers(LARGE, MPI_COMBINER_HINDEXED, &[&[count], &lengths], &displacements);
        derive(oldtype, newtype, numbers, |old| old.hindexed(&lengths, &displacements))
    }

    fn PMPI_Type_create_indexed_block | PMPI_Type_create_indexed_block_c(count: N, blocklength: N, array_of_displacements: *const N, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let (count, blocklength) = (counted(count)?, blocklength.wide());
        let displacements = super::wide(array_of_displacements, count)?;
        let numbers = numbers(LARGE, MPI_COMBINER_INDEXED_BLOCK, &[&[count, blocklength], &displacements], NONE);
        derive(oldtype, newtype, numbers, |old| old.indexed_block(blocklength, &displacements))
    }

    fn PMPI_Type_create_hindexed_block | PMPI_Type_create_hindexed_block_c(count: N, blocklength: N, array_of_displacements: *const A, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let (count, blocklength) = (counted(count)?, blocklength.wide());
        let displacements = super::wide(array_of_displacements, count)?;
        let numbers = numbers(LARGE, MPI_COMBINER_HINDEXED_BLOCK, &[&[count, blocklength]], &displacements);
        derive(oldtype, newtype, numbers, |old| old.hindexed_block(blocklength, &displacements))
    }

    fn PMPI_Type_create_struct | PMPI_Type_create_struct_c(count: N, array_of_blocklengths: *const N, array_of_displacements: *const A, array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype) {
        state::process()?;
        let count = counted(count)?;
        let (lengths, displacements) = (super::wide(array_of_blocklengths, count)?, super::wide(array_of_displacements, count)?);
        let olds = list(array_of_types, count)?.iter().map(|old| Ingredient::of(*old));
        let (olds, ingredients): (Vec<_>, Vec<_>) = olds.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let numbers = numbers(LARGE, MPI_COMBINER_STRUCT, &[&[count], &lengths], &displacements);
        let newtype = place(newtype)?;
        let made = Datatype::structure(&lengths, &displacements, &olds)?;
        *newtype = datatype_handle(derived(made, numbers, ingredients));
        Ok(())
    }

    fn PMPI_Type_create_subarray | PMPI_Type_create_subarray_c(ndims: c_int, array_of_sizes: *const N, array_of_subsizes: *const N, array_of_starts: *const N, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let n = ndims.wide();
        let (sizes, subsizes) = (super::wide(array_of_sizes, n)?, super::wide(array_of_subsizes, n)?);
        let starts = super::wide(array_of_starts, n)?;
        let ends = ([n], [order.wide()]);
        let numbers = match LARGE {
            true => array_numbers(MPI_COMBINER_SUBARRAY, &[&ends.0, &ends.1], &[&sizes, &subsizes, &starts]),
            false => array_numbers(MPI_COMBINER_SUBARRAY, &[&ends.0, &sizes, &subsizes, &starts, &ends.1], &[]),
        };
        let order = order_of(order)?;
        derive(oldtype, newtype, numbers, |old| old.subarray(&sizes, &subsizes, &starts, order))
    }

    fn PMPI_Type_create_darray | PMPI_Type_create_darray_c(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const N, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let n = ndims.wide();
        let sizes = super::wide(array_of_gsizes, n)?;
        let (kinds, blocks) = (super::wide(array_of_distribs, n)?, super::wide(array_of_dargs, n)?);
        let processes = super::wide(array_of_psizes, n)?;
        let ends = ([size.wide(), rank.wide(), n], [order.wide()]);
        let numbers = match LARGE {
            true => array_numbers(MPI_COMBINER_DARRAY, &[&ends.0, &kinds, &blocks, &processes, &ends.1], &[&sizes]),
            false => array_numbers(MPI_COMBINER_DARRAY, &[&ends.0, &sizes, &kinds, &blocks, &processes, &ends.1], &[]),
        };
        let order = order_of(order)?;
        let how = kinds.iter().zip(&blocks).map(|(how, block)| distribution(*how, *block));
        let how = how.collect::<Result<Vec<_>>>()?;
        derive(oldtype, newtype, numbers, |old| {
            old.darray((size.wide(), rank.wide()), &sizes, &how, &processes, order)
        })
    }

    fn PMPI_Type_create_resized | PMPI_Type_create_resized_c(oldtype: MPI_Datatype, lb: A, extent: A, newtype: *mut MPI_Datatype) {
        let numbers = numbers(LARGE, MPI_COMBINER_RESIZED, &[], &[lb, extent]);
        derive(oldtype, newtype, numbers, |old| old.resized(lb.wide(), extent.wide()))
    }

    fn PMPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        state::process()?;
        place(newtype)?;
        let (old, ingredient) = Ingredient::of(oldtype)?;
        let numbers = Numbers { combiner: MPI_COMBINER_DUP, ..Numbers::default() };
        let derived = derived(old.dup()?, numbers, vec![ingredient]);
        let attributes = Mutex::new(copied(oldtype)?);
        let kept = Arc::new(DatatypeProperties { attributes, ..DatatypeProperties::default() });
        Ok(put(newtype, MPI_Datatype(DATATYPES.insert(DatatypeEntry { derived, kept })))?)
    }

    fn PMPI_Type_commit(datatype: *mut MPI_Datatype) {
        Ok(self::datatype(*place(datatype)?)?.commit()?)
    }

    fn PMPI_Type_free(datatype: *mut MPI_Datatype) {
        // Functions of the program may use its handle meanwhile.
        let handle = *place(datatype)?;
        if elementary(handle).is_some() || is_of_fortran(&datatype_entry(handle)?) {
            let reason = format!("the datatype {:#x} is predefined", handle.0);
            return Err(error(ErrorClass::Type, reason).into());
        }
        delete_all(handle, &datatype_entry(handle)?.kept)?;
        DATATYPES.remove(handle.0);
        Ok(put(datatype, MPI_DATATYPE_NULL)?)
    }

    fn PMPI_Type_size | PMPI_Type_size_c(datatype: MPI_Datatype, size: *mut N) {
        let bytes = self::datatype(datatype)?.size();
        Ok(put(size, N::try_from(bytes).unwrap_or(N::from(MPI_UNDEFINED)))?)
    }

    fn PMPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) {
        let bytes = self::datatype(datatype)?.size();
        Ok(put(size, MPI_Count::try_from(bytes).unwrap_or(MPI_UNDEFINED.into()))?)
    }

    fn PMPI_Type_get_extent | PMPI_Type_get_extent_c(datatype: MPI_Datatype, lb: *mut A, extent: *mut A) {
        bounds(self::datatype(datatype)?.extent(), lb, extent)
    }

    fn PMPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) {
        bounds(self::datatype(datatype)?.extent(), lb, extent)
    }

    fn PMPI_Type_get_true_extent | PMPI_Type_get_true_extent_c(datatype: MPI_Datatype, true_lb: *mut A, true_extent: *mut A) {
        bounds(self::datatype(datatype)?.true_extent(), true_lb, true_extent)
    }

    fn PMPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count) {
        bounds(self::datatype(datatype)?.true_extent(), true_lb, true_extent)
    }

    fn PMPI_Get_address(location: *const c_void, address: *mut MPI_Aint) {
        Ok(put(address, location.expose_provenance().cast_signed())?)
    }
}

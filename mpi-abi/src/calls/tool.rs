//! The tool information interface: its beginning and end, enumerations, categories and sources (MPI
//! 5.0, 15.3.4, 15.3.5, 15.3.8 and 15.3.9).

use super::tool_calls;
use crate::c::*;
use crate::objects::INFOS;
use crate::tool::categories::Category;
use crate::tool::enumerations::Enumeration;
use crate::tool::places::{address, index, list, nth, number, put, string, tell, text};
use crate::tool::{ToolOutcome, clock, interface};
use bcs_mpi::mpi::Info;
use std::ffi::{c_char, c_int};

/// Checks the index of a source: there is one.
fn source(index: c_int) -> ToolOutcome {
    nth(&[()], index).copied()
}

/// `MPI_T_init_thread`: any thread may call, whatever level is requested.
#[unsafe(export_name = "entry_PMPI_T_init_thread")]
pub unsafe extern "C" fn PMPI_T_init_thread(_required: c_int, provided: *mut c_int) -> c_int {
    interface::enter("PMPI_T_init_thread", || {
        put(provided, MPI_THREAD_MULTIPLE)?;
        interface::begin();
        Ok(())
    })
}

/// `MPI_T_finalize`.
#[unsafe(export_name = "entry_PMPI_T_finalize")]
pub unsafe extern "C" fn PMPI_T_finalize() -> c_int {
    interface::enter("PMPI_T_finalize", interface::end)
}

tool_calls! {
    fn PMPI_T_enum_get_info(enumtype: MPI_T_enum, num: *mut c_int, name: *mut c_char, name_len: *mut c_int) {
        let of = Enumeration::of(enumtype)?;
        string(of.name(), name, name_len)?;
        tell(num, number(of.items().len()));
        Ok(())
    }

    fn PMPI_T_enum_get_item(enumtype: MPI_T_enum, indx: c_int, value: *mut c_int, name: *mut c_char, name_len: *mut c_int) {
        let item = nth(Enumeration::of(enumtype)?.items(), indx)?;
        string(item, name, name_len)?;
        tell(value, indx);
        Ok(())
    }

    fn PMPI_T_category_get_num(num_cat: *mut c_int) {
        put(num_cat, number(Category::ALL.len()))
    }

    fn PMPI_T_category_get_index(name: *const c_char, cat_index: *mut c_int) {
        let name = text(name)?;
        put(cat_index, index(Category::ALL, |of| of.name().as_bytes() == name)?)
    }

    fn PMPI_T_category_get_info(
        cat_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut c_int,
    ) {
        let of = Category::nth(cat_index)?;
        string(of.name(), name, name_len)?;
        string(of.about(), desc, desc_len)?;
        tell(num_cvars, number(of.control().count()));
        tell(num_pvars, number(of.performance().count()));
        tell(num_categories, number(of.parts().count()));
        Ok(())
    }

    fn PMPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int) {
        Category::nth(cat_index)?;
        put(num_events, 0)
    }

    fn PMPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        list(Category::nth(cat_index)?.control(), len, indices)
    }

    fn PMPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        list(Category::nth(cat_index)?.performance(), len, indices)
    }

    fn PMPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) {
        Category::nth(cat_index)?;
        list(0..0, len, indices)
    }

    fn PMPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: *mut c_int) {
        list(Category::nth(cat_index)?.parts(), len, indices)
    }

    fn PMPI_T_category_changed(update_number: *mut c_int) {
        // Categories are fixed in the library, and never change.
        put(update_number, 0)
    }

    fn PMPI_T_source_get_num(num_sources: *mut c_int) {
        put(num_sources, 1)
    }

    fn PMPI_T_source_get_info(
        source_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char, desc_len: *mut c_int,
        ordering: *mut MPI_T_source_order, ticks_per_second: *mut MPI_Count, max_ticks: *mut MPI_Count, info: *mut MPI_Info,
    ) {
        source(source_index)?;
        string(clock::NAME, name, name_len)?;
        string(clock::ABOUT, desc, desc_len)?;
        tell(ordering, MPI_T_SOURCE_ORDERED);
        tell(ticks_per_second, clock::TICKS_PER_SECOND);
        tell(max_ticks, MPI_Count::MAX);
        if address(info).is_ok() {
            put(info, MPI_Info(INFOS.insert(Info::new())))?;
        }
        Ok(())
    }

    fn PMPI_T_source_get_timestamp(source_index: c_int, timestamp: *mut MPI_Count) {
        source(source_index)?;
        put(timestamp, clock::now())
    }
}

//! The tool information interface: control variables (MPI 5.0, 15.3.6).

use super::tool_calls;
use crate::c::*;
use crate::tool::Refusal;
use crate::tool::control::{ALL, bind, bound_to, unbind};
use crate::tool::places::{address, index, look, nth, number, put, string, tell, text};
use std::ffi::{c_char, c_int, c_void};

tool_calls! {
    fn PMPI_T_cvar_get_num(num_cvar: *mut c_int) {
        put(num_cvar, number(ALL.len()))
    }

    fn PMPI_T_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) {
        let name = text(name)?;
        put(cvar_index, index(ALL, |of| of.name.as_bytes() == name)?)
    }

    fn PMPI_T_cvar_get_info(
        cvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, datatype: *mut MPI_Datatype,
        enumtype: *mut MPI_T_enum, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int, scope: *mut c_int,
    ) {
        let of = nth(ALL, cvar_index)?;
        string(of.name, name, name_len)?;
        string(of.about, desc, desc_len)?;
        tell(verbosity, of.category.verbosity());
        tell(datatype, of.form.datatype());
        tell(enumtype, of.form.enumeration());
        tell(bind, MPI_T_BIND_NO_OBJECT);
        tell(scope, of.scope());
        Ok(())
    }

    fn PMPI_T_cvar_handle_alloc(cvar_index: c_int, _obj_handle: *mut c_void, handle: *mut MPI_T_cvar_handle, count: *mut c_int) {
        let of = nth(ALL, cvar_index)?;
        address(handle)?;
        put(count, 1)?;
        put(handle, bind(of))
    }

    fn PMPI_T_cvar_handle_free(handle: *mut MPI_T_cvar_handle) {
        unbind(look(handle)?)?;
        put(handle, MPI_T_CVAR_HANDLE_NULL)
    }

    fn PMPI_T_cvar_read(handle: MPI_T_cvar_handle, buf: *mut c_void) {
        let of = bound_to(handle)?;
        of.form.write(of.read()?, buf)
    }

    fn PMPI_T_cvar_write(handle: MPI_T_cvar_handle, _buf: *const c_void) {
        bound_to(handle)?;
        Err(Refusal::SetNever)
    }
}

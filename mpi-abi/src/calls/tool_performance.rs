//! The tool information interface: performance variables (MPI 5.0, 15.3.7).

use super::tool_calls;
use crate::c::*;
use crate::tool::Refusal;
use crate::tool::binding::Binding;
use crate::tool::performance::ALL;
use crate::tool::places::{address, index, look, nth, number, put, string, tell, text};
use crate::tool::sessions::{bind, create, free, unbind, with, with_any};
use std::ffi::{c_char, c_int, c_void};

tool_calls! {
    fn PMPI_T_pvar_get_num(num_pvar: *mut c_int) {
        put(num_pvar, number(ALL.len()))
    }

    fn PMPI_T_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) {
        let name = text(name)?;
        let wanted = index(ALL, |of| of.name.as_bytes() == name && of.class.code() == var_class);
        put(pvar_index, wanted?)
    }

    fn PMPI_T_pvar_get_info(
        pvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int, var_class: *mut c_int,
        datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum, desc: *mut c_char, desc_len: *mut c_int,
        bind: *mut c_int, readonly: *mut c_int, continuous: *mut c_int, atomic: *mut c_int,
    ) {
        let of = nth(ALL, pvar_index)?;
        let counts = c_int::from(of.class.counts());
        string(of.name, name, name_len)?;
        string(of.about, desc, desc_len)?;
        tell(verbosity, of.category.verbosity());
        tell(var_class, of.class.code());
        tell(datatype, of.class.form().datatype());
        tell(enumtype, of.class.form().enumeration());
        tell(bind, MPI_T_BIND_NO_OBJECT);
        tell(readonly, 1 - counts);
        tell(continuous, 1 - counts);
        tell(atomic, counts);
        Ok(())
    }

    fn PMPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) {
        address(session)?;
        put(session, create())
    }

    fn PMPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) {
        free(look(session)?)?;
        put(session, MPI_T_PVAR_SESSION_NULL)
    }

    fn PMPI_T_pvar_handle_alloc(
        session: MPI_T_pvar_session, pvar_index: c_int, _obj_handle: *mut c_void, handle: *mut MPI_T_pvar_handle,
        count: *mut c_int,
    ) {
        let of = nth(ALL, pvar_index)?;
        address(handle)?;
        address(count)?;
        put(handle, bind(session, of)?)?;
        put(count, 1)
    }

    fn PMPI_T_pvar_handle_free(session: MPI_T_pvar_session, handle: *mut MPI_T_pvar_handle) {
        unbind(session, look(handle)?)?;
        put(handle, MPI_T_PVAR_HANDLE_NULL)
    }

    fn PMPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_any(session, handle, Refusal::NoStartStop, Binding::start)
    }

    fn PMPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_any(session, handle, Refusal::NoStartStop, Binding::stop)
    }

    fn PMPI_T_pvar_read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void) {
        with(session, handle, |bound| bound.variable.class.form().write(bound.read()?, buf))
    }

    fn PMPI_T_pvar_write(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *const c_void) {
        with(session, handle, |bound| bound.write(bound.variable.class.form().read(buf)?))
    }

    fn PMPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) {
        with_any(session, handle, Refusal::NoWrite, |bound| bound.write(0))
    }

    fn PMPI_T_pvar_readreset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void) {
        with(session, handle, |bound| {
            let form = bound.variable.class.form();
            address(buf)?;
            form.write(bound.read_and_reset()?, buf)
        })
    }
}

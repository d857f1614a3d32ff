//! The tool information interface: events (MPI 5.0, 15.3.8). This library has no events. So every
//! index, name and handle is invalid, and no function of the program is ever called.

use super::tool_calls;
use crate::c::*;
use crate::tool::Refusal;
use crate::tool::places::{put, text};
use std::ffi::{c_char, c_int, c_void};

tool_calls! {
    fn PMPI_T_event_get_num(num_events: *mut c_int) {
        put(num_events, 0)
    }

    fn PMPI_T_event_get_index(name: *const c_char, _event_index: *mut c_int) {
        text(name)?;
        Err(Refusal::InvalidName)
    }

    fn PMPI_T_event_get_info(
        _event_index: c_int, _name: *mut c_char, _name_len: *mut c_int, _verbosity: *mut c_int,
        _array_of_datatypes: *mut MPI_Datatype, _array_of_displacements: *mut MPI_Aint, _num_elements: *mut c_int,
        _enumtype: *mut MPI_T_enum, _info: *mut MPI_Info, _desc: *mut c_char, _desc_len: *mut c_int, _bind: *mut c_int,
    ) {
        Err(Refusal::InvalidIndex)
    }

    fn PMPI_T_event_handle_alloc(
        _event_index: c_int, _obj_handle: *mut c_void, _info: MPI_Info, _event_registration: *mut MPI_T_event_registration,
    ) {
        Err(Refusal::InvalidIndex)
    }

    fn PMPI_T_event_handle_free(
        _event_registration: MPI_T_event_registration, _user_data: *mut c_void,
        _free_cb_function: MPI_T_event_free_cb_function,
    ) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_handle_get_info(_event_registration: MPI_T_event_registration, _info_used: *mut MPI_Info) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_handle_set_info(_event_registration: MPI_T_event_registration, _info: MPI_Info) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_register_callback(
        _event_registration: MPI_T_event_registration, _cb_safety: MPI_T_cb_safety, _info: MPI_Info,
        _user_data: *mut c_void, _event_cb_function: MPI_T_event_cb_function,
    ) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_callback_get_info(
        _event_registration: MPI_T_event_registration, _cb_safety: MPI_T_cb_safety, _info_used: *mut MPI_Info,
    ) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_callback_set_info(
        _event_registration: MPI_T_event_registration, _cb_safety: MPI_T_cb_safety, _info: MPI_Info,
    ) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_set_dropped_handler(
        _event_registration: MPI_T_event_registration, _dropped_cb_function: MPI_T_event_dropped_cb_function,
    ) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_read(_event_instance: MPI_T_event_instance, _element_index: c_int, _buffer: *mut c_void) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_copy(_event_instance: MPI_T_event_instance, _buffer: *mut c_void) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_get_timestamp(_event_instance: MPI_T_event_instance, _event_timestamp: *mut MPI_Count) {
        Err(Refusal::InvalidHandle)
    }

    fn PMPI_T_event_get_source(_event_instance: MPI_T_event_instance, _source_index: *mut c_int) {
        Err(Refusal::InvalidHandle)
    }
}

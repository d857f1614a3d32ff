//! Generalized requests (MPI 5.0, 13.2).

use super::calls;
use super::requests::checked;
use super::taken_requests::no_request;
use crate::answer::error;
use crate::c::*;
use crate::generalized_request::GeneralizedRequest;
use crate::objects::{REQUESTS, RequestContent, RequestEntry, RequestKind, put};
use crate::state;
use bcs_mpi::mpi::ErrorClass;
use std::ffi::c_void;
use std::sync::Arc;

calls! {
    fn PMPI_Grequest_start(query_fn: MPI_Grequest_query_function, free_fn: MPI_Grequest_free_function, cancel_fn: MPI_Grequest_cancel_function, extra_state: *mut c_void, request: *mut MPI_Request) {
        let process = state::process()?;
        checked(request)?;
        let (completion, started) = process.external();
        let general = GeneralizedRequest::new((query_fn, free_fn, cancel_fn), extra_state, completion);
        let entry = RequestEntry::new(MPI_COMM_SELF, RequestContent::Once(started), RequestKind::General(Arc::new(general)));
        Ok(put(request, MPI_Request(REQUESTS.insert(entry)))?)
    }

    fn PMPI_Grequest_complete(request: MPI_Request) {
        state::process()?;
        let found = REQUESTS.with_mut(request.0, |entry| {
            (entry.kind.general().cloned(), matches!(entry.what, RequestContent::Freed))
        });
        let (general, is_freed) = found.ok_or_else(|| no_request(request))?;
        let Some(general) = general else {
            return Err(error(ErrorClass::Request, "the request is none of MPI_Grequest_start").into());
        };
        if is_freed {
            // The handle was valid for this call alone.
            REQUESTS.remove(request.0);
        }
        Ok(general.complete()?)
    }
}

//! Functions that are not implemented, and a check of those that are.

use crate::answer::unsupported_file;
use crate::c::*;
use crate::calls::*;
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/rest.rs"));
include!(concat!(env!("OUT_DIR"), "/prototypes.rs"));

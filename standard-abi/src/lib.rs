//! The names of `libmpi_abi.so.1`. Each function of the standard is `PMPI_...`, and also the weak
//! `MPI_...`; the BCS API has its twelve names beside them.
//!
//! They are no part of the crate `mpi-abi`, which has the functions: the library of another ABI
//! ([`mpich-abi`](../mpich_abi/index.html)) contains the same functions, and exports the same names
//! for other ones.
#![allow(
    unsafe_code,
    reason = "the names are assembly, and a test calls one of them"
)]

extern crate mpi_abi as _;

std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/names.s")));

#[cfg(test)]
mod tests {
    use mpi_abi::caller;

    /// A function of the list, called as C does.
    #[test]
    fn a_call_leaves_its_return_address() {
        unsafe extern "C" {
            fn MPI_Wtick() -> f64;
            fn PMPI_Wtick() -> f64;
        }
        for call in [MPI_Wtick, PMPI_Wtick] {
            // A new thread has not called anything yet.
            let called = std::thread::spawn(move || {
                assert_eq!(caller::address(), 0);
                // SAFETY: it reads a clock.
                let tick = unsafe { call() };
                assert!(tick > 0.0);
                caller::address()
            });
            let address = called.join().expect("the assertions hold");
            let here = a_call_leaves_its_return_address as fn() as usize as u64;
            let distance = address.abs_diff(here);
            assert!(distance < 1 << 20, "{address:#x} is far from {here:#x}");
        }
    }

    /// The glue of Fortran hands on its own return address.
    #[test]
    fn a_call_of_the_glue_has_the_address_that_it_hands_on() {
        unsafe extern "C" {
            fn MPI_Wtick() -> f64;
            fn bcs_outer_caller(address: u64);
        }
        // SAFETY: it writes a variable of this thread.
        unsafe { bcs_outer_caller(77) };
        // SAFETY: it does the same, and reads a clock.
        let tick = unsafe { MPI_Wtick() };
        assert!(tick > 0.0);
        assert_eq!(caller::address(), 77);
    }
}

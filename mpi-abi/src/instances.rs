//! Error codes that name an instance of an error (MPI 5.0, 9.4).
//!
//! With `MPI_ERRORS_RETURN` a call returns a number. A plain class would lose everything else about
//! the error. So the number identifies an error of this process, and `MPI_Error_string` returns its
//! sentence: the call, its arguments, the reason, and the place in the program.
//!
//! ```text
//! bit  31   30   29 ... 23   22 ... 0
//!      0    1    class       the number of the error, which wraps
//! ```
//!
//! The code contains the class, so `MPI_Error_class` is always right. The sentences of the last
//! [`KEPT`] errors are kept; an older code has the text of its class. Codes that the program adds
//! count up from `MPI_ERR_LASTCODE` and have bit 30 clear. They would reach it only after 2^30
//! codes, for which no process has memory.
//!
//! As in MPICH, a code differs from its class, except for two classes that only refer to other
//! results: programs compare results with `MPI_ERR_IN_STATUS` and `MPI_ERR_PENDING`.
//!
//! The source line is looked up only when the sentence is requested.

use crate::caller;
use bcs_core::lockstep;
use bcs_core::mapped_code::MappedCode;
use bcs_core::wait_state::Site;
use bcs_mpi::mpi::error_codes::MAX_ERROR_STRING;
use bcs_mpi::mpi::{Error, ErrorClass};
use source_lines::SourceLines;
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Mutex;

/// The number of errors whose sentences are kept: most arrays of requests that all fail are
/// shorter.
const KEPT: usize = 1024;

const IS_INSTANCE: u32 = 1 << 30;
const NUMBER_BITS: u32 = 23;
const NUMBERS: u32 = 1 << NUMBER_BITS;
const CLASS_BITS: u32 = 30 - NUMBER_BITS;

/// The last errors of this process, by their numbers modulo [`KEPT`].
static LAST: Mutex<RecentErrors> = Mutex::new(RecentErrors {
    next: 1,
    errors: Vec::new(),
});

struct RecentErrors {
    /// The number of the next error. 0 is not used: in MPICH's ABI (the crate `mpich-abi`) a code
    /// with this number would equal its class.
    next: u32,
    errors: Vec<Instance>,
}

/// A past error.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Instance {
    code: c_int,
    /// "MPI_ERR_TRUNCATE: rank 1 failed to MPI_Recv 16 bytes from rank 0 with tag 7"
    call: String,
    /// The address that the call returns to.
    from: u64,
    /// "message truncated: 64 bytes arrived"
    reason: String,
}

impl Instance {
    fn of(error: &Error, code: c_int, from: u64) -> Self {
        let rank = error
            .rank
            .map_or_else(String::new, |it| format!("rank {it} "));
        let (class, operation) = (error.class, &error.operation);
        Self {
            code,
            call: format!("{class}: {rank}failed to {operation}"),
            from,
            reason: error.reason.clone(),
        }
    }

    /// Returns the sentence, with the place of the call. If it is too long, the reason is cut off.
    fn sentence(&self, place: Option<&Site>) -> String {
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        let mut sentence = format!("{}{place}: {}", self.call, self.reason);
        sentence.truncate(sentence.floor_char_boundary(MAX_ERROR_STRING));
        sentence
    }
}

impl RecentErrors {
    fn add(&mut self, error: &Error, from: u64) -> c_int {
        let number = self.next;
        self.next = (number % (NUMBERS - 1)) + 1;
        let class = error.class.code().unsigned_abs() << NUMBER_BITS;
        let code = (IS_INSTANCE | class | number).cast_signed();
        let (instance, place) = (Instance::of(error, code, from), place_of(number));
        match self.errors.get_mut(place) {
            Some(oldest) => *oldest = instance,
            None => self.errors.push(instance),
        }
        code
    }

    fn get(&self, code: c_int) -> Option<&Instance> {
        let instance = self.errors.get(place_of(code.cast_unsigned() % NUMBERS))?;
        (instance.code == code).then_some(instance)
    }
}

fn place_of(number: u32) -> usize {
    number.wrapping_sub(1) as usize % KEPT
}

/// Returns the code for an error, which names this instance from now on, or the program's own code
/// if it gave one.
#[cold]
pub fn name(error: &Error) -> c_int {
    name_from(error, caller::place())
}

/// Does the same for an error whose call returns to this address.
#[cold]
pub fn name_from(error: &Error, from: u64) -> c_int {
    match (error.code, error.class) {
        (Some(code), _) => code,
        (None, class @ (ErrorClass::InStatus | ErrorClass::Pending)) => class.code(),
        (None, _) => lockstep::lock(&LAST).add(error, from),
    }
}

/// Returns the class of a code that is a class or names an instance; `None` for the program's own
/// codes.
pub fn class(code: c_int) -> Option<ErrorClass> {
    let bits = code.cast_unsigned();
    if bits & IS_INSTANCE == 0 || code < 0 {
        return ErrorClass::from_code(code);
    }
    let class = bits >> NUMBER_BITS & ((1 << CLASS_BITS) - 1);
    ErrorClass::from_code(class.cast_signed())
}

/// Returns the class, which other processes know, for a code that names an instance. Returns other
/// codes unchanged.
pub fn known_to_others(code: c_int) -> c_int {
    class(code).map_or(code, ErrorClass::code)
}

thread_local! {
    /// The source lines of files that were read. A program that reports one error often reports
    /// more.
    static LINES: RefCell<SourceLines> = RefCell::default();
}

/// Returns the sentence of the instance that a code names, if it is kept.
pub fn sentence(code: c_int) -> Option<String> {
    let instance = lockstep::lock(&LAST).get(code).cloned()?;
    let place = MappedCode::place_here(instance.from);
    let site = place.map(|place| LINES.with_borrow_mut(|lines| lines.site_of_place(&place)));
    Some(instance.sentence(site.as_ref()))
}

// All classes fit.
const _: () = assert!(ErrorClass::ALL.len() <= 1 << CLASS_BITS);
const _: () = assert!((NUMBERS as usize).is_multiple_of(KEPT));

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_mpi::mpi::error::Operation;

    fn error(class: ErrorClass, reason: &str) -> Error {
        Error {
            rank: Some(3),
            class,
            operation: Operation::plain("MPI_Send"),
            reason: reason.to_owned(),
            code: None,
            came: None,
            told: false,
            disagreement: false,
        }
    }

    fn empty() -> RecentErrors {
        RecentErrors {
            next: 1,
            errors: Vec::new(),
        }
    }

    #[test]
    fn a_code_names_its_error_as_long_as_it_is_kept() {
        let mut last = empty();
        let first = last.add(&error(ErrorClass::Rank, "the first"), 0);
        let said = last.get(first).unwrap().sentence(None);
        assert_eq!(said, "MPI_ERR_RANK: rank 3 failed to MPI_Send: the first");
        for nth in 0..KEPT {
            assert!(last.get(first).is_some(), "{nth} later ones");
            last.add(&error(ErrorClass::Tag, "another"), 0);
        }
        assert_eq!(last.get(first), None);
        assert_eq!(class(first), Some(ErrorClass::Rank), "for ever");
        assert_eq!(last.errors.len(), KEPT);
    }

    #[test]
    fn numbers_wrap_and_codes_stay_apart_from_others() {
        let mut last = empty();
        last.next = NUMBERS - 1;
        last.errors = (0..KEPT)
            .map(|_| Instance::of(&error(ErrorClass::Arg, "before"), -1, 0))
            .collect();
        for class_of_it in ErrorClass::ALL {
            let code = last.add(&error(*class_of_it, "here"), 0);
            assert!(code > bcs_mpi::mpi::error_codes::ERR_LASTCODE);
            assert_eq!(class(code), Some(*class_of_it));
            assert_eq!(known_to_others(code), class_of_it.code());
            assert!(last.get(code).is_some_and(|it| it.reason == "here"));
        }
        assert!(last.next < 100, "it has wrapped: {}", last.next);
        for code in [-1, 63, i32::MIN, i32::MAX, 16_384] {
            assert_eq!(class(code), None, "{code}");
            assert_eq!(known_to_others(code), code);
        }
    }

    #[test]
    fn a_long_reason_is_cut_and_the_place_is_not() {
        let long = Instance::of(&error(ErrorClass::Rank, &"ü".repeat(600)), 1, 0);
        let said = long.sentence(Some(&Site::Address(0x17)));
        assert!(said.len() <= MAX_ERROR_STRING && said.len() >= MAX_ERROR_STRING - 1);
        assert!(said.contains("MPI_Send at 0x17: üü"), "{said}");
    }

    #[test]
    fn what_programs_compare_with_is_given_as_it_is() {
        for class_of_it in [ErrorClass::InStatus, ErrorClass::Pending] {
            assert_eq!(
                name_from(&error(class_of_it, "see there"), 0),
                class_of_it.code()
            );
        }
        let mut own = error(ErrorClass::Other, "the program's");
        own.code = Some(16_390);
        assert_eq!(name_from(&own, 0), 16_390);
    }

    #[test]
    fn threads_name_their_errors_at_once() {
        let threads: Vec<_> = (0..4)
            .map(|nth| {
                std::thread::spawn(move || {
                    let reason = format!("of thread {nth}");
                    let codes: Vec<c_int> = (0..200)
                        .map(|_| name_from(&error(ErrorClass::Tag, &reason), 0))
                        .collect();
                    codes
                        .into_iter()
                        .all(|code| sentence(code).is_none_or(|said| said.ends_with(&reason)))
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    }
}

//! The places of a call's results and arguments.

use super::{Refusal, ToolOutcome};
use std::ffi::{CStr, c_char, c_int};

/// Addresses in the first page are invalid: null, and numbers such as `MPI_IN_PLACE`.
const FIRST_PAGE: usize = 4096;

/// Returns the address, if it is valid.
///
/// # Errors
/// If it is not.
pub fn address<T>(of: *const T) -> ToolOutcome<*const T> {
    match of.addr() < FIRST_PAGE {
        true => Err(Refusal::Invalid),
        false => Ok(of),
    }
}

/// Stores a result for which the caller must provide a place.
///
/// # Errors
/// If there is no place.
pub fn put<T>(place: *mut T, value: T) -> ToolOutcome {
    address(place)?;
    // SAFETY: the caller's promise. A place in a structure of the tool's may not be aligned.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Stores a result if the caller has provided a place.
pub fn tell<T>(place: *mut T, value: T) {
    let _nobody_wants_it = put(place, value);
}

/// Reads a value that a call reads and writes, such as a handle that it frees.
///
/// # Errors
/// If the address is invalid.
pub fn look<T: Copy>(place: *const T) -> ToolOutcome<T> {
    address(place)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { place.read_unaligned() })
}

/// Stores as much of a string as fits with its zero, and their length (15.3.3). Without a place for
/// the length it stores nothing, and without room for a string only its length.
///
/// # Errors
/// If the room is negative.
pub fn string(text: &str, place: *mut c_char, length: *mut c_int) -> ToolOutcome {
    let Ok(room) = look(length) else {
        return Ok(());
    };
    let room = usize::try_from(room).map_err(|_| Refusal::Invalid)?;
    if let (Ok(_), Some(most)) = (address(place), room.checked_sub(1)) {
        let shown = &text.as_bytes()[..text.len().min(most)];
        // SAFETY: the caller's promise: there is that much room.
        unsafe { place.cast::<u8>().copy_from(shown.as_ptr(), shown.len()) };
        // SAFETY: as above, with one more.
        unsafe { place.add(shown.len()).write(0) };
    }
    put(length, number(text.len() + 1))
}

/// Returns a string from the caller.
///
/// # Errors
/// If the address is invalid.
pub fn text<'a>(start: *const c_char) -> ToolOutcome<&'a [u8]> {
    address(start)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(start) }.to_bytes())
}

/// Stores as many of these as there is room for.
///
/// # Errors
/// If the room is negative, or its address is invalid.
pub fn list(all: impl Iterator<Item = c_int>, room: c_int, place: *mut c_int) -> ToolOutcome {
    let room = usize::try_from(room).map_err(|_| Refusal::Invalid)?;
    for (at, one) in all.take(room).enumerate() {
        // This must not start at null: each place is checked by its own address.
        put(place.wrapping_add(at), one)?;
    }
    Ok(())
}

/// Returns a line of a table by its index.
///
/// # Errors
/// If there is none.
pub fn nth<T>(all: &'static [T], index: c_int) -> ToolOutcome<&'static T> {
    let found = usize::try_from(index).ok().and_then(|index| all.get(index));
    found.ok_or(Refusal::InvalidIndex)
}

/// Returns the index of the line that is wanted.
///
/// # Errors
/// If there is none.
pub fn index<T>(all: &[T], wanted: impl Fn(&T) -> bool) -> ToolOutcome<c_int> {
    let found = all.iter().position(wanted);
    found.map(number).ok_or(Refusal::InvalidName)
}

/// Converts a number to C. No number here is larger than a table or a text.
pub fn number(of: usize) -> c_int {
    c_int::try_from(of).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null_mut, without_provenance_mut};

    #[test]
    fn a_string_is_cut_to_its_room_and_its_length_is_told() {
        for (room, shown) in [(4, "tex"), (5, "text"), (9, "text"), (1, "")] {
            let (mut place, mut length) = ([b'x'; 9], room);
            string("text", place.as_mut_ptr().cast(), &raw mut length).unwrap();
            assert_eq!(
                CStr::from_bytes_until_nul(&place).unwrap().to_str(),
                Ok(shown)
            );
            assert_eq!(place[shown.len() + 1..], [b'x'; 9][shown.len() + 1..]);
            assert_eq!(length, 5);
        }
        let (mut place, mut length) = ([b'x'; 2], 0);
        string("text", place.as_mut_ptr().cast(), &raw mut length).unwrap();
        assert_eq!((place, length), ([b'x'; 2], 5));
        length = 2;
        string("text", null_mut(), &raw mut length).unwrap();
        assert_eq!(length, 5);
        string("text", place.as_mut_ptr().cast(), null_mut()).unwrap();
        assert_eq!(place, [b'x'; 2], "nothing is told without a length");
        length = -1;
        let refused = string("text", null_mut(), &raw mut length);
        assert_eq!((refused, length), (Err(Refusal::Invalid), -1));
    }

    #[test]
    fn a_list_is_cut_to_its_room_and_has_to_be_somewhere() {
        let mut place = [7; 4];
        list(0..9, 3, place.as_mut_ptr()).unwrap();
        assert_eq!(place, [0, 1, 2, 7]);
        assert_eq!(list(0..2, -1, place.as_mut_ptr()), Err(Refusal::Invalid));
        assert_eq!(list(0..2, 2, null_mut()), Err(Refusal::Invalid));
        assert_eq!(list(0..2, 0, null_mut()), Ok(()));
        assert_eq!(list(0..0, 2, null_mut()), Ok(()), "there is nothing to put");
    }

    #[test]
    fn numbers_are_no_addresses() {
        for of in [0, 1, 2, 49, 4095] {
            assert_eq!(
                put(without_provenance_mut::<c_int>(of), 1),
                Err(Refusal::Invalid)
            );
        }
    }
}

//! The functions of CPython that are used, if this process has an interpreter.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// A Python object, or NULL.
pub(super) type PyObject = *mut c_void;

/// The functions, by the names that CPython exports. All are public and have been there since 3.4.
pub(super) struct Api {
    is_initialized: unsafe extern "C" fn() -> c_int,
    this_thread: unsafe extern "C" fn() -> *mut c_void,
    take_lock: unsafe extern "C" fn() -> c_int,
    release_lock: unsafe extern "C" fn(c_int),
    frame: unsafe extern "C" fn() -> PyObject,
    attribute: unsafe extern "C" fn(PyObject, *const c_char) -> PyObject,
    long: unsafe extern "C" fn(PyObject) -> c_long,
    text: unsafe extern "C" fn(PyObject, *mut isize) -> *const c_char,
    forget: unsafe extern "C" fn(PyObject),
    exception: unsafe extern "C" fn() -> PyObject,
    clear_error: unsafe extern "C" fn(),
    pub(super) line: unsafe extern "C" fn(PyObject, c_int) -> c_int,
    /// The type of code objects.
    pub(super) code_type: *const c_void,
}

// SAFETY: they are addresses of functions and of a type that no thread changes.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// A function or a variable that this process exports, or NULL.
fn exported(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a string, and the lookup calls nothing.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

macro_rules! function {
    ($name:literal) => {{
        let found = exported($name);
        if found.is_null() {
            return None;
        }
        // SAFETY: a function of this name has this type in each version of CPython.
        unsafe { std::mem::transmute(found) }
    }};
}

impl Api {
    /// Returns the functions if this process has an interpreter, and this thread is one of its.
    #[expect(
        clippy::missing_transmute_annotations,
        reason = "the fields have the types"
    )]
    pub(super) fn find() -> Option<Self> {
        let api = Self {
            this_thread: function!(c"PyGILState_GetThisThreadState"),
            is_initialized: function!(c"Py_IsInitialized"),
            take_lock: function!(c"PyGILState_Ensure"),
            release_lock: function!(c"PyGILState_Release"),
            frame: function!(c"PyEval_GetFrame"),
            attribute: function!(c"PyObject_GetAttrString"),
            long: function!(c"PyLong_AsLong"),
            text: function!(c"PyUnicode_AsUTF8AndSize"),
            forget: function!(c"Py_DecRef"),
            exception: function!(c"PyErr_Occurred"),
            clear_error: function!(c"PyErr_Clear"),
            line: function!(c"PyCode_Addr2Line"),
            code_type: exported(c"PyCode_Type"),
        };
        api.thread()?;
        (!api.code_type.is_null()).then_some(api)
    }

    /// Returns the address of this thread's state, if the thread is one of the interpreter's. An
    /// interpreter that ends frees the states of its threads, also of those that are in calls.
    #[inline]
    pub(super) fn thread(&self) -> Option<usize> {
        // SAFETY: both may be called at any time.
        let state = unsafe {
            ((self.is_initialized)() != 0).then_some(())?;
            (self.this_thread)()
        };
        (!state.is_null()).then_some(state as usize)
    }

    /// Calls a function while this thread has the interpreter's lock.
    pub(super) fn with_lock<T>(&self, function: impl FnOnce(&LockedApi<'_>) -> T) -> T {
        // SAFETY: the interpreter is initialized, and this thread is known to it.
        let before = unsafe { (self.take_lock)() };
        let returned = function(&LockedApi(self));
        // SAFETY: it undoes the call above.
        unsafe { (self.release_lock)(before) };
        returned
    }
}

/// The functions that need the interpreter's lock.
pub(super) struct LockedApi<'a>(&'a Api);

/// An object that is kept alive.
pub(super) struct Owned<'a> {
    api: &'a Api,
    pub(super) object: PyObject,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: it was ours, and the lock is held as long as `LockedApi` lives.
        unsafe { (self.api.forget)(self.object) };
    }
}

impl<'a> LockedApi<'a> {
    /// Returns whether this thread has an exception that nobody has handled yet.
    pub(super) fn has_exception(&self) -> bool {
        // SAFETY: the lock is held.
        !unsafe { (self.0.exception)() }.is_null()
    }

    /// Returns this thread's innermost frame, which the interpreter keeps alive.
    pub(super) fn frame(&self) -> Option<PyObject> {
        // SAFETY: the lock is held.
        let frame = unsafe { (self.0.frame)() };
        (!frame.is_null()).then_some(frame)
    }

    /// Returns an attribute of an object.
    pub(super) fn attribute(&self, of: PyObject, name: &CStr) -> Option<Owned<'a>> {
        // SAFETY: the object lives, and the lock is held.
        let object = unsafe { (self.0.attribute)(of, name.as_ptr()) };
        if object.is_null() {
            // SAFETY: the lock is held.
            unsafe { (self.0.clear_error)() };
            return None;
        }
        let api = self.0;
        Some(Owned { api, object })
    }

    /// Returns the value of an attribute that is a number.
    pub(super) fn number(&self, of: PyObject, name: &CStr) -> Option<i64> {
        let value = self.attribute(of, name)?;
        // SAFETY: the object lives, and the lock is held.
        let number = unsafe { (self.0.long)(value.object) };
        // SAFETY: the lock is held. A value that is no number was an error.
        unsafe { (self.0.clear_error)() };
        Some(number)
    }

    /// Returns the address at which the bytes of a string lie, if the string has ASCII only.
    pub(super) fn ascii_bytes(&self, of: PyObject) -> Option<usize> {
        let mut bytes = 0;
        // SAFETY: the object is a string, and the lock is held.
        let text = unsafe { (self.0.text)(of, &raw mut bytes) };
        (!text.is_null()).then_some(text as usize)
    }
}

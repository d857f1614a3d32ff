//! Error classes (MPI 5.0, 9.4).

use std::fmt;

macro_rules! classes {
    ($($name:ident = $code:literal, $standard:literal, $text:literal;)*) => {
        /// Error classes, with the codes of the standard's ABI (MPI 5.0, chapter 20). A predefined
        /// class is its own error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ErrorClass {
            $(
                #[doc = concat!("`", $standard, "`: ", $text, ".")]
                $name = $code,
            )*
        }

        impl ErrorClass {
            /// All classes, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name in the standard.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $standard,)* }
            }

            /// Returns what it means, in a few words.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

classes! {
    Success = 0, "MPI_SUCCESS", "no error";
    Buffer = 1, "MPI_ERR_BUFFER", "a buffer that cannot be used";
    Count = 2, "MPI_ERR_COUNT", "a wrong count";
    Type = 3, "MPI_ERR_TYPE", "a datatype that cannot be used";
    Tag = 4, "MPI_ERR_TAG", "a wrong tag";
    Comm = 5, "MPI_ERR_COMM", "a communicator that cannot be used";
    Rank = 6, "MPI_ERR_RANK", "a rank that does not exist";
    Request = 7, "MPI_ERR_REQUEST", "a request that cannot be used";
    Root = 8, "MPI_ERR_ROOT", "a root that does not exist";
    Group = 9, "MPI_ERR_GROUP", "a wrong group";
    Op = 10, "MPI_ERR_OP", "an operation that is not defined on the datatype";
    Topology = 11, "MPI_ERR_TOPOLOGY", "a wrong topology";
    Dims = 12, "MPI_ERR_DIMS", "wrong dimensions";
    Arg = 13, "MPI_ERR_ARG", "a wrong argument of another kind";
    Unknown = 14, "MPI_ERR_UNKNOWN", "an unknown error";
    Truncate = 15, "MPI_ERR_TRUNCATE", "a message longer than the buffer that receives it";
    Other = 16, "MPI_ERR_OTHER", "an error of no other class";
    Intern = 17, "MPI_ERR_INTERN", "an error of the library itself";
    Pending = 18, "MPI_ERR_PENDING", "a request that is not complete";
    InStatus = 19, "MPI_ERR_IN_STATUS", "an error that the status tells";
    Access = 20, "MPI_ERR_ACCESS", "no permission for a file";
    Amode = 21, "MPI_ERR_AMODE", "a wrong mode of access";
    Assert = 22, "MPI_ERR_ASSERT", "a wrong assertion";
    BadFile = 23, "MPI_ERR_BAD_FILE", "a wrong file name";
    Base = 24, "MPI_ERR_BASE", "a wrong base";
    Conversion = 25, "MPI_ERR_CONVERSION", "a conversion of data that failed";
    Disp = 26, "MPI_ERR_DISP", "a wrong displacement";
    DupDatarep = 27, "MPI_ERR_DUP_DATAREP", "a data representation that exists";
    FileExists = 28, "MPI_ERR_FILE_EXISTS", "a file that exists";
    FileInUse = 29, "MPI_ERR_FILE_IN_USE", "a file in use";
    File = 30, "MPI_ERR_FILE", "a file that cannot be used";
    InfoKey = 31, "MPI_ERR_INFO_KEY", "an info key that is too long or empty";
    InfoNokey = 32, "MPI_ERR_INFO_NOKEY", "an info key that is not set";
    InfoValue = 33, "MPI_ERR_INFO_VALUE", "an info value that is too long";
    Info = 34, "MPI_ERR_INFO", "an info object that cannot be used";
    Io = 35, "MPI_ERR_IO", "input or output that failed";
    Keyval = 36, "MPI_ERR_KEYVAL", "an attribute key that cannot be used";
    Locktype = 37, "MPI_ERR_LOCKTYPE", "a wrong kind of lock";
    Name = 38, "MPI_ERR_NAME", "a service name that is not published";
    NoMem = 39, "MPI_ERR_NO_MEM", "no memory left";
    NotSame = 40, "MPI_ERR_NOT_SAME", "arguments that differ between ranks";
    NoSpace = 41, "MPI_ERR_NO_SPACE", "no space left";
    NoSuchFile = 42, "MPI_ERR_NO_SUCH_FILE", "a file that does not exist";
    Port = 43, "MPI_ERR_PORT", "a wrong port name";
    Quota = 44, "MPI_ERR_QUOTA", "a quota that is used up";
    ReadOnly = 45, "MPI_ERR_READ_ONLY", "a file that can only be read";
    RmaAttach = 46, "MPI_ERR_RMA_ATTACH", "memory that cannot be attached";
    RmaConflict = 47, "MPI_ERR_RMA_CONFLICT", "accesses to a window that conflict";
    RmaRange = 48, "MPI_ERR_RMA_RANGE", "memory outside a window";
    RmaShared = 49, "MPI_ERR_RMA_SHARED", "memory that cannot be shared";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "wrong synchronisation of a window";
    Service = 51, "MPI_ERR_SERVICE", "a wrong service name";
    Size = 52, "MPI_ERR_SIZE", "a wrong size";
    Spawn = 53, "MPI_ERR_SPAWN", "processes that could not be started";
    UnsupportedDatarep = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "an unknown data representation";
    UnsupportedOperation = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "an operation that is not supported";
    Win = 56, "MPI_ERR_WIN", "a window that cannot be used";
    RmaFlavor = 57, "MPI_ERR_RMA_FLAVOR", "a window of the wrong kind";
    ProcAborted = 58, "MPI_ERR_PROC_ABORTED", "a rank that is gone";
    ValueTooLarge = 59, "MPI_ERR_VALUE_TOO_LARGE", "a value too large for where it is to be stored";
    Session = 60, "MPI_ERR_SESSION", "a session that cannot be used";
    Errhandler = 61, "MPI_ERR_ERRHANDLER", "an error handler that cannot be used";
    Abi = 62, "MPI_ERR_ABI", "a wrong use of the binary interface";
}

impl ErrorClass {
    /// Returns the code in the standard's ABI.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Returns the class with this code, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        let place = usize::try_from(code).ok()?;
        Self::ALL.get(place).copied()
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_without_gaps_and_lead_back_to_their_classes() {
        for class in ErrorClass::ALL {
            assert_eq!(ErrorClass::from_code(class.code()), Some(*class));
        }
        assert_eq!(ErrorClass::from_code(-1), None);
        assert_eq!(ErrorClass::from_code(63), None);
        assert_eq!(ErrorClass::Abi.code(), 62);
    }
}

//! Data: an address, a count and a datatype.

use bcs_core::datatype;

/// A datatype: so many elements of an elementary one, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Datatype {
    element: datatype::Datatype,
    elements: usize,
}

impl Datatype {
    /// `MPI_BYTE`.
    pub const BYTE: Self = Self::predefined(datatype::Datatype::Byte);

    /// An elementary datatype.
    #[must_use]
    pub const fn predefined(element: datatype::Datatype) -> Self {
        Self {
            element,
            elements: 1,
        }
    }

    /// `MPI_Type_contiguous`; `None` if the size is too large for this machine.
    #[must_use]
    pub fn contiguous(self, count: usize) -> Option<Self> {
        let elements = self.elements.checked_mul(count)?;
        elements.checked_mul(self.element.size())?;
        Some(Self {
            element: self.element,
            elements,
        })
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        self.element.size() * self.elements
    }

    /// The elementary datatype, if this is one: only those can be reduced.
    #[must_use]
    pub fn elementary(self) -> Option<datatype::Datatype> {
        (self.elements == 1).then_some(self.element)
    }
}

impl From<datatype::Datatype> for Datatype {
    fn from(element: datatype::Datatype) -> Self {
        Self::predefined(element)
    }
}

/// A buffer as MPI calls name it: address, count, datatype. It promises nothing about the memory;
/// the calls that take it say what the caller has to promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    address: *mut u8,
    count: usize,
    datatype: Datatype,
}

impl Buffer {
    /// No data.
    pub const EMPTY: Self = Self {
        address: std::ptr::null_mut(),
        count: 0,
        datatype: Datatype::BYTE,
    };

    /// Data to be written.
    pub fn new<T>(address: *mut T, count: usize, datatype: impl Into<Datatype>) -> Self {
        Self {
            address: address.cast(),
            count,
            datatype: datatype.into(),
        }
    }

    /// Data that is only read: it must be given only to calls that read it.
    pub fn read_only<T>(address: *const T, count: usize, datatype: impl Into<Datatype>) -> Self {
        Self::new(address.cast_mut(), count, datatype)
    }

    /// Where it is, for a NIC.
    pub(crate) fn address(&self) -> u64 {
        self.address.expose_provenance() as u64
    }

    /// The start of it.
    pub(crate) fn start(&self) -> *mut u8 {
        self.address
    }

    /// How many elements of the datatype it holds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The datatype.
    #[must_use]
    pub fn datatype(&self) -> Datatype {
        self.datatype
    }

    /// Its length; `None` if that is too large for this machine.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        self.count.checked_mul(self.datatype.size())
    }

    /// Whether there should be bytes at address 0.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.address.is_null() && self.bytes() != Some(0)
    }
}

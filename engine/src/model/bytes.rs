//! A short immutable byte string: up to 22 bytes in place, longer ones shared.
//!
//! Keys, clustering positions and cell values are nearly always short (a timestamp, a number, a name), so that a
//! heap allocation for each would dominate merging. A clone is a copy of 24 bytes or a reference count.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// Longest byte string that is kept in place.
const INLINE: usize = 22;

/// An immutable byte string, ordered and hashed as its bytes.
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, data: [u8; INLINE] },
    Shared(Arc<[u8]>),
}

impl Bytes {
    /// The empty byte string.
    pub const EMPTY: Self = Self(Repr::Inline { len: 0, data: [0; INLINE] });

    /// A copy of `bytes`.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        match bytes.len() {
            len @ 0..=INLINE => {
                let mut data = [0; INLINE];
                data[..len].copy_from_slice(bytes);
                Self(Repr::Inline { len: len as u8, data })
            }
            _ => Self(Repr::Shared(Arc::from(bytes))),
        }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, data } => &data[..usize::from(*len).min(INLINE)],
            Repr::Shared(shared) => shared,
        }
    }

    /// Bytes on the heap that this value holds on to.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared(shared) => shared.len() + 2 * size_of::<usize>(),
        }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(&bytes)
    }
}

impl PartialEq for Bytes {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bytes {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_strings_compare_as_their_bytes() {
        assert_eq!(size_of::<Bytes>(), 24);
        assert_eq!(size_of::<Option<Bytes>>(), 24);
        for len in [0, 1, 21, 22, 23, 100] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(Bytes::new(&bytes).as_slice(), &bytes[..]);
            assert_eq!(Bytes::new(&bytes).heap_bytes() == 0, len <= INLINE);
        }
        assert!(Bytes::new(&[1; 22]) < Bytes::new(&[1; 23]), "a prefix sorts first");
        assert!(Bytes::new(&[2]) > Bytes::new(&[1; 30]));
    }
}

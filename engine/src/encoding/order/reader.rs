//! The bytes of components, read one after the other. `decode` and `number` make values of them.

use crate::error::{Error, Result};

/// Reads bytes that are complemented as a whole, or not at all.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
    pub(super) mask: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.rest.split_first().ok_or_else(cut_short)?;
        self.rest = rest;
        Ok(byte ^ self.mask)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or_else(cut_short)?;
        self.rest = rest;
        Ok(bytes.map(|byte| byte ^ self.mask))
    }

    /// The next `length` bytes, not yet complemented, and the mask that complements them.
    pub(super) fn take(&mut self, length: usize) -> Result<(&'a [u8], u8)> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(cut_short)?;
        self.rest = rest;
        Ok((bytes, self.mask))
    }

    /// From here on bytes are complemented once more (the body of a negative decimal).
    pub(super) fn complement(&mut self) {
        self.mask = !self.mask;
    }

    /// Skips the next byte if it is `mark`.
    pub(super) fn accept(&mut self, mark: u8) -> bool {
        match self.rest.split_first() {
            Some((byte, rest)) if byte ^ self.mask == mark => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }
}

pub(super) fn cut_short() -> Error {
    Error::malformed("a key component is cut short")
}

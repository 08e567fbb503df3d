//! The file `CURRENT`: which manifest rules, and how long it is at least.
//!
//! It is replaced whole and durably, so that it is never torn: when a fresh manifest takes over, and when the store is closed
//! in order. The length tells a manifest whose end was lost from one that a crash left shorter.

use crate::encoding::checksum::crc32;
use crate::env::{DataDir, Env, replace_file};
use crate::error::{Error, ErrorKind, Result};

/// What `CURRENT` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Number of the manifest that rules.
    pub number: u64,
    /// Bytes of it that were synced when this was written; it only grows.
    pub bytes: u64,
}

impl Current {
    /// The file's content: one line of text, the checksum of what stands before it last.
    pub fn encode(&self) -> String {
        let text = format!("MANIFEST-{:06} {} ", self.number, self.bytes);
        format!("{text}{:08x}\n", crc32(text.as_bytes()))
    }

    fn decode(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let mut words = text.strip_prefix("MANIFEST-")?.split(' ');
        let current = Self { number: words.next()?.parse().ok()?, bytes: words.next()?.parse().ok()? };
        // The one spelling that is right also has the right checksum.
        (current.encode() == text).then_some(current)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// `Corrupt` if it is missing or is not what [`Current::write`] wrote.
    pub fn read(env: &dyn Env, dir: &DataDir) -> Result<Self> {
        let path = dir.current();
        let content = match env.read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::corrupt(&path, 0, "the file that names the manifest is missing")
                    .hint("restore it from a copy or a snapshot of the store"));
            }
            content => content?,
        };
        Self::decode(&content).ok_or_else(|| {
            Error::corrupt(&path, 0, "this does not name a manifest, or its checksum is wrong")
                .hint("restore it from a copy or a snapshot of the store")
        })
    }

    /// Replaces the file, atomically and durably.
    ///
    /// # Errors
    /// From the disk; the file then holds the old content or the new.
    pub fn write(&self, env: &dyn Env, dir: &DataDir) -> Result<()> {
        replace_file(env, &dir.current(), self.encode().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_or_missing_byte_is_found() {
        let current = Current { number: 12, bytes: 4711 };
        let content = current.encode().into_bytes();
        assert_eq!(content, b"MANIFEST-000012 4711 c765bcc3\n");
        assert_eq!(Current::decode(&content), Some(current));
        for i in 0..content.len() {
            assert_eq!(Current::decode(&content[..i]), None);
            for mask in [1, 2, 4, 8, 0x20, 0x80] {
                let mut bad = content.clone();
                bad[i] ^= mask;
                assert_eq!(Current::decode(&bad), None, "byte {i}");
            }
        }
    }
}

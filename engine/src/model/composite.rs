//! Partition keys of several columns as one byte string: Cassandra's CompositeType.
//!
//! ```text
//! key := (length (u16 BE)  bytes  00)*     one for each column
//! ```
//!
//! A key of one column is its bare bytes and does not pass through here. The framing is part of the token's input, so it cannot differ.

use crate::error::{Error, Result};

/// Most bytes of a partition key's components, and of a clustering's, without framing.
pub const MAX_KEY_BYTES: usize = 65_535;

/// Appends the composite of `components`.
///
/// # Errors
/// `Invalid` when they have more than [`MAX_KEY_BYTES`] bytes together.
pub fn encode<'a>(components: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) -> Result<()> {
    let total: usize = components.clone().map(<[u8]>::len).sum();
    check_key_bytes(total)?;
    for component in components {
        let length = u16::try_from(component.len()).map_err(|_| too_long(total))?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(component);
        out.push(0);
    }
    Ok(())
}

/// Refuses keys whose components have more than [`MAX_KEY_BYTES`] bytes together.
///
/// # Errors
/// `Invalid`, in Cassandra's words.
pub fn check_key_bytes(total: usize) -> Result<()> {
    if total > MAX_KEY_BYTES { Err(too_long(total)) } else { Ok(()) }
}

fn too_long(total: usize) -> Error {
    Error::invalid(format!("Key length of {total} is longer than maximum of {MAX_KEY_BYTES}"))
}

/// The components of a composite.
///
/// # Errors
/// `Corrupt` for bytes that are none, or that have another number of components than `count`.
pub fn decode(bytes: &[u8], count: usize) -> Result<Vec<&[u8]>> {
    let mut components = Vec::with_capacity(count.min(bytes.len() / 3 + 1));
    let mut rest = bytes;
    while !rest.is_empty() {
        let (component, after) = split_first(rest, components.len())?;
        components.push(component);
        rest = after;
    }
    if components.len() != count {
        let found = components.len();
        return Err(Error::malformed(format!(
            "a partition key has {found} components, where its table has {count}"
        )));
    }
    Ok(components)
}

/// Component `index` of a composite, without a look at those behind it.
///
/// # Errors
/// `Corrupt` for bytes that do not begin with so many components.
pub fn component(bytes: &[u8], index: usize) -> Result<&[u8]> {
    let mut rest = bytes;
    for before in 0..index {
        rest = split_first(rest, before)?.1;
    }
    Ok(split_first(rest, index)?.0)
}

/// The first component of `bytes`, number `index` of its key, and what follows it.
#[inline]
fn split_first(bytes: &[u8], index: usize) -> Result<(&[u8], &[u8])> {
    let length = bytes.split_first_chunk::<2>();
    let split = length.and_then(|(len, after)| after.split_at_checked(u16::from_be_bytes(*len).into()));
    let (component, after) = split.ok_or_else(|| malformed(index, "is cut short"))?;
    match after.split_first() {
        Some((0, after)) => Ok((component, after)),
        _ => Err(malformed(index, "does not end in byte 0")),
    }
}

/// Checks what [`decode`] would decode, and the limit on its bytes.
///
/// # Errors
/// As [`decode`] and [`check_key_bytes`].
pub fn validate(bytes: &[u8], count: usize) -> Result<()> {
    check_key_bytes(decode(bytes, count)?.iter().map(|component| component.len()).sum())
}

fn malformed(index: usize, what: &str) -> Error {
    Error::malformed(format!("component {index} of a partition key {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn the_bytes_are_cassandras() {
        let mut out = Vec::new();
        encode([&b"\0\0\0\x01"[..], b""].into_iter(), &mut out).unwrap();
        assert_eq!(out, b"\0\x04\0\0\0\x01\0\0\0\0");
    }

    #[test]
    fn the_limit_is_on_the_sum_without_framing() {
        let (half, rest) = (vec![1; 32_768], vec![1; 32_767]);
        let mut out = Vec::new();
        encode([&half[..], &rest].into_iter(), &mut out).unwrap();
        validate(&out, 2).unwrap();
        let error = encode([&half[..], &half].into_iter(), &mut out).unwrap_err();
        assert_eq!(error.message(), "Key length of 65536 is longer than maximum of 65535");
    }

    proptest! {
        #[test]
        fn components_round_trip(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 1..5)) {
            let mut out = Vec::new();
            encode(parts.iter().map(Vec::as_slice), &mut out).unwrap();
            prop_assert_eq!(decode(&out, parts.len()).unwrap(), parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert!(decode(&out, parts.len() + 1).is_err());
            for (index, part) in parts.iter().enumerate() {
                prop_assert_eq!(component(&out, index).unwrap(), part);
            }
            assert!(component(&out, parts.len()).is_err());
            assert!(decode(&out[..out.len() - 1], parts.len()).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let whole = decode(&bytes, 2);
            let parts = [component(&bytes, 0), component(&bytes, 1)];
            prop_assert!(whole.is_err() || parts.iter().all(|part| part.is_ok()));
        }
    }
}

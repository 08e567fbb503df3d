//! The hashes of `mask_hash`, by the names that Java gives them.
//!
//! # Not here
//! MD2 and SHA-3, which Java has too.

use md5::Md5;
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// The algorithm where none is named.
pub(crate) const DEFAULT: &str = "SHA-256";

/// From bytes to their hash.
pub(crate) type Hash = fn(&[u8]) -> Vec<u8>;

/// The hash function named `name`, in either case.
pub(crate) fn function(name: &str) -> Option<Hash> {
    Some(match name.to_ascii_uppercase().as_str() {
        "MD5" => |bytes| Md5::digest(bytes).to_vec(),
        "SHA" | "SHA1" | "SHA-1" => |bytes| Sha1::digest(bytes).to_vec(),
        "SHA-224" => |bytes| Sha224::digest(bytes).to_vec(),
        "SHA-256" => |bytes| Sha256::digest(bytes).to_vec(),
        "SHA-384" => |bytes| Sha384::digest(bytes).to_vec(),
        "SHA-512" => |bytes| Sha512::digest(bytes).to_vec(),
        "SHA-512/224" => |bytes| Sha512_224::digest(bytes).to_vec(),
        "SHA-512/256" => |bytes| Sha512_256::digest(bytes).to_vec(),
        _ => return None,
    })
}

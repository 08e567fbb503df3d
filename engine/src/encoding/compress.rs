//! General-purpose compression of a run of bytes: one codec byte chooses, LZ4 block format is the default.
//!
//! Blocks compress lane by lane with [`compress_if_smaller`] and store codec and both lengths themselves. The column
//! encodings do most of the work on numbers; LZ4 is for text.
//!
//! # Invariants
//! 1. [`decompress`] allocates the length it is told, and only if so many bytes can come from its input.
//! 2. What it returns has exactly that length.
//!
//! # Not here
//! zstd has its code reserved: it needs a C compiler, and gains on cold text only. A file that uses it gives a clear error.

use crate::error::{Error, ErrorKind, Result};

/// How a run of bytes is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// As it is.
    None = 0,
    /// One LZ4 block without the frame format.
    Lz4 = 1,
}

impl Codec {
    /// The codec of a stored byte.
    ///
    /// # Errors
    /// `Unsupported` for zstd (2), `Corrupt` for what no version has written.
    pub fn from_byte(byte: u8) -> Result<Self> {
        match byte {
            0 => Ok(Self::None),
            1 => Ok(Self::Lz4),
            2 => {
                let error = Error::new(ErrorKind::Unsupported, "data is compressed with zstd (codec 2)");
                Err(error.hint("open it with a version of skep that reads zstd"))
            }
            _ => Err(Error::malformed(format!("unknown compression codec {byte}"))),
        }
    }
}

/// The shortest input that [`compress_if_smaller`] tries: below it LZ4's own bytes eat the gain.
pub const LEAST_BYTES: usize = 32;

/// No byte of LZ4 stands for more than 255 bytes of output (a match length grows by 255 per byte).
const MOST_EXPANSION: usize = 255;

/// Appends `input` to `out` compressed, if that takes less than 90 % of it; else leaves `out` alone. Says which.
pub fn compress_if_smaller(codec: Codec, input: &[u8], out: &mut Vec<u8>) -> bool {
    if codec == Codec::None || input.len() < LEAST_BYTES {
        return false;
    }
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(input.len()), 0);
    match lz4_flex::block::compress_into(input, &mut out[start..]) {
        Ok(length) if length < input.len() - input.len() / 10 => {
            out.truncate(start + length);
            true
        }
        _ => {
            out.truncate(start);
            false
        }
    }
}

/// The `raw_length` bytes that `stored` stands for.
///
/// # Errors
/// `Corrupt` if `stored` is not what the codec writes, or stands for another length.
pub fn decompress(codec: Codec, stored: &[u8], raw_length: usize) -> Result<Vec<u8>> {
    if raw_length / MOST_EXPANSION > stored.len() {
        let message = format!("{} stored bytes cannot stand for {raw_length}", stored.len());
        return Err(Error::malformed(message));
    }
    let mut out = vec![0; raw_length];
    let length = match codec {
        Codec::None if stored.len() == raw_length => {
            out.copy_from_slice(stored);
            raw_length
        }
        Codec::None => stored.len(),
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, &mut out)
            .map_err(|error| Error::malformed(format!("LZ4 data is damaged: {error}")))?,
    };
    if length != raw_length {
        return Err(Error::malformed(format!("data decompresses to {length} bytes, {raw_length} expected")));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codec_bytes_are_fixed_and_zstd_is_named() {
        assert_eq!(Codec::from_byte(0).unwrap(), Codec::None);
        assert_eq!(Codec::from_byte(1).unwrap(), Codec::Lz4);
        let error = Codec::from_byte(2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("zstd"));
        assert_eq!(Codec::from_byte(3).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn only_a_gain_of_a_tenth_is_kept() {
        let mut out = vec![7];
        let noise: Vec<u8> =
            (0..400u64).map(|i| (i * i).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[1]).collect();
        assert!(!compress_if_smaller(Codec::Lz4, &noise, &mut out));
        assert!(!compress_if_smaller(Codec::Lz4, &[0; LEAST_BYTES - 1], &mut out));
        assert!(!compress_if_smaller(Codec::None, &[0; 400], &mut out));
        assert_eq!(out, [7]);
        assert!(compress_if_smaller(Codec::Lz4, &[0; 400], &mut out));
        assert_eq!(decompress(Codec::Lz4, &out[1..], 400).unwrap(), [0; 400]);
        assert!(decompress(Codec::Lz4, &out[1..], 401).is_err());
        assert!(decompress(Codec::Lz4, &out[1..], 399).is_err());
        assert!(decompress(Codec::Lz4, &out[1..], usize::MAX).is_err());
        assert!(decompress(Codec::None, &[1, 2], 3).is_err());
        assert_eq!(decompress(Codec::None, &[1, 2], 2).unwrap(), [1, 2]);
    }

    proptest! {
        #[test]
        fn damaged_input_is_an_error_or_other_bytes_but_no_panic(stored: Vec<u8>, raw in 0usize..4096) {
            if let Ok(bytes) = decompress(Codec::Lz4, &stored, raw) {
                prop_assert_eq!(bytes.len(), raw);
            }
        }
    }
}

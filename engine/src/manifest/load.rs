//! Reads a manifest: from `CURRENT` to a version.
//!
//! Opening for writing goes on from a [`Loaded`]; tools and read-only openings use its version. Nothing is changed here.

use std::path::PathBuf;

use crate::encoding::bytes::{ByteReader, put_u32, put_u64};
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::env::{DataDir, Env};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check::check;
use crate::manifest::current::Current;
use crate::manifest::edit::decode_edits;
use crate::manifest::version::Version;
use crate::record::{End, Framer, RecordReader};

/// The first bytes of every manifest.
pub const MAGIC: [u8; 8] = *b"skep.man";
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Bytes of the header; the first record stands behind it.
pub const HEADER_BYTES: usize = 24;

const RESTORE: &str = "restore the store from a copy or a snapshot";

/// What was read.
#[derive(Debug)]
pub struct Loaded {
    /// What `CURRENT` said.
    pub current: Current,
    /// The manifest.
    pub path: PathBuf,
    /// What its records amount to.
    pub version: Version,
    /// Number of its records.
    pub records: u64,
    /// Where its last whole record ends, bytes.
    pub bytes: u64,
    /// Bytes behind that, which a crash left.
    pub torn_bytes: u64,
}

/// The header of manifest `number`.
pub fn header(number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    out.extend_from_slice(&MAGIC);
    put_u32(&mut out, VERSION);
    put_u64(&mut out, number);
    put_checksum(&mut out, 0);
    out
}

/// The number in the header at the start of `bytes`.
///
/// # Errors
/// `Corrupt` if none stands there, `Unsupported` if it is of another version.
pub fn read_header(bytes: &[u8]) -> Result<u64> {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Err(Error::malformed(format!("{} bytes are too few for a manifest's header", bytes.len())));
    };
    let mut reader = ByteReader::new(strip_checksum(header, "the manifest's header")?);
    if reader.array::<8>()? != MAGIC {
        return Err(Error::malformed("this is no manifest"));
    }
    let version = reader.u32()?;
    if version != VERSION {
        let message = format!("manifest of layout {version}, this build reads {VERSION}");
        return Err(Error::new(ErrorKind::Unsupported, message).hint("open it with the skep that wrote it"));
    }
    reader.u64()
}

/// The framing of records in manifest `number`.
pub fn framer(number: u64) -> Framer {
    Framer::new(u64::from_le_bytes(MAGIC) ^ number)
}

/// Reads the manifest that rules. Safe beside a writer: it sees the state before or after each change.
///
/// # Errors
/// `Corrupt` with file and offset for anything but a torn end behind what was known to be synced; `Unsupported` for edits or a layout of
/// another version.
pub fn load(env: &dyn Env, dir: &DataDir) -> Result<Loaded> {
    let mut current = Current::read(env, dir)?;
    loop {
        let path = dir.manifest(current.number);
        match env.read(&path) {
            Ok(bytes) => return read(current, path, &bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A writer may just have changed over to a fresh one.
                let again = Current::read(env, dir)?;
                if again == current {
                    return Err(
                        Error::corrupt(&path, 0, "the manifest that CURRENT names is missing").hint(RESTORE)
                    );
                }
                current = again;
            }
            Err(error) => return Err(error),
        }
    }
}

fn read(current: Current, path: PathBuf, bytes: &[u8]) -> Result<Loaded> {
    let number = read_header(bytes).map_err(|error| error.at(&path, 0))?;
    if number != current.number {
        let message = format!("its header says that it is manifest {number}");
        return Err(Error::corrupt(&path, 12, message).hint(RESTORE));
    }
    let base = HEADER_BYTES as u64;
    let mut reader = RecordReader::new(framer(number), bytes.get(HEADER_BYTES..).unwrap_or_default(), base);
    let mut version = Version::default();
    let mut records = 0;
    for record in reader.by_ref() {
        let start = record.end() - record.payload.len() as u64;
        let edits = decode_edits(record.payload, start).map_err(|error| error.at(&path, record.offset))?;
        for edit in &edits {
            version.apply(edit).map_err(|error| {
                let message = format!("{edit} does not fit what stands before it: {error}");
                Error::corrupt(&path, record.offset, message).hint(RESTORE)
            })?;
        }
        records += 1;
    }
    let (bytes, torn_bytes) = match reader.end() {
        End::Clean { offset } => (offset, 0),
        End::TornTail { offset, bytes, .. } => (offset, bytes),
        End::Corrupt { offset, .. } => {
            let message = "no valid record, although others follow";
            return Err(Error::corrupt(&path, offset, message).hint(RESTORE));
        }
    };
    if bytes < current.bytes {
        let message =
            format!("the last whole record ends here, but {} bytes were synced once", current.bytes);
        return Err(Error::corrupt(&path, bytes, message).hint(RESTORE));
    }
    check(&version).map_err(|error| error.at(&path, bytes))?;
    Ok(Loaded { current, path, version, records, bytes, torn_bytes })
}

//! Explains the bytes of a manifest, edit by edit.

use crate::annotate::Annotation;
use crate::encoding::bytes::ByteReader;
use crate::manifest::edit::Edit;
use crate::manifest::load::{HEADER_BYTES, framer, read_header};
use crate::record;

/// Explains `bytes`, the whole of manifest `number`, damage included.
pub fn dump(number: u64, bytes: &[u8]) -> Vec<Annotation> {
    let mut list = match read_header(bytes) {
        Ok(number) => vec![
            Annotation::new(0, 8, "magic"),
            Annotation::new(8, 4, "layout version"),
            Annotation::new(12, 8, format!("manifest {number}")),
            Annotation::new(20, 4, "header checksum"),
        ],
        Err(error) => {
            let len = bytes.len().min(HEADER_BYTES) as u64;
            vec![Annotation::new(0, len, format!("DAMAGED header: {}", error.message()))]
        }
    };
    if let Some(records) = bytes.get(HEADER_BYTES..) {
        list.extend(record::dump(framer(number), records, HEADER_BYTES as u64, edits));
    }
    list
}

/// Explains the payload of a record at `offset`.
fn edits(offset: u64, payload: &[u8]) -> Vec<Annotation> {
    let mut list = Vec::new();
    let mut reader = ByteReader::with_base(payload, offset);
    while !reader.is_empty() {
        let start = reader.offset();
        match Edit::decode(&mut reader) {
            Ok(edit) => list.push(Annotation::new(start, reader.offset() - start, edit.to_string())),
            Err(error) => {
                let len = (offset + payload.len() as u64).saturating_sub(start);
                list.push(Annotation::new(start, len, format!("unreadable edits: {}", error.message())));
                break;
            }
        }
    }
    list
}

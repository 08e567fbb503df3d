//! Explains the bytes of a segment.

use crate::annotate::Annotation;
use crate::commitlog::segment::{HEADER_BYTES, Header, Mark, framer};
use crate::record;

/// Explains `bytes`, the whole of segment `id`, damage included. `payload` explains a payload, given with its offset in the
/// file: what a payload means is not known here.
pub fn dump(
    id: u64,
    bytes: &[u8],
    mut payload: impl FnMut(u64, &[u8]) -> Vec<Annotation>,
) -> Vec<Annotation> {
    let mut list = match Header::decode(bytes) {
        Ok(header) => vec![
            Annotation::new(0, 8, "magic"),
            Annotation::new(8, 4, "layout version"),
            Annotation::new(12, 8, format!("segment {}", header.segment)),
            Annotation::new(20, 8, format!("first segment of this run {}", header.run)),
            Annotation::new(28, 8, format!("bytes of the segment before {}", header.previous_bytes)),
            Annotation::new(36, 4, "header checksum"),
        ],
        Err(error) => {
            let len = bytes.len().min(HEADER_BYTES) as u64;
            vec![Annotation::new(0, len, format!("DAMAGED header: {}", error.message()))]
        }
    };
    if let Some(records) = bytes.get(HEADER_BYTES..) {
        let each = |offset, bytes: &[u8]| match Mark::decode(bytes) {
            Ok(Some(Mark { run, upto })) => vec![
                Annotation::new(offset, 1, "mark of the log"),
                Annotation::new(offset + 1, 8, format!("synced whole: segment {run}")),
                Annotation::new(offset + 9, 8, format!("to segment {upto}")),
            ],
            _ => payload(offset, bytes),
        };
        list.extend(record::dump(framer(id), records, HEADER_BYTES as u64, each));
    }
    list
}

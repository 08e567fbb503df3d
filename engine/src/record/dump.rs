//! Explains the bytes of a file of records.

use crate::annotate::Annotation;

use super::{End, Framer, HEADER_BYTES, RecordReader};

/// Explains `bytes`, the file from offset `base` to its end, byte by byte, damage included. `payload` explains
/// a payload, given with its offset in the file.
pub fn dump(
    framer: Framer,
    bytes: &[u8],
    base: u64,
    mut payload: impl FnMut(u64, &[u8]) -> Vec<Annotation>,
) -> Vec<Annotation> {
    let mut list = Vec::new();
    let mut reader = RecordReader::new(framer, bytes, base);
    loop {
        for record in reader.by_ref() {
            let start = record.offset;
            let index = usize::try_from(start - base).unwrap_or(usize::MAX);
            let checksum =
                bytes.get(index..).and_then(|frame| framer.header(frame)).map(|header| header.checksum);
            list.push(Annotation::new(
                start,
                4,
                format!("record checksum {:08x}", checksum.unwrap_or_default()),
            ));
            list.push(Annotation::new(start + 4, 4, format!("record length {}", record.payload.len())));
            list.extend(payload(start + HEADER_BYTES as u64, record.payload));
        }
        let file_end = base.saturating_add(bytes.len() as u64);
        match reader.end() {
            End::Clean { .. } => return list,
            End::TornTail { offset, bytes, tail } => {
                list.push(Annotation::new(offset, bytes, format!("torn tail of {bytes} bytes: {tail}")));
                return list;
            }
            End::Corrupt { offset, resumes: Some(next) } => {
                let what = format!("DAMAGED: no record here, the next one is at {next}");
                list.push(Annotation::new(offset, next - offset, what));
                reader.seek(next);
            }
            End::Corrupt { offset, resumes: None } => {
                let what = "DAMAGED: no record here, and the search for the next one was given up";
                list.push(Annotation::new(offset, file_end - offset, what));
                return list;
            }
        }
    }
}

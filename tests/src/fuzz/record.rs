//! Target `record`: framing of records.

use super::Choices;
use skep_engine::annotate::{Annotation, first_gap};
use skep_engine::record::{End, Framer, RecordReader, dump};

/// Any file is read to an end and explained byte by byte; of a valid file that was damaged, what is read is what was written.
pub(super) fn record(data: &[u8]) {
    let mut choices = Choices::new(data);
    let framer = Framer::new(u64::from(choices.u8()));
    any_bytes(framer, choices.rest());
    written_and_damaged(framer, &mut choices);
}

fn any_bytes(framer: Framer, bytes: &[u8]) {
    let mut reader = RecordReader::new(framer, bytes, 32);
    for record in reader.by_ref() {
        let mut again = Vec::new();
        framer.append(&mut again, record.payload).expect("a payload that was read can be framed");
        let at = (record.offset - 32) as usize;
        assert_eq!(again, bytes[at..(record.end() - 32) as usize]);
    }
    let end = 32 + bytes.len() as u64;
    match reader.end() {
        End::Clean { offset } => assert_eq!(offset, end),
        End::TornTail { offset, bytes, .. } => assert_eq!(offset + bytes, end),
        End::Corrupt { offset, resumes } => {
            assert!(offset < end && resumes.is_none_or(|to| offset < to && to < end))
        }
    }
    let payload = |at: u64, bytes: &[u8]| vec![Annotation::new(at, bytes.len() as u64, "payload")];
    assert_eq!(first_gap(&dump(framer, bytes, 32, payload), 32, end), None);
}

fn written_and_damaged(framer: Framer, choices: &mut Choices<'_>) {
    let (mut file, mut payloads, mut ends) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..choices.below(6) {
        let mut payload = choices.bytes(300).to_vec();
        payload.push(7);
        framer.append(&mut file, &payload).expect("a short payload");
        payloads.push(payload);
        ends.push(file.len());
    }
    let whole = file.clone();
    choices.damage(&mut file);
    // The first byte that is not as it was, and how many records end before it.
    let same = whole.iter().zip(&file).take_while(|(a, b)| a == b).count();
    let intact = ends.iter().filter(|end| **end <= same).count() - 1;
    let mut reader = RecordReader::new(framer, &file, 0);
    let read: Vec<_> = reader.by_ref().map(|record| record.payload.to_vec()).collect();
    assert_eq!(read, payloads[..intact], "exactly the records before the damage");
    if file.len() == same && same == ends[intact] {
        assert_eq!(reader.end(), End::Clean { offset: same as u64 });
    } else {
        assert!(!matches!(reader.end(), End::Clean { .. }));
    }
}

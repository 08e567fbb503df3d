//! What is framed is read back; what is cut or damaged is never mistaken for data.

use super::*;
use crate::annotate::{Annotation, first_gap, render};
use crate::error::ErrorKind;

use proptest::prelude::{Strategy, any, prop, proptest};
use proptest::sample::Index;

const BASE: u64 = 32;

/// A file of `payloads`, and where each record begins, and the last one ends.
fn file(framer: Framer, payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut starts = vec![0];
    for payload in payloads {
        let len = framer.append(&mut bytes, payload).unwrap();
        assert_eq!(len, HEADER_BYTES + payload.len());
        starts.push(bytes.len());
    }
    (bytes, starts)
}

fn read(framer: Framer, bytes: &[u8]) -> (Vec<Vec<u8>>, End) {
    let mut reader = RecordReader::new(framer, bytes, BASE);
    let payloads = reader.by_ref().map(|record| record.payload.to_vec()).collect();
    (payloads, reader.end())
}

fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let payload = prop::collection::vec(any::<u8>(), 1..60);
    // Zeros and small numbers look like headers.
    let tricky = prop::collection::vec(0u8..3, 1..60);
    prop::collection::vec(proptest::prop_oneof![payload, tricky], 1..8)
}

fn explain(framer: Framer, bytes: &[u8], base: u64) -> Vec<Annotation> {
    let text = |bytes: &[u8]| format!("payload {:?}", String::from_utf8_lossy(bytes));
    dump(framer, bytes, base, |at, bytes| vec![Annotation::new(at, bytes.len() as u64, text(bytes))])
}

#[test]
fn the_example_of_the_format_is_what_the_code_does() {
    let example = include_str!("FORMAT.md").split("# Example").nth(1).expect("the section exists");
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    let is_offset = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for line in example.lines() {
        let mut parts = line.splitn(3, "  ");
        let (Some(offset), Some(hex), Some(what)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if is_offset(offset) {
            assert_eq!(u64::from_str_radix(offset, 16).unwrap(), bytes.len() as u64);
            let field: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
            expected.push(Annotation::new(bytes.len() as u64, field.len() as u64, what));
            bytes.extend(field);
        }
    }
    let framer = Framer::new(7);
    assert_eq!(explain(framer, &bytes, 0), expected);
    let (again, _) = file(framer, &[b"hive 1".to_vec(), b"*".to_vec()]);
    assert_eq!(again, bytes[..bytes.len() - 3]);
}

#[test]
fn a_payload_may_be_built_in_place() {
    let framer = Framer::new(1);
    let mut out = b"before".to_vec();
    let open = framer.begin(&mut out);
    out.extend_from_slice(b"pay");
    out.extend_from_slice(b"load");
    assert_eq!(framer.finish(&mut out, open).unwrap(), 15);
    let mut expected = b"before".to_vec();
    framer.append(&mut expected, b"payload").unwrap();
    assert_eq!(out, expected);
}

#[test]
fn empty_and_oversized_payloads_are_refused_and_leave_no_trace() {
    let framer = Framer::new(1).with_max_payload(10);
    let mut out = b"before".to_vec();
    assert_eq!(framer.append(&mut out, b"").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(framer.append(&mut out, &[1; 11]).unwrap_err().kind(), ErrorKind::Invalid);
    let open = framer.begin(&mut out);
    out.clear();
    assert_eq!(framer.finish(&mut out, open).unwrap_err().kind(), ErrorKind::Invalid);
    framer.append(&mut out, &[1; 10]).unwrap();
    let (records, end) = read(Framer::new(1).with_max_payload(9), &out);
    assert!(records.is_empty() && matches!(end, End::TornTail { .. }), "the limit holds for reading too");
}

#[test]
fn zeros_are_no_records() {
    for len in [1, 7, 8, 9, 100] {
        let (records, end) = read(Framer::new(0), &vec![0; len]);
        assert!(records.is_empty());
        assert_eq!(end, End::TornTail { offset: BASE, bytes: len as u64, tail: Tail::Zeros });
    }
    assert_eq!(read(Framer::new(0), &[]), (Vec::new(), End::Clean { offset: BASE }));
}

#[test]
fn records_of_another_file_are_no_records() {
    let (mut bytes, starts) = file(Framer::new(1), &[b"mine".to_vec()]);
    let (stale, _) = file(Framer::new(2), &[b"stale".to_vec(), b"as well".to_vec()]);
    bytes.extend_from_slice(&stale);
    let (records, end) = read(Framer::new(1), &bytes);
    assert_eq!(records, [b"mine"]);
    let (offset, bytes) = (BASE + starts[1] as u64, stale.len() as u64);
    assert_eq!(end, End::TornTail { offset, bytes, tail: Tail::Garbage });
}

#[test]
fn salvage_goes_on_behind_the_damage() {
    let framer = Framer::new(1);
    let (mut bytes, starts) = file(framer, &[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    bytes[starts[1] + 9] ^= 1;
    let mut reader = RecordReader::new(framer, &bytes, BASE);
    assert_eq!(reader.next().map(|record| (record.offset, record.end())), Some((BASE, BASE + 11)));
    assert_eq!(reader.next(), None);
    let resumes = BASE + starts[2] as u64;
    assert_eq!(reader.end(), End::Corrupt { offset: BASE + starts[1] as u64, resumes: Some(resumes) });
    reader.seek(resumes);
    assert_eq!(reader.next().map(|record| record.payload), Some(&b"three"[..]));
    assert_eq!(reader.end(), End::Clean { offset: BASE + bytes.len() as u64 });
    reader.seek(0);
    assert_eq!(reader.next(), None);
    let text = render(&explain(framer, &bytes, BASE), &bytes, BASE);
    assert!(text.contains(&format!("DAMAGED: no record here, the next one is at {resumes}")), "{text}");
    assert!(text.contains("payload \"three\""), "{text}");
}

proptest! {
    #[test]
    fn every_cut_gives_the_records_before_it(salt in any::<u64>(), payloads in payloads()) {
        let framer = Framer::new(salt);
        let (bytes, starts) = file(framer, &payloads);
        for cut in 0..=bytes.len() {
            let whole = starts.iter().filter(|start| **start <= cut).count() - 1;
            let (records, end) = read(framer, &bytes[..cut]);
            assert_eq!(records, payloads[..whole]);
            let offset = BASE + starts[whole] as u64;
            if cut == starts[whole] {
                assert_eq!(end, End::Clean { offset });
            } else {
                let (left, torn) = ((cut - starts[whole]) as u64, &bytes[starts[whole]..cut]);
                let zeros = torn.iter().all(|byte| *byte == 0);
                let tail = if zeros { Tail::Zeros } else { Tail::CutShort };
                assert_eq!(end, End::TornTail { offset, bytes: left, tail });
            }
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed(salt in any::<u64>(), payloads in payloads(), mask in 1u8..) {
        let framer = Framer::new(salt);
        let (bytes, starts) = file(framer, &payloads);
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= mask;
            let hit = starts.iter().filter(|start| **start <= place).count() - 1;
            let (records, end) = read(framer, &damaged);
            assert_eq!(records, payloads[..hit]);
            let offset = BASE + starts[hit] as u64;
            if hit + 1 < payloads.len() {
                assert_eq!(end, End::Corrupt { offset, resumes: Some(BASE + starts[hit + 1] as u64) });
            } else {
                assert!(matches!(end, End::TornTail { offset: o, .. } if o == offset));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_neither_panic_nor_go_unexplained(
        payloads in payloads(),
        junk in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<Index>(),
    ) {
        let framer = Framer::new(5);
        let (mut bytes, _) = file(framer, &payloads);
        let place = at.index(bytes.len() + 1);
        bytes.splice(place..place, junk);
        let list = explain(framer, &bytes, BASE);
        assert_eq!(first_gap(&list, BASE, BASE + bytes.len() as u64), None);
    }
}

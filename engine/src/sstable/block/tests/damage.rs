//! Blocks that are not what was written: every changed byte is noticed, and with a right checksum over wrong bytes nothing panics.

use std::hint::black_box;

use proptest::prelude::*;

use super::sample::{Sample, samples, sensors};
use super::{build, open, read};
use crate::encoding::checksum::put_checksum;
use crate::encoding::compress::Codec;
use crate::error::ErrorKind;
use crate::sstable::block::seek::SeekBound;

#[test]
fn every_changed_byte_and_every_cut_is_noticed() {
    let sample = sensors(50);
    let (bytes, _) = build(&sample, Codec::Lz4);
    for i in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[i] ^= 0x20;
        assert_eq!(open(&bad, &sample.schema).unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(open(&bytes[..i], &sample.schema).is_err());
    }
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let sample = sensors(5);
    let (mut bytes, _) = build(&sample, Codec::Lz4);
    bytes.truncate(bytes.len() - 4);
    bytes[0] = 2;
    put_checksum(&mut bytes, 0);
    assert_eq!(open(&bytes, &sample.schema).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Opens and uses everything; whether it succeeds is not asked.
fn use_all(bytes: &[u8], sample: &Sample) {
    let Ok(block) = open(bytes, &sample.schema) else { return };
    let _ = black_box(read(&block));
    for slot in 0..sample.schema.columns().len() {
        if let Ok(column) = block.column(slot) {
            (0..column.rows()).for_each(|row| {
                black_box(column.value_of(row).map(|i| column.values().wire(i)));
            });
        }
    }
    for bound in &sample.bounds {
        let sought = SeekBound::new(&sample.schema, bound).unwrap();
        for p in 0..block.partitions() {
            let _ = black_box(block.seek(block.partition(p).items, &sought));
        }
    }
    (0..block.items()).for_each(|i| {
        let _ = black_box(block.deletion_before(block.partition_of(i), i));
    });
    black_box(block.memory_bytes());
    let mut builder = crate::sstable::block::builder::BlockBuilder::new(sample.schema.clone(), Codec::None);
    for p in 0..block.partitions() {
        let partition = block.partition(p);
        if builder.begin_partition(partition.key, partition.deletion).is_err()
            || builder.push_rows_from(&block, partition.items).is_err()
        {
            return;
        }
    }
    let _ = black_box(builder.finish(&mut Vec::new(), false, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn hostile_blocks_give_errors_or_other_rows_but_no_panic(
        sample in samples(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        lz4: bool,
    ) {
        let (mut bytes, _) = build(&sample, if lz4 { Codec::Lz4 } else { Codec::None });
        bytes.truncate(bytes.len() - 4);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut.filter(|_| lz4) {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        put_checksum(&mut bytes, 0);
        use_all(&bytes, &sample);
    }

    #[test]
    fn any_bytes_behind_a_right_checksum_do_not_panic(sample in samples(), mut bytes: Vec<u8>) {
        bytes.splice(0..0, [1, 0]);
        put_checksum(&mut bytes, 0);
        use_all(&bytes, &sample);
    }
}

//! The block that FORMAT.md spells out is the one that is written and read.

use std::sync::Arc;

use super::sample::clustering_of;
use super::{open, read};
use crate::encoding::compress::Codec;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Liveness;
use crate::model::row::Row;
use crate::model::types::CqlType;
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::layout::{BlockSchema, ClusteringColumn, DataColumn};

/// The bytes between the marks of the example: pairs of hex digits, up to the comment of each line.
fn documented() -> Vec<u8> {
    let text = include_str!("../../FORMAT.md");
    let from = text.find("<!-- example: data block -->").expect("the example's mark");
    let block = text[from..].split("```").nth(1).expect("a fenced block follows the mark");
    let lines = block.lines().skip(1).map(|line| line.split("  #").next().unwrap_or(""));
    lines
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("hex bytes"))
        .collect()
}

#[test]
fn the_documented_block_is_written_and_read() {
    let time = ClusteringColumn { ty: CqlType::Timestamp, desc: false };
    let value = DataColumn { id: ColumnId(2), ty: CqlType::Double };
    let schema = Arc::new(BlockSchema::new(vec![time], vec![], vec![value]));
    let mut builder = BlockBuilder::new(schema.clone(), Codec::Lz4);
    builder.begin_partition(b"s1", None).unwrap();
    let mut expected = vec![Fragment::Partition { key: DecoratedKey::new(b"s1"), deletion: None }];
    for i in 0..4i64 {
        let at = 1_700_000_000_000i64 + 1000 * i;
        let mut row = Row::new(clustering_of(&[(CqlType::Timestamp, false)], &[at.to_be_bytes().to_vec()]));
        let life = Liveness::new(1000 * at + 250);
        row.liveness = Some(life);
        let reading = (2050 + i) as f64 / 100.0;
        row.cells.push((ColumnId(2), Cell::live(life, Bytes::new(&reading.to_be_bytes()))));
        builder.push_row(&row).unwrap();
        expected.push(Fragment::Row(row));
    }
    let mut written = Vec::new();
    builder.finish(&mut written, false, None).unwrap();
    let hex: Vec<_> = written.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(written, documented(), "written: {}", hex.join(" "));
    assert_eq!(read(&open(&documented(), &schema).unwrap()).unwrap(), expected);
}

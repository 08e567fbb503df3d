//! Target `sstable`: the data block.

use std::sync::Arc;

use super::Choices;
use skep_engine::encoding::bytes::ByteReader;
use skep_engine::encoding::checksum::crc32;
use skep_engine::encoding::compress::Codec;
use skep_engine::encoding::order::encode_component;
use skep_engine::error::{ErrorKind, Result};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::{Bound, Clustering};
use skep_engine::model::fragment::{Fragment, RangeBound};
use skep_engine::model::key::DecoratedKey;
use skep_engine::model::life::{Deletion, Liveness};
use skep_engine::model::row::Row;
use skep_engine::model::types::CqlType;
use skep_engine::sstable::block::builder::BlockBuilder;
use skep_engine::sstable::block::decoded::{DecodedBlock, ItemKind};
use skep_engine::sstable::block::rows::Projection;
use skep_engine::sstable::layout::{BlockSchema, ClusteringColumn, DataColumn};

/// A block gives back what was put in; one that was damaged behind a right checksum is refused or read, without a panic.
pub(super) fn sstable(data: &[u8]) {
    let mut choices = Choices::new(data);
    let descending = choices.bool();
    let schema = schema(descending);
    let fragments = fragments(&mut choices, descending);
    let mut bytes = Vec::new();
    if !fragments.is_empty() {
        let codec = if choices.bool() { Codec::Lz4 } else { Codec::None };
        let mut builder = BlockBuilder::new(schema.clone(), codec);
        for fragment in &fragments {
            match fragment {
                Fragment::Partition { key, deletion } => builder.begin_partition(&key.key, *deletion),
                Fragment::Static(row) => builder.push_static(row),
                Fragment::Row(row) => builder.push_row(row),
                Fragment::Bound(bound) => builder.push_bound(bound),
            }
            .expect("valid fragments");
        }
        builder.finish(&mut bytes, false, None).expect("a block with a partition");
        assert_eq!(read(&bytes, &schema).expect("what was written"), fragments);
        for _ in 0..1 + choices.below(3) {
            choices.damage(&mut bytes);
        }
        refused_or_read(bytes, &schema);
    }
    refused_or_read(choices.rest().to_vec(), &schema);
    if let Ok(schema) = BlockSchema::decode(&mut ByteReader::new(data)) {
        let mut again = Vec::new();
        schema.encode(&mut again);
        assert_eq!(BlockSchema::decode(&mut ByteReader::new(&again)).expect("what was encoded"), schema);
    }
}

/// `bytes` with the checksum set right, so that what lies behind it is reached.
fn refused_or_read(mut bytes: Vec<u8>, schema: &Arc<BlockSchema>) {
    if let Some(at) = bytes.len().checked_sub(4) {
        let checksum = crc32(&bytes[..at]);
        bytes[at..].copy_from_slice(&checksum.to_le_bytes());
    }
    if let Err(error) = read(&bytes, schema) {
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
    }
}

fn schema(desc: bool) -> Arc<BlockSchema> {
    let column = |id, ty| DataColumn { id: ColumnId(id), ty };
    let statics = vec![column(2, CqlType::Text)];
    let regulars = vec![
        column(3, CqlType::Double),
        column(4, CqlType::Int),
        column(5, CqlType::Text),
        column(6, CqlType::Set(Box::new(CqlType::Int))),
    ];
    Arc::new(BlockSchema::new(vec![ClusteringColumn { ty: CqlType::Timestamp, desc }], statics, regulars))
}

fn read(bytes: &[u8], schema: &Arc<BlockSchema>) -> Result<Vec<Fragment>> {
    let block = DecodedBlock::open(Box::new(bytes.to_vec()), schema.clone())?;
    let projection = Projection::all(schema);
    let mut fragments = Vec::new();
    for partition in (0..block.partitions()).map(|p| block.partition(p)) {
        let key = DecoratedKey::new(partition.key);
        fragments.push(Fragment::Partition { key, deletion: partition.deletion });
        for i in partition.items {
            fragments.push(match block.kind(i) {
                ItemKind::Row => Fragment::Row(block.to_row(i, &projection)?),
                ItemKind::Static => Fragment::Static(block.to_row(i, &projection)?),
                ItemKind::Bound => Fragment::Bound(block.bound(i)?),
            });
        }
    }
    Ok(fragments)
}

fn fragments(choices: &mut Choices<'_>, descending: bool) -> Vec<Fragment> {
    let mut keys: Vec<_> = (0..choices.below(4)).map(|_| DecoratedKey::new(choices.bytes(5))).collect();
    keys.sort();
    keys.dedup();
    let mut fragments = Vec::new();
    for key in keys {
        let deleted = choices.bool().then(|| deletion(choices));
        fragments.push(Fragment::Partition { key, deletion: deleted });
        if choices.bool() {
            let mut row = Row::new(Clustering::EMPTY);
            row.cells.push((ColumnId(2), cell(choices, Liveness::new(1), 20)));
            fragments.push(Fragment::Static(row));
        }
        let mut places: Vec<_> = (0..choices.below(40)).map(|_| place(choices.i64(), descending)).collect();
        places.sort();
        places.dedup();
        let mut open = false;
        for place in places {
            if choices.u8() < 40 {
                let deletion = (!open).then(|| deletion(choices));
                open = !open;
                fragments.push(Fragment::Bound(RangeBound { at: Bound::before(&place), deletion }));
            }
            fragments.push(Fragment::Row(row(choices, Bytes::new(&place))));
        }
        if open {
            fragments.push(Fragment::Bound(RangeBound { at: Bound::top(), deletion: None }));
        }
    }
    fragments
}

fn place(millis: i64, descending: bool) -> Vec<u8> {
    let mut place = Vec::new();
    encode_component(&millis.to_be_bytes(), &CqlType::Timestamp, descending, &mut place)
        .expect("eight bytes");
    place
}

fn row(choices: &mut Choices<'_>, place: Bytes) -> Row {
    let mut row = Row::new(Clustering::new(place));
    let life = match choices.u8() {
        0..60 => Liveness::expiring(choices.i64(), 60, choices.i64() & 0xffff_ffff),
        _ => Liveness::new(choices.i64()),
    };
    row.liveness = Some(life);
    row.deletion = (choices.u8() < 20).then(|| deletion(choices));
    for (column, width) in [(3, 8), (4, 4), (5, 20)] {
        if choices.u8() > 50 {
            row.cells.push((ColumnId(column), cell(choices, life, width)));
        }
    }
    row
}

fn deletion(choices: &mut Choices<'_>) -> Deletion {
    Deletion::new(choices.i64(), choices.i64() & 0xffff_ffff)
}

/// A cell of `width` bytes, or of any number up to 20 of them.
fn cell(choices: &mut Choices<'_>, life: Liveness, width: usize) -> Cell {
    let number = choices.i64().to_be_bytes();
    let value = if width <= 8 { Bytes::new(&number[8 - width..]) } else { choices.shared(width) };
    match choices.u8() {
        0..30 => Cell::tombstone(choices.i64(), choices.i64() & 0xffff_ffff),
        30..60 => Cell::live(Liveness::new(choices.i64()), value),
        _ => Cell::live(life, value),
    }
}

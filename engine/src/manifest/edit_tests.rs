//! Edits come back from their bytes; damaged ones are refused.

use super::*;
use crate::encoding::schema::tests::any_schema;
use crate::model::clustering::ClusteringRange;
use crate::model::key::DecoratedKey;
use crate::model::life::NEVER;
use crate::model::schema::{ColumnKind, TableOptions};
use crate::model::types::CqlType;
use crate::sstable::drop_times::DropTimes;
use proptest::prelude::*;

/// A file's card.
pub(crate) fn file(table: u32, id: u64) -> FileMeta {
    let mut keys = [DecoratedKey::new(b"a"), DecoratedKey::new(b"b")];
    keys.sort();
    let [first, last] = keys;
    let mut drop_times = DropTimes::default();
    (0..20).for_each(|second| drop_times.add(second * 3600, id % 7 + 1));
    FileMeta {
        id: FileId(id),
        table: TableId(table),
        size_bytes: 1 << 20,
        level: 0,
        created_micros: 1_704_067_200_000_000,
        first,
        last,
        partitions: 2,
        rows: 1000,
        cells: 3000,
        tombstones: 1,
        min_timestamp: 5,
        max_timestamp: 9,
        min_local: NEVER,
        max_local: NEVER,
        clustering: Some(ClusteringRange::prefix(&[0x40, 7])),
        has_partition_deletion: false,
        has_range_deletion: false,
        has_static: false,
        drop_times,
        ancestors: vec![FileId(1)],
    }
}

pub(crate) fn add(table: u32, id: u64) -> Edit {
    Edit::AddFile(Arc::new(file(table, id)))
}

pub(crate) fn remove(table: u32, id: u64) -> Edit {
    Edit::RemoveFile { table: TableId(table), file: FileId(id) }
}

pub(crate) fn flushed(table: u32, segment: u64, offset: u64) -> Edit {
    Edit::Flushed { table: TableId(table), position: LogPosition { segment, offset } }
}

/// The edits that create a table and its keyspace.
pub(crate) fn table(id: u32, keyspace: &str, name: &str) -> Vec<Edit> {
    let columns = vec![
        ("k".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
        ("v".to_owned(), CqlType::Int, ColumnKind::Regular),
    ];
    let schema = TableSchema::new(TableId(id), keyspace, name, columns, TableOptions::default()).unwrap();
    vec![
        Edit::PutKeyspace(Arc::new(Keyspace { name: keyspace.to_owned(), options: BTreeMap::new() })),
        Edit::PutTable(Arc::new(schema)),
    ]
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let name = "[a-zA-Z_]{1,12}";
    prop_oneof![
        (name, proptest::collection::btree_map(name, ".{0,20}", 0..3))
            .prop_map(|(name, options)| Edit::PutKeyspace(Arc::new(Keyspace { name, options }))),
        name.prop_map(Edit::DropKeyspace),
        (name, name, proptest::collection::vec((name, Just(CqlType::Inet)), 0..4))
            .prop_map(|(keyspace, name, fields)| Edit::PutType(Arc::new(UdtType { keyspace, name, fields }))),
        (name, name).prop_map(|(keyspace, name)| Edit::DropType { keyspace, name }),
        any_schema().prop_map(|schema| Edit::PutTable(Arc::new(schema))),
        any::<u32>().prop_map(|id| Edit::DropTable(TableId(id))),
        any::<(u32, u64)>().prop_map(|(table, id)| add(table, id >> 1)),
        any::<(u32, u64)>().prop_map(|(table, id)| remove(table, id)),
        any::<(u32, u64, u64)>().prop_map(|(table, segment, offset)| flushed(table, segment, offset)),
        any::<(u64, u32, u64)>().prop_map(|(file, table, segment)| Edit::NextIds(NextIds {
            file,
            table,
            segment
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn edits_come_back_in_order(edits in proptest::collection::vec(any_edit(), 0..6)) {
        let mut bytes = Vec::new();
        encode_edits(&edits, &mut bytes);
        prop_assert_eq!(decode_edits(&bytes, 0).unwrap(), edits);
    }

    #[test]
    fn a_cut_edit_is_refused(edit in any_edit()) {
        let mut bytes = Vec::new();
        encode_edits(std::slice::from_ref(&edit), &mut bytes);
        for end in 1..bytes.len() {
            prop_assert!(decode_edits(&bytes[..end], 0).is_err());
        }
        prop_assert!(!edit.to_string().is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic(tag in 0u8..12, mut body: Vec<u8>) {
        let mut bytes = vec![tag];
        put_bytes(&mut bytes, &body);
        let _ = decode_edits(&bytes, 0);
        body.insert(0, tag);
        let _ = decode_edits(&body, 0);
    }
}

#[test]
fn an_unknown_edit_is_of_a_newer_version_and_left_over_bytes_are_damage() {
    let error = decode_edits(&[99, 1, 0], 40).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("kind 99 at offset 40"), "{error}");
    let error = decode_edits(&[DROP_TABLE, 2, 1, 0], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

//! Target `manifest`: edits and what they amount to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Choices;
use skep_engine::error::ErrorKind;
use skep_engine::manifest::check::violations;
use skep_engine::manifest::edit::{Edit, Keyspace, NextIds, decode_edits, encode_edits};
use skep_engine::manifest::version::Version;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::key::DecoratedKey;
use skep_engine::model::life::NEVER;
use skep_engine::model::position::LogPosition;
use skep_engine::model::schema::{ColumnKind, TableId, TableOptions, TableSchema};
use skep_engine::model::types::{CqlType, UdtType};
use skep_engine::sstable::drop_times::DropTimes;
use skep_engine::sstable::meta::{FileId, FileMeta};

/// Any record is refused as corrupt or too new or comes back as the bytes it was; applying edits, fitting or not, keeps the rules of a version.
pub(super) fn manifest(data: &[u8]) {
    let mut choices = Choices::new(data);
    let mut version = Version::default();
    while !choices.is_empty() {
        let mut payload = Vec::new();
        encode_edits(&[edit(&mut choices), edit(&mut choices)], &mut payload);
        match choices.u8() {
            0 => payload = choices.bytes(200).to_vec(),
            1..60 => choices.damage(&mut payload),
            _ => {}
        }
        match decode_edits(&payload, 0) {
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}")
            }
            Ok(edits) => apply(&mut version, &edits),
        }
    }
    let snapshot = version.snapshot();
    let mut rebuilt = Version::default();
    apply(&mut rebuilt, &snapshot);
    assert_eq!(rebuilt, version, "a snapshot's edits rebuild the version");
}

fn apply(version: &mut Version, edits: &[Edit]) {
    let mut bytes = Vec::new();
    encode_edits(edits, &mut bytes);
    assert_eq!(decode_edits(&bytes, 0).expect("what was encoded"), edits);
    for edit in edits {
        let before = version.clone();
        if version.apply(edit).is_err() {
            assert_eq!(*version, before, "a refused edit changes nothing");
        }
        let broken = violations(version);
        assert!(broken.is_empty() || !violations(&before).is_empty(), "{edit:?} breaks {broken:?}");
    }
}

/// One edit, of few names and numbers, so that edits meet.
pub(super) fn edit(choices: &mut Choices<'_>) -> Edit {
    let keyspace = ["a", "b"][choices.below(2)].to_owned();
    let name = ["t", "u", "v"][choices.below(3)].to_owned();
    let (table, file) = (TableId(choices.u8().into()), FileId(choices.u8().into()));
    match choices.below(10) {
        0 => Edit::PutKeyspace(Arc::new(Keyspace { name: keyspace, options: BTreeMap::new() })),
        1 => Edit::DropKeyspace(keyspace),
        2 => Edit::PutType(Arc::new(UdtType {
            keyspace,
            name,
            fields: vec![("f".into(), choices.cql_type(1, false))],
        })),
        3 => Edit::DropType { keyspace, name },
        4 => {
            let columns = vec![
                ("k".to_owned(), choices.cql_type(1, true), ColumnKind::PartitionKey),
                ("v".to_owned(), CqlType::Int, ColumnKind::Regular),
            ];
            let schema = TableSchema::new(table, &keyspace, &name, columns, TableOptions::default());
            schema.map_or(Edit::DropTable(table), |schema| Edit::PutTable(Arc::new(schema)))
        }
        5 => Edit::DropTable(table),
        6 => Edit::AddFile(Arc::new(card(choices, table, file))),
        7 => Edit::RemoveFile { table, file },
        8 => {
            let position = LogPosition { segment: choices.u8().into(), offset: choices.u8().into() };
            Edit::Flushed { table, position }
        }
        _ => Edit::NextIds(NextIds { file: file.0, table: table.0, segment: choices.u8().into() }),
    }
}

fn card(choices: &mut Choices<'_>, table: TableId, id: FileId) -> FileMeta {
    let mut keys = [DecoratedKey::new(choices.bytes(3)), DecoratedKey::new(choices.bytes(3))];
    keys.sort();
    let [first, last] = keys;
    FileMeta {
        id,
        table,
        size_bytes: 1000,
        level: 0,
        created_micros: choices.i64(),
        first,
        last,
        partitions: 2,
        rows: 2,
        cells: 2,
        tombstones: 0,
        min_timestamp: 0,
        max_timestamp: choices.u8().into(),
        min_local: NEVER,
        max_local: NEVER,
        clustering: choices.bool().then(|| ClusteringRange::prefix(&[0x80, 7])),
        has_partition_deletion: choices.bool(),
        has_range_deletion: choices.bool(),
        has_static: choices.bool(),
        drop_times: DropTimes::default(),
        ancestors: vec![FileId(choices.u8().into())],
    }
}

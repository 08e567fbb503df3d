//! What edits amount to, and which ones are refused.

use super::*;
use crate::manifest::check::check;
use crate::manifest::edit::tests::{add, flushed, remove, table};

fn version(edits: &[Edit]) -> Version {
    let mut version = Version::default();
    edits.iter().for_each(|edit| version.apply(edit).unwrap());
    version
}

fn kind(version: &Version, edit: Edit) -> ErrorKind {
    let mut changed = version.clone();
    let kind = changed.apply(&edit).unwrap_err().kind();
    assert_eq!(changed, *version, "a refused edit changes nothing: {edit}");
    kind
}

#[test]
fn a_snapshot_makes_the_same_version() {
    let mut edits = [table(1, "ks", "a"), table(4, "other", "a")].concat();
    edits.push(Edit::PutType(Arc::new(UdtType { keyspace: "ks".into(), name: "T".into(), fields: vec![] })));
    edits.extend([add(1, 3), add(4, 2), flushed(4, 7, 100), remove(4, 2), add(4, 9), remove(4, 9)]);
    let version = version(&edits);
    assert_eq!(version.next, NextIds { file: 10, table: 5, segment: 8 });
    check(&version).unwrap();
    let mut again = Version::default();
    version.snapshot().iter().for_each(|edit| again.apply(edit).unwrap());
    assert_eq!(again, version);
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let version = version(&[table(1, "ks", "a"), vec![add(1, 3)]].concat());
    assert_eq!(kind(&version, add(2, 4)), ErrorKind::NotFound);
    assert_eq!(kind(&version, add(1, 3)), ErrorKind::Invalid);
    assert_eq!(kind(&version, add(1, u64::MAX)), ErrorKind::Invalid);
    assert_eq!(kind(&version, remove(1, 4)), ErrorKind::NotFound);
    assert_eq!(kind(&version, flushed(2, 1, 1)), ErrorKind::NotFound);
    assert_eq!(kind(&version, Edit::DropTable(TableId(9))), ErrorKind::NotFound);
    assert_eq!(kind(&version, Edit::DropKeyspace("ks".into())), ErrorKind::Invalid);
    assert_eq!(kind(&version, Edit::DropKeyspace("no".into())), ErrorKind::NotFound);
    assert_eq!(kind(&version, table(2, "ks", "a").remove(1)), ErrorKind::AlreadyExists);
    assert_eq!(kind(&version, table(2, "no", "a").remove(1)), ErrorKind::NotFound);
    let no_type = Edit::DropType { keyspace: "ks".into(), name: "T".into() };
    assert_eq!(kind(&version, no_type), ErrorKind::NotFound);
}

#[test]
fn flushed_positions_and_next_ids_never_go_back() {
    let edits = [table(1, "ks", "a"), vec![flushed(1, 5, 9), flushed(1, 5, 3), flushed(1, 4, 99)]].concat();
    let mut version = version(&edits);
    assert_eq!(version.tables[&TableId(1)].flushed, LogPosition { segment: 5, offset: 9 });
    version.apply(&Edit::NextIds(NextIds { file: 50, table: 1, segment: 2 })).unwrap();
    assert_eq!(version.next, NextIds { file: 50, table: 2, segment: 6 });
}

#[test]
fn a_dropped_table_takes_its_files_along_and_its_number_stays_used() {
    let mut version = version(&[table(1, "ks", "a"), vec![add(1, 3)]].concat());
    version.apply(&Edit::DropTable(TableId(1))).unwrap();
    version.apply(&Edit::DropKeyspace("ks".into())).unwrap();
    assert_eq!((version.file_count(), version.tables.len()), (0, 0));
    assert_eq!((version.next.table, version.next.file), (2, 4));
}

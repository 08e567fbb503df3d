//! Single rows, held against all items of their partitions.

use super::sample::{prefix, sensors, sensors_table, streams, table};
use super::{disk, open, partitions, write};
use crate::encoding::order::encode_component;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::model::types::CqlType;
use crate::sstable::block::rows::Projection;
use crate::sstable::point::{Found, SoughtRow};
use crate::sstable::reader::SsTable;
use proptest::prelude::*;

/// The row, if it is there; `Err` if a cursor would have to be asked.
fn find(file: &SsTable, schema: &TableSchema, key: &DecoratedKey, place: &[u8]) -> Result<Option<Row>, ()> {
    let sought = SoughtRow::new(schema, key, place);
    let found = match file.block_of_row(&sought).unwrap() {
        Found::Nothing => return Ok(None),
        Found::Unclear => return Err(()),
        Found::Block(found) => found,
    };
    let Some(item) = file.item_of_row(&found, &sought).unwrap() else { return Ok(None) };
    assert_eq!(found.block.partition_of(item), found.partition);
    Ok(Some(found.block.to_row(item, &Projection::all(found.block.schema())).unwrap()))
}

proptest! {
    #[test]
    fn what_is_told_of_a_row_is_so_and_nothing_deletes_it(fragments in streams()) {
        prop_assume!(!fragments.is_empty());
        let (env, schema) = (disk(), table());
        let file = open(&env, write(&env, &schema, &fragments));
        let mut all = partitions(&fragments);
        all.extend((0..300i32).step_by(7).map(|n| DecoratedKey::new(&n.to_be_bytes())).filter_map(|key| {
            (!all.iter().any(|known| known.0 == key)).then(|| (key, None, Vec::new()))
        }).collect::<Vec<_>>());
        for (key, deletion, items) in all {
            for place in (-1..9).flat_map(|c1| (0..20).map(move |c2| prefix(c1, Some(c2)))) {
                let (mut row, mut open) = (None, None);
                for item in &items {
                    match item {
                        Fragment::Row(own) if own.clustering.order() == place => row = Some(own.clone()),
                        Fragment::Bound(bound) if bound.at.cmp_row(&place).is_lt() => open = bound.deletion,
                        _ => {}
                    }
                }
                if let Ok(found) = find(&file, &schema, &key, &place) {
                    prop_assert_eq!((deletion, open), (None, None));
                    prop_assert_eq!(found, row);
                }
            }
        }
    }
}

#[test]
fn every_row_of_a_series_is_found_and_no_other() {
    let (env, schema) = (disk(), sensors_table());
    let fragments = sensors(3, 2500);
    let file = open(&env, write(&env, &schema, &fragments));
    for (key, _, items) in partitions(&fragments) {
        for item in &items {
            let Fragment::Row(row) = item else { continue };
            assert_eq!(find(&file, &schema, &key, row.clustering.order()).unwrap().as_ref(), Some(row));
        }
        for at in [i64::MIN, 0, 1_700_000_000_001, i64::MAX] {
            let mut place = Vec::new();
            encode_component(&at.to_be_bytes(), &CqlType::Timestamp, false, &mut place).unwrap();
            let known = items.iter().any(|i| matches!(i, Fragment::Row(r) if r.clustering.order() == place));
            assert_eq!(find(&file, &schema, &key, &place).unwrap().is_some(), known);
        }
    }
}

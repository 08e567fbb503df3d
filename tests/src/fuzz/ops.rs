//! Target `ops`: a store under a random history, against a list of everything that was ever written.
//!
//! The model keeps no state but the history; what a reader should see it works out from scratch, cell by cell, so that it shares no
//! idea with the engine. Timestamps come from a small range, so that many collide.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Choices;
use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::{CqlType, Db, KeyRange, Null, Result, Schema, SyncMode, Table, With, WriteBatch, row};

/// What one operation wrote, with its timestamp.
#[derive(Clone, Debug)]
enum Write {
    /// A row with its marker; `None` writes null.
    Insert(i32, i32, Option<i32>),
    /// A value without marker.
    Update(i32, i32, i32),
    /// The value alone is deleted.
    DeleteCell(i32, i32),
    /// All rows of a partition from the first to before the second.
    DeleteRange(i32, i32, i32),
    /// One row, or the whole partition.
    Delete(i32, Option<i32>),
}

/// Everything that is read is what the history says, through flushes, compactions, reopening and power cuts.
pub(super) fn ops(data: &[u8]) {
    let mut choices = Choices::new(data);
    let disk = SimDisk::new(u64::from(choices.u8()));
    let mut db = open(&disk).expect("a store on the simulated disk");
    let descending = choices.bool();
    let schema = Schema::table("t").partition_key("k", CqlType::Int);
    let schema = match descending {
        true => schema.clustering_desc("c", CqlType::Int),
        false => schema.clustering("c", CqlType::Int),
    };
    db.create_table(schema.column("v", CqlType::Int)).expect("a new table");
    let mut history = Vec::new();
    for _ in 0..40 {
        if choices.is_empty() {
            break;
        }
        let table = db.table("t").expect("the table");
        match choices.below(16) {
            0 => table.flush().expect("the simulated disk does not fail"),
            1 => table.compact().expect("the simulated disk does not fail"),
            2 => {
                // Every write was acknowledged after its sync, so that none may be lost.
                let lost = [CrashMode::LoseAll, CrashMode::KeepAll, CrashMode::Mixed][choices.below(3)];
                drop((table, db));
                disk.restart(lost);
                db = open(&disk).expect("a store that lost its power");
            }
            3 => {
                let key = choices.below(3) as i32;
                check(&table, key, choices.bool(), &history, descending);
            }
            _ => write(&db, &table, &mut choices, &mut history).expect("a valid batch"),
        }
    }
    let table = db.table("t").expect("the table");
    for key in 0..3 {
        check(&table, key, false, &history, descending);
        check(&table, key, true, &history, descending);
    }
    assert!(db.verify().expect("a readable store").is_ok());
}

fn open(disk: &SimDisk) -> Result<Db> {
    let clock = Arc::new(disk.clock());
    Db::builder("d").env(disk.env()).clock(clock).background(false).sync(SyncMode::Batch).open()
}

/// One batch of up to three operations.
fn write(db: &Db, table: &Table, choices: &mut Choices<'_>, history: &mut Vec<(i64, Write)>) -> Result<()> {
    let (schema, mut batch) = (table.schema(), WriteBatch::new());
    for _ in 0..1 + choices.below(3) {
        let timestamp = 1 + choices.below(8) as i64;
        let with = With::DEFAULT.timestamp(timestamp);
        let (k, c, v) = (choices.below(3) as i32, choices.below(6) as i32, i32::from(choices.u8()));
        let write = match choices.below(8) {
            0 => {
                batch.delete(&schema, &row![k], with)?;
                Write::Delete(k, None)
            }
            1 => {
                batch.delete(&schema, &row![k, c], with)?;
                Write::Delete(k, Some(c))
            }
            2 => {
                let end = c + 1 + (v % 3);
                batch.delete_range(&schema, &row![k], &KeyRange::from(c..end), with)?;
                Write::DeleteRange(k, c, end)
            }
            3 => {
                batch.delete_columns(&schema, &row![k, c], &["v"], with)?;
                Write::DeleteCell(k, c)
            }
            4 => {
                batch.update(&schema, &[("k", k.into()), ("c", c.into()), ("v", v.into())], with)?;
                Write::Update(k, c, v)
            }
            5 => {
                batch.insert_with(&schema, &row![k, c, Null], with)?;
                Write::Insert(k, c, None)
            }
            _ => {
                batch.insert_with(&schema, &row![k, c, v], with)?;
                Write::Insert(k, c, Some(v))
            }
        };
        history.push((timestamp, write));
    }
    db.write(&mut batch).map(drop)
}

/// Reads a partition and compares it with what the history says.
fn check(table: &Table, key: i32, reverse: bool, history: &[(i64, Write)], descending: bool) {
    let select = table.slice(&row![key], ..);
    let select = if reverse { select.reverse() } else { select };
    let found: Vec<(i32, Option<i32>)> = select
        .rows()
        .expect("a slice")
        .map(|row| {
            let row = row.expect("a row");
            (row.get("c").expect("an int"), row.get("v").expect("an int or null"))
        })
        .collect();
    let mut expected: Vec<_> = expected(key, history).into_iter().collect();
    if reverse != descending {
        expected.reverse();
    }
    assert_eq!(found, expected, "partition {key} after {history:?}");
    for c in 0..6 {
        let row = table.get(&row![key, c]).expect("a read");
        let value = row.map(|row| row.get::<Option<i32>>("v").expect("an int or null"));
        assert_eq!(value, expected.iter().find(|(place, _)| *place == c).map(|(_, v)| *v));
    }
}

fn expected(key: i32, history: &[(i64, Write)]) -> BTreeMap<i32, Option<i32>> {
    let mut rows = BTreeMap::new();
    for c in 0..6 {
        let deleted = history.iter().filter_map(|(timestamp, write)| match write {
            Write::Delete(k, None) if *k == key => Some(*timestamp),
            Write::Delete(k, Some(at)) if (*k, *at) == (key, c) => Some(*timestamp),
            Write::DeleteRange(k, from, to) if *k == key && (*from..*to).contains(&c) => Some(*timestamp),
            _ => None,
        });
        let deleted = deleted.max().unwrap_or(0);
        let later = history.iter().filter(|(timestamp, _)| *timestamp > deleted);
        let marker =
            later.clone().any(|(_, write)| matches!(write, Write::Insert(k, at, _) if (*k, *at) == (key, c)));
        // Of one timestamp a null wins, then the greater value.
        let cell = later.filter_map(|(timestamp, write)| match write {
            Write::Insert(k, at, v) if (*k, *at) == (key, c) => Some((*timestamp, v.is_none(), *v)),
            Write::Update(k, at, v) if (*k, *at) == (key, c) => Some((*timestamp, false, Some(*v))),
            Write::DeleteCell(k, at) if (*k, *at) == (key, c) => Some((*timestamp, true, None)),
            _ => None,
        });
        let value = cell.max().and_then(|(_, _, value)| value);
        if marker || value.is_some() {
            rows.insert(c, value);
        }
    }
    rows
}

//! Readings in the engine's own forms: the table, batches as the commit path hands them on, memtables.
//!
//! For benches of single modules, which go in below the public API.

use crate::readings::{Reading, sensor_name};
use skep_engine::encoding::bind;
use skep_engine::encoding::mutation::BatchReader;
use skep_engine::encoding::mutation_encoder::BatchEncoder;
use skep_engine::encoding::row::Stamp;
use skep_engine::memtable::Memtable;
use skep_engine::memtable::pins::Pins;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::life::Liveness;
use skep_engine::model::row::Row;
use skep_engine::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use skep_engine::model::time::{Date, Timestamp};
use skep_engine::model::token::Token;
use skep_engine::model::types::CqlType;
use skep_engine::{Arg, row};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a batch.
pub const BATCH: usize = 100;

/// `readings(sensor, day, ts, temperature, humidity, pressure, status)`, newest first.
pub fn table() -> TableSchema {
    let columns = [
        ("sensor", CqlType::Text, ColumnKind::PartitionKey),
        ("day", CqlType::Date, ColumnKind::PartitionKey),
        ("ts", CqlType::Timestamp, ColumnKind::Clustering(Order::Desc)),
        ("temperature", CqlType::Double, ColumnKind::Regular),
        ("humidity", CqlType::Double, ColumnKind::Regular),
        ("pressure", CqlType::Double, ColumnKind::Regular),
        ("status", CqlType::Int, ColumnKind::Regular),
    ];
    let columns = columns.into_iter().map(|(name, ty, kind)| (name.to_owned(), ty, kind)).collect();
    TableSchema::new(TableId(1), "main", "readings", columns, TableOptions::default())
        .expect("the definition is right")
}

/// The day of a reading as a date.
pub fn date(reading: &Reading) -> Date {
    Date::from_days_since_epoch(i32::try_from(reading.day()).expect("a day of this century"))
}

/// The values of a row in declared order; `name` is [`sensor_name`].
pub fn args<'a>(reading: &Reading, name: &'a str) -> [Arg<'a>; 7] {
    let ts = Timestamp::from_millis(reading.ts);
    let Reading { temperature, humidity, pressure, status, .. } = *reading;
    row![name, date(reading), ts, temperature, humidity, pressure, status]
}

/// The serialised partition key and the row as the engine's model has them, written a moment after the sample.
pub fn model_row(schema: &TableSchema, reading: &Reading) -> (Vec<u8>, Row) {
    let name = sensor_name(reading.sensor);
    let args = args(reading, &name);
    let mut key = Vec::new();
    bind::partition_key(schema, &args[..2], &mut key).expect("the key is whole");
    let mut row =
        Row::new(bind::clustering(schema, &args[2..3], &mut Vec::new()).expect("the clustering is whole"));
    let life = Liveness::new(reading.ts * 1000 + 500);
    row.liveness = Some(life);
    for (arg, id) in args[3..].iter().zip(3..) {
        let column = schema.column_by_id(ColumnId(id)).expect("declared in this order");
        let mut wire = Vec::new();
        arg.put_wire(&column.ty, &mut wire).expect("of the column's type");
        row.cells.push((column.id, Cell::live(life, Bytes::new(&wire))));
    }
    (key, row)
}

/// One batch of rows as the commit path has it.
pub fn batch(schema: &TableSchema, rows: &[Reading]) -> BatchEncoder {
    let mut batch = BatchEncoder::default();
    let newest = rows.iter().map(|row| row.ts).max().unwrap_or_default();
    batch.set_stamp(Stamp { timestamp: newest * 1000 + 500, now: newest.div_euclid(1000) });
    for reading in rows {
        let (key, row) = model_row(schema, reading);
        batch.row(schema.id, &key, false, &row);
    }
    batch
}

/// All rows in batches of [`BATCH`].
pub fn batches(schema: &TableSchema, rows: &[Reading]) -> Vec<Vec<u8>> {
    rows.chunks(BATCH).map(|rows| batch(schema, rows).bytes().to_vec()).collect()
}

/// A memtable that holds what `batches` say.
pub fn memtable(batches: &[Vec<u8>]) -> Memtable {
    let visible = Arc::new(AtomicU64::new(0));
    let memtable = Memtable::new(Arc::new(Pins::new(Arc::clone(&visible))), 0);
    for (bytes, seq) in batches.iter().zip(1..) {
        let reader = BatchReader::new(bytes).expect("just encoded");
        let stamp = reader.stamp();
        for op in reader {
            let op = op.expect("just encoded");
            memtable.apply(seq, stamp, &op.key, Token::of(&op.key), &op.body).expect("the memtable has room");
        }
        visible.store(seq, Ordering::SeqCst);
    }
    memtable
}

/// The contents of a memtable in the order of a file.
pub fn fragments(memtable: &Memtable) -> Vec<Fragment> {
    memtable.flush_iter().collect::<Result<_, _>>().expect("the memtable is sound")
}

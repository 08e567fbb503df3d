//! Times the read path over one file of sensor readings: slices as columns and as rows, the latest rows, single rows, and sums.
//!
//! `cargo run --release -p skep-engine --example read_speed [part of a name]`

use skep_engine::encoding::order::encode_component;
use skep_engine::env::{Env, OsEnv};
use skep_engine::memtable::Memtable;
use skep_engine::memtable::pins::Pins;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::Clustering;
use skep_engine::model::key::{DecoratedKey, TokenRange};
use skep_engine::model::life::Liveness;
use skep_engine::model::row::Row;
use skep_engine::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use skep_engine::model::types::CqlType;
use skep_engine::read::aggregate::totals;
use skep_engine::read::point::read_row;
use skep_engine::read::query::{Projection, Query};
use skep_engine::read::snapshot::Snapshot;
use skep_engine::read::{read_partition, read_tokens};
use skep_engine::sstable::cache::BlockCache;
use skep_engine::sstable::meta::FileId;
use skep_engine::sstable::reader::SsTable;
use skep_engine::sstable::writer::{SsTableWriter, WriterOptions};
use skep_engine::view::TableView;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

const SENSORS: i32 = 40;
const ROWS: i64 = 20_000;
const FIRST_MILLIS: i64 = 1_700_000_000_000;

fn order(millis: i64) -> Result<Bytes, Box<dyn Error>> {
    let mut out = Vec::new();
    encode_component(&millis.to_be_bytes(), &CqlType::Timestamp, true, &mut out)?;
    Ok(Bytes::from(out))
}

fn table() -> Result<Arc<TableSchema>, Box<dyn Error>> {
    let column = |name: &str, ty, kind| (name.to_owned(), ty, kind);
    let columns = vec![
        column("sensor", CqlType::Int, ColumnKind::PartitionKey),
        column("ts", CqlType::Timestamp, ColumnKind::Clustering(Order::Desc)),
        column("a", CqlType::Double, ColumnKind::Regular),
        column("b", CqlType::Double, ColumnKind::Regular),
        column("c", CqlType::Double, ColumnKind::Regular),
        column("s", CqlType::Int, ColumnKind::Regular),
    ];
    Ok(Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default())?))
}

fn keys() -> Vec<DecoratedKey> {
    let mut keys: Vec<_> = (0..SENSORS).map(|n| DecoratedKey::new(&n.to_be_bytes())).collect();
    keys.sort();
    keys
}

fn row(n: i64) -> Result<Row, Box<dyn Error>> {
    let millis = FIRST_MILLIS + 1000 * n;
    let life = Liveness::new(millis * 1000 + 250);
    let mut row = Row::new(Clustering::new(order(millis)?));
    row.liveness = Some(life);
    let double = |value: f64| Cell::live(life, Bytes::new(&value.to_be_bytes()));
    let walk = |k: i64| (2000 + (n * k) % 977) as f64 / 100.0;
    row.cells = vec![
        (ColumnId(2), double(walk(3))),
        (ColumnId(3), double(walk(5))),
        (ColumnId(4), double(walk(7))),
        (ColumnId(5), Cell::live(life, Bytes::new(&0i32.to_be_bytes()))),
    ];
    Ok(row)
}

fn snapshot() -> Result<Snapshot, Box<dyn Error>> {
    let schema = table()?;
    let env: Arc<dyn Env> = Arc::new(OsEnv::new());
    let path = std::env::temp_dir().join("skep-read-speed.sst");
    let mut writer =
        SsTableWriter::create(env.clone(), &path, &schema, WriterOptions::of(&schema, FileId(1), 0))?;
    for key in keys() {
        writer.push_partition(&key, None)?;
        for n in (0..ROWS).rev() {
            writer.push_row(&row(n)?)?;
        }
    }
    let meta = writer.finish()?.ok_or("nothing was written")?;
    let pins = Arc::new(Pins::new(Arc::new(AtomicU64::new(0))));
    let active = Arc::new(Memtable::new(pins.clone(), 0));
    let file = SsTable::open(env, &path, Arc::new(meta), Arc::new(BlockCache::new(512 << 20)));
    file.mark_obsolete();
    let view = Arc::new(TableView { schema, active, sealed: Vec::new(), files: vec![file], flushed_seq: 0 });
    Ok(Snapshot::take(&pins, || view.clone()))
}

/// Runs `work`, which returns how many things it did, for half a second; prints nanoseconds for each. With an argument only what
/// contains it.
fn time(what: &str, mut work: impl FnMut() -> Result<u64, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some_and(|part| !what.contains(&part)) {
        return Ok(());
    }
    work()?;
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_millis(500) {
        count += work()?;
    }
    let nanos = start.elapsed().as_nanos() as f64 / count as f64;
    println!("{what:40} {nanos:10.1} ns   {:8.2} M/s", 1000.0 / nanos);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let snapshot = snapshot()?;
    let schema = snapshot.view().schema.clone();
    let (all, keys) = (Projection::all(&schema), keys());
    let mut turn = 0usize;
    let mut next = || {
        turn += 1;
        keys[turn % keys.len()].clone()
    };
    time("rows of a partition, as columns", || {
        let mut reader = read_partition(snapshot.clone(), next(), Query::new(all.clone()), 0)?;
        let mut rows = 0;
        while let Some(batch) = reader.next_batch()? {
            let sum: f64 =
                batch.column(2).and_then(|c| c.doubles(batch.len())).map_or(0.0, |(v, _)| v.iter().sum());
            black_box(sum);
            rows += batch.len() as u64;
        }
        Ok(rows)
    })?;
    time("rows of a partition, as rows, 4 values", || {
        let mut rows = 0;
        for row in read_partition(snapshot.clone(), next(), Query::new(all.clone()), 0)?.rows() {
            let row = row?;
            black_box((row.get::<f64>(2)?, row.get::<f64>(3)?, row.get::<f64>(4)?, row.get::<i32>(5)?));
            rows += 1;
        }
        Ok(rows)
    })?;
    time("latest 100 rows, a read", || {
        let mut query = Query::new(all.clone());
        query.limit = Some(100);
        for row in read_partition(snapshot.clone(), next(), query, 0)?.rows() {
            black_box(row?.get::<f64>(2)?);
        }
        Ok(1)
    })?;
    let mut place = 0;
    time("one row by its key, a read", || {
        place = (place + 7919) % ROWS;
        let order = order(FIRST_MILLIS + 1000 * place)?;
        black_box(read_row(&snapshot, &next(), &order, &all, 0)?.ok_or("not found")?.get::<f64>(2)?);
        Ok(1)
    })?;
    let one = Projection::of(&schema, &["a"])?;
    time("sum of a column over all rows, a row", || {
        let totals = totals(read_tokens(snapshot.clone(), TokenRange::ALL, Query::new(one.clone()), 0)?)?;
        Ok(black_box(totals).rows)
    })?;
    time("all rows scanned as columns, a row", || {
        let mut reader = read_tokens(snapshot.clone(), TokenRange::ALL, Query::new(one.clone()), 0)?;
        let mut rows = 0;
        while let Some(batch) = reader.next_batch()? {
            rows += black_box(batch).len() as u64;
        }
        Ok(rows)
    })
}

//! Measures one SSTable of a time series: writing, size, warm lookups, scans. For orientation; the figures that count come
//! from the benchmark against other engines.
//!
//! ```text
//! cargo run --release -p skep-engine --example sstable_speed
//! ```

use skep_engine::encoding::order::encode_component;
use skep_engine::env::{Env, OsEnv};
use skep_engine::error::Result;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::Cell;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::key::{DecoratedKey, TokenRange};
use skep_engine::model::life::Liveness;
use skep_engine::model::row::Row;
use skep_engine::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use skep_engine::model::types::CqlType;
use skep_engine::sstable::cache::BlockCache;
use skep_engine::sstable::meta::FileId;
use skep_engine::sstable::reader::SsTable;
use skep_engine::sstable::writer::{SsTableWriter, WriterOptions};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const SENSORS: u64 = 200;
const ROWS: u64 = 5_000;

fn clustering(at: i64) -> Result<Clustering> {
    let mut order = Vec::new();
    encode_component(&at.to_be_bytes(), &CqlType::Timestamp, false, &mut order)?;
    Ok(Clustering::new(Bytes::new(&order)))
}

fn at(i: u64) -> i64 {
    1_700_000_000_000 + i as i64 * 1000 + (i * 7919 % 16) as i64
}

fn key(sensor: u64) -> DecoratedKey {
    DecoratedKey::new(format!("sensor-{sensor:05}").as_bytes())
}

/// Processor time of this thread in nanoseconds, where the system tells it; else time passed. A busy machine disturbs the first less.
fn cpu_nanos(start: Instant) -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a file of the system, not of a store")]
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    on_cpu.unwrap_or(start.elapsed().as_nanos() as f64)
}

/// Nanoseconds per call, best of five rounds.
fn measure(what: &str, per_call: f64, calls: u64, mut call: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let (start, mut best) = (Instant::now(), f64::MAX);
    for round in 0..5 {
        let started = cpu_nanos(start);
        (0..calls).try_for_each(|i| call(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 ^ round))?;
        best = best.min((cpu_nanos(start) - started) / calls as f64);
    }
    println!("{what:<40} {best:>12.1} ns, {:>9.2} ns a row", best / per_call);
    Ok(())
}

fn main() -> Result<()> {
    let mut columns = vec![
        ("sensor".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
        ("at".to_owned(), CqlType::Timestamp, ColumnKind::Clustering(Order::Asc)),
    ];
    columns.extend(["a", "b", "c", "d"].map(|name| (name.to_owned(), CqlType::Double, ColumnKind::Regular)));
    let table = TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default())?;
    let mut keys: Vec<_> = (0..SENSORS).map(key).collect();
    keys.sort();
    let mut fragments = Vec::new();
    let mut noise = 1u64;
    for key in &keys {
        fragments.push(Fragment::Partition { key: key.clone(), deletion: None });
        let mut walk = [2000i64; 4];
        for i in 0..ROWS {
            let mut row = Row::new(clustering(at(i))?);
            let life = Liveness::new(at(i) * 1000 + 300 + (noise >> 54) as i64);
            row.liveness = Some(life);
            for (c, column) in table.regulars().iter().enumerate() {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                walk[c] += (noise >> 60) as i64 - 8;
                let value = (walk[c] as f64 / 100.0).to_be_bytes();
                row.cells.push((column.id, Cell::live(life, Bytes::new(&value))));
            }
            fragments.push(Fragment::Row(row));
        }
    }
    let env: Arc<dyn Env> = Arc::new(OsEnv::new());
    let dir = std::env::temp_dir().join(format!("skep-sstable-speed-{}", std::process::id()));
    env.create_dir_all(&dir)?;
    let path = dir.join("1.sst");
    let start = Instant::now();
    let started = cpu_nanos(start);
    let options = WriterOptions::of(&table, FileId(1), 0);
    let mut writer = SsTableWriter::create(Arc::clone(&env), &path, &table, options)?;
    fragments.iter().try_for_each(|fragment| writer.push(fragment))?;
    let Some(meta) = writer.finish()? else { return Ok(()) };
    let rows = (SENSORS * ROWS) as f64;
    println!("write, sync and rename {:>28.1} ns a row", (cpu_nanos(start) - started) / rows);
    println!("size {:>46.2} bytes a row", meta.size_bytes as f64 / rows);
    drop(fragments);
    let cache = Arc::new(BlockCache::new(512 << 20));
    let file = SsTable::open(env.clone(), &path, Arc::new(meta), Arc::clone(&cache));
    let data: u64 = file.blocks()?.map(|block| block.map_or(0, |block| u64::from(block.length))).sum();
    println!("beside the blocks {:>33.3} bytes a row", (file.meta().size_bytes - data) as f64 / rows);

    let point = |n: u64| -> Result<()> {
        let row = clustering(at(n % ROWS))?;
        let range = ClusteringRange::prefix(row.order());
        let key = &keys[(n / ROWS % SENSORS) as usize];
        if file.may_contain(key)?
            && let Some(partition) = file.partition(key)?
        {
            black_box(partition.cursor(&range, false)?.next()?);
        }
        Ok(())
    };
    measure("point lookup, warm", 1.0, 300_000, point)?;
    let absent: Vec<_> = (0..4096).map(|n| key(n + 10_000)).collect();
    measure("absent partition", 1.0, 1_000_000, |n| {
        let key = DecoratedKey::new(&absent[n as usize % 4096].key);
        black_box(file.may_contain(&key)?);
        Ok(())
    })?;
    measure("latest 100 rows, warm", 100.0, 20_000, |n| {
        let key = &keys[n as usize % keys.len()];
        if let Some(partition) = file.partition(key)? {
            let mut cursor = partition.cursor(&ClusteringRange::all(), true)?;
            for _ in 0..100 {
                black_box(cursor.next()?);
            }
        }
        Ok(())
    })?;
    measure("first use of the file, mapped anew", 1.0, 200, |_| {
        let fresh = SsTable::open(env.clone(), &path, Arc::clone(file.meta()), Arc::clone(&cache));
        black_box(fresh.layout()?);
        Ok(())
    })?;
    measure("latest 100 rows, cold cache", 100.0, 300, |n| {
        cache.clear();
        if let Some(partition) = file.partition(&keys[n as usize % keys.len()])? {
            let mut cursor = partition.cursor(&ClusteringRange::all(), true)?;
            for _ in 0..100 {
                black_box(cursor.next()?);
            }
        }
        Ok(())
    })?;
    measure("scan of all rows as fragments", rows, 1, |_| {
        file.scan(TokenRange::ALL)?
            .try_for_each(|fragment| fragment.map(|fragment| drop(black_box(fragment))))
    })?;
    measure("sum of one column by runs, cold", rows, 1, |_| {
        let mut sum = 0.0;
        for block in file.blocks()? {
            let entry = block?;
            let block = file.read_block(&entry)?;
            sum += block.double_column(0)?.map_or(0.0, |values| values.iter().sum::<f64>());
        }
        black_box(sum);
        Ok(())
    })?;
    measure("copy of all blocks, synced", rows, 1, |_| {
        let copy = dir.join("2.sst");
        let mut writer =
            SsTableWriter::create(env.clone(), &copy, &table, WriterOptions::of(&table, FileId(2), 0))?;
        for block in file.blocks()? {
            let entry = block?;
            writer.copy_block(&file, &entry)?;
        }
        writer.finish()?;
        Ok(())
    })?;
    measure("verify", rows, 1, |_| {
        file.verify().map(|verified| {
            black_box(verified);
        })
    })?;
    env.remove_dir_all(&dir)
}

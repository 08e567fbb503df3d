//! Times the data block on the time series that it is made for: one row a second with jitter, three decimal readings
//! and a status. Prints ns per row, best of several measurements; run with `cargo run --release --example block_speed -p skep-engine`.
#![allow(clippy::disallowed_methods, reason = "an example that measures time asks the clock")]

use std::hint::black_box;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use skep_engine::encoding::compress::Codec;
use skep_engine::encoding::order::encode_component;
use skep_engine::error::Result;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::{Bound, Clustering};
use skep_engine::model::life::Liveness;
use skep_engine::model::row::Row;
use skep_engine::model::types::CqlType;
use skep_engine::sstable::block::builder::BlockBuilder;
use skep_engine::sstable::block::decoded::DecodedBlock;
use skep_engine::sstable::block::rows::Projection;
use skep_engine::sstable::block::seek::SeekBound;
use skep_engine::sstable::layout::{BlockSchema, ClusteringColumn, DataColumn};

const ROWS: usize = 1024 * 50;
const MEASUREMENTS: usize = 4;

fn main() -> Result<()> {
    let column = |id, ty| DataColumn { id: ColumnId(id), ty };
    let doubles = (2..5).map(|id| column(id, CqlType::Double));
    let regulars = doubles.chain([column(5, CqlType::Int)]).collect();
    let time = ClusteringColumn { ty: CqlType::Timestamp, desc: false };
    let schema = Arc::new(BlockSchema::new(vec![time], vec![], regulars));
    let rows = sensor_rows()?;

    let mut blocks = Vec::new();
    let push = best(|| {
        let mut builder = BlockBuilder::new(schema.clone(), Codec::Lz4);
        for run in rows.chunks(1024) {
            builder.begin_partition(b"sensor-7", None)?;
            run.iter().try_for_each(|row| builder.push_row(row))?;
            builder.clear();
        }
        Ok(())
    })?;
    let encode = best(|| {
        blocks.clear();
        let mut builder = BlockBuilder::new(schema.clone(), Codec::Lz4);
        for run in rows.chunks(1024) {
            builder.begin_partition(b"sensor-7", None)?;
            run.iter().try_for_each(|row| builder.push_row(row))?;
            let mut block = Vec::new();
            builder.finish(&mut block, false, None)?;
            blocks.push(block);
        }
        Ok(())
    })?;
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    println!("size                {:7.2} B/row", bytes as f64 / ROWS as f64);
    per_row("encode", encode);
    per_row("  of it push_row", push);

    let projection = Projection::all(&schema);
    let open = |block: &Vec<u8>| DecodedBlock::open(Box::new(block.clone()), schema.clone());
    per_row("decode all lanes", best(|| blocks.iter().try_for_each(|block| decode_all(&open(block)?)))?);
    let one = best(|| {
        blocks.iter().try_for_each(|block| {
            black_box(open(block)?.double_column(0)?);
            Ok(())
        })
    })?;
    per_row("decode one column", one);
    let decoded = blocks.iter().map(open).collect::<Result<Vec<_>>>()?;
    decoded.iter().try_for_each(decode_all)?;
    let read = best(|| {
        let mut row = Row::default();
        for block in &decoded {
            for i in 0..block.items() {
                block.read_row(i, &projection, &mut row)?;
                black_box(&row);
            }
        }
        Ok(())
    })?;
    per_row("rows of warm blocks", read);
    let copy = best(|| {
        let mut builder = BlockBuilder::new(schema.clone(), Codec::Lz4);
        for block in &decoded {
            builder.begin_partition(b"sensor-7", None)?;
            builder.push_rows_from(block, 0..block.items())?;
            builder.finish(&mut Vec::new(), false, None)?;
        }
        Ok(())
    })?;
    per_row("copy runs, encode", copy);

    let bounds = rows.iter().step_by(97).map(|row| Bound::before(row.clustering.order())).collect::<Vec<_>>();
    let cold = best(|| {
        for (i, bound) in bounds.iter().enumerate() {
            let block = open(&blocks[i * 97 / 1024])?;
            let found = block.seek(block.partition(0).items, &SeekBound::new(&schema, bound)?)?;
            black_box(block.to_row(found, &projection)?);
        }
        Ok(())
    })?;
    println!("point, cold block   {:7.0} ns", 1e9 * cold / bounds.len() as f64);
    let warm = best(|| {
        for (i, bound) in bounds.iter().enumerate() {
            let block = &decoded[i * 97 / 1024];
            black_box(block.seek(block.partition(0).items, &SeekBound::new(&schema, bound)?)?);
        }
        Ok(())
    })?;
    println!("seek, warm block    {:7.0} ns", 1e9 * warm / bounds.len() as f64);
    Ok(())
}

fn decode_all(block: &DecodedBlock) -> Result<()> {
    black_box(block.lives()?);
    black_box(block.place(0)?);
    (0..block.schema().columns().len()).try_for_each(|slot| {
        black_box(block.column(slot)?);
        Ok(())
    })
}

/// A random walk of a sensor: deterministic, so that sizes can be compared.
fn sensor_rows() -> Result<Vec<Row>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Eight uniform numbers added: near enough to a normal distribution.
    let mut normal = move |sigma: f64| {
        let sum: f64 = (0..8).map(|_| (random() >> 11) as f64 / (1u64 << 53) as f64).sum();
        (sum - 4.0) * sigma / 0.816
    };
    let mut walks = [2050.0, 40_000.0, 101_325.0];
    let mut rows = Vec::with_capacity(ROWS);
    for i in 0..ROWS as i64 {
        let at = 1_700_000_000_000 + 1000 * i + normal(8.0) as i64;
        let mut order = Vec::new();
        encode_component(&at.to_be_bytes(), &CqlType::Timestamp, false, &mut order)?;
        let mut row = Row::new(Clustering::new(Bytes::from(order)));
        let life = Liveness::new(1000 * at + 300 + (normal(300.0).abs()) as i64);
        row.liveness = Some(life);
        for (k, walk) in walks.iter_mut().enumerate() {
            *walk += normal([3.0, 12.0, 2.0][k]);
            let reading = walk.round() / 100.0;
            row.cells.push((ColumnId(2 + k as u32), Cell::live(life, Bytes::new(&reading.to_be_bytes()))));
        }
        let status = i32::from(normal(1.0) > 3.0);
        row.cells.push((ColumnId(5), Cell::live(life, Bytes::new(&status.to_be_bytes()))));
        rows.push(row);
    }
    Ok(rows)
}

/// Seconds of one round of the fastest of several measurements, each long enough for a coarse clock.
fn best(mut round: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..MEASUREMENTS {
        let (start, mut rounds) = (seconds(), 0);
        loop {
            round()?;
            rounds += 1;
            let ran = seconds() - start;
            if ran > 0.1 {
                best = best.min(ran / f64::from(rounds));
                break;
            }
        }
    }
    Ok(best)
}

/// Seconds that this thread has run, where the system tells (Linux), so that other programs count less; else of the clock.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match ran.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()) {
        Some(nanos) => nanos / 1e9,
        None => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}

fn per_row(what: &str, seconds: f64) {
    println!("{what:19} {:7.2} ns/row", 1e9 * seconds / ROWS as f64);
}

//! How fast a memtable takes in rows, is read and flushed, and what memory it really takes.
//!
//! `cargo run --release -p skep-engine --example memtable_speed`. The rows are those of a sensor table: 200
//! sensors, batches of 100 rows, four doubles a row, in the orders in which such rows come. The memory counted by the
//! memtable is held against what the allocator was asked for.

#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clocks of the system itself")]

use skep_engine::encoding::mutation::BatchReader;
use skep_engine::encoding::mutation_encoder::BatchEncoder;
use skep_engine::encoding::row::{Place, RowHead, Stamp};
use skep_engine::memtable::Memtable;
use skep_engine::memtable::pins::Pins;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::ColumnId;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::schema::TableId;
use skep_engine::model::token::Token;
use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// The system's allocator, counting bytes in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; only a counter is kept beside.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: as required of our caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as required of our caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: usize = 500_000;
const SENSORS: usize = 200;
const BATCH: usize = 100;
const USER_BYTES: usize = 51;
const TABLE: TableId = TableId(1);

/// Time on the processor, where the system tells it (Linux), so that other programs do not count; else time on the wall.
struct Clock {
    wall: Instant,
    processor: Option<u64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), processor: Self::processor() }
    }

    fn processor() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn elapsed(&self) -> Duration {
        match (self.processor, Self::processor()) {
            (Some(start), Some(end)) => Duration::from_nanos(end - start),
            _ => self.wall.elapsed(),
        }
    }
}

/// Splits an order of arrival into encoded batches; `place` gives the clustering of the n-th row of a partition.
fn batches(partitions: usize, place: impl Fn(u64) -> u64) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let head = RowHead { marker: true, ..RowHead::default() };
    let mut batches = Vec::with_capacity(ROWS / BATCH);
    let mut batch = BatchEncoder::default();
    for i in 0..ROWS {
        let (sensor, n) = (i % partitions, (i / partitions) as u64);
        let key = format!("sensor-{sensor:04}");
        let order = [&[0x40][..], &place(n).to_be_bytes()].concat();
        let clustering = Clustering::new(Bytes::new(&order));
        batch.row_with(TABLE, key.as_bytes(), false, Place::of(&clustering), &head, |row| {
            for (id, base) in [(0u32, 20.0f64), (1, 50.0), (2, 1013.0), (3, 3.0)] {
                let tenths = (base * 10.0).round() + ((n * 7 + u64::from(id)) % 100) as f64;
                row.value(ColumnId(id), &(tenths / 10.0).to_be_bytes());
            }
            Ok(())
        })?;
        if batch.len() == BATCH {
            let timestamp = 1_700_000_000_000_000 + i as i64;
            batch.set_stamp(Stamp { timestamp, now: 1_700_000_000 });
            batches.push(batch.bytes().to_vec());
            batch.clear();
        }
    }
    Ok(batches)
}

fn measure(name: &str, partitions: usize, place: impl Fn(u64) -> u64) -> Result<(), Box<dyn Error>> {
    let batches = batches(partitions, place)?;
    let visible = Arc::new(AtomicU64::new(0));
    let pins = Arc::new(Pins::new(Arc::clone(&visible)));
    let before = IN_USE.load(SeqCst);
    let table = Memtable::new(Arc::clone(&pins), 0);

    let clock = Clock::start();
    let mut parsed = 0;
    for batch in &batches {
        parsed += BatchReader::new(batch)?.filter(Result::is_ok).count();
    }
    let parse = clock.elapsed();

    let clock = Clock::start();
    let mut times = Vec::with_capacity(batches.len());
    for (seq, batch) in (1..).zip(&batches) {
        let begin = Instant::now();
        let reader = BatchReader::new(batch)?;
        let stamp = reader.stamp();
        for op in reader {
            let op = op?;
            table.apply(seq, stamp, &op.key, Token::of(&op.key), &op.body)?;
        }
        visible.store(seq, SeqCst);
        times.push(begin.elapsed());
    }
    let insert = clock.elapsed();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let real = IN_USE.load(SeqCst) - before;

    let clock = Clock::start();
    let mut latest = 0;
    const READS: usize = 20_000;
    let mut out = Vec::new();
    for i in 0..READS {
        let key = format!("sensor-{:04}", i % partitions);
        let pin = pins.pin();
        if let Some(partition) = table.get(Token::of(key.as_bytes()), key.as_bytes()) {
            out.clear();
            partition.read(&ClusteringRange::all(), true, pin.seq(), 100, &mut out)?;
            latest += out.len();
        }
    }
    let read = clock.elapsed();

    let clock = Clock::start();
    let mut flushed = 0;
    for fragment in table.flush_iter() {
        flushed += usize::from(matches!(fragment?, Fragment::Row(_)));
    }
    let flush = clock.elapsed();

    let ns = |time: Duration, count: usize| time.as_nanos() as f64 / count as f64;
    println!(
        "{name:<20} insert {:6.1} ns/row (median batch {:6.1}, both with parse {:4.1})   flush {:6.1} ns/row   latest 100 {:7.2} us   held {:5.1} B/row, allocated {:5.1} (user {USER_BYTES})   rows {}",
        ns(insert, ROWS),
        ns(median, BATCH),
        ns(parse, parsed),
        ns(flush, flushed),
        ns(read, READS) / 1000.0,
        table.memory_bytes() as f64 / table.row_count() as f64,
        real as f64 / table.row_count() as f64,
        table.row_count(),
    );
    assert_eq!(flushed, table.row_count());
    assert!(latest > 0 && table.memory_bytes().abs_diff(real) < real / 10, "memory is counted wrong");
    Ok(())
}

/// Five in a hundred rows come up to 60 places late.
fn late(n: u64) -> u64 {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let back = if mixed % 100 < 5 { 1 + mixed / 100 % 60 } else { 0 };
    n.saturating_sub(back) * 1000 + back
}

fn main() -> Result<(), Box<dyn Error>> {
    let only = std::env::args().nth(1);
    let measure = |name: &str, partitions: usize, place: &dyn Fn(u64) -> u64| match &only {
        Some(only) if only != name => Ok(()),
        _ => measure(name, partitions, place),
    };
    let start = 1_700_000_000_000u64;
    measure("ascending", SENSORS, &|n| start + n * 1000)?;
    measure("descending", SENSORS, &|n| !(start + n * 1000))?;
    measure("ascending, late", SENSORS, &|n| start + late(n))?;
    measure("descending, late", SENSORS, &|n| !(start + late(n)))?;
    measure("random", SENSORS, &|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
    measure("a row a partition", ROWS, &|_| start)?;
    measure("100 rows overwritten", SENSORS, &|n| start + n % 100)?;
    Ok(())
}

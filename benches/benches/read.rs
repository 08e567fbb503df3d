//! Reads through the public API, from files and a warm cache: newest rows, slices, single rows, whole-table answers.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::files::Directory;
use skep_benches::readings::Readings;
use skep_benches::rng::Rng;
use skep_benches::store::Store;
use skep_engine::model::time::Timestamp;
use skep_engine::{Options, row};

const ROWS: usize = 500_000;
const SENSORS: u32 = 100;

fn reads(c: &mut Criterion) {
    let rows: Vec<_> = Readings::new(SENSORS, 5).take(ROWS).collect();
    let directory = Directory::new("read");
    let store = Store::with_rows(&directory, Options::default(), SENSORS, &rows);
    let table = &store.readings;
    let mut rng = Rng(1);
    let mut any = || &rows[rng.below(ROWS as u64) as usize];
    let mut group = c.benchmark_group("read");

    group.throughput(Throughput::Elements(100));
    group.bench_function("latest 100", |b| {
        b.iter(|| {
            let (sensor, day, _) = store.place(any());
            let rows = table.slice(&row![sensor, day], ..).limit(100).rows().expect("the table reads");
            rows.map(|row| row.and_then(|row| row.get::<f64>("temperature")).expect("a double")).sum::<f64>()
        });
    });
    let hour = 3_600_000;
    group.throughput(Throughput::Elements(3600));
    for columns in [false, true] {
        group.bench_function(if columns { "hour as columns" } else { "hour as rows" }, |b| {
            b.iter(|| {
                let (sensor, day, _) = store.place(any());
                let from = rows[0].ts;
                let times = Timestamp::from_millis(from)..Timestamp::from_millis(from + hour);
                let slice = table.slice(&row![sensor, day], times);
                if columns {
                    let mut sum = 0.0;
                    for batch in slice.batches().expect("the table reads") {
                        let batch = batch.expect("the table reads");
                        let (values, _) = batch
                            .column_by_name("temperature")
                            .and_then(|c| c.doubles(batch.len()))
                            .expect("doubles");
                        sum += values.iter().sum::<f64>();
                    }
                    sum
                } else {
                    let rows = slice.rows().expect("the table reads");
                    rows.map(|row| row.and_then(|row| row.get::<f64>("temperature")).expect("a double"))
                        .sum::<f64>()
                }
            });
        });
    }
    group.throughput(Throughput::Elements(1));
    group.bench_function("point, there", |b| {
        b.iter(|| {
            let (sensor, day, ts) = store.place(any());
            table.get(&row![sensor, day, ts]).expect("the table reads").expect("the row is there")
        });
    });
    group.bench_function("point, absent row", |b| {
        b.iter(|| {
            let (sensor, day, ts) = store.place(any());
            let odd = Timestamp::from_millis(ts.as_millis() + 500);
            table.get(&row![sensor, day, odd]).expect("the table reads")
        });
    });
    let absent: Vec<String> = (0..1000).map(|n| format!("nobody-{n}")).collect();
    let mut turn = 0;
    group.bench_function("point, absent partition", |b| {
        b.iter(|| {
            turn = (turn + 1) % absent.len();
            let (_, day, ts) = store.place(&rows[0]);
            table.get(&row![absent[turn].as_str(), day, ts]).expect("the table reads")
        });
    });
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("count", |b| b.iter(|| table.scan().count().expect("the table reads")));
    group.bench_function("sum", |b| b.iter(|| table.scan().sum("temperature").expect("the table reads")));
    group.bench_function("scan as columns", |b| {
        b.iter(|| {
            let batches = table.scan().columns(&["temperature"]).batches().expect("the table reads");
            batches.map(|batch| batch.expect("the table reads").len()).sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, reads);
criterion_main!(benches);

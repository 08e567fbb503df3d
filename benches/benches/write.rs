//! Writes through the public API, log included: single rows, batches, the appender.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::files::Directory;
use skep_benches::fixture::args;
use skep_benches::readings::Readings;
use skep_benches::store::Store;
use skep_engine::Options;

const SENSORS: u32 = 200;

fn writes(c: &mut Criterion) {
    let mut group = c.benchmark_group("write");
    group.sample_size(20);

    let directory = Directory::new("write-single");
    let store = Store::open(directory.path(), Options::default(), SENSORS);
    let mut stream = Readings::new(SENSORS, 5);
    group.throughput(Throughput::Elements(1));
    group.bench_function("single", |b| {
        b.iter(|| {
            let row = stream.next().expect("the stream is endless");
            store.arrive(&row);
            store.readings.insert(&args(&row, store.name(row.sensor))).expect("the store takes writes")
        });
    });
    drop(store);

    let directory = Directory::new("write-batch");
    let mut store = Store::open(directory.path(), Options::default(), SENSORS);
    let mut stream = Readings::new(SENSORS, 5);
    for size in [10, 100, 1000] {
        group.throughput(Throughput::Elements(size));
        group.bench_function(format!("batch of {size}"), |b| {
            b.iter(|| {
                let rows: Vec<_> = stream.by_ref().take(size as usize).collect();
                store.write(&rows);
            });
        });
    }
    drop(store);

    let directory = Directory::new("write-appender");
    let store = Store::open(directory.path(), Options::default(), SENSORS);
    let mut stream = Readings::new(SENSORS, 5);
    let mut appender = store.readings.appender();
    group.throughput(Throughput::Elements(1000));
    group.bench_function("1000 rows through the appender", |b| {
        b.iter(|| {
            for row in stream.by_ref().take(1000) {
                store.arrive(&row);
                appender.append(&args(&row, store.name(row.sensor))).expect("the store takes writes");
            }
        });
    });
    appender.finish().expect("the store takes writes");
    group.finish();
}

criterion_group!(benches, writes);
criterion_main!(benches);

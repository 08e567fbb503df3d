//! Compaction jobs: files whose rows do not overlap (blocks are copied unread), and files whose rows take turns.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::files::Directory;
use skep_benches::readings::{Reading, Readings};
use skep_benches::store::Store;
use skep_engine::Options;

const ROWS: usize = 400_000;
const SENSORS: u32 = 50;

/// A store with one file for each of `parts`.
fn files(directory: &Directory, parts: &[Vec<Reading>]) -> Store {
    let _ = std::fs::remove_dir_all(directory.path());
    let mut store = Store::open(directory.path(), Options::default(), SENSORS);
    for part in parts {
        part.chunks(1000).for_each(|rows| store.write(rows));
        store.db.flush().expect("flushes succeed");
    }
    store
}

fn compactions(c: &mut Criterion) {
    let rows: Vec<_> = Readings::new(SENSORS, 0).take(ROWS).collect();
    let (older, younger) = rows.split_at(ROWS / 2);
    let turns = |rest: usize| -> Vec<Reading> {
        rows.iter()
            .enumerate()
            .filter(|(i, _)| i / SENSORS as usize % 2 == rest)
            .map(|(_, row)| *row)
            .collect()
    };
    let directory = Directory::new("compaction");
    let mut group = c.benchmark_group("compaction");
    group.sample_size(10);
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, parts) in
        [("disjoint", [older.to_vec(), younger.to_vec()]), ("taking turns", [turns(0), turns(1)])]
    {
        group.bench_function(name, |b| {
            b.iter_batched(
                || files(&directory, &parts),
                |store| {
                    store.readings.compact().expect("the compaction succeeds");
                    store
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, compactions);
criterion_main!(benches);

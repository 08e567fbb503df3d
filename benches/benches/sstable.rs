//! SSTable: writing a file, scanning it, and looking up partitions that are and are not there.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::files::{Directory, sstable};
use skep_benches::fixture::{batches, fragments, memtable, model_row, table};
use skep_benches::readings::Readings;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::key::{DecoratedKey, TokenRange};

const ROWS: usize = 200_000;
const SENSORS: u32 = 200;

fn files(c: &mut Criterion) {
    let schema = table();
    let rows: Vec<_> = Readings::new(SENSORS, 5).take(ROWS).collect();
    let fragments = fragments(&memtable(&batches(&schema, &rows)));
    let directory = Directory::new("sstable");
    let mut group = c.benchmark_group("sstable");
    group.sample_size(20);
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("write", |b| b.iter(|| sstable(&directory, 1, &schema, &fragments, 64 << 20)));

    let warm = sstable(&directory, 2, &schema, &fragments, 64 << 20);
    let cold = sstable(&directory, 3, &schema, &fragments, 0);
    println!("sstable: {:.2} bytes a row", warm.meta().size_bytes as f64 / ROWS as f64);
    for (name, file) in [("cached", &warm), ("not cached", &cold)] {
        group.bench_function(format!("scan/{name}"), |b| {
            b.iter(|| file.scan(TokenRange::ALL).expect("the file is sound").filter(Result::is_ok).count());
        });
    }

    let keys: Vec<DecoratedKey> =
        rows[..SENSORS as usize].iter().map(|row| DecoratedKey::new(&model_row(&schema, row).0)).collect();
    let absent: Vec<DecoratedKey> = (0..1000u32).map(|n| DecoratedKey::new(&n.to_be_bytes())).collect();
    let mut turn = 0;
    group.throughput(Throughput::Elements(1));
    group.bench_function("filter/absent", |b| {
        b.iter(|| {
            turn = (turn + 1) % absent.len();
            warm.may_contain(&absent[turn]).expect("the file is sound")
        });
    });
    for (name, file) in [("cached", &warm), ("not cached", &cold)] {
        group.bench_function(format!("newest row/{name}"), |b| {
            b.iter(|| {
                turn = (turn + 1) % keys.len();
                let partition = file.partition(&keys[turn]).expect("the file is sound").expect("it is there");
                let mut cursor = partition.cursor(&ClusteringRange::all(), false).expect("the file is sound");
                cursor.next().expect("the file is sound").expect("it has rows")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, files);
criterion_main!(benches);

//! Lanes: one column of a block of 1024 rows, encoded and decoded. What bounds flushes, compactions and slices.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::readings::Readings;
use skep_engine::encoding::bytes::ByteReader;
use skep_engine::encoding::bytes_lane::{ByteStrings, decode_bytes, encode_bytes};
use skep_engine::encoding::float_lane::{decode_doubles, encode_doubles};
use skep_engine::encoding::int_lane::{decode_ints, encode_ints};
use std::hint::black_box;

const ROWS: usize = 1024;

fn lanes(c: &mut Criterion) {
    let rows: Vec<_> = Readings::new(1, 0).take(ROWS).collect();
    let mut group = c.benchmark_group("encoding");
    group.throughput(Throughput::Elements(ROWS as u64));

    let ints = [
        ("timestamps", rows.iter().map(|r| r.ts).collect::<Vec<i64>>()),
        ("status", rows.iter().map(|r| r.status.into()).collect()),
    ];
    for (name, values) in &ints {
        let mut lane = Vec::new();
        group.bench_function(format!("ints/encode/{name}"), |b| {
            b.iter(|| {
                lane.clear();
                encode_ints(black_box(values), &mut lane);
            });
        });
        group.bench_function(format!("ints/decode/{name}"), |b| {
            b.iter(|| decode_ints(&mut ByteReader::new(black_box(&lane)), ROWS).expect("just encoded"));
        });
    }

    let doubles = [
        ("decimals", rows.iter().map(|r| r.temperature).collect::<Vec<f64>>()),
        ("irrational", (1..=ROWS).map(|n| (n as f64).sqrt()).collect()),
    ];
    for (name, values) in &doubles {
        let mut lane = Vec::new();
        group.bench_function(format!("doubles/encode/{name}"), |b| {
            b.iter(|| {
                lane.clear();
                encode_doubles(black_box(values), &mut lane);
            });
        });
        group.bench_function(format!("doubles/decode/{name}"), |b| {
            b.iter(|| decode_doubles(&mut ByteReader::new(black_box(&lane)), ROWS).expect("just encoded"));
        });
    }

    let mut words = ByteStrings::new();
    let mut unique = ByteStrings::new();
    for row in &rows {
        words.push(
            ["ok", "low battery", "offline", "fault", "unknown"][row.status.unsigned_abs() as usize]
                .as_bytes(),
        );
        unique.push(format!("reading {} at {}", row.temperature, row.ts).as_bytes());
    }
    for (name, values) in [("words", &words), ("unique", &unique)] {
        let mut lane = Vec::new();
        group.bench_function(format!("bytes/encode/{name}"), |b| {
            b.iter(|| {
                lane.clear();
                encode_bytes(black_box(values), &mut lane);
            });
        });
        group.bench_function(format!("bytes/decode/{name}"), |b| {
            b.iter(|| decode_bytes(&mut ByteReader::new(black_box(&lane)), ROWS).expect("just encoded"));
        });
    }
    group.finish();
}

criterion_group!(benches, lanes);
criterion_main!(benches);

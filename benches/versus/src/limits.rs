//! What this machine can do at all: the ceiling for any engine on it.

use crate::args::Args;
use crate::data::{self, Rng, Row};
use crate::work::{Latencies, Metrics};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

const MIB: usize = 1 << 20;

/// Best of three runs of `work`, which handles `bytes`, in MB/s.
fn speed(bytes: usize, mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    bytes as f64 / 1e6 / (0..3).map(run).fold(f64::MAX, f64::min)
}

pub fn run(args: &Args, dir: &Path) -> Metrics {
    let mut metrics = Metrics::new();
    let mut put = |name: &str, value: f64| {
        metrics.insert(name.into(), value);
    };
    let mut rng = Rng(1);

    // Memory: large buffers, so that caches do not hold both.
    let source: Vec<u8> = (0..128 * MIB / 8).flat_map(|_| rng.next().to_le_bytes()).collect();
    let mut target = vec![1u8; source.len()];
    put("memcpy_mb_s", speed(source.len(), || black_box(&mut target).copy_from_slice(black_box(&source))));
    put(
        "crc32_4k_mb_s",
        speed(source.len(), || {
            source.chunks(4096).for_each(|block| {
                black_box(crc32fast::hash(block));
            });
        }),
    );

    // Files: sequential writes of 1 MiB, then random reads of what is cached.
    let path = dir.join("limits");
    let data = &source[..MIB];
    let write = |sync: bool| {
        let mut file = File::create(&path).unwrap();
        (0..256).for_each(|_| file.write_all(data).unwrap());
        if sync {
            file.sync_data().unwrap();
        }
    };
    put("write_mb_s", speed(256 * MIB, || write(false)));
    put("write_fsync_mb_s", speed(256 * MIB, || write(true)));
    let file = File::open(&path).unwrap();
    let mut page = [0u8; 4096];
    let start = Instant::now();
    for _ in 0..200_000 {
        file.read_exact_at(&mut page, rng.below(65_536) * 4096).unwrap();
    }
    put("pread_4k_ops_s", 200_000.0 / start.elapsed().as_secs_f64());

    // The floor of a durable log append: grow the file, or overwrite in place.
    for (grow, p50, p99) in [
        (true, "fsync_append_p50_us", "fsync_append_p99_us"),
        (false, "fsync_overwrite_p50_us", "fsync_overwrite_p99_us"),
    ] {
        if grow {
            File::create(&path).unwrap();
        }
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut latencies = Latencies::default();
        for i in 0..300 {
            file.write_all_at(&page, i * 4096).unwrap();
            latencies.time(|| file.sync_data().unwrap());
        }
        put(p50, latencies.micros(0.5));
        put(p99, latencies.micros(0.99));
    }
    fs::remove_file(&path).unwrap();

    // Codecs, on the entries that a key-value peer stores, in key order.
    let mut rows = data::generate(args.rows.min(1_000_000), args.sensors, args.rows);
    rows.sort_unstable_by_key(|r| (r.sensor, r.day(), -r.ts));
    let entries: Vec<u8> = rows
        .iter()
        .flat_map(|r| {
            let mut entry = [0; data::KEY_LEN + data::VALUE_LEN];
            entry[..data::KEY_LEN].copy_from_slice(&data::key(r.sensor, r.day(), r.ts));
            entry[data::KEY_LEN..].copy_from_slice(&data::value(r));
            entry
        })
        .collect();
    let blocks: Vec<&[u8]> = entries.chunks(16 * 1024).collect();
    type Codec<'a> = (&'a str, &'a dyn Fn(&[u8]) -> Vec<u8>, &'a dyn Fn(&[u8], usize) -> Vec<u8>);
    let unzstd = |b: &[u8], size| zstd::bulk::decompress(b, size).unwrap();
    let codecs: [Codec; 3] = [
        ("lz4", &|b| lz4_flex::compress(b), &|b, size| lz4_flex::decompress(b, size).unwrap()),
        ("zstd1", &|b| zstd::bulk::compress(b, 1).unwrap(), &unzstd),
        ("zstd3", &|b| zstd::bulk::compress(b, 3).unwrap(), &unzstd),
    ];
    for (name, pack, unpack) in codecs {
        let packed: Vec<Vec<u8>> = blocks.iter().map(|b| pack(b)).collect();
        let size: usize = packed.iter().map(Vec::len).sum();
        put(&format!("{name}_bytes_row"), size as f64 / rows.len() as f64);
        put(
            &format!("{name}_pack_mb_s"),
            speed(entries.len(), || {
                blocks.iter().for_each(|b| drop(black_box(pack(b))));
            }),
        );
        put(
            &format!("{name}_unpack_mb_s"),
            speed(entries.len(), || {
                packed.iter().for_each(|b| drop(black_box(unpack(b, 16 * 1024))));
            }),
        );
    }
    columnar(&rows, &mut put);
    metrics
}

/// How small the same rows get when stored by column: per run of 1000 rows of a
/// partition, differences of decimals as variable-length integers.
fn columnar(rows: &[Row], put: &mut impl FnMut(&str, f64)) {
    fn varint(out: &mut Vec<u8>, value: i64) {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    let cents = |v: f64| (v * 100.0).round() as i64;
    let columns: [&dyn Fn(&Row) -> i64; 5] =
        [&|r| r.ts, &|r| cents(r.temperature), &|r| cents(r.humidity), &|r| cents(r.pressure), &|r| {
            r.status.into()
        }];
    let encode = |packed: &mut Vec<Vec<u8>>| {
        packed.clear();
        for run in rows.chunk_by(|a, b| a.sensor == b.sensor && a.day() == b.day()) {
            for chunk in run.chunks(1000) {
                let mut out = Vec::with_capacity(8 * chunk.len());
                for column in columns {
                    let mut last = 0;
                    for row in chunk {
                        let value = column(row);
                        varint(&mut out, value - last);
                        last = value;
                    }
                }
                packed.push(out);
            }
        }
    };
    let mut packed = Vec::new();
    put("columnar_rows_s", speed(rows.len(), || encode(&mut packed)) * 1e6);
    let count = rows.len() as f64;
    let size = |chunks: &[Vec<u8>]| chunks.iter().map(Vec::len).sum::<usize>() as f64;
    put("columnar_bytes_row", size(&packed) / count);
    let zipped: Vec<_> = packed.iter().map(|c| zstd::bulk::compress(c, 1).unwrap()).collect();
    put("columnar_zstd1_bytes_row", size(&zipped) / count);
}

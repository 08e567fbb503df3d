//! fjall, with the block size, filters and compression given to RocksDB.
//! Expiry is a range scan that removes key by key (there is no range delete),
//! reclaimed by a major compaction.

use crate::data::{self, Row};
use crate::engine::{Config, Durability, Engine};
use fjall::config::*;
use fjall::*;
use std::path::Path;
use std::time::Duration;

struct Fjall {
    db: Database,
    rows: Keyspace,
    persist: PersistMode,
}

pub fn open(dir: &Path, config: Config) -> Box<dyn Engine> {
    let db = Database::builder(dir).cache_size(config.cache_bytes as u64).open().unwrap();
    let options = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(config.write_buffer_bytes as u64)
            .data_block_size_policy(BlockSizePolicy::all(16 * 1024))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
            .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(
                10.0,
            ))))
    };
    let rows = db.keyspace("readings", options).unwrap();
    let persist = match config.durability {
        Durability::Os => PersistMode::Buffer,
        Durability::Fsync => PersistMode::SyncData,
    };
    Box::new(Fjall { db, rows, persist })
}

impl Fjall {
    fn wait_idle(&self) {
        let mut calm = 0;
        while calm < 5 {
            let busy = self.db.outstanding_flushes() + self.db.active_compactions();
            calm = if busy == 0 && self.rows.sealed_memtable_count() == 0 { calm + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Engine for Fjall {
    fn write(&self, rows: &[Row]) {
        let mut batch = self.db.batch().durability(Some(self.persist));
        for row in rows {
            batch.insert(&self.rows, data::key(row.sensor, row.day(), row.ts), data::value(row));
        }
        batch.commit().unwrap();
    }

    fn settle(&mut self) {
        self.rows.rotate_memtable_and_wait().unwrap();
        self.wait_idle();
    }

    fn latest(&self, sensor: u32, day: u32, limit: usize, out: &mut Vec<Row>) {
        let (lo, hi) = data::partition_bounds(sensor, day);
        for entry in self.rows.range(lo..hi).take(limit) {
            let (key, value) = entry.into_inner().unwrap();
            out.push(data::decode(&key, &value));
        }
    }

    fn range(&self, sensor: u32, from: i64, to: i64, visit: &mut dyn FnMut(&Row)) {
        let (lo, hi) = data::range_bounds(sensor, from, to);
        for entry in self.rows.range(lo..hi) {
            let (key, value) = entry.into_inner().unwrap();
            visit(&data::decode(&key, &value));
        }
    }

    fn get(&self, sensor: u32, ts: i64) -> Option<Row> {
        let key = data::key(sensor, data::day_of(ts), ts);
        self.rows.get(key).unwrap().map(|value| data::decode(&key, &value))
    }

    fn sum(&self) -> (u64, f64) {
        self.rows
            .iter()
            .fold((0, 0.0), |(rows, sum), entry| (rows + 1, sum + data::temperature(&entry.value().unwrap())))
    }

    fn expire(&mut self, sensors: &[u32], cutoff: i64) {
        for &sensor in sensors {
            let (lo, hi) = data::expired_bounds(sensor, cutoff);
            let mut batch = self.db.batch().durability(Some(self.persist));
            for entry in self.rows.range(lo..hi) {
                // A weak tombstone vanishes with the one insert it meets.
                batch.remove_weak(&self.rows, entry.key().unwrap());
            }
            batch.commit().unwrap();
        }
    }

    fn reclaim(&mut self) {
        self.settle();
        self.rows.major_compact().unwrap();
        self.wait_idle();
    }

    fn close(self: Box<Self>) {}
}

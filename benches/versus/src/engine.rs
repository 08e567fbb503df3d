//! The one trait behind which every engine sits, and the list of engines.
//!
//! `work.rs` drives the trait, `engines/` implements it. To add an engine: implement [`Engine`] in
//! `engines/NAME.rs` and add one line to [`PEERS`]. Errors panic: a failed operation voids the whole run.

use crate::data::Row;
use crate::engines;
use std::path::Path;

/// When a write call may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After the log record was handed to the operating system: survives a
    /// killed process, not a power cut. (redb has no such level; see there.)
    Os,
    /// After the log record was fsynced.
    Fsync,
}

#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub durability: Durability,
    /// Block or page cache.
    pub cache_bytes: usize,
    /// Memtable size of the log-structured peers.
    pub write_buffer_bytes: usize,
}

pub trait Engine: Send + Sync {
    /// Writes `rows` as one atomic batch.
    fn write(&self, rows: &[Row]);
    /// Flushes what is in memory and returns once no background work is left.
    fn settle(&mut self);
    /// The newest `limit` rows of a partition, newest first, appended to `out`.
    fn latest(&self, sensor: u32, day: u32, limit: usize, out: &mut Vec<Row>);
    /// Every row of one partition with `from <= ts < to`, all columns decoded.
    fn range(&self, sensor: u32, from: i64, to: i64, visit: &mut dyn FnMut(&Row));
    /// One row by its whole key.
    fn get(&self, sensor: u32, ts: i64) -> Option<Row>;
    /// The same as [`Engine::range`] in the engine's own columnar form, without making rows: row count and sum of
    /// `temperature`. `None` where the engine has no such form.
    fn range_columns(&self, _sensor: u32, _from: i64, _to: i64) -> Option<(u64, f64)> {
        None
    }
    /// Row count and sum of `temperature` over the whole table.
    fn sum(&self) -> (u64, f64);
    /// The same with every value read, where [`Engine::sum`] answers from stored sums instead. `None` where it
    /// never does that.
    fn sum_decoded(&self) -> Option<(u64, f64)> {
        None
    }
    /// Makes every row older than `cutoff` (a midnight) invisible.
    fn expire(&mut self, sensors: &[u32], cutoff: i64);
    /// Gives the space of expired rows back to the file system.
    fn reclaim(&mut self);
    /// Clean shutdown.
    fn close(self: Box<Self>);
}

type Open = fn(&Path, Config) -> Box<dyn Engine>;

pub struct Peer {
    pub name: &'static str,
    /// Ours, so that it is judged and does not count as the best peer.
    pub own: bool,
    /// Its writes return before they are committed: only ingest as a whole can be compared.
    pub ingest_only: bool,
    /// Crate whose version `Cargo.lock` gives for this peer.
    pub package: &'static str,
    pub open: Open,
}

pub const PEERS: &[Peer] = &[
    Peer { name: "skep", own: true, ingest_only: false, package: "skep", open: engines::skep::open_batches },
    Peer {
        name: "skep-appender",
        own: true,
        ingest_only: true,
        package: "skep",
        open: engines::skep::open_appender,
    },
    #[cfg(feature = "rocksdb")]
    Peer {
        name: "rocksdb",
        own: false,
        ingest_only: false,
        package: "librocksdb-sys",
        open: engines::rocks::open_lz4,
    },
    #[cfg(feature = "rocksdb")]
    Peer {
        name: "rocksdb-zstd",
        own: false,
        ingest_only: false,
        package: "librocksdb-sys",
        open: engines::rocks::open_zstd,
    },
    Peer { name: "fjall", own: false, ingest_only: false, package: "fjall", open: engines::fjall::open },
    Peer { name: "redb", own: false, ingest_only: false, package: "redb", open: engines::redb::open },
    Peer {
        name: "sqlite",
        own: false,
        ingest_only: false,
        package: "libsqlite3-sys",
        open: engines::sqlite::open,
    },
];

pub fn peer(name: &str) -> &'static Peer {
    PEERS.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no peer named {name}"))
}

/// Versions from the lock file this binary was built with; SQLite's own from SQLite.
pub fn versions() -> Vec<(&'static str, &'static str)> {
    let lock = include_str!("../Cargo.lock");
    let locked = |package: &str| {
        let entry = format!("name = \"{package}\"\nversion = \"");
        lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("?")
    };
    let version = |peer: &Peer| match peer.name {
        "sqlite" => rusqlite::version(),
        _ => locked(peer.package),
    };
    PEERS.iter().map(|peer| (peer.name, version(peer))).collect()
}

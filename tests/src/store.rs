//! A store on a simulated disk, with the steps that the tests are told in: write, flush, kill, reopen, clock moves.

use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::{CqlType, Db, Options, Schema, Select, SyncMode, Table, TableSchema, With, WriteBatch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A store without threads of its own; time stands still until [`Store::pass`].
#[derive(Debug)]
pub struct Store {
    /// The disk.
    pub disk: SimDisk,
    /// The store.
    pub db: Db,
    /// What it is opened with.
    pub options: Options,
    /// Whether it has threads.
    pub background: bool,
}

/// Every file of a disk, by its whole path, with its content.
pub fn contents(disk: &SimDisk) -> BTreeMap<PathBuf, Vec<u8>> {
    disk.dump().into_iter().map(|(path, bytes)| (Path::new("/").join(path), bytes)).collect()
}

/// Settings under which every write is durable at once.
pub fn durable() -> Options {
    Options { sync: SyncMode::Batch, ..Options::default() }
}

/// Opens the store on `disk`.
///
/// # Errors
/// Those of opening.
pub fn open(disk: &SimDisk, options: &Options, background: bool) -> skep_engine::Result<Db> {
    let builder = Db::builder("/db").options(options.clone()).env(disk.env());
    builder.clock(Arc::new(disk.clock())).background(background).open()
}

impl Default for Store {
    fn default() -> Self {
        Self::new(durable(), false)
    }
}

impl Store {
    /// A new store.
    pub fn new(options: Options, background: bool) -> Self {
        let disk = SimDisk::new(7);
        let db = open(&disk, &options, background).expect("a new store opens");
        Self { disk, db, options, background }
    }

    /// Creates a table.
    pub fn create(&self, schema: Schema) -> Table {
        self.db.create_table(schema).expect("a new table")
    }

    /// A table by name, after the store was opened again.
    pub fn table(&self, name: &str) -> Table {
        self.db.table(name).expect("the table is there")
    }

    /// Closes and opens.
    pub fn reopen(&mut self) {
        self.db.close().expect("a store in order closes");
        self.db = open(&self.disk, &self.options, self.background).expect("it opens again");
    }

    /// The process is killed, the machine stays; then the store is opened again.
    pub fn kill(&mut self) {
        self.disk.restart(CrashMode::KeepAll);
        self.db = open(&self.disk, &self.options, self.background).expect("it opens after a kill");
    }

    /// Moves the clock by seconds.
    pub fn pass(&self, seconds: u64) {
        self.disk.clock().advance(Duration::from_secs(seconds));
    }

    /// The clock, micros.
    pub fn now(&self) -> i64 {
        self.db.now_micros()
    }

    /// Commits one statement of a batch.
    pub fn batch(
        &self,
        table: &Table,
        fill: impl FnOnce(&mut WriteBatch, &TableSchema) -> skep_engine::Result<()>,
    ) {
        let mut batch = self.db.batch();
        fill(&mut batch, &table.schema()).expect("a good statement");
        self.db.write(&mut batch).expect("a write");
    }

    /// The table's files.
    pub fn files(&self, table: &str) -> Vec<PathBuf> {
        self.db.files(table).expect("the table is there")
    }

    /// Fails unless everything stored is in order.
    pub fn verify(&self) {
        let report = self.db.verify().expect("verify runs");
        assert!(report.is_ok(), "{:?}", report.problems);
    }
}

/// `t (pk int, ck int, v int, PRIMARY KEY (pk, ck))`.
pub fn t() -> Schema {
    Schema::table("t")
        .partition_key("pk", CqlType::Int)
        .clustering("ck", CqlType::Int)
        .column("v", CqlType::Int)
}

/// `s (pk int, ck int, st int static, v text, PRIMARY KEY (pk, ck))`.
pub fn s() -> Schema {
    Schema::table("s")
        .partition_key("pk", CqlType::Int)
        .clustering("ck", CqlType::Int)
        .static_column("st", CqlType::Int)
        .column("v", CqlType::Text)
}

/// `r (sensor text, day int, ts timestamp, val double)`, newest first, TTL 60 s, no grace, windows of a minute.
pub fn r() -> Schema {
    Schema::table("r")
        .partition_key("sensor", CqlType::Text)
        .partition_key("day", CqlType::Int)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("val", CqlType::Double)
        .ttl(Duration::from_secs(60))
        .gc_grace(Duration::ZERO)
        .time_windows(Duration::from_secs(60))
}

/// `kv (k text PRIMARY KEY, a int, b int)`.
pub fn kv() -> Schema {
    Schema::table("kv").partition_key("k", CqlType::Text).column("a", CqlType::Int).column("b", CqlType::Int)
}

/// At a timestamp, micros.
pub fn at(micros: i64) -> With {
    With::DEFAULT.timestamp(micros)
}

/// The rows of a read, each as its values joined by `,`.
///
/// # Errors
/// The read's.
pub fn rows(select: Select) -> skep_engine::Result<Vec<String>> {
    let mut rows = Vec::new();
    for row in select.rows()? {
        let row = row?;
        let mut text = Vec::new();
        for column in 0..row.batch().columns().len() {
            text.push(
                row.value(column)?.map_or_else(|| "null".to_owned(), |value| value.literal().to_string()),
            );
        }
        rows.push(text.join(","));
    }
    Ok(rows)
}

/// One column of ints of a read; null is `i32::MIN`.
///
/// # Panics
/// If the read fails.
pub fn ints(select: Select, column: &str) -> Vec<i32> {
    let rows = select.rows().expect("rows");
    let int = |row: skep_engine::Row| row.get::<Option<i32>>(column).expect("an int").unwrap_or(i32::MIN);
    rows.map(|row| int(row.expect("a row"))).collect()
}

/// All tables' rows.
///
/// # Errors
/// The first read's that fails.
pub fn everything(db: &Db) -> skep_engine::Result<Vec<String>> {
    let mut all = Vec::new();
    for table in db.tables() {
        let rows = rows(table.scan()).map_err(|error| error.in_table(table.name()))?;
        all.extend(rows.into_iter().map(|row| format!("{}: {row}", table.name())));
    }
    Ok(all)
}

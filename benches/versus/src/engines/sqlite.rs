//! SQLite in WAL mode: a clustered (WITHOUT ROWID) table, cached prepared
//! statements, one connection for the writer and one for the reader, and a log
//! checkpointed at the size at which the other peers flush their memtable.

use crate::data::{self, Row};
use crate::engine::{Config, Durability, Engine};
use rusqlite::{Connection, Statement, params};
use std::path::Path;
use std::sync::Mutex;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS readings(
    sensor_id TEXT NOT NULL, day INTEGER NOT NULL, ts INTEGER NOT NULL,
    temperature REAL, humidity REAL, pressure REAL, status INTEGER,
    PRIMARY KEY(sensor_id, day, ts DESC)) WITHOUT ROWID";
const COLUMNS: &str = "ts, temperature, humidity, pressure, status";

struct Sqlite {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

pub fn open(dir: &Path, config: Config) -> Box<dyn Engine> {
    std::fs::create_dir_all(dir).unwrap();
    let connect = || {
        let db = Connection::open(dir.join("data.sqlite")).unwrap();
        let sync = if config.durability == Durability::Fsync { "FULL" } else { "NORMAL" };
        db.execute_batch(&format!(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous={sync}; PRAGMA wal_autocheckpoint={};
             PRAGMA cache_size=-{}; PRAGMA mmap_size=1073741824; PRAGMA temp_store=MEMORY;",
            config.write_buffer_bytes / 4096,
            config.cache_bytes / 1024
        ))
        .unwrap();
        db
    };
    let writer = connect();
    writer.execute_batch(SCHEMA).unwrap();
    Box::new(Sqlite { writer: Mutex::new(writer), reader: Mutex::new(connect()) })
}

fn text(id: &[u8; 11]) -> &str {
    std::str::from_utf8(id).unwrap()
}

/// Runs `statement` and hands every result row to `visit`.
fn each(statement: &mut Statement, sensor: u32, params: impl rusqlite::Params, visit: &mut dyn FnMut(&Row)) {
    let mut rows = statement.query(params).unwrap();
    while let Some(row) = rows.next().unwrap() {
        visit(&Row {
            sensor,
            ts: row.get_unwrap(0),
            temperature: row.get_unwrap(1),
            humidity: row.get_unwrap(2),
            pressure: row.get_unwrap(3),
            status: row.get_unwrap(4),
        });
    }
}

impl Engine for Sqlite {
    fn write(&self, rows: &[Row]) {
        let mut db = self.writer.lock().unwrap();
        let txn = db.transaction().unwrap();
        {
            let mut insert =
                txn.prepare_cached("INSERT OR REPLACE INTO readings VALUES(?1,?2,?3,?4,?5,?6,?7)").unwrap();
            for row in rows {
                let id = data::sensor_id(row.sensor);
                insert
                    .execute(params![
                        text(&id),
                        row.day(),
                        row.ts,
                        row.temperature,
                        row.humidity,
                        row.pressure,
                        row.status
                    ])
                    .unwrap();
            }
        }
        txn.commit().unwrap();
    }

    fn settle(&mut self) {
        let db = self.writer.lock().unwrap();
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    fn latest(&self, sensor: u32, day: u32, limit: usize, out: &mut Vec<Row>) {
        let db = self.reader.lock().unwrap();
        let mut select = db
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM readings WHERE sensor_id=?1 AND day=?2
                 ORDER BY ts DESC LIMIT ?3"
            ))
            .unwrap();
        let id = data::sensor_id(sensor);
        each(&mut select, sensor, params![text(&id), day, limit as i64], &mut |row| out.push(*row));
    }

    fn range(&self, sensor: u32, from: i64, to: i64, visit: &mut dyn FnMut(&Row)) {
        let db = self.reader.lock().unwrap();
        let mut select = db
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM readings WHERE sensor_id=?1 AND day=?2
                 AND ts>=?3 AND ts<?4 ORDER BY ts DESC"
            ))
            .unwrap();
        let id = data::sensor_id(sensor);
        each(&mut select, sensor, params![text(&id), data::day_of(from), from, to], visit);
    }

    fn get(&self, sensor: u32, ts: i64) -> Option<Row> {
        let db = self.reader.lock().unwrap();
        let mut select = db
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM readings WHERE sensor_id=?1 AND day=?2 AND ts=?3"
            ))
            .unwrap();
        let id = data::sensor_id(sensor);
        let mut found = None;
        each(&mut select, sensor, params![text(&id), data::day_of(ts), ts], &mut |row| found = Some(*row));
        found
    }

    fn sum(&self) -> (u64, f64) {
        let db = self.reader.lock().unwrap();
        db.query_row("SELECT count(*), total(temperature) FROM readings", [], |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get(1)?))
        })
        .unwrap()
    }

    fn expire(&mut self, sensors: &[u32], cutoff: i64) {
        let mut db = self.writer.lock().unwrap();
        let txn = db.transaction().unwrap();
        {
            // Per sensor, so that the primary key finds the rows.
            let mut delete =
                txn.prepare_cached("DELETE FROM readings WHERE sensor_id=?1 AND day<?2").unwrap();
            for &sensor in sensors {
                let id = data::sensor_id(sensor);
                delete.execute(params![text(&id), data::day_of(cutoff)]).unwrap();
            }
        }
        txn.commit().unwrap();
    }

    fn reclaim(&mut self) {
        self.writer.lock().unwrap().execute_batch("VACUUM").unwrap();
        self.settle();
    }

    fn close(self: Box<Self>) {}
}

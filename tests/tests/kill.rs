//! A process that writes is killed at random moments, again and again on one directory: what it said it had written is there.
//!
//! The child is this test binary itself, told by an environment variable. `SKEP_KILL_ROUNDS=1000` is the long run.

use skep_engine::{Db, ErrorKind, Options, SyncMode, row};
use skep_tests::store::{kv, t};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CHILD: &str = "SKEP_KILL_CHILD";
const SYNC: &str = "SKEP_KILL_SYNC";

fn open(dir: &Path, sync: SyncMode) -> skep_engine::Result<Db> {
    // Small, so that flushes, compactions and new segments are under way whenever the kill comes.
    let options = Options {
        sync,
        memtable_bytes: 64 << 10,
        segment_bytes: 64 << 10,
        log_limit_bytes: 256 << 10,
        ..Options::default()
    };
    let db = Db::builder(dir).options(options).open()?;
    db.create_table(t().if_not_exists())?;
    db.create_table(kv().if_not_exists())?;
    Ok(db)
}

/// The greatest number written; -1 without any.
fn last(db: &Db) -> i32 {
    let row = db.table("kv").unwrap().get(&row!["last"]).unwrap();
    row.map_or(-1, |row| row.get::<i32>("a").unwrap())
}

/// What the child does until it is killed. Without the variable this test is none.
#[test]
fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let sync = match std::env::var(SYNC).unwrap().as_str() {
        "batch" => SyncMode::Batch,
        _ => SyncMode::Periodic(Duration::from_millis(50)),
    };
    let db = open(Path::new(&dir), sync).unwrap();
    let (table, other) = (db.table("t").unwrap(), db.table("kv").unwrap());
    let mut out = std::io::stdout();
    let mut batch = db.batch();
    for n in last(&db) + 1.. {
        batch.insert(&table.schema(), &row![n % 7, n, n]).unwrap();
        batch.insert(&table.schema(), &row![n % 7 + 100, n, n]).unwrap();
        batch.insert(&other.schema(), &row!["last", n]).unwrap();
        if n % 3 == 2 {
            batch
                .delete(&table.schema(), &row![(n - 1) % 7 + 100, n - 1], skep_engine::With::DEFAULT)
                .unwrap();
        }
        db.write(&mut batch).unwrap();
        writeln!(out, "acked {n}").unwrap();
        out.flush().unwrap();
    }
}

struct Dir(std::path::PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every row up to `last` that was not deleted.
fn check(db: &Db, last: i32) {
    let table = db.table("t").unwrap();
    for key in (0..7).chain(100..107) {
        let rows = table.slice(&row![key], ..).rows().unwrap();
        let found: Vec<i32> = rows.map(|row| row.unwrap().get::<i32>("v").unwrap()).collect();
        let written = (0..=last).filter(|n| n % 7 == key % 100);
        let expected: Vec<i32> = match key < 100 {
            true => written.collect(),
            false => written.filter(|n| n % 3 != 1 || *n == last).collect(),
        };
        assert_eq!(found, expected, "partition {key}, written up to {last}");
    }
}

#[test]
fn case_109_nothing_acknowledged_is_lost_by_kills_and_the_lock_goes_with_its_holder() {
    let rounds: u64 = std::env::var("SKEP_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let dir = Dir(std::env::temp_dir().join(format!("skep-kill-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let mut random = seed | 1;
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"])
            .env(CHILD, &dir.0)
            .env(SYNC, if round % 2 == 0 { "batch" } else { "periodic" })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Some rounds are killed while they recover, before the first write.
        let early = random.is_multiple_of(4) && round > 0;
        let mut acked = None;
        let number = |line: String| line.rsplit("acked ").next().and_then(|n| n.parse::<i32>().ok());
        if !early {
            acked = lines.by_ref().map_while(Result::ok).find_map(number);
            let error = Db::open(&dir.0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            assert!(error.to_string().contains(&pid.to_string()), "{error}");
        }
        std::thread::sleep(Duration::from_micros(random % 150_000));
        child.kill().unwrap();
        child.wait().unwrap();
        acked = lines.map_while(Result::ok).filter_map(number).last().or(acked);
        let db = open(&dir.0, SyncMode::Batch).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let last = last(&db);
        assert!(last >= acked.unwrap_or(-1), "round {round}: {acked:?} was acknowledged, {last} is there");
        assert!(early || last <= acked.unwrap() + 1, "one batch was under way");
        check(&db, last);
        if round % 3 == 0 {
            // Killed again and again without a close in between, too: leave the rest to the log.
            db.close().unwrap();
        }
        let report = db.verify().unwrap();
        assert!(report.is_ok(), "round {round}: {:?}", report.problems);
    }
}

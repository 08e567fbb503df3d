//! Real series: every row and random slices of the Numenta Anomaly Benchmark's data against the files, parsed here by hand.
//!
//! Three of the files are in the repository (`tests/data/nab`, under the licence beside them). All are used where they are found: in the
//! directory that the environment variable `SKEP_NAB` names, or in `shared/data/nab` beside the repository.

mod common;

use common::{Dir, ok};
use skep::{Arg, Date, Db, Timestamp, row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a series is: the last value for each millisecond.
type Series = BTreeMap<i64, f64>;

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let everything =
        std::env::var_os("SKEP_NAB").map_or_else(|| root.join("../shared/data/nab"), PathBuf::from);
    let dir = if everything.is_dir() { everything } else { root.join("tests/data/nab") };
    let mut files = Vec::new();
    csv_below(&dir, &mut files);
    files.sort();
    assert!(files.len() >= 3, "no data in {}", dir.display());
    files
}

fn csv_below(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            csv_below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "csv") {
            files.push(path);
        }
    }
}

/// Days from 1970-01-01 to a date, counted the simple way.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = |year| [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let years: i64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    years + lengths(year).iter().take(month as usize - 1).sum::<i64>() + day - 1
}

/// `2014-02-14 14:30:00` in milliseconds.
fn millis(text: &str) -> i64 {
    let numbers: Vec<i64> =
        text.split(['-', ' ', ':']).map(|part| part.split('.').next().unwrap().parse().unwrap()).collect();
    let [year, month, day, hour, minute, second] = numbers[..] else { panic!("{text}") };
    (((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000
}

fn parse(file: &Path) -> Series {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().skip(1).filter(|line| !line.is_empty());
    lines
        .map(|line| line.split_once(',').unwrap())
        .map(|(time, value)| (millis(time), value.parse().unwrap()))
        .collect()
}

fn day_of(millis: i64) -> Date {
    Date::from_days_since_epoch(millis.div_euclid(86_400_000) as i32)
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Compares every row, then 20 random slices of each series in both directions.
fn compare(store: &str, expected: &BTreeMap<String, Series>, when: &str) {
    let db = Db::open_read_only(store).unwrap();
    let table = db.table("nab").unwrap();
    let mut found: BTreeMap<String, Series> = BTreeMap::new();
    for row in table.scan().rows().unwrap() {
        let row = row.unwrap();
        let at = row.get::<Timestamp>("timestamp").unwrap().as_millis();
        assert_eq!(row.get::<Date>("day").unwrap(), day_of(at), "{when}");
        let series = found.entry(row.get("series").unwrap()).or_default();
        assert!(series.insert(at, row.get("value").unwrap()).is_none(), "{when}: a row came twice");
    }
    assert!(found == *expected, "{when}: rows differ");
    let mut numbers = Numbers(42);
    for (name, series) in expected {
        let times: Vec<i64> = series.keys().copied().collect();
        for _ in 0..20 {
            let first = numbers.below(times.len());
            let last = (first + numbers.below(300)).min(times.len() - 1);
            let (from, to) = (times[first], times[last]);
            let keys = (day_of(from).days_since_epoch()..=day_of(to).days_since_epoch())
                .map(|day| row![name.as_str(), Date::from_days_since_epoch(day)]);
            let keys: Vec<[Arg<'_>; 2]> = keys.collect();
            let range = || Timestamp::from_millis(from)..=Timestamp::from_millis(to);
            let mut wanted: Vec<(i64, f64)> =
                series.range(from..=to).map(|(at, value)| (*at, *value)).collect();
            for newest in [false, true] {
                let select = table.buckets(&keys, range());
                let select = if newest { select.newest_first() } else { select.oldest_first() };
                let rows = select.rows().unwrap().map(|row| {
                    let row = row.unwrap();
                    (row.get::<Timestamp>("timestamp").unwrap().as_millis(), row.get::<f64>("value").unwrap())
                });
                assert_eq!(rows.collect::<Vec<_>>(), wanted, "{when}: {name} {from} to {to}");
                wanted.reverse();
            }
        }
    }
}

#[test]
fn every_row_of_real_series_comes_back() {
    let dir = Dir::new("nab");
    let store = dir.path("store");
    let files = files();
    let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let text = ok(&[&["import", &store, "nab"], &paths[..], &["--create"]].concat());
    let series = |file: &PathBuf| (file.file_stem().unwrap().to_str().unwrap().to_owned(), parse(file));
    let expected: BTreeMap<String, Series> = files.iter().map(series).collect();
    let lines: usize =
        files.iter().map(|file| std::fs::read_to_string(file).unwrap().lines().skip(1).count()).sum();
    let distinct: usize = expected.values().map(Series::len).sum();
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    assert!(
        digits(text.lines().find(|line| line.contains("rows read")).unwrap())
            .starts_with(&format!("{lines}{lines}")),
        "{text}"
    );
    assert_eq!(text.contains("distinct keys"), distinct != lines, "{text}");
    compare(&store, &expected, "after the import");
    ok(&["flush", &store]);
    compare(&store, &expected, "after the flush");
    ok(&["compact", &store]);
    compare(&store, &expected, "after the compaction");
    assert!(ok(&["verify", &store]).ends_with("all is well\n"));
    // Out and in again.
    let (csv, again) = (dir.path("nab.csv"), dir.path("again"));
    ok(&["export", &store, "nab", "--output", &csv]);
    ok(&[
        "import",
        &again,
        "nab",
        &csv,
        "--create",
        "--series",
        "series",
        "--map",
        "day=",
        "--time",
        "timestamp",
    ]);
    compare(&again, &expected, "after export and import");
}

#[test]
fn a_series_through_copy_gives_the_aggregates_of_its_file() {
    let dir = Dir::new("nab-copy");
    let store = dir.path("store");
    let file = files().into_iter().find(|file| file.to_str().unwrap().contains("speed_7578")).unwrap();
    let series = parse(&file);
    ok(&[
        "shell",
        &store,
        "-e",
        "CREATE TABLE s (at timestamp, v double, name text, PRIMARY KEY (name, at))",
    ]);
    // COPY takes all columns from the file: the name is put in front of each line.
    let lines = std::fs::read_to_string(&file).unwrap();
    let with_name: String = lines.lines().skip(1).map(|line| format!("speed,{line}\n")).collect();
    let named = dir.path("named.csv");
    std::fs::write(&named, with_name).unwrap();
    let said = ok(&["shell", &store, "-e", &format!("COPY s (name, at, v) FROM '{named}'")]);
    assert!(said.contains("rows read into main.s"), "{said}");

    let rows = |query: &str| -> Vec<String> {
        ok(&["shell", &store, "--format", "csv", "-e", query]).lines().skip(1).map(str::to_owned).collect()
    };
    let all = rows("SELECT count(v), min(v), max(v) FROM s WHERE name = 'speed'");
    let least = series.values().copied().fold(f64::INFINITY, f64::min);
    let most = series.values().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(all, [format!("{},{least:?},{most:?}", series.len())]);

    // Hours by the clock: `floor` against division.
    let mut hours: BTreeMap<i64, (u64, f64)> = BTreeMap::new();
    for (at, value) in &series {
        let (count, most) = hours.entry(at.div_euclid(3_600_000)).or_insert((0, f64::NEG_INFINITY));
        (*count, *most) = (*count + 1, most.max(*value));
    }
    let grouped = rows("SELECT count(*), max(v) FROM s WHERE name = 'speed' GROUP BY name, floor(at, 1h)");
    let expected: Vec<_> = hours.values().map(|(count, most)| format!("{count},{most:?}")).collect();
    assert_eq!(grouped, expected);

    let newest = rows("SELECT v FROM s WHERE name = 'speed' ORDER BY at DESC LIMIT 5");
    assert_eq!(newest, series.values().rev().take(5).map(|value| format!("{value:?}")).collect::<Vec<_>>());
    let (from, to) = (series.keys().nth(100).unwrap(), series.keys().nth(200).unwrap());
    let slice = rows(&format!("SELECT v FROM s WHERE name = 'speed' AND at >= {from} AND at < {to}"));
    assert_eq!(slice.len(), 100);
}

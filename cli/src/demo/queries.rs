//! The questions that people put to such a store, each asked of many hives and timed.
//!
//! Every answer is read to its last row. Where the source of the readings knows the answer, the store's is compared with it.

use super::checks::Checks;
use super::hives::{DAYS, FIRST_DAY, MINUTES_A_DAY, Random, Truth};
use super::show::{Show, align_right, grouped, new_table, time};
use super::tables::Apiary;
use crate::failure::Outcome;
use skep::{Arg, Date, Row, Select, Timestamp, row};
use std::time::{Duration, Instant};

/// How long one question may be repeated, and how often.
const BUDGET: Duration = Duration::from_millis(400);
const REPETITIONS: usize = 2000;

/// A question, asked.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    /// What was asked.
    pub(super) question: &'static str,
    /// Rows read for one answer.
    pub(super) rows: u64,
    /// The first time, nothing of it in the cache.
    pub(super) first: Duration,
    /// Half of the answers came within this time.
    pub(super) p50: Duration,
    /// 99 of 100 did.
    pub(super) p99: Duration,
    /// How often it was asked.
    pub(super) repetitions: usize,
    /// One answer, in words.
    pub(super) answer: String,
}

/// Asks `ask` again and again. It is given a random number to choose a hive by, and returns the rows read and the answer.
fn measure(
    question: &'static str,
    hives: usize,
    mut ask: impl FnMut(usize) -> Outcome<(u64, String)>,
) -> Outcome<Timing> {
    let mut random = Random(question.len() as u64);
    let mut times = Vec::new();
    let started = Instant::now();
    let mut last = (0, String::new());
    while times.is_empty() || (started.elapsed() < BUDGET && times.len() < REPETITIONS) {
        let hive = random.below(hives as i64) as usize;
        let asked = Instant::now();
        last = ask(hive)?;
        times.push(asked.elapsed());
    }
    let first = times[0];
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    let (rows, answer) = last;
    Ok(Timing { question, rows, first, p50: at(50), p99: at(99), repetitions: times.len(), answer })
}

/// A day of the tour, from zero.
fn day(n: i64) -> Date {
    Date::from_days_since_epoch(FIRST_DAY + n as i32)
}

/// So many minutes after midnight of a day.
fn at(n: i64, minutes: i64) -> Timestamp {
    Timestamp::from_millis(day(n).start().as_millis() + minutes * 60_000)
}

fn key(name: &str, n: i64) -> [Arg<'_>; 2] {
    row![name, day(n)]
}

/// Rows and sum of the column `temperature_c` of a read. No row is built for it: whole blocks are summed as columns, or not even
/// read where the index has their totals.
pub(super) fn sum(select: Select) -> Outcome<(u64, f64)> {
    let totals = select.totals(&["temperature_c"])?;
    let sum = totals.columns.first().and_then(|column| column.floats).map_or(0.0, |(_, _, sum)| sum);
    Ok((totals.rows, sum))
}

fn temperature(row: &Row) -> Outcome<String> {
    let (at, value) = (row.get::<Timestamp>("event_ts")?, row.get::<f64>("temperature_c")?);
    Ok(format!("{value:.2} C at {}", &at.to_string()[11..16]))
}

/// Reads all rows, keeps the first one's temperature and counts them.
fn newest(select: Select) -> Outcome<(u64, String)> {
    let (mut rows, mut answer) = (0, String::new());
    for row in select.rows()? {
        let row = row?;
        if rows == 0 {
            answer = temperature(&row)?;
        }
        rows += 1;
    }
    Ok((rows, answer))
}

/// Asks everything.
pub(super) fn run(show: &Show, apiary: &Apiary, truth: &Truth, checks: &mut Checks) -> Outcome<Vec<Timing>> {
    let (table, names) = (&apiary.readings, &apiary.names);
    let (hives, today) = (names.len(), DAYS - 1);
    let mut timings = vec![
        measure("temperature at 14:03 on 2024-06-12", hives, |hive| {
            newest(table.slice(&key(&names[hive], 2), at(2, 843)..at(2, 844)))
        })?,
        measure("one day of a hive", hives, |hive| newest(table.slice(&key(&names[hive], 2), ..)))?,
        measure("its last 30 minutes", hives, |hive| {
            newest(table.slice(&key(&names[hive], today), at(today, MINUTES_A_DAY - 30)..))
        })?,
        measure("its latest 100 readings", hives, |hive| {
            newest(table.slice(&key(&names[hive], today), ..).limit(100))
        })?,
        measure("its last 48 hours, in two buckets", hives, |hive| {
            let name = names[hive].as_str();
            newest(table.buckets([key(name, today - 1), key(name, today)], at(today - 1, 0)..).newest_first())
        })?,
        measure("newest readings of 10 hives", hives, |hive| {
            let ten = (0..10.min(hives)).map(|n| key(&names[(hive + n) % hives], today));
            newest(table.buckets(ten, ..).per_partition_limit(1))
        })?,
    ];
    let last_hour = at(today, MINUTES_A_DAY - 60);
    timings.push(measure("hives above 80 % humidity, last hour", hives, |_| {
        let select = apiary.alerts.slice(&row![day(today)], last_hour..);
        let mut wet = std::collections::BTreeSet::new();
        let mut rows = 0;
        for row in select.columns(&["hive_id"]).rows()? {
            wet.insert(row?.get::<String>(0)?);
            rows += 1;
        }
        Ok((rows, format!("{} hives", wet.len())))
    })?);
    let mut wrong = 0;
    timings.push(measure("average temperature of a hive's day", hives, |hive| {
        let (rows, sum) = sum(table.slice(&key(&names[hive], 2), ..))?;
        wrong += usize::from(!agrees(sum, truth.day_of_hive(hive, 2), rows));
        Ok((rows, format!("{:.3} C", sum / rows.max(1) as f64)))
    })?);
    checks.add("every daily average agrees with the source of the readings", wrong == 0);
    let (mut rows_seen, mut sum_seen) = (0, 0.0);
    timings.push(measure("sum over the whole table", hives, |_| {
        (rows_seen, sum_seen) = sum(table.scan())?;
        Ok((rows_seen, format!("{:.3} C average", sum_seen / rows_seen.max(1) as f64)))
    })?);
    checks.add("a scan finds every reading exactly once", rows_seen == truth.rows);
    checks.add(
        "the sum of all temperatures agrees with the source",
        agrees(sum_seen, truth.temperature, truth.rows),
    );
    let whole = |question| timings.iter().any(|t| t.question == question && t.rows == MINUTES_A_DAY as u64);
    checks.add("a day of a hive has its 1440 readings", whole("one day of a hive"));
    tell(show, apiary, &timings)?;
    Ok(timings)
}

/// Whether a sum of doubles is that of so many hundredths, but for the rounding of each addition.
fn agrees(sum: f64, hundredths: i64, rows: u64) -> bool {
    (sum - hundredths as f64 / 100.0).abs() < 1e-9 * (rows.max(1) as f64) * 40.0
}

fn tell(show: &Show, apiary: &Apiary, timings: &[Timing]) -> Outcome {
    show.table(&timings_table(timings))?;
    let name = apiary.names[0].as_str();
    show.line("")?;
    show.line(format!("table.slice(&row![\"{name}\", day], ..).limit(4) begins at the newest, because the table is stored so:"))?;
    let mut rows = new_table(&["event_ts", "temperature_c", "humidity_pct", "sensor_status"]);
    for row in apiary.readings.slice(&key(name, DAYS - 1), ..).limit(4).rows()? {
        let row = row?;
        rows.add_row([
            row.get::<Timestamp>("event_ts")?.to_string(),
            format!("{:.2}", row.get::<f64>("temperature_c")?),
            format!("{:.2}", row.get::<f64>("humidity_pct")?),
            row.get::<String>("sensor_status")?,
        ]);
    }
    align_right(&mut rows, [1, 2]);
    show.table(&rows)?;
    let explain = apiary.readings.slice(&key(name, DAYS - 1), ..).explain()?;
    show.line(format!(
        "{} of {} sources were read for that; the others were ruled out unread",
        explain.sources_read(),
        explain.considered.len()
    ))
}

/// The latencies as a table.
pub(super) fn timings_table(timings: &[Timing]) -> comfy_table::Table {
    let mut table = new_table(&["question", "rows", "first", "p50", "p99", "asked", "an answer"]);
    for timing in timings {
        table.add_row([
            timing.question.to_owned(),
            grouped(timing.rows),
            time(timing.first),
            time(timing.p50),
            time(timing.p99),
            grouped(timing.repetitions as u64),
            timing.answer.clone(),
        ]);
    }
    align_right(&mut table, 1..6);
    table
}

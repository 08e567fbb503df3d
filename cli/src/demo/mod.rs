//! `skep demo`: the guided tour of the engine, with a store of beehive sensors.
//!
//! ```text
//! tables     which tables, and why they look as they do
//! stream     five days of readings, written as they would arrive (hives makes them up)
//! queries    the questions such a store is for, timed
//! crash      a second process, killed while it writes; its store opened and counted
//! expiry     ninety days later: the oldest days go as whole files
//! report     what was measured, what was checked, where to look next
//! ```
//! Every figure is measured in the run that prints it, and what can be checked against the source of the readings is. A claim that does not
//! hold makes the command fail.
//!
//! # Not here
//! Several writers, or a sync of every write: the benches measure those.

mod checks;
mod crash;
mod expiry;
mod hives;
mod queries;
mod report;
mod show;
mod stream;
mod tables;

use crate::failure::{Failure, Outcome};
use checks::Checks;
use report::{Report, Verified};
use show::{Mode, Show};
use skep::{Db, ManualClock, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tables::Apiary;

/// Says that a directory is a demo's, so that the next one may use it again.
const MARK: &str = "ABOUT-THIS-DEMO.txt";
/// The store of the tour, and the one that is killed, inside of the directory.
const STORES: [&str; 2] = ["hives", "crash"];

/// Arguments of `skep demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the stores go: a new or empty directory, or that of an earlier demo. Without it a temporary one, removed afterwards
    dir: Option<PathBuf>,
    /// Readings to write, rounded to whole hives of 7200 readings
    #[arg(long, default_value_t = 3_600_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    rows: u64,
    /// Print the report only
    #[arg(long)]
    quiet: bool,
    /// Leave the temporary directory in place
    #[arg(long)]
    keep: bool,
    /// Print the report only, as JSON (microseconds, bytes)
    #[arg(long)]
    json: bool,
    /// Write into this store until killed
    #[arg(long, hide = true, value_name = "STORE")]
    crash_writer: Option<PathBuf>,
}

/// Gives the tour.
pub(crate) fn run(args: Args) -> Outcome {
    if let Some(dir) = &args.crash_writer {
        return crash::write_until_killed(dir);
    }
    let mode = match (args.json, args.quiet) {
        (true, _) => Mode::Json,
        (false, true) => Mode::Report,
        (false, false) => Mode::Story,
    };
    let show = Show::new(mode);
    let place = Place::prepare(args.dir.as_deref(), args.keep)?;
    let report = tour(&show, &place, args.rows)?;
    match mode {
        Mode::Json => show.print(format!("{:#}", report.json()))?,
        Mode::Story | Mode::Report => report.print(&show, mode == Mode::Story)?,
    }
    match report.checks.broken() {
        None => Ok(()),
        Some(claim) => Err(Failure::new(format!("the demo found a claim that does not hold: {claim}"))),
    }
}

fn tour(show: &Show, place: &Place, rows: u64) -> Outcome<Report> {
    let started = Instant::now();
    let readings_of_hive = (hives::DAYS * hives::MINUTES_A_DAY) as u64;
    let count =
        usize::try_from((rows + readings_of_hive / 2) / readings_of_hive).unwrap_or(usize::MAX).max(1);
    let clock = ManualClock::new(stream::midnight_micros(0));
    // Days pass in seconds here: a memtable would reach the age of an hour all the time.
    let options = Options { memtable_age: None, ..Options::default() };
    let db = Db::builder(place.dir.join(STORES[0])).options(options).clock(Arc::new(clock.clone())).open()?;
    let mut checks = Checks::default();

    show.heading("1. Two tables")?;
    let apiary = Apiary::create(&db, count)?;
    tables::explain(show)?;

    show.heading(&format!(
        "2. {} days of {} hives, a reading a minute",
        hives::DAYS,
        show::grouped(count as u64)
    ))?;
    let (ingest, truth) = stream::run(show, &db, &clock, &apiary)?;

    show.heading("3. Questions, each asked of random hives")?;
    let timings = queries::run(show, &apiary, &truth, &mut checks)?;

    show.heading("4. kill -9 in the middle of writing")?;
    let crash = crash::run(show, &place.dir.join(STORES[1]), (rows / 10).clamp(2_000, 300_000), &mut checks)?;

    show.heading("5. Ninety days later")?;
    let expiry = expiry::run(show, &db, &clock, &apiary, &truth, &mut checks)?;

    let verified = verify(&db)?;
    checks.add(
        "verify finds nothing wrong, in either store",
        verified.problems.is_empty() && crash.problems == 0,
    );
    let file = db.files("hive_measurements")?.into_iter().next();
    db.close()?;
    let left = (!place.temporary).then(|| (place.dir.clone(), file));
    let took = started.elapsed();
    Ok(Report { hives: count, truth, ingest, timings, crash, expiry, verified, checks, took, left })
}

fn verify(db: &Db) -> Outcome<Verified> {
    let started = Instant::now();
    let report = db.verify()?;
    Ok(Verified {
        files: report.files,
        bytes: report.bytes,
        blocks: report.blocks,
        rows: report.rows,
        problems: report.problems.iter().map(ToString::to_string).collect(),
        took: started.elapsed(),
    })
}

/// The directory of a tour; a temporary one goes with this.
#[derive(Debug)]
struct Place {
    dir: PathBuf,
    temporary: bool,
}

impl Place {
    /// Makes the directory, or empties that of an earlier demo. Anything else in it is left alone and refused.
    fn prepare(dir: Option<&Path>, keep: bool) -> Outcome<Self> {
        let (dir, fresh) = match dir {
            Some(dir) => (dir.to_path_buf(), false),
            None => (std::env::temp_dir().join(format!("skep-demo-{}", std::process::id())), true),
        };
        if dir.exists() {
            check_replaceable(&dir)?;
            for store in STORES.map(|name| dir.join(name)).iter().filter(|store| store.exists()) {
                std::fs::remove_dir_all(store).map_err(|error| Failure::io("remove", store, &error))?;
            }
        }
        std::fs::create_dir_all(&dir).map_err(|error| Failure::io("create", &dir, &error))?;
        let place = Self { dir, temporary: fresh && !keep };
        let mark = place.dir.join(MARK);
        let text = "Made by `skep demo`: hives is the store of the tour, crash the one whose writer was killed.\n\
                    The next `skep demo` with this directory replaces both.\n";
        std::fs::write(&mark, text).map_err(|error| Failure::io("write", &mark, &error))?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// Refuses a directory that holds anything but an earlier demo.
fn check_replaceable(dir: &Path) -> Outcome {
    let failed = |error: std::io::Error| Failure::io("look into", dir, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    let foreign = names.iter().find(|name| *name != MARK && !STORES.contains(&name.as_str()));
    let marked = names.is_empty() || names.iter().any(|name| name == MARK);
    match (foreign, marked) {
        (None, true) => Ok(()),
        (foreign, _) => {
            let what = foreign.or(names.first()).map_or("", String::as_str);
            Err(Failure::new(format!(
                "{} holds something that is no demo's ({what}); name a new or empty directory",
                dir.display()
            )))
        }
    }
}

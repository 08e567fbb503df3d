//! Operations on a store and on the model at once: what the model test, the crash test and the fuzzer run.

use crate::model::{Covered, Int, Life, Seen, Table as Model};
use proptest::prelude::*;
use skep_engine::{Arg, CqlType, Db, KeyRange, ManualClock, Null, Schema, Table, With};
use std::time::Duration;

/// A table of integers.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Directions of the clustering columns.
    pub descending: Vec<bool>,
    /// Static columns (none without clustering columns).
    pub statics: usize,
    /// Regular columns.
    pub regulars: usize,
    /// TWCS instead of STCS.
    pub windows: bool,
    /// gc_grace_seconds is 0: tombstones go at once. Then no operation has a timestamp of its own.
    pub no_grace: bool,
    /// Default TTL, seconds.
    pub ttl: i32,
}

/// One step. Small numbers, so that steps meet.
#[expect(missing_docs, reason = "the fields are what their names say")]
#[derive(Clone, Debug)]
pub enum Op {
    /// INSERT (with marker) or UPDATE of a row.
    Write { key: Int, place: Vec<Int>, marker: bool, cells: Vec<(usize, Option<Int>)>, times: Times },
    /// Static columns.
    Static { key: Int, cells: Vec<(usize, Option<Int>)>, times: Times },
    /// One row.
    DeleteRow { key: Int, place: Vec<Int>, at: Option<i64> },
    /// Rows by prefix and range of the next column.
    DeleteRange {
        key: Int,
        prefix: Vec<Int>,
        from: Option<(Int, bool)>,
        to: Option<(Int, bool)>,
        at: Option<i64>,
    },
    /// A partition.
    DeletePartition { key: Int, at: Option<i64> },
    /// All memtables to files.
    Flush,
    /// Major compaction.
    Compact,
    /// What is due: expiry, background compaction.
    Tick,
    /// Time passes, seconds.
    Advance(u16),
    /// Closed and opened again.
    Reopen,
    /// Killed and opened again.
    Crash,
    /// Emptied.
    Truncate,
}

/// Times of a write that are not the clock's.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Timestamp relative to the run's start, micros; `None`: now.
    pub at: Option<i64>,
    /// TTL in seconds; `None`: the table's.
    pub ttl: Option<u8>,
}

/// Random table shapes.
pub fn any_shape() -> impl Strategy<Value = Shape> {
    (
        prop::collection::vec(any::<bool>(), 0..3),
        0..2usize,
        1..4usize,
        any::<bool>(),
        any::<bool>(),
        prop_oneof![3 => Just(0), 1 => 5..50i32],
    )
        .prop_map(|(descending, statics, regulars, windows, no_grace, ttl)| Shape {
            statics: if descending.is_empty() { 0 } else { statics },
            descending,
            regulars,
            windows,
            no_grace,
            ttl,
        })
}

fn any_times() -> impl Strategy<Value = Times> {
    let at = prop_oneof![2 => Just(None), 3 => (0..6i64).prop_map(Some)];
    let ttl = prop_oneof![3 => Just(None), 1 => (0..40u8).prop_map(Some)];
    (at, ttl).prop_map(|(at, ttl)| Times { at, ttl })
}

/// Random steps; places have two columns, of which a table uses as many as it has.
pub fn any_op() -> impl Strategy<Value = Op> {
    let key = 0..4i32;
    let place = prop::collection::vec(0..5i32, 2);
    let cells = prop::collection::vec((0..4usize, prop::option::weighted(0.8, 0..4i32)), 0..3);
    let end = || prop::option::of((0..5i32, any::<bool>()));
    let at = || prop_oneof![2 => Just(None), 3 => (0..6i64).prop_map(Some)];
    prop_oneof![
        14 => (key.clone(), place.clone(), any::<bool>(), cells.clone(), any_times())
            .prop_map(|(key, place, marker, cells, times)| Op::Write { key, place, marker, cells, times }),
        2 => (key.clone(), cells, any_times()).prop_map(|(key, cells, times)| Op::Static { key, cells, times }),
        3 => (key.clone(), place.clone(), at()).prop_map(|(key, place, at)| Op::DeleteRow { key, place, at }),
        4 => (key.clone(), prop::collection::vec(0..5i32, 0..2), end(), end(), at())
            .prop_map(|(key, prefix, from, to, at)| Op::DeleteRange { key, prefix, from, to, at }),
        1 => (key, at()).prop_map(|(key, at)| Op::DeletePartition { key, at }),
        3 => Just(Op::Flush),
        1 => Just(Op::Compact),
        2 => Just(Op::Tick),
        2 => (0..60u16).prop_map(Op::Advance),
        1 => Just(Op::Reopen),
        1 => Just(Op::Crash),
        1 => prop_oneof![4 => Just(Op::Tick), 1 => Just(Op::Truncate)],
    ]
}

impl Shape {
    /// The schema.
    pub fn schema(&self) -> Schema {
        let mut schema = Schema::table("t").partition_key("p", CqlType::Int);
        for (i, descending) in self.descending.iter().enumerate() {
            let name = format!("c{i}");
            schema = match descending {
                true => schema.clustering_desc(&name, CqlType::Int),
                false => schema.clustering(&name, CqlType::Int),
            };
        }
        for i in 0..self.statics {
            schema = schema.static_column(&format!("s{i}"), CqlType::Int);
        }
        for i in 0..self.regulars {
            schema = schema.column(&format!("v{i}"), CqlType::Int);
        }
        schema = schema.ttl(Duration::from_secs(u64::from(self.ttl.unsigned_abs())));
        if self.no_grace {
            schema = schema.gc_grace(Duration::ZERO);
        }
        if self.windows { schema.time_windows(Duration::from_secs(60)) } else { schema }
    }

    /// The empty model.
    pub fn model(&self) -> Model {
        Model::new(self.descending.clone(), self.statics, self.statics + self.regulars)
    }

    /// The name of a cell's column.
    pub fn name(&self, column: usize) -> String {
        match column < self.statics {
            true => format!("s{column}"),
            false => format!("v{}", column - self.statics),
        }
    }
}

/// A store and its model.
#[derive(Debug)]
pub struct Run {
    /// The table's shape.
    pub shape: Shape,
    /// The store.
    pub db: Db,
    /// The table.
    pub table: Table,
    /// The model.
    pub model: Model,
    /// The clock of both.
    pub clock: ManualClock,
    start: i64,
}

impl Run {
    /// Begins with an empty table of a fresh store.
    pub fn new(shape: Shape, db: Db, clock: ManualClock) -> Self {
        let table = db.create_table(shape.schema()).expect("the shape is valid");
        let (model, start) = (shape.model(), db.now_micros());
        Self { shape, db, table, model, clock, start }
    }

    /// Begins with the empty model and a store that has the table.
    pub fn opened(shape: Shape, db: Db, clock: ManualClock) -> Self {
        let table = db.table("t").expect("the table was created");
        let (model, start) = (shape.model(), db.now_micros());
        Self { shape, db, table, model, clock, start }
    }

    /// Applies an operation to the model alone, as if it had been the last thing that the store did.
    pub fn assume(&mut self, op: &Op) {
        self.assume_at(op, i64::MAX / 2);
    }

    /// Applies an operation to the model alone; `timestamp` is that of one without its own.
    pub(crate) fn assume_at(&mut self, op: &Op, timestamp: i64) {
        match op {
            Op::Write { key, place, marker, cells, times } => {
                let cells = self.cells(cells, false);
                let place = place[..self.shape.descending.len()].to_vec();
                let life = self.life(*times, timestamp);
                self.model.write(*key, Some(&place), *marker, &cells, life);
            }
            Op::Static { key, cells, times } => {
                let cells = self.cells(cells, true);
                let life = self.life(*times, timestamp);
                self.model.write(*key, None, false, &cells, life);
            }
            Op::DeleteRow { key, place, at } => {
                let timestamp = self.at(*at).unwrap_or(timestamp);
                let place = &place[..self.shape.descending.len()];
                match place.is_empty() {
                    true => self.model.delete(*key, Covered::All, timestamp),
                    false => self.model.delete_row(*key, place, timestamp),
                }
            }
            Op::DeleteRange { key, prefix, from, to, at } => {
                let timestamp = self.at(*at).unwrap_or(timestamp);
                if let Some((_, covered)) = self.range(prefix, *from, *to) {
                    self.model.delete(*key, covered, timestamp);
                }
            }
            Op::DeletePartition { key, at } => {
                let timestamp = self.at(*at).unwrap_or(timestamp);
                self.model.delete(*key, Covered::All, timestamp);
            }
            Op::Truncate => self.model.truncate(),
            Op::Flush | Op::Compact | Op::Tick | Op::Advance(_) | Op::Reopen | Op::Crash => {}
        }
    }

    /// Goes on with the same store, opened again.
    pub fn replace(&mut self, db: Db) {
        self.table = db.table("t").expect("the table was created");
        self.db = db;
    }

    pub(crate) fn second(&self) -> i64 {
        self.db.now_micros().div_euclid(1_000_000)
    }

    fn with(&self, times: Times) -> With {
        let mut with = With::DEFAULT;
        if let Some(ttl) = times.ttl {
            with = with.ttl(Duration::from_secs(u64::from(ttl)));
        }
        match self.at(times.at) {
            Some(at) => with.timestamp(at),
            None => with,
        }
    }

    /// Purging tombstones at once is only invisible as long as nothing older comes later.
    pub(crate) fn at(&self, at: Option<i64>) -> Option<i64> {
        at.filter(|_| !self.shape.no_grace).map(|at| self.start + at)
    }

    fn life(&self, times: Times, timestamp: i64) -> Life {
        let ttl = times.ttl.map_or(self.shape.ttl, i32::from);
        Life { timestamp: self.at(times.at).unwrap_or(timestamp), ttl, second: self.second() }
    }

    /// Cells of the kind asked for, each column once, the last value given.
    pub(crate) fn cells(&self, cells: &[(usize, Option<Int>)], statics: bool) -> Vec<(usize, Option<Int>)> {
        let (from, count) =
            if statics { (0, self.shape.statics) } else { (self.shape.statics, self.shape.regulars) };
        let mut chosen = std::collections::BTreeMap::new();
        if count > 0 {
            for (n, value) in cells {
                chosen.insert(from + n % count, *value);
            }
        }
        chosen.into_iter().collect()
    }

    /// Applies an operation that is no opening or closing to both.
    ///
    /// # Errors
    /// The store's; the model is then unchanged.
    pub fn apply(&mut self, op: &Op) -> skep_engine::Result<()> {
        match op {
            Op::Write { key, place, marker, cells, times } => {
                let cells = self.cells(cells, false);
                if cells.is_empty() && !marker {
                    return Ok(());
                }
                let place = &place[..self.shape.descending.len()];
                let timestamp = self.write(*key, Some(place), *marker, &cells, *times)?;
                let life = self.life(*times, timestamp);
                self.model.write(*key, Some(place), *marker, &cells, life);
            }
            Op::Static { key, cells, times } => {
                let cells = self.cells(cells, true);
                if cells.is_empty() {
                    return Ok(());
                }
                let timestamp = self.write(*key, None, false, &cells, *times)?;
                let life = self.life(*times, timestamp);
                self.model.write(*key, None, false, &cells, life);
            }
            Op::DeleteRow { key, place, at } => {
                let place = &place[..self.shape.descending.len()];
                let timestamp = self.delete(*at, |batch, schema, with| {
                    let args: Vec<Arg<'_>> = [*key].iter().chain(place).map(|v| Arg::from(*v)).collect();
                    batch.delete(schema, &args, with)
                })?;
                match place.is_empty() {
                    // Without clustering columns the key of the row is that of the partition.
                    true => self.model.delete(*key, Covered::All, timestamp),
                    false => self.model.delete_row(*key, place, timestamp),
                }
            }
            Op::DeleteRange { key, prefix, from, to, at } => {
                let Some((range, covered)) = self.range(prefix, *from, *to) else { return Ok(()) };
                let timestamp = self.delete(*at, |batch, schema, with| {
                    batch.delete_range(schema, &[Arg::from(*key)], &range, with)
                })?;
                self.model.delete(*key, covered, timestamp);
            }
            Op::DeletePartition { key, at } => {
                let timestamp =
                    self.delete(*at, |batch, schema, with| batch.delete(schema, &[Arg::from(*key)], with))?;
                self.model.delete(*key, Covered::All, timestamp);
            }
            Op::Flush => self.db.flush()?,
            Op::Compact => self.table.compact()?,
            Op::Tick => self.db.tick()?,
            Op::Advance(seconds) => self.clock.advance(Duration::from_secs(u64::from(*seconds))),
            Op::Truncate => {
                self.db.truncate("t")?;
                self.model.truncate();
            }
            Op::Reopen | Op::Crash => {}
        }
        Ok(())
    }

    fn write(
        &self,
        key: Int,
        place: Option<&[Int]>,
        marker: bool,
        cells: &[(usize, Option<Int>)],
        times: Times,
    ) -> skep_engine::Result<i64> {
        let names: Vec<String> = cells.iter().map(|(column, _)| self.shape.name(*column)).collect();
        let mut columns: Vec<(&str, Arg<'_>)> = vec![("p", key.into())];
        let places = ["c0", "c1"].into_iter().zip(place.unwrap_or(&[]));
        columns.extend(places.map(|(name, value)| (name, Arg::from(*value))));
        for (name, (_, value)) in names.iter().zip(cells) {
            columns.push((name, value.map_or(Null.into(), Arg::from)));
        }
        let with = self.with(times);
        match marker {
            true => self.table.insert_named(&columns, with),
            false => self.table.update(&columns, with),
        }
    }

    fn delete(
        &self,
        at: Option<i64>,
        fill: impl FnOnce(
            &mut skep_engine::WriteBatch,
            &skep_engine::TableSchema,
            With,
        ) -> skep_engine::Result<()>,
    ) -> skep_engine::Result<i64> {
        let at = self.at(at);
        let mut batch = self.db.batch();
        let with = at.map_or(With::DEFAULT, |at| With::DEFAULT.timestamp(at));
        fill(&mut batch, &self.table.schema(), with)?;
        let committed = self.db.write(&mut batch)?;
        Ok(at.unwrap_or(committed))
    }

    /// A range as the store and as the model have it; `None` for tables it does not fit.
    fn range(
        &self,
        prefix: &[Int],
        from: Option<(Int, bool)>,
        to: Option<(Int, bool)>,
    ) -> Option<(KeyRange<'static>, Covered)> {
        let clusterings = self.shape.descending.len();
        let ends = from.is_some() || to.is_some();
        if prefix.len() + usize::from(ends) > clusterings || clusterings == 0 {
            return None;
        }
        let mut range = KeyRange::prefix(prefix.iter().map(|v| Arg::from(*v)).collect::<Vec<_>>());
        range = match from {
            Some((v, true)) => range.at_least(v),
            Some((v, false)) => range.above(v),
            None => range,
        };
        range = match to {
            Some((v, true)) => range.at_most(v),
            Some((v, false)) => range.below(v),
            None => range,
        };
        let end = |end: Option<(Int, bool)>| match end {
            Some((value, included)) => (prefix.iter().copied().chain([value]).collect(), included),
            None => (prefix.to_vec(), true),
        };
        Some((range, Covered::Range { from: end(from), to: end(to) }))
    }

    /// Compares everything that can be read, forward, in reverse, in ranges, in pages; panics on a difference.
    pub fn check(&self, seed: u64) {
        let now = self.second();
        for key in self.model.keys() {
            let expected = self.model.read(key, None, now);
            self.check_rows(key, &KeyRange::all(), &expected, seed);
            for n in 0..3u64 {
                let random = seed.wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let bit = |i: u32| random >> i & 1 == 1;
                let small = |i: u32| (random >> i) as Int % 5;
                let prefix: Vec<Int> = if bit(3) { vec![small(20).abs()] } else { Vec::new() };
                let from = bit(4).then(|| (small(30).abs(), bit(5)));
                let to = bit(6).then(|| (small(34).abs(), bit(7)));
                if let Some((range, covered)) = self.range(&prefix, from, to) {
                    let restricted = !prefix.is_empty() || from.is_some() || to.is_some();
                    let expected = self.model.read(key, restricted.then_some(&covered), now);
                    self.check_rows(key, &range, &expected, random);
                }
            }
            for seen in &expected {
                let place = seen.clustering.clone().unwrap_or_default();
                let args: Vec<Arg<'_>> = std::iter::once(key).chain(place).map(Arg::from).collect();
                if args.len() == 1 + self.shape.descending.len() {
                    let row = self.table.get(&args).expect("a point read");
                    let row = row.unwrap_or_else(|| panic!("row {args:?} is missing, expected {seen:?}"));
                    assert_eq!(&self.seen(&row), seen, "point read of {args:?}");
                }
            }
        }
        let scanned =
            self.table.scan().rows().expect("a scan").inspect(|row| assert!(row.is_ok(), "{row:?}")).count();
        let rows: usize = self.model.keys().iter().map(|key| self.model.read(*key, None, now).len()).sum();
        assert_eq!(scanned, rows, "rows of the whole table");
    }

    fn check_rows(&self, key: Int, range: &KeyRange<'static>, expected: &[Seen], random: u64) {
        let select = || self.table.slice(&[Arg::from(key)], range.clone());
        let forward: Vec<Seen> =
            select().rows().expect("rows").map(|row| self.seen(&row.expect("a row"))).collect();
        assert_eq!(forward, expected, "partition {key}, {range:?}");
        let mut reversed: Vec<Seen> =
            select().reverse().rows().expect("rows").map(|row| self.seen(&row.expect("a row"))).collect();
        reversed.reverse();
        assert_eq!(reversed, expected, "partition {key} in reverse, {range:?}");
        let size = 1 + random % 4;
        let mut paged = Vec::new();
        let mut state = None;
        loop {
            let select = if random & 1 << 40 == 0 { select() } else { select().reverse() };
            let select = match state.take() {
                Some(state) => select.resume(state),
                None => select,
            };
            let page = select.page(size).expect("a page");
            paged.extend(page.rows.iter().map(|row| self.seen(row)));
            match page.next {
                Some(next) => state = Some(next),
                None => break,
            }
        }
        if random & 1 << 40 != 0 {
            paged.reverse();
        }
        assert_eq!(paged, expected, "partition {key} in pages of {size}, {range:?}");
    }

    fn seen(&self, row: &skep_engine::Row) -> Seen {
        let int = |name: &str| row.get::<Option<i32>>(name).expect("an integer column");
        let clusterings = self.shape.descending.len();
        let clustering: Vec<Option<Int>> = (0..clusterings).map(|i| int(&format!("c{i}"))).collect();
        let values =
            (0..self.shape.statics + self.shape.regulars).map(|i| int(&self.shape.name(i))).collect();
        let whole = clustering.iter().all(Option::is_some);
        Seen { clustering: whole.then(|| clustering.into_iter().flatten().collect()), values }
    }
}

//! Operations as statements.

use crate::cql::{CqlRun, Statement};
use crate::model::{Covered, Int};
use crate::op::{Op, Shape, Times, any_op};
use proptest::prelude::*;
use skep_cql::Parameters;

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// One operation, as a statement if it is a write.
    One(Op),
    /// A row and its partition's static columns in one statement.
    Both(Op, Vec<(usize, Option<Int>)>),
    /// Several writes at one timestamp.
    Batch(Vec<Op>, Option<i64>),
    /// INSERT IF NOT EXISTS, UPDATE IF EXISTS.
    Conditional(Op),
}

/// Random steps.
pub fn any_step() -> impl Strategy<Value = Step> {
    let cells = prop::collection::vec((0..4usize, prop::option::weighted(0.8, 0..4i32)), 1..3);
    let at = prop_oneof![2 => Just(None), 1 => (0..6i64).prop_map(Some)];
    prop_oneof![
        16 => any_op().prop_map(Step::One),
        2 => (any_op(), cells).prop_map(|(op, cells)| Step::Both(op, cells)),
        3 => (prop::collection::vec(any_op(), 1..5), at).prop_map(|(ops, at)| Step::Batch(ops, at)),
        2 => any_op().prop_map(Step::Conditional),
    ]
}

/// The statement that makes a table of this shape.
pub fn create(shape: &Shape) -> String {
    let clusterings: Vec<String> = (0..shape.descending.len()).map(|i| format!("c{i}")).collect();
    let mut text = "CREATE TABLE t (p int".to_owned();
    clusterings.iter().for_each(|name| text += &format!(", {name} int"));
    for column in 0..shape.statics + shape.regulars {
        let suffix = if column < shape.statics { " static" } else { "" };
        text += &format!(", {} int{suffix}", shape.name(column));
    }
    let key: Vec<&str> = ["p"].into_iter().chain(clusterings.iter().map(String::as_str)).collect();
    text += &format!(", PRIMARY KEY ({})) WITH default_time_to_live = {}", key.join(", "), shape.ttl);
    if !clusterings.is_empty() {
        let order = |(name, descending): (&String, &bool)| {
            format!("{name} {}", if *descending { "DESC" } else { "ASC" })
        };
        let orders: Vec<_> = clusterings.iter().zip(&shape.descending).map(order).collect();
        text += &format!(" AND CLUSTERING ORDER BY ({})", orders.join(", "));
    }
    if shape.no_grace {
        text += " AND gc_grace_seconds = 0";
    }
    if shape.windows {
        text += " AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'MINUTES', 'compaction_window_size': 1}";
    }
    text
}

/// Bits of a step's form.
const MARKERS: u16 = 1;
const OTHER_VERB: u16 = 2;
const JSON: u16 = 4;
const BESIDE: u16 = 8;
const UNLOGGED: u16 = 16;

impl CqlRun {
    /// Runs a step in both.
    ///
    /// # Panics
    /// If the store refuses it, or a condition holds in only one of the two.
    pub fn step(&mut self, step: &Step, form: u16) {
        match step {
            Step::One(op @ (Op::Flush | Op::Compact | Op::Tick | Op::Advance(_))) => self.maintain(op),
            Step::One(Op::Truncate) => {
                self.session.execute("TRUNCATE t", ()).expect("TRUNCATE");
                self.run.model.truncate();
            }
            Step::One(op) => self.one(op, &[], form),
            Step::Both(op, statics) => self.one(op, statics, form),
            Step::Batch(ops, at) => self.batch(ops, *at, form),
            Step::Conditional(op) => self.conditional(op, form),
        }
    }

    fn tick(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn one(&mut self, op: &Op, statics: &[(usize, Option<Int>)], form: u16) {
        let Some(op) = self.usable(op) else { return };
        let statics = match op {
            Op::Write { .. } => self.run.cells(statics, true),
            _ => Vec::new(),
        };
        let at = self.run.at(own_time(&op));
        let beside = at.filter(|_| form & BESIDE != 0);
        let mut statement = Statement::new(form & MARKERS != 0);
        self.write(&op, &statics, at.filter(|_| beside.is_none()), form, "", &mut statement);
        self.execute(&statement, &Parameters { timestamp: beside, ..Parameters::default() });
        let timestamp = self.tick();
        self.assume(&op, &statics, timestamp);
    }

    fn assume(&mut self, op: &Op, statics: &[(usize, Option<Int>)], timestamp: i64) {
        self.run.assume_at(op, timestamp);
        if let (Op::Write { key, times, .. }, false) = (op, statics.is_empty()) {
            // Numbers of static columns begin with 0.
            self.run.assume_at(&Op::Static { key: *key, cells: statics.to_vec(), times: *times }, timestamp);
        }
    }

    fn batch(&mut self, ops: &[Op], at: Option<i64>, form: u16) {
        let ops: Vec<Op> = ops.iter().filter_map(|op| self.usable(op)).collect();
        if ops.is_empty() {
            return;
        }
        let at = self.run.at(at);
        let mut statement = Statement::new(form & MARKERS != 0);
        statement.put(if form & UNLOGGED != 0 { "BEGIN UNLOGGED BATCH" } else { "BEGIN BATCH" });
        if let Some(at) = at {
            statement.put(" USING TIMESTAMP ").long(at);
        }
        let mut times = Vec::new();
        for op in &ops {
            // A batch has a timestamp, or its statements have.
            let own = self.run.at(own_time(op)).filter(|_| at.is_none());
            statement.put(" ");
            self.write(op, &[], own, form, "", &mut statement);
            statement.put(";");
            times.push(own);
        }
        statement.put(" APPLY BATCH");
        self.execute(&statement, &Parameters::default());
        let timestamp = at.unwrap_or_else(|| self.tick());
        for (op, own) in ops.iter().zip(times) {
            self.assume(&without_time(op), &[], own.unwrap_or(timestamp));
        }
    }

    fn conditional(&mut self, op: &Op, form: u16) {
        let Some(op @ Op::Write { .. }) = self.usable(op) else { return };
        let op = without_time(&op);
        let Op::Write { key, place, marker, .. } = &op else { return };
        let here = (place.clone(), true);
        let covered = (!place.is_empty()).then(|| Covered::Range { from: here.clone(), to: here.clone() });
        let exists = !self.run.model.read(*key, covered.as_ref(), self.run.second()).is_empty();
        let condition = if *marker { " IF NOT EXISTS" } else { " IF EXISTS" };
        let mut statement = Statement::new(form & MARKERS != 0);
        self.write(&op, &[], None, form & MARKERS, condition, &mut statement);
        let applied = self.execute(&statement, &Parameters::default()).applied();
        assert_eq!(applied, exists != *marker, "{}", statement.text);
        let timestamp = self.tick();
        if applied {
            self.assume(&op, &[], timestamp);
        }
    }

    /// The operation as the table takes it, None if it does not.
    fn usable(&self, op: &Op) -> Option<Op> {
        let clusterings = self.run.shape.descending.len();
        match op {
            Op::Write { key, place, marker, cells, times } => {
                let cells = self.run.cells(cells, false);
                // The model numbers a row's columns behind the static ones; operations do not.
                let statics = self.run.shape.statics;
                let cells: Vec<_> =
                    cells.into_iter().map(|(column, value)| (column - statics, value)).collect();
                let place = place[..clusterings].to_vec();
                let usable = *marker || !cells.is_empty();
                usable.then_some(Op::Write { key: *key, place, marker: *marker, cells, times: *times })
            }
            Op::Static { key, cells, times } => {
                let cells = self.run.cells(cells, true);
                (!cells.is_empty()).then_some(Op::Static { key: *key, cells, times: *times })
            }
            Op::DeleteRow { key, place, at } => {
                Some(Op::DeleteRow { key: *key, place: place[..clusterings].to_vec(), at: *at })
            }
            Op::DeleteRange { key, prefix, from: None, to: None, at } if prefix.is_empty() => {
                Some(Op::DeletePartition { key: *key, at: *at })
            }
            Op::DeleteRange { prefix, from, to, .. } => {
                let columns = prefix.len() + usize::from(from.is_some() || to.is_some());
                (columns <= clusterings).then(|| op.clone())
            }
            Op::DeletePartition { .. } => Some(op.clone()),
            _ => None,
        }
    }

    /// Writes a usable operation as a statement, which writes static columns as well.
    fn write(
        &self,
        op: &Op,
        statics: &[(usize, Option<Int>)],
        at: Option<i64>,
        form: u16,
        condition: &str,
        out: &mut Statement,
    ) {
        let shape = &self.run.shape;
        match op {
            Op::Write { key, place, marker, cells, times } => {
                let cells = cells.iter().map(|(column, value)| (shape.statics + column, *value));
                let cells: Vec<_> = statics.iter().copied().chain(cells).collect();
                match marker {
                    true => self.insert(*key, place, &cells, (at, times.ttl), condition, form, out),
                    false => self.update(*key, place, &cells, (at, times.ttl), condition, form, out),
                }
            }
            Op::Static { key, cells, times } if form & JSON != 0 => {
                self.insert(*key, &[], cells, (at, times.ttl), condition, form, out);
            }
            Op::Static { key, cells, times } => {
                self.update(*key, &[], cells, (at, times.ttl), condition, form, out);
            }
            Op::DeleteRow { key, place, .. } => {
                delete("", at, out);
                key_is(*key, place, out);
            }
            Op::DeletePartition { key, .. } => {
                delete("", at, out);
                key_is(*key, &[], out);
            }
            Op::DeleteRange { key, prefix, from, to, .. } => {
                delete("", at, out);
                key_is(*key, prefix, out);
                let column = format!("c{}", prefix.len());
                for (end, sign) in [(from, '>'), (to, '<')] {
                    let Some((value, included)) = end else { continue };
                    let equal = if *included { "=" } else { "" };
                    out.put(&format!(" AND {column} {sign}{equal} ")).int(Some(*value));
                }
            }
            other => unreachable!("{other:?} is no write"),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all parts of a statement")]
    fn insert(
        &self,
        key: Int,
        place: &[Int],
        cells: &[(usize, Option<Int>)],
        (at, ttl): (Option<i64>, Option<u8>),
        condition: &str,
        form: u16,
        out: &mut Statement,
    ) {
        let mut all = vec![("p".to_owned(), Some(key))];
        all.extend(place.iter().enumerate().map(|(i, value)| (format!("c{i}"), Some(*value))));
        all.extend(cells.iter().map(|(column, value)| (self.run.shape.name(*column), *value)));
        // JSON names every column, so it has to give the whole key.
        let is_whole = place.len() == self.run.shape.descending.len();
        if form & JSON != 0 && form & MARKERS == 0 && is_whole {
            let field = |(name, value): &(String, Option<Int>)| {
                format!("\"{name}\": {}", value.map_or_else(|| "null".to_owned(), |value| value.to_string()))
            };
            let fields: Vec<_> = all.iter().map(field).collect();
            out.put(&format!("INSERT INTO t JSON '{{{}}}' DEFAULT UNSET", fields.join(", ")));
        } else {
            let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            out.put(&format!("INSERT INTO t ({}) VALUES (", names.join(", ")));
            for (i, (_, value)) in all.iter().enumerate() {
                out.put(if i > 0 { ", " } else { "" }).int(*value);
            }
            out.put(")");
        }
        out.put(condition);
        using(at, ttl, out);
    }

    #[expect(clippy::too_many_arguments, reason = "all parts of a statement")]
    fn update(
        &self,
        key: Int,
        place: &[Int],
        cells: &[(usize, Option<Int>)],
        (at, ttl): (Option<i64>, Option<u8>),
        condition: &str,
        form: u16,
        out: &mut Statement,
    ) {
        let name = |column: &usize| self.run.shape.name(*column);
        if form & OTHER_VERB != 0 && cells.iter().all(|(_, value)| value.is_none()) {
            let names: Vec<_> = cells.iter().map(|(column, _)| name(column)).collect();
            delete(&format!(" {}", names.join(", ")), at, out);
        } else {
            out.put("UPDATE t");
            using(at, ttl, out);
            for (i, (column, value)) in cells.iter().enumerate() {
                out.put(if i > 0 { ", " } else { " SET " }).put(&name(column)).put(" = ").int(*value);
            }
        }
        key_is(key, place, out);
        out.put(condition);
    }
}

fn using(at: Option<i64>, ttl: Option<u8>, out: &mut Statement) {
    if let Some(at) = at {
        out.put(" USING TIMESTAMP ").long(at);
    }
    if let Some(ttl) = ttl {
        out.put(if at.is_some() { " AND TTL " } else { " USING TTL " }).int(Some(ttl.into()));
    }
}

fn delete(columns: &str, at: Option<i64>, out: &mut Statement) {
    out.put(&format!("DELETE{columns} FROM t"));
    using(at, None, out);
}

fn key_is(key: Int, place: &[Int], out: &mut Statement) {
    out.put(" WHERE p = ").int(Some(key));
    for (i, value) in place.iter().enumerate() {
        out.put(&format!(" AND c{i} = ")).int(Some(*value));
    }
}

fn own_time(op: &Op) -> Option<i64> {
    match op {
        Op::Write { times, .. } | Op::Static { times, .. } => times.at,
        Op::DeleteRow { at, .. } | Op::DeleteRange { at, .. } | Op::DeletePartition { at, .. } => *at,
        _ => None,
    }
}

fn without_time(op: &Op) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Write { times, .. } | Op::Static { times, .. } => *times = Times { at: None, ..*times },
        Op::DeleteRow { at, .. } | Op::DeleteRange { at, .. } | Op::DeletePartition { at, .. } => *at = None,
        _ => {}
    }
    op
}

//! Distributes a sorted stream over one writer per window of write time.
//!
//! Flushes of tables with time windows and [`TaskKind::Split`](crate::compact::task::TaskKind::Split) go through it, so that a late
//! row never stretches a file over two windows and an expired window can go as a file. Each part goes by its own write
//! time: the cells of a row that was written in two windows part company, and reads merge them again.
//!
//! # Invariants
//! 1. What goes to one writer is a sorted stream by itself: partition first, range deletions closed where they end.
//! 2. All that goes to a writer of a window was written in that window.
//! 3. At most [`MAX_WINDOWS`] windows have a writer of their own; what else comes goes to one common writer. The
//!    strategy splits its file again, which ends, because each time that many windows are taken out.

use crate::compact::settings::Windows;
use crate::encoding::plain::PlainRow;
use crate::error::Result;
use crate::model::cell::ColumnId;
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::row::{Complex, Row};
use std::collections::BTreeMap;

/// Most windows with a writer of their own: each writer holds a block and an index in memory.
pub const MAX_WINDOWS: usize = 31;

/// Takes the fragments of one output file, in order.
pub trait Sink {
    /// Appends one fragment.
    ///
    /// # Errors
    /// Of the file.
    fn push(&mut self, fragment: Fragment) -> Result<()>;

    /// Appends rows as a memtable holds them.
    ///
    /// # Errors
    /// As [`Sink::push`]; `Corrupt` if one cannot be decoded.
    fn push_plain(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        rows.iter().try_for_each(|row| self.push(Fragment::Row(row.decode()?)))
    }
}

/// Distributes fragments over writers that it makes when they are first needed.
pub struct Splitter<W, F> {
    windows: Windows,
    make: F,
    outputs: Vec<Output<W>>,
    by_window: BTreeMap<i64, usize>,
    rest: Option<usize>,
    /// The output of the last fragment, and the write times that its window has.
    last: Option<(usize, i64, i64)>,
    key: Option<DecoratedKey>,
    /// The output in which a range deletion is in force.
    open_in: Option<usize>,
}

struct Output<W> {
    writer: W,
    /// It has the current partition.
    announced: bool,
}

impl<W: Sink, F: FnMut() -> Result<W>> Splitter<W, F> {
    /// Distributes by `windows` over writers from `make`.
    pub fn new(windows: Windows, make: F) -> Self {
        let (outputs, by_window) = (Vec::new(), BTreeMap::new());
        Self { windows, make, outputs, by_window, rest: None, last: None, key: None, open_in: None }
    }

    /// The writers made, in the order of first need: to finish, or to abandon after an error.
    pub fn into_writers(self) -> Vec<W> {
        self.outputs.into_iter().map(|output| output.writer).collect()
    }

    /// Takes the next fragment of the stream.
    ///
    /// # Errors
    /// Of making a writer or writing to one.
    pub fn push(&mut self, fragment: Fragment) -> Result<()> {
        match fragment {
            Fragment::Partition { key, deletion } => {
                self.outputs.iter_mut().for_each(|output| output.announced = false);
                self.open_in = None;
                self.key = Some(key.clone());
                let Some(deletion) = deletion else { return Ok(()) };
                let to = self.route(deletion.timestamp)?;
                self.outputs[to].announced = true;
                self.outputs[to].writer.push(Fragment::Partition { key, deletion: Some(deletion) })
            }
            Fragment::Static(row) => self.push_row(row, Fragment::Static),
            Fragment::Row(row) => self.push_row(row, Fragment::Row),
            Fragment::Bound(bound) => self.push_bound(bound),
        }
    }

    /// Takes the next rows as a memtable holds them.
    ///
    /// # Errors
    /// As [`Splitter::push`].
    pub fn push_plain(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        // All that is in a plain row has one write time.
        let within =
            |row: &PlainRow<'_>, from, until| from <= row.life.timestamp && row.life.timestamp <= until;
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let to = match self.last {
                Some((to, from, until)) if within(first, from, until) => to,
                _ => self.route(first.life.timestamp)?,
            };
            let count = match self.last {
                Some((of, from, until)) if of == to => {
                    rest.iter().take_while(|row| within(row, from, until)).count()
                }
                _ => 1, // what goes to the common writer has no window
            };
            let (run, left) = rest.split_at(count.max(1));
            self.announced(to)?.push_plain(run)?;
            rest = left;
        }
        Ok(())
    }

    fn push_row(&mut self, row: Row, wrap: fn(Row) -> Fragment) -> Result<()> {
        let Some((least, greatest)) = write_times(&row) else { return Ok(()) };
        if let Some((to, from, until)) = self.last
            && from <= least
            && greatest <= until
        {
            return self.send(to, wrap(row));
        }
        if self.windows.of(least) == self.windows.of(greatest) {
            let to = self.route(least)?;
            return self.send(to, wrap(row));
        }
        for (window, part) in split_row(self.windows, row) {
            let to = self.route(self.windows.range(window).0)?;
            self.send(to, wrap(part))?;
        }
        Ok(())
    }

    /// A deletion in force belongs to the window of its own write time: where the next one is of another window, it
    /// ends there and begins here.
    fn push_bound(&mut self, bound: RangeBound) -> Result<()> {
        let to = bound.deletion.map(|deletion| self.route(deletion.timestamp)).transpose()?;
        let before = std::mem::replace(&mut self.open_in, to);
        if let Some(before) = before
            && Some(before) != to
        {
            let end = RangeBound { at: bound.at.clone(), deletion: None::<Deletion> };
            self.send(before, Fragment::Bound(end))?;
        }
        to.map_or(Ok(()), |to| self.send(to, Fragment::Bound(bound)))
    }

    fn send(&mut self, to: usize, fragment: Fragment) -> Result<()> {
        self.announced(to)?.push(fragment)
    }

    /// The writer of output `to`, which knows of the current partition.
    #[inline]
    fn announced(&mut self, to: usize) -> Result<&mut W> {
        let output = &mut self.outputs[to];
        if !output.announced {
            output.announced = true;
            if let Some(key) = &self.key {
                output.writer.push(Fragment::Partition { key: key.clone(), deletion: None })?;
            }
        }
        Ok(&mut output.writer)
    }

    /// The output for what was written at `timestamp`.
    fn route(&mut self, timestamp: i64) -> Result<usize> {
        let window = self.windows.of(timestamp);
        let known = self.by_window.get(&window).copied();
        let to = match (known, self.rest) {
            (Some(to), _) => to,
            (None, _) if self.by_window.len() < MAX_WINDOWS => {
                let to = self.add()?;
                self.by_window.insert(window, to);
                to
            }
            (None, Some(rest)) => return Ok(rest),
            (None, None) => {
                let rest = self.add()?;
                self.rest = Some(rest);
                return Ok(rest);
            }
        };
        let (from, until) = self.windows.range(window);
        self.last = Some((to, from, until));
        Ok(to)
    }

    fn add(&mut self) -> Result<usize> {
        let writer = (self.make)()?;
        self.outputs.push(Output { writer, announced: false });
        Ok(self.outputs.len() - 1)
    }
}

/// Least and greatest write time in a row; `None` for an empty one.
fn write_times(row: &Row) -> Option<(i64, i64)> {
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    let mut note = |timestamp: i64| {
        least = least.min(timestamp);
        greatest = greatest.max(timestamp);
    };
    row.liveness.iter().for_each(|life| note(life.timestamp));
    row.deletion.iter().for_each(|deletion| note(deletion.timestamp));
    row.all_cells().for_each(|cell| note(cell.timestamp));
    row.complex.iter().flat_map(|c| c.deletion).for_each(|deletion| note(deletion.timestamp));
    (least <= greatest).then_some((least, greatest))
}

/// The parts of a row by the window in which each was written.
fn split_row(windows: Windows, row: Row) -> BTreeMap<i64, Row> {
    let mut parts: BTreeMap<i64, Row> = BTreeMap::new();
    let mut part = |timestamp: i64, put: &mut dyn FnMut(&mut Row)| {
        let at = || Row::new(row.clustering.clone());
        put(parts.entry(windows.of(timestamp)).or_insert_with(at));
    };
    if let Some(life) = row.liveness {
        part(life.timestamp, &mut |row| row.liveness = Some(life));
    }
    if let Some(deletion) = row.deletion {
        part(deletion.timestamp, &mut |row| row.deletion = Some(deletion));
    }
    for (id, cell) in row.cells {
        part(cell.timestamp, &mut |row| row.cells.push((id, cell.clone())));
    }
    for complex in row.complex {
        // Columns come in ascending order, so that the one at hand is the last of each part.
        let column = complex.column;
        if let Some(deletion) = complex.deletion {
            part(deletion.timestamp, &mut |row| of_column(row, column).deletion = Some(deletion));
        }
        for (path, cell) in complex.cells {
            part(cell.timestamp, &mut |row| of_column(row, column).cells.push((path.clone(), cell.clone())));
        }
    }
    parts
}

fn of_column(row: &mut Row, column: ColumnId) -> &mut Complex {
    if row.complex.last().is_none_or(|last| last.column != column) {
        row.complex.push(Complex { column, ..Complex::default() });
    }
    let last = row.complex.len() - 1;
    &mut row.complex[last]
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;

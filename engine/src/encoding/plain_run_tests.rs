//! What is taken in step and what one by one are all cells, in order, whatever the rows look like.

use super::*;
use crate::encoding::plain::PlainCell;
use crate::encoding::row::{Stamp, encode_row};
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::life::Liveness;
use crate::model::row::Row;
use proptest::prelude::*;

const STAMP: Stamp = Stamp { timestamp: 5_000_000, now: 5 };
const LIFE: Liveness = Liveness::new(5_000_000);

fn row(cells: &[(u32, Option<&[u8]>)]) -> Row {
    let cell = |wire: &Option<&[u8]>| match wire {
        Some(wire) => Cell::live(LIFE, Bytes::new(wire)),
        None => Cell::tombstone(LIFE.timestamp, STAMP.now),
    };
    Row {
        liveness: Some(LIFE),
        cells: cells.iter().map(|(id, wire)| (ColumnId(*id), cell(wire))).collect(),
        ..Row::new(Clustering::new(Bytes::new(&[7])))
    }
}

fn encoded(rows: &[Row]) -> Vec<Vec<u8>> {
    let encode = |row| {
        let mut bytes = Vec::new();
        encode_row(row, STAMP, &mut bytes);
        bytes
    };
    rows.iter().map(encode).collect()
}

/// The columns of a row with their values; a tombstone has none.
type Cells = Vec<(u32, Option<Vec<u8>>)>;

/// How a column's cells are taken.
#[derive(Clone, Copy, Debug)]
enum How {
    Eights,
    Fours,
    Wires,
    /// As long as they are shorter than this.
    Short(usize),
}

/// The live values of all rows as a walk gives them that takes columns in step in these ways; and how many were taken in step.
fn walked(rows: &[Row], ways: &[How]) -> (Vec<Cells>, usize) {
    let bytes = encoded(rows);
    let plain: Vec<_> = bytes.iter().map(|bytes| PlainRow::parse(bytes, STAMP).unwrap()).collect();
    let mut run = PlainRun::new(&plain);
    let mut cells = vec![Vec::new(); rows.len()];
    let (mut ways, mut in_step) = (ways.iter(), 0);
    while let (Some(ColumnId(id)), Some(how)) = (run.column(), ways.next()) {
        let mut wires = Vec::new();
        let taken = match *how {
            How::Eights => run.take_eights(|number| wires.push(number.to_be_bytes().to_vec())),
            How::Fours => run.take_fours(|number| wires.push(number.to_be_bytes().to_vec())),
            How::Wires => run.take_wires(|wire| {
                wires.push(wire.to_vec());
                true
            }),
            How::Short(limit) => run.take_wires(|wire| {
                let short = wire.len() < limit;
                wires.extend(short.then(|| wire.to_vec()));
                short
            }),
        };
        assert_eq!(taken, wires.len());
        in_step += taken;
        wires.into_iter().zip(&mut cells).for_each(|(wire, cells)| cells.push((id, Some(wire))));
    }
    for (mut rest, cells) in run.into_cells().zip(&mut cells) {
        while let Some((id, cell)) = rest.next_cell().unwrap() {
            let wire = match cell {
                PlainCell::Eight(number) => Some(number.to_be_bytes().to_vec()),
                PlainCell::Four(number) => Some(number.to_be_bytes().to_vec()),
                PlainCell::Bytes(bytes) => Some(bytes.to_vec()),
                PlainCell::Other(cell) => cell.value.map(|value| value.to_vec()),
            };
            cells.push((id.0, wire));
        }
    }
    (cells, in_step)
}

fn wanted(rows: &[Row]) -> Vec<Cells> {
    let cell = |(id, cell): &(ColumnId, Cell)| (id.0, cell.value.as_ref().map(|value| value.to_vec()));
    rows.iter().map(|row| row.cells.iter().map(cell).collect()).collect()
}

#[test]
fn rows_alike_are_taken_in_step_to_their_ends() {
    let (double, int) = (20.51f64.to_be_bytes(), 7i32.to_be_bytes());
    let alike = row(&[(0, Some(&double)), (2, Some(&int)), (3, Some(b"text"))]);
    let rows = [alike.clone(), alike.clone(), alike];
    let (cells, in_step) = walked(&rows, &[How::Eights, How::Fours, How::Wires]);
    assert_eq!((cells, in_step), (wanted(&rows), 9));
}

#[test]
fn a_row_that_is_different_ends_the_step_at_its_place() {
    let double = 20.51f64.to_be_bytes();
    let full = row(&[(0, Some(&double)), (1, Some(&double)), (2, Some(&double))]);
    for (other, before) in [
        (row(&[(0, Some(&double)), (2, Some(&double))]), 3 + 1),
        (row(&[(0, Some(&double)), (1, None), (2, Some(&double))]), 3 + 1),
        (row(&[]), 1),
        (row(&[(0, Some(b"text")), (1, Some(&double))]), 1),
    ] {
        let rows = [full.clone(), other, full.clone()];
        let (cells, in_step) = walked(&rows, &[How::Eights; 3]);
        assert_eq!((cells, in_step), (wanted(&rows), before));
    }
}

#[test]
fn a_column_far_away_is_not_taken_in_step() {
    let rows = [row(&[(500, Some(b"a"))]), row(&[(500, Some(b"b"))])];
    assert_eq!(walked(&rows, &[How::Wires]), (wanted(&rows), 0));
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        4 => (-100_000..100_000i32).prop_map(|n| Some((f64::from(n) / 100.0).to_be_bytes().to_vec())),
        2 => any::<[u8; 8]>().prop_map(|bytes| Some(bytes.to_vec())),
        4 => (-1000..1000i32).prop_map(|n| Some(n.to_be_bytes().to_vec())),
        2 => any::<[u8; 4]>().prop_map(|bytes| Some(bytes.to_vec())),
        2 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Some),
        1 => Just(None),
    ]
}

proptest! {
    #[test]
    fn all_cells_come_once_and_in_order(
        columns in prop::collection::vec((prop_oneof![8 => 0..4u32, 1 => 29..34u32], prop::collection::vec(value(), 5)), 0..5),
        gaps in prop::collection::vec((0..5usize, 0..5usize), 0..3),
        ways in prop::collection::vec(prop_oneof![
            Just(How::Eights), Just(How::Fours), Just(How::Wires), (0..9usize).prop_map(How::Short)
        ], 0..5),
    ) {
        let mut id = 0;
        let ids: Vec<u32> = columns.iter().map(|(gap, _)| { id += gap + 1; id - 1 }).collect();
        let rows: Vec<Row> = (0..5).map(|r| {
            let there = |c: &usize| !gaps.contains(&(r, *c));
            let cells = (0..columns.len()).filter(there).map(|c| (ids[c], columns[c].1[r].as_deref()));
            row(&cells.collect::<Vec<_>>())
        }).collect();
        prop_assert_eq!(walked(&rows, &ways).0, wanted(&rows));
    }
}

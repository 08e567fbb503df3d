//! What the statements of a batch have in common: arguments by name, rows of tombstones, and how refusals are put.

use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::Deletion;
use crate::model::row::{Complex, Row};
use crate::model::schema::{Column, TableSchema};

/// Refuses a row whose parts are not in the order that the encoding relies on.
pub(super) fn check_order(row: &Row) -> Result<()> {
    let cells = row.cells.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let complex = row.complex.windows(2).all(|pair| pair[0].column < pair[1].column);
    let mut elements = row.complex.iter().map(|complex| &complex.cells);
    if cells && complex && elements.all(|cells| cells.windows(2).all(|pair| pair[0].0 < pair[1].0)) {
        return Ok(());
    }
    Err(Error::invalid("a row's columns or a collection's elements are out of order or come twice"))
}

/// A row of tombstones for `columns`, which come by ascending id.
pub(super) fn tombstones<'a>(
    clustering: Clustering,
    columns: impl Iterator<Item = &'a Column>,
    deletion: Deletion,
) -> Row {
    let mut row = Row::new(clustering);
    let cell = |id: ColumnId| (id, Cell::tombstone(deletion.timestamp, deletion.local));
    for column in columns {
        match column.ty.is_multicell() {
            true => {
                row.complex.push(Complex { column: column.id, deletion: Some(deletion), cells: Vec::new() })
            }
            false => row.cells.push(cell(column.id)),
        }
    }
    row
}

pub(super) fn by_name<'a>(table: &TableSchema, columns: &[(&str, Arg<'a>)]) -> Result<Vec<Arg<'a>>> {
    let mut args = vec![Arg::Unset; table.columns().len()];
    for (name, arg) in columns {
        let place = table.declared().position(|c| c.name == *name);
        args[place.ok_or_else(|| unknown(table, name))?] = arg.clone();
    }
    Ok(args)
}

pub(super) fn unknown(table: &TableSchema, name: &str) -> Error {
    Error::not_found(format!("Undefined column name {name} in table {}", table.full_name()))
        .hint(table.column_list())
}

pub(super) fn in_column(table: &TableSchema, column: &Column, error: &Error) -> Error {
    Error::invalid(format!("column {}: {}", column.name, error.message())).in_table(table.full_name())
}

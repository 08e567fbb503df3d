//! Rows and bounds out of a block, as the model's values: what merges, reads and dumps go by.

use crate::error::{Error, Result};
use crate::model::cell::ColumnId;
use crate::model::clustering::Clustering;
use crate::model::fragment::RangeBound;
use crate::model::life::Deletion;
use crate::model::row::{Complex, Row};
use crate::sstable::block::builder::kind;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::place::{bound_at, clustering_at};
use crate::sstable::layout::BlockSchema;

/// Which columns a reader wants: their lanes are the only ones that are decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Slots by ascending number.
    slots: Vec<usize>,
}

impl Projection {
    /// Every column of `schema`.
    pub fn all(schema: &BlockSchema) -> Self {
        Self { slots: (0..schema.columns().len()).collect() }
    }

    /// Those of `columns` that `schema` has.
    pub fn of(schema: &BlockSchema, columns: &[ColumnId]) -> Self {
        let mut slots: Vec<_> = columns.iter().filter_map(|&id| schema.slot(id)).collect();
        slots.sort_unstable();
        slots.dedup();
        Self { slots }
    }

    /// The slots wanted, ascending: statics, then regulars.
    pub fn slots(&self) -> &[usize] {
        &self.slots
    }
}

impl DecodedBlock {
    /// Fills `row` with item `i`, a row or static row: clustering, marker, deletion, and the cells of the wanted columns.
    ///
    /// # Errors
    /// `Corrupt` if a lane that is used for the first time is damaged, `Invalid` if item `i` is a bound.
    ///
    /// # Panics
    /// If `i` is not below [`DecodedBlock::items`].
    pub fn read_row(&self, i: usize, projection: &Projection, row: &mut Row) -> Result<()> {
        let code = self.kind_code(i);
        if code == kind::BOUND {
            return Err(Error::invalid("a bound was read as a row"));
        }
        let statics = code == kind::STATIC;
        let number = self.number(i);
        let life = self.lives()?.of(i);
        row.clustering = if statics { Clustering::EMPTY } else { self.clustering(i)? };
        row.liveness = (code == kind::ROW).then_some(life);
        row.deletion = self.row_deletions()?.at(i);
        row.cells.clear();
        row.complex.clear();
        let slots = self.schema().slots(statics);
        let start = projection.slots.partition_point(|&slot| slot < slots.start);
        for &slot in projection.slots[start..].iter().take_while(|&&slot| slot < slots.end) {
            let column = self.column(slot)?;
            let definition = &self.schema().columns()[slot];
            if definition.ty.is_multicell() {
                let mut complex = Complex { column: definition.id, ..Complex::default() };
                if column.read_complex(number, &life, &mut complex)? {
                    row.complex.push(complex);
                }
            } else if let Some(cell) = column.cell(number, &life) {
                row.cells.push((definition.id, cell));
            }
        }
        Ok(())
    }

    /// Item `i` as a new row; see [`DecodedBlock::read_row`].
    pub fn to_row(&self, i: usize, projection: &Projection) -> Result<Row> {
        let mut row = Row::default();
        self.read_row(i, projection, &mut row)?;
        Ok(row)
    }

    /// The clustering of item `i`, a row.
    ///
    /// # Errors
    /// `Corrupt` if a clustering lane is damaged.
    #[inline]
    pub fn clustering(&self, i: usize) -> Result<Clustering> {
        clustering_at(self.all_places()?, i)
    }

    /// Item `i`, a bound.
    ///
    /// # Errors
    /// `Invalid` if it is none, `Corrupt` if its lanes are damaged.
    pub fn bound(&self, i: usize) -> Result<RangeBound> {
        if self.kind(i) != ItemKind::Bound {
            return Err(Error::invalid("a row was read as a bound"));
        }
        let (number, bounds) = (self.number(i), self.bounds()?);
        let code = bounds.codes[number];
        let at = bound_at(self.all_places()?.take(code as usize / 2), i, code % 2 == 1)?;
        Ok(RangeBound { at, deletion: bounds.deletions.at(number) })
    }

    /// The range deletion in force just before item `i` of partition `p`: that of the nearest bound before it, or the one that
    /// was open where the block begins.
    ///
    /// # Errors
    /// `Corrupt` if the bounds are damaged.
    pub fn deletion_before(&self, p: usize, i: usize) -> Result<Option<Deletion>> {
        let start = self.partition(p).items.start;
        if !self.all_rows_marked()
            && let Some(bound) = (start..i).rev().find(|&item| self.kind(item) == ItemKind::Bound)
        {
            return Ok(self.bounds()?.deletions.at(self.number(bound)));
        }
        Ok(if p == 0 { self.open_deletion() } else { None })
    }
}

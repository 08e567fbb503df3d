//! Finding a place among the items of a partition: binary search on clustering lanes, without building rows.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Result;
use crate::model::clustering::Bound;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::guess;
use crate::sstable::block::place::{SoughtValue, sought_values};
use crate::sstable::layout::BlockSchema;

/// A bound made ready for comparison with the lanes of any block of one schema.
#[derive(Clone, Debug)]
pub struct SeekBound {
    values: Vec<SoughtValue>,
    after: bool,
}

impl SeekBound {
    /// Takes `bound` apart into the values of its prefix.
    ///
    /// # Errors
    /// `Corrupt` or `Invalid` if it is not a bound of the clustering columns of `schema`.
    pub fn new(schema: &BlockSchema, bound: &Bound) -> Result<Self> {
        Ok(Self { values: sought_values(schema, bound)?, after: bound.is_after() })
    }
}

impl DecodedBlock {
    /// The first item in `items` (of one partition) that stands at or after `bound`; the end of `items` if none does. A static row
    /// stands before every bound. A bound that stands exactly there counts as at it.
    ///
    /// # Errors
    /// `Corrupt` if a clustering lane is damaged.
    ///
    /// # Panics
    /// If `items` passes [`DecodedBlock::items`].
    pub fn seek(&self, items: Range<usize>, bound: &SeekBound) -> Result<usize> {
        let mut start = items.start;
        if start < items.end && self.kind(start) == ItemKind::Static {
            start += 1;
        }
        if bound.values.is_empty() && !bound.after {
            return Ok(start);
        }
        if let [value] = bound.values.as_slice()
            && let (Some(sought), Some((places, desc))) = (value.int(), self.place(0)?.plain_ints())
            && self.bound_count() == 0
        {
            let places = &places[start..items.end];
            return Ok(start
                + match (desc, bound.after) {
                    (false, false) => places.partition_point(|&place| place < sought),
                    (false, true) => places.partition_point(|&place| place <= sought),
                    (true, false) => places.partition_point(|&place| place > sought),
                    (true, true) => places.partition_point(|&place| place >= sought),
                });
        }
        let (mut low, mut high) = (start, items.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare_to_bound(middle, bound)? {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// The item of `items` (of one partition) that is the row at `clustering` (byte-comparable, all columns). `number` is that
    /// place as a number if there is one clustering column and it is of integers.
    ///
    /// # Errors
    /// As [`DecodedBlock::seek`]; `Invalid` if it is no clustering of the block's columns.
    ///
    /// # Panics
    /// If `items` passes [`DecodedBlock::items`].
    pub fn find_row(
        &self,
        items: Range<usize>,
        clustering: &[u8],
        number: Option<i64>,
    ) -> Result<Option<usize>> {
        let is_static = !items.is_empty() && self.kind(items.start) == ItemKind::Static;
        if let Some(number) = number
            && self.places_count() == 1
            && self.bound_count() == 0
            && let places = self.place(0)?
            && let Some((numbers, desc)) = places.plain_ints()
        {
            let start = items.start + usize::from(is_static);
            let whole = start == 0 && items.end == numbers.len();
            let numbers = &numbers[start..items.end];
            let ends = match (whole, numbers) {
                (true, _) => places.ends(),
                (false, [first, .., last]) => (*first, *last),
                (false, [one]) => (*one, *one),
                (false, []) => return Ok(None),
            };
            return Ok(guess::position(numbers, ends, number, desc).map(|i| start + i));
        }
        let bound = SeekBound::new(self.schema(), &Bound::before(clustering))?;
        let mut i = self.seek(items.clone(), &bound)?;
        while i < items.end && self.kind(i) == ItemKind::Bound {
            i += 1;
        }
        let is_there =
            i < items.end && self.kind(i) == ItemKind::Row && self.clustering(i)?.order() == clustering;
        Ok(is_there.then_some(i))
    }

    /// Where among `items` (of one partition) the row at `number` should be, as far as that is known without a look at them: of use to have
    /// lanes brought from memory before [`DecodedBlock::find_row`] knows.
    #[inline]
    pub fn likely_item(&self, items: &Range<usize>, number: Option<i64>) -> Option<usize> {
        let places = self.known_place()?;
        let (numbers, _) = places.plain_ints()?;
        let whole = items.start == 0 && items.end == numbers.len();
        Some(guess::likely(numbers.len(), places.ends(), number.filter(|_| whole)?))
    }

    /// How item `i` stands to `bound`; `Equal` only for a bound at the very place.
    fn compare_to_bound(&self, i: usize, bound: &SeekBound) -> Result<Ordering> {
        let (own_values, own_after) = match self.kind(i) {
            ItemKind::Bound => {
                let code = self.bounds()?.codes[self.number(i)] as usize;
                (code / 2, code % 2 == 1)
            }
            _ => (usize::MAX, false),
        };
        for (k, value) in bound.values.iter().enumerate().take(own_values) {
            match self.place(k)?.compare(i, value)? {
                Ordering::Equal => {}
                unequal => return Ok(unequal),
            }
        }
        let sides = |after: bool| if after { Ordering::Greater } else { Ordering::Less };
        Ok(match own_values.cmp(&bound.values.len()) {
            Ordering::Equal => own_after.cmp(&bound.after),
            // The item's prefix is shorter: it stands before or after all that has it, the sought place too.
            Ordering::Less => sides(own_after),
            // The sought prefix is shorter, and the item has it.
            Ordering::Greater => sides(bound.after).reverse(),
        })
    }
}

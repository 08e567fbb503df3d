//! Finding a place among the items of a partition: binary search on clustering lanes, without building rows.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Result;
use crate::model::clustering::Bound;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
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
        if let (Some(number), [_]) = (number, self.schema().clustering())
            && self.bound_count() == 0
            && let Some((places, desc)) = self.place(0)?.plain_ints()
        {
            let start = items.start + usize::from(is_static);
            let places = &places[start..items.end];
            let window = window_around(places, number, desc);
            let within = &places[window.clone()];
            let i = window.start
                + match desc {
                    false => within.partition_point(|&place| place < number),
                    true => within.partition_point(|&place| place > number),
                };
            return Ok((places.get(i) == Some(&number)).then_some(start + i));
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

/// Items to both sides of where a number should stand if all stood at equal distances.
const WINDOW: usize = 8;

/// Where in `places` (ascending, or descending if `desc`) `number` stands if it is there. Rows of a series follow each other at nearly equal
/// distances: a guess saves most of a binary search's way through memory. It is used only if the window's ends prove it right.
fn window_around(places: &[i64], number: i64, desc: bool) -> Range<usize> {
    let all = 0..places.len();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return all };
    let share = (number as f64 - first as f64) / (last as f64 - first as f64);
    // Of a division by zero comes NaN, which the conversion makes 0.
    let guess = (share * (places.len() - 1) as f64) as usize;
    let start = guess.saturating_sub(WINDOW).min(places.len() - 1);
    let end = guess.saturating_add(WINDOW).min(places.len() - 1);
    let (low, high) = if desc { (places[end], places[start]) } else { (places[start], places[end]) };
    if low <= number && number <= high { start..end + 1 } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_guessed_window_has_the_number_if_any_place_has(
            mut places in prop::collection::vec(prop_oneof![-50i64..50, any::<i64>()], 0..60),
            number in prop_oneof![-50i64..50, any::<i64>()],
            desc in any::<bool>(),
        ) {
            places.sort_unstable();
            places.dedup();
            if desc {
                places.reverse();
            }
            for number in places.iter().copied().chain([number]) {
                let window = window_around(&places, number, desc);
                let found = places.iter().position(|&place| place == number);
                prop_assert!(window.end <= places.len());
                prop_assert!(found.is_none_or(|at| window.contains(&at)));
            }
        }

        #[test]
        fn evenly_spaced_places_are_guessed(step in 1i64..1000, at in 0usize..500) {
            let places: Vec<_> = (0..500).map(|i| 1_700_000_000_000 + i * step).collect();
            prop_assert!(window_around(&places, places[at], false).len() <= 2 * WINDOW + 1);
        }
    }
}

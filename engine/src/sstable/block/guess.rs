//! Finding a number among sorted ones that stand at nearly equal distances, as the rows of a series do.
//!
//! A binary search asks memory for a dozen places one after the other. Here the first place asked for is a guess from the two
//! ends, the second corrects it by what was found there; then a few neighbours are looked at. What is not evenly spaced is
//! found in wider and wider surroundings, at last in all.

use std::ops::Range;

/// Neighbours to both sides of the guess that are looked at, first and then.
const SURROUNDINGS: [usize; 2] = [3, 24];

/// Where `number` stands in `numbers` (strictly ascending, or descending if `desc`), the first and last of which are `ends`; `None`
/// if it is not there.
#[inline]
pub(super) fn position(numbers: &[i64], ends: (i64, i64), number: i64, desc: bool) -> Option<usize> {
    let most = numbers.len().checked_sub(1)?;
    let guess = likely(numbers.len(), ends, number);
    let correction = (number as f64 - numbers[guess] as f64) * density(most, ends);
    let guess = ((guess as f64 + correction).round() as usize).min(most);
    for reach in SURROUNDINGS {
        let range = guess.saturating_sub(reach)..guess.saturating_add(reach).min(most) + 1;
        if holds(numbers, &range, number, desc) {
            return search(numbers, range, number, desc);
        }
    }
    search(numbers, 0..numbers.len(), number, desc)
}

/// Where `number` should be among `count` numbers at equal distances from one of `ends` to the other; at 0 if there are none.
#[inline]
pub(super) fn likely(count: usize, ends: (i64, i64), number: i64) -> usize {
    let most = count.saturating_sub(1);
    (((number as f64 - ends.0 as f64) * density(most, ends)) as usize).min(most)
}

/// Items per unit; infinite where both ends are one. What comes of that is cut to the range or, being NaN, to 0.
#[inline]
fn density(most: usize, ends: (i64, i64)) -> f64 {
    most as f64 / (ends.1 as f64 - ends.0 as f64)
}

/// Whether `number` lies between the first and the last of `range`, which is not empty.
#[inline]
fn holds(numbers: &[i64], range: &Range<usize>, number: i64, desc: bool) -> bool {
    let (first, last) = (numbers[range.start], numbers[range.end - 1]);
    if desc { last <= number && number <= first } else { first <= number && number <= last }
}

#[inline]
fn search(numbers: &[i64], range: Range<usize>, number: i64, desc: bool) -> Option<usize> {
    let within = &numbers[range.clone()];
    let i = match desc {
        false => within.partition_point(|&other| other < number),
        true => within.partition_point(|&other| other > number),
    };
    (within.get(i) == Some(&number)).then_some(range.start + i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find(numbers: &[i64], number: i64, desc: bool) -> Option<usize> {
        let ends = numbers.first().copied().zip(numbers.last().copied()).unwrap_or_default();
        position(numbers, ends, number, desc)
    }

    proptest! {
        #[test]
        fn a_number_is_found_where_it_is_and_only_there(
            mut numbers in prop::collection::vec(prop_oneof![-50i64..50, any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..90),
            number in prop_oneof![-50i64..50, any::<i64>()],
            desc in any::<bool>(),
        ) {
            numbers.sort_unstable();
            numbers.dedup();
            if desc {
                numbers.reverse();
            }
            for number in numbers.iter().copied().chain([number]) {
                prop_assert_eq!(find(&numbers, number, desc), numbers.iter().position(|&other| other == number));
            }
        }

        #[test]
        fn so_it_is_in_a_series_with_gaps(
            steps in prop::collection::vec(prop_oneof![9 => 990i64..1010, 1 => 2000i64..90_000], 1..700),
            desc in any::<bool>(),
        ) {
            let mut at = 1_700_000_000_000;
            let mut numbers: Vec<i64> = steps.iter().map(|step| { at += step; at }).collect();
            if desc {
                numbers.reverse();
            }
            for (i, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(find(&numbers, number, desc), Some(i));
                prop_assert_eq!(find(&numbers, number + 1, desc), None);
            }
        }
    }
}

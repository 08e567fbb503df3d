//! Round trips over what columns hold and over what they should not, exact bytes of each form, and damage.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::encoding::varint::put_varint;

fn encode(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_ints(values, &mut out);
    out
}

fn decode(bytes: &[u8], count: usize) -> Result<Vec<i64>> {
    let mut reader = ByteReader::new(bytes);
    let values = decode_ints(&mut reader, count)?;
    reader.expect_end()?;
    Ok(values)
}

fn assert_round_trip(values: &[i64]) -> usize {
    let bytes = encode(values);
    assert_eq!(decode(&bytes, values.len()).unwrap(), values);
    bytes.len()
}

#[test]
fn the_bytes_of_each_form() {
    assert_eq!(encode(&[]), [0, 0, 0]);
    assert_eq!(encode(&[-1, -1, -1]), [0, 1, 0]);
    // FOR, 2 bits, frame 2050, residuals 0 1 2 3 lowest bits first.
    assert_eq!(encode(&[2050, 2051, 2052, 2053]), [2, 0x84, 0x20, 0, 0b11_10_01_00]);
    // DELTA from 0 by 1000, no residuals.
    let steady: Vec<i64> = (0..100).map(|i| i * 1000).collect();
    assert_eq!(encode(&steady), [0x80, 0, 0xd0, 0x0f, 0]);
    // FOR, width 0, one exception of 1 << 40 after 70 others.
    let mut outlier = vec![0; 100];
    outlier[70] = 1 << 40;
    let mut expected = vec![0, 0, 1, 70];
    put_varint(&mut expected, 1 << 40);
    assert_eq!(encode(&outlier), expected);
}

#[test]
fn extremes_and_long_lanes_come_back() {
    assert_round_trip(&[i64::MIN, i64::MAX]);
    assert_round_trip(&[i64::MAX, i64::MIN, 0, -1, i64::MIN, i64::MAX]);
    let alternating: Vec<i64> = (0..65_536).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }).collect();
    assert_round_trip(&alternating);
    let steady: Vec<i64> = (0..65_536).map(|i| i * 12_345).collect();
    assert!(assert_round_trip(&steady) < 10);
    for width in 0..64 {
        let values: Vec<i64> =
            (0..131u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> width) as i64).collect();
        assert_round_trip(&values);
    }
}

#[test]
fn one_outlier_does_not_widen_the_lane() {
    let mut values: Vec<i64> = (0..1024).map(|i| i * 37 % 16).collect();
    let plain = assert_round_trip(&values);
    values[500] = i64::MAX / 3;
    values[501] = i64::MAX;
    assert!(assert_round_trip(&values) < plain + 40, "two exceptions take a few bytes each");
    // One below all others spoils the frame, but not the distances, which take a bit more.
    values[502] = i64::MIN / 3;
    assert!(assert_round_trip(&values) < plain + 128 + 80);
}

#[test]
fn damaged_lanes_are_errors() {
    let cases: [(&[u8], usize, &str); 8] = [
        (&[57, 0, 0], 1, "width 57"),
        (&[0xff, 0, 0, 0], 1, "width 127"),
        (&[0, 0, 2], 1, "number of exceptions is 2"),
        (&[0, 0, 1, 1, 1], 1, "exception outside"),
        (&[64, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 1, "exception outside"),
        (&[8, 0, 0], 1, "1 bytes expected"),
        (&[0x80, 0, 0, 0], 0, "without values"),
        (&[0, 0, 0], MAX_LANE_VALUES + 1, "at most"),
    ];
    for (bytes, count, message) in cases {
        let error = decode(bytes, count).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn narrowing_refuses_what_is_not_below_the_limit() {
    assert_eq!(narrow_codes(&[0, 4], 5, "codes").unwrap(), [0, 4]);
    assert!(narrow_codes(&[5], 5, "codes").is_err());
    assert!(narrow_codes(&[-1], u64::MAX, "codes").is_err());
    assert!(narrow_codes(&[1 << 32], u64::MAX, "codes").is_err());
}

/// Columns as they occur: a base, a slope, noise of some width, and now and then anything at all.
fn columns() -> impl Strategy<Value = Vec<i64>> {
    let cell = prop_oneof![20 => any::<u64>().prop_map(Some), 1 => Just(None)];
    (any::<i64>(), -3000i64..3000, 0u32..64, vec((cell, any::<i64>()), 0..600)).prop_map(
        |(base, slope, cut, cells)| {
            let value = |(i, (noise, wild)): (usize, (Option<u64>, i64))| match noise {
                Some(noise) => {
                    base.wrapping_add(slope.wrapping_mul(i as i64)).wrapping_add((noise >> cut) as i64)
                }
                None => wild,
            };
            cells.into_iter().enumerate().map(value).collect()
        },
    )
}

proptest! {
    #[test]
    fn columns_come_back(values in columns()) {
        assert_round_trip(&values);
    }

    #[test]
    fn any_values_come_back(values: Vec<i64>) {
        assert_round_trip(&values);
    }

    #[test]
    fn any_bytes_give_values_or_an_error(mut bytes: Vec<u8>, form in 0u8..130, count in 0usize..300) {
        if let Some(first) = bytes.first_mut() {
            *first = form;
        }
        if let Ok(values) = decode_ints(&mut ByteReader::new(&bytes), count) {
            prop_assert_eq!(values.len(), count);
        }
    }

    #[test]
    fn a_cut_off_lane_is_an_error(values in columns(), cut: prop::sample::Index) {
        let bytes = encode(&values);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())], values.len()).is_err());
    }
}

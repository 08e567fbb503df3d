//! Numbers and addresses in the text form of the Java library, which Cassandra's casts and JSON show.

use std::collections::HashSet;
use std::net::IpAddr;

/// The order of a hash map of Java with these keys, put in one after the other, as places of the names: Cassandra keeps the fields of a
/// literal of a user type in one, and shows it where the literal is a column's name or has a field too many. The hash is that of a `ByteBuffer`.
pub(crate) fn map_order(names: &[&str]) -> Vec<usize> {
    let hash = |place: usize| {
        let bytes = names.get(place).map_or(&[][..], |name| name.as_bytes());
        // Bytes count as signed.
        let add = |hash: i32, byte: &u8| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()));
        let hash = bytes.iter().rev().fold(1, add).cast_unsigned();
        (hash ^ (hash >> 16)) as usize
    };
    // Of a key that is put in twice the second value stays.
    let mut seen = HashSet::new();
    let mut places: Vec<usize> = (0..names.len()).rev().filter(|place| seen.insert(names[*place])).collect();
    places.reverse();
    let mut buckets = 16;
    for (count, place) in places.iter().enumerate() {
        let same = |other: &&usize| hash(**other) % buckets == hash(*place) % buckets;
        // A map grows when it is three quarters full, and while it is small when a bucket gets more than eight keys.
        if (buckets < 64 && places[..count].iter().filter(same).count() >= 8) || (count + 1) * 4 > buckets * 3
        {
            buckets *= 2;
        }
    }
    places.sort_by_key(|place| hash(*place) % buckets);
    places
}

/// As `Double.toString`: `1.0E10`, `0.001`, `-0.0`, `NaN`.
pub(crate) fn double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    layout(&format!("{number:e}"))
}

/// As `Float.toString`.
pub(crate) fn float(number: f32) -> String {
    if number.is_nan() || number.is_infinite() {
        double(f64::from(number))
    } else {
        layout(&format!("{number:e}"))
    }
}

/// From the shortest digits (`-1.25e-7`) to Java's form: plain from 10^-3 up to 10^7, with at least one digit behind the point.
fn layout(shortest: &str) -> String {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits = mantissa.replace('.', "");
    let zero = digits == "0";
    if zero || (-3..7).contains(&exponent) {
        let (whole, fraction) = if exponent < 0 {
            ("0".to_owned(), "0".repeat(exponent.unsigned_abs() as usize - 1) + &digits)
        } else {
            let width = exponent.unsigned_abs() as usize + 1;
            let padded = format!("{digits:0<width$}");
            (padded[..width].to_owned(), padded[width..].to_owned())
        };
        let fraction = if fraction.is_empty() { "0" } else { &fraction };
        return format!("{sign}{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    format!("{sign}{first}.{rest}E{exponent}")
}

/// As `InetAddress.getHostAddress`: no `::`, no leading zeros.
pub(crate) fn host_address(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => v6.segments().map(|segment| format!("{segment:x}")).join(":"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_their_hashes() {
        for (names, order) in [
            (&["x", "y", "z", "f3"][..], &["f3", "x", "y", "z"][..]),
            (&["ex", "Why"], &["Why", "ex"]),
            (&["ex", "v"], &["v", "ex"]),
            (&["b", "a", "b"], &["a", "b"]),
            // Nine of one bucket of 16.
            (
                &["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj"],
                &["bb", "dd", "ff", "hh", "jj", "aa", "cc", "ee", "gg", "ii"],
            ),
            (&[], &[]),
        ] {
            let found: Vec<_> = map_order(names).into_iter().map(|place| names[place]).collect();
            assert_eq!(found, order);
        }
    }

    #[test]
    fn doubles_print_as_java_prints_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-7.75, "-7.75"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (1e7, "1.0E7"),
            (9_999_999.0, "9999999.0"),
            (123_456_789.125, "1.23456789125E8"),
            (1e10, "1.0E10"),
            (1e300, "1.0E300"),
            (9_007_199_254_740_992.0, "9.007199254740992E15"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (100.5, "100.5"),
        ] {
            assert_eq!(double(number), text);
        }
        assert_eq!(float(0.1), "0.1");
        assert_eq!(float(16_777_216.0), "1.6777216E7");
        assert_eq!(float(3.402_823_5e38), "3.4028235E38");
    }

    #[test]
    fn addresses_are_written_out() {
        assert_eq!(host_address("2001:db8::1".parse().unwrap()), "2001:db8:0:0:0:0:0:1");
        assert_eq!(host_address("10.0.0.1".parse().unwrap()), "10.0.0.1");
    }
}

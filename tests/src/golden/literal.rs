//! Values as golden files show them: CQL literals, read from the protocol's bytes without the engine's own decoder.
//!
//! # Not here
//! Checking: bytes that are no value of their type show as `?`, which differs from whatever was expected.

use num_bigint::BigInt;
use skep_engine::CqlType;
use std::fmt::Write;

/// The type's name as drivers see it: nothing frozen, user types by name.
#[must_use]
pub fn type_name(ty: &CqlType) -> String {
    match ty {
        CqlType::Frozen(inner) => type_name(inner),
        CqlType::List(element) => format!("list<{}>", type_name(element)),
        CqlType::Set(element) => format!("set<{}>", type_name(element)),
        CqlType::Map(key, value) => format!("map<{}, {}>", type_name(key), type_name(value)),
        CqlType::Tuple(fields) => {
            let fields: Vec<_> = fields.iter().map(type_name).collect();
            format!("tuple<{}>", fields.join(", "))
        }
        CqlType::Vector(element, dimension) => format!("vector<{}, {dimension}>", type_name(element)),
        CqlType::Udt(udt) => udt.name.clone(),
        simple => simple.to_string(),
    }
}

/// A value, or null, as a literal.
#[must_use]
pub fn literal(ty: &CqlType, value: Option<&[u8]>) -> String {
    match value {
        None => "null".to_owned(),
        Some(bytes) => present(ty, bytes).unwrap_or_else(|| format!("?0x{}", hex(bytes))),
    }
}

fn present(ty: &CqlType, v: &[u8]) -> Option<String> {
    if let CqlType::Frozen(inner) = ty {
        return present(inner, v);
    }
    let holder = matches!(
        ty,
        CqlType::Ascii
            | CqlType::Text
            | CqlType::Blob
            | CqlType::List(_)
            | CqlType::Set(_)
            | CqlType::Map(..)
            | CqlType::Tuple(_)
            | CqlType::Udt(_)
    );
    if v.is_empty() && !holder {
        return Some("empty".to_owned());
    }
    Some(match ty {
        CqlType::Ascii | CqlType::Text => quote(std::str::from_utf8(v).ok()?),
        CqlType::Blob => format!("0x{}", hex(v)),
        CqlType::Boolean => (v[0] != 0).to_string(),
        CqlType::Bigint
        | CqlType::Counter
        | CqlType::Int
        | CqlType::Smallint
        | CqlType::Tinyint
        | CqlType::Varint => BigInt::from_signed_bytes_be(v).to_string(),
        CqlType::Decimal => {
            let (scale, unscaled) = v.split_first_chunk()?;
            decimal(&BigInt::from_signed_bytes_be(unscaled), i64::from(i32::from_be_bytes(*scale)))
        }
        CqlType::Double => repr(f64::from_be_bytes(v.try_into().ok()?)),
        CqlType::Float => shortest(f32::from_be_bytes(v.try_into().ok()?)),
        CqlType::Uuid | CqlType::Timeuuid => {
            let digits = hex(<&[u8; 16]>::try_from(v).ok()?);
            format!(
                "{}-{}-{}-{}-{}",
                &digits[..8],
                &digits[8..12],
                &digits[12..16],
                &digits[16..20],
                &digits[20..]
            )
        }
        CqlType::Inet => inet(v)?,
        CqlType::Timestamp => timestamp(i64::from_be_bytes(v.try_into().ok()?)),
        CqlType::Date => {
            let number = u32::from_be_bytes(v.try_into().ok()?);
            let (year, month, day) = civil(i64::from(number) - (1 << 31));
            if (1..=9999).contains(&year) {
                format!("'{year:04}-{month:02}-{day:02}'")
            } else {
                number.to_string()
            }
        }
        CqlType::Time => {
            let nanos = i64::from_be_bytes(v.try_into().ok()?);
            let (s, f) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
            format!("'{:02}:{:02}:{:02}.{f:09}'", s / 3600, s / 60 % 60, s % 60)
        }
        CqlType::Duration => duration(v)?,
        other => composite(other, v)?,
    })
}

fn composite(ty: &CqlType, mut v: &[u8]) -> Option<String> {
    let rest = &mut v;
    Some(match ty {
        CqlType::List(element) => format!("[{}]", elements(rest, &[element])?),
        CqlType::Set(element) => format!("{{{}}}", elements(rest, &[element])?),
        CqlType::Map(key, value) => format!("{{{}}}", elements(rest, &[key, value])?),
        CqlType::Tuple(fields) => {
            let fields: Option<Vec<_>> = fields.iter().map(|field| next_field(rest, field)).collect();
            format!("({})", fields?.join(", "))
        }
        CqlType::Udt(udt) => {
            let field = |(name, ty): &(String, CqlType)| Some(format!("{name}: {}", next_field(rest, ty)?));
            let fields: Option<Vec<_>> = udt.fields.iter().map(field).collect();
            format!("{{{}}}", fields?.join(", "))
        }
        CqlType::Vector(element, dimension) => {
            let mut shown = Vec::new();
            for _ in 0..*dimension {
                let length = match element.width_in_vector() {
                    Some(width) => width,
                    None => usize::try_from(unsigned_vint(rest)?).ok()?,
                };
                shown.push(literal(element, Some(take(rest, length)?)));
            }
            format!("[{}]", shown.join(", "))
        }
        _ => return None,
    })
}

/// The elements of a collection; of a map two types, key and value.
fn elements(rest: &mut &[u8], types: &[&CqlType]) -> Option<String> {
    let count = if rest.is_empty() { 0 } else { take_i32(rest)? };
    let mut shown = Vec::new();
    for _ in 0..count {
        let parts: Option<Vec<_>> = types.iter().map(|ty| Some(literal(ty, element(rest)?))).collect();
        shown.push(parts?.join(": "));
    }
    Some(shown.join(", "))
}

fn next_field(rest: &mut &[u8], ty: &CqlType) -> Option<String> {
    if rest.is_empty() { Some("null".to_owned()) } else { Some(literal(ty, element(rest)?)) }
}

fn element<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match usize::try_from(take_i32(rest)?) {
        Ok(length) => take(rest, length).map(Some),
        Err(_) => Some(None),
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (front, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(front)
}

fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    take(rest, 4)?.try_into().ok().map(i32::from_be_bytes)
}

fn unsigned_vint(rest: &mut &[u8]) -> Option<u64> {
    let first = take(rest, 1)?[0];
    let extra = first.leading_ones() as usize;
    let head = if extra >= 7 { 0 } else { u64::from(first & (0x7f >> extra)) };
    Some(take(rest, extra)?.iter().fold(head, |number, &byte| number << 8 | u64::from(byte)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text in quotes, on one line.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\'' => out.push_str("''"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out + "'"
}

/// Whether Unicode has it as neither control, format, unassigned character nor separator: what Rust's debug form shows as it is. (The
/// letter in front keeps it from treating marks that combine with what precedes as unprintable.)
fn is_printable(c: char) -> bool {
    c == '"' || format!("a{c}").escape_debug().skip(1).eq([c])
}

/// As Java writes a BigDecimal.
fn decimal(unscaled: &BigInt, scale: i64) -> String {
    let text = unscaled.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let length = digits.len() as i64;
    let exponent = length - 1 - scale;
    if scale == 0 {
        return text;
    }
    if scale >= 0 && exponent >= -6 {
        let point = usize::try_from(length - scale).unwrap_or(0);
        return match point {
            0 => format!("{sign}0.{}{digits}", "0".repeat(usize::try_from(scale - length).unwrap_or(0))),
            point => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        };
    }
    let (first, more) = digits.split_at(1);
    let point = if more.is_empty() { "" } else { "." };
    let exponent = if exponent == 0 { String::new() } else { format!("E{exponent:+}") };
    format!("{sign}{first}{point}{more}{exponent}")
}

/// The shortest decimal that reads back as the same number, as Python writes it.
fn repr(v: f64) -> String {
    if v.is_nan() {
        return "NaN".to_owned();
    }
    if v.is_infinite() {
        return if v > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let scientific = format!("{v:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{v:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// The fewest digits that read back as the same float.
fn shortest(v: f32) -> String {
    let wide = f64::from(v);
    if !v.is_finite() {
        return repr(wide);
    }
    let read_back = |digits: usize| {
        let number: f64 = format!("{wide:.digits$e}").parse().ok()?;
        (number as f32 == v).then_some(number)
    };
    repr((0..9).find_map(read_back).unwrap_or(wide))
}

fn inet(v: &[u8]) -> Option<String> {
    Some(match v.len() {
        4 => format!("'{}'", std::net::Ipv4Addr::from(<[u8; 4]>::try_from(v).ok()?)),
        16 => {
            let address = std::net::Ipv6Addr::from(<[u8; 16]>::try_from(v).ok()?);
            match address.to_ipv4_mapped() {
                // Python before 3.13 writes the IPv4 part as two numbers.
                Some(_) => {
                    let [.., a, b] = address.segments();
                    format!("'::ffff:{a:x}:{b:x}'")
                }
                None => format!("'{address}'"),
            }
        }
        _ => return None,
    })
}

fn timestamp(millis: i64) -> String {
    let (day, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(day);
    if !(1..=9999).contains(&year) {
        return millis.to_string();
    }
    let (s, ms) = (rest / 1000, rest % 1000);
    format!("'{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{ms:03}+0000'", s / 3600, s / 60 % 60, s % 60)
}

/// Year, month and day of a day since 1970-01-01, by counting in eras of 400 years that begin in March.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, in_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn duration(mut v: &[u8]) -> Option<String> {
    let mut parts = [0i64; 3];
    for part in &mut parts {
        let number = unsigned_vint(&mut v)?;
        *part = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
    }
    let sign = if parts.iter().any(|part| *part < 0) { "-" } else { "" };
    let shown: String = parts
        .iter()
        .zip(["mo", "d", "ns"])
        .filter(|(part, _)| **part != 0)
        .map(|(part, unit)| format!("{}{unit}", part.unsigned_abs()))
        .collect();
    Some(format!("{sign}{}", if shown.is_empty() { "0s" } else { &shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_the_recordings() {
        for (number, text) in [
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.0, "-0.0"),
            (1.5e300, "1.5e+300"),
        ] {
            assert_eq!(repr(number), text);
        }
        assert_eq!(shortest(0.1), "0.1");
        assert_eq!(shortest(16_777_216.0), "16777216.0");
        assert_eq!(shortest(f32::MAX), "3.4028235e+38");
        assert_eq!(decimal(&BigInt::from(-5), 1), "-0.5");
        assert_eq!(decimal(&BigInt::from(100), -2), "1.00E+4");
        assert_eq!(decimal(&BigInt::from(1), 7), "1E-7");
    }

    #[test]
    fn times_texts_and_addresses_too() {
        assert_eq!(timestamp(-1), "'1969-12-31 23:59:59.999+0000'");
        assert_eq!(timestamp(1_709_210_096_789), "'2024-02-29 12:34:56.789+0000'");
        assert_eq!(timestamp(i64::MAX), i64::MAX.to_string());
        assert_eq!(quote("it's\n\u{1}\u{e9}\u{301}\""), "'it''s\\n\\u{1}\u{e9}\u{301}\"'");
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1];
        assert_eq!(literal(&CqlType::Inet, Some(&mapped)), "'::ffff:a00:1'");
        assert_eq!(literal(&CqlType::Duration, Some(&[1, 0, 4])), "-1mo2ns");
        assert_eq!(literal(&CqlType::Int, Some(&[])), "empty");
        assert_eq!(literal(&CqlType::Text, Some(&[])), "''");
    }

    #[test]
    fn collections_nest() {
        let ty =
            CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::List(Box::new(CqlType::Int)).freeze()));
        let bytes = [0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7];
        assert_eq!(literal(&ty, Some(&bytes)), "{'a': [7]}");
        assert_eq!(type_name(&ty), "map<text, list<int>>");
        let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
        assert_eq!(literal(&tuple, Some(&[0, 0, 0, 4, 0, 0, 0, 1])), "(1, null)");
    }
}

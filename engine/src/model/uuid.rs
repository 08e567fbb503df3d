//! [`Uuid`] and [`Timeuuid`]: 16 bytes and their text.
//!
//! # Not here
//! Making new ones needs a clock and randomness, which belong to a higher layer.

use std::fmt;

use crate::error::{Error, Result};

/// CQL's `uuid`, of any version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

/// CQL's `timeuuid`: a UUID of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timeuuid([u8; 16]);

/// Units of 100 ns from 1582-10-15, where version 1 UUIDs count from, to 1970-01-01.
const GREGORIAN_OFFSET: i64 = 0x01b2_1dd2_1381_4000;

impl Uuid {
    /// Parses `550e8400-e29b-41d4-a716-446655440000`, in either case.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text).map(Self).ok_or_else(|| Error::invalid(format!("Unable to make UUID from '{text}'")))
    }

    /// The version, 0 to 15.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.0[6] >> 4
    }
}

impl Timeuuid {
    /// These bytes as a time UUID.
    ///
    /// # Errors
    /// `Invalid` unless the version is 1.
    pub fn from_bytes(bytes: [u8; 16]) -> Result<Self> {
        if bytes[6] >> 4 == 1 {
            Ok(Self(bytes))
        } else {
            let version = bytes[6] >> 4;
            Err(Error::invalid(format!("Invalid version for TimeUUID type: {version:#x}")))
        }
    }

    /// The bytes, most significant first as in the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses the text form.
    ///
    /// # Errors
    /// `Invalid` for text that is no UUID of version 1.
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_bytes(Uuid::parse(text)?.0)
    }

    /// Its time in microseconds since 1970-01-01, rounded down.
    #[must_use]
    pub fn unix_micros(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        let ticks = i64::from_be_bytes([g & 0x0f, h, e, f, a, b, c, d]);
        (ticks - GREGORIAN_OFFSET).div_euclid(10)
    }
}

impl From<Timeuuid> for Uuid {
    fn from(uuid: Timeuuid) -> Self {
        Self(uuid.0)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            f.write_str(if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" })?;
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Timeuuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from(*self).fmt(f)
    }
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    if text.len() != 36 || [8, 13, 18, 23].iter().any(|&dash| text[dash] != b'-') {
        return None;
    }
    let mut digits = text.iter().enumerate().filter(|(i, _)| !matches!(i, 8 | 13 | 18 | 23));
    let mut nibble = || char::from(*digits.next()?.1).to_digit(16);
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = u8::try_from(nibble()? << 4 | nibble()?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_other_forms_are_refused() {
        let text = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(Uuid::parse(&text.to_uppercase()).unwrap().to_string(), text);
        assert_eq!(Uuid::parse(text).unwrap().version(), 4);
        for wrong in [
            "",
            "550e8400e29b41d4a716446655440000",
            "550e8400-e29b-41d4-a716-44665544000g",
            "550e8400-e29b-41d4-a716-4466554400000",
        ] {
            assert!(Uuid::parse(wrong).is_err());
        }
        assert!(Timeuuid::parse(text).is_err());
    }

    #[test]
    fn a_time_uuid_has_its_time() {
        let micros = |text| Timeuuid::parse(text).unwrap().unix_micros();
        assert_eq!(micros("13814000-1dd2-11b2-8080-808080808080"), 0);
        assert_eq!(micros("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), 886_630_433_151_182);
        assert_eq!(micros("00000000-0000-1000-8080-808080808080"), -GREGORIAN_OFFSET / 10);
    }
}

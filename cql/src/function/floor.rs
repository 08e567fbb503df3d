//! `floor(time, duration [, start])`: the last multiple of a duration, counted from `start`, that is not after the time.
//!
//! GROUP BY takes it as its last element.

use std::sync::Arc;

use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlDuration, CqlType, Date, Timestamp, Value};

use crate::error::{CqlError, Result};
use crate::function::calendar;
use crate::function::time::convert;
use crate::function::{Function, arg};
use crate::value::Wire;

const NANOS_PER_DAY: i64 = 86_400_000_000_000;

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions = Vec::new();
    for ty in [CqlType::Timestamp, CqlType::Timeuuid] {
        for start in [vec![], vec![CqlType::Timestamp]] {
            let of = ty.clone();
            let args = [vec![ty.clone(), CqlType::Duration], start].concat();
            functions.push(Function::strict("floor", args, CqlType::Timestamp, move |_, args| {
                let time = convert(arg(args, 0), &of, &CqlType::Timestamp);
                let Some((time, start)) = read(time.as_deref()).zip(start_of(args, read)) else {
                    return Ok(None);
                };
                let Some(duration) = duration(args) else { return Ok(None) };
                Ok(Some(Bytes::new(&millis(time, &duration, start)?.to_be_bytes())))
            }));
        }
    }
    for start in [vec![], vec![CqlType::Date]] {
        let args = [vec![CqlType::Date, CqlType::Duration], start].concat();
        functions.push(Function::strict("floor", args, CqlType::Date, |_, args| {
            let Some((time, start)) = read_date(Some(arg(args, 0))).zip(start_of(args, read_date)) else {
                return Ok(None);
            };
            let Some(duration) = duration(args) else { return Ok(None) };
            if !calendar::is_of_days(&duration) {
                return Err(CqlError::invalid(format!(
                    "The floor on date values cannot be computed for the {duration} duration as precision is below 1 day"
                )));
            }
            let date = calendar::date_of(Timestamp(millis(time, &duration, start)?));
            Ok(Some(Bytes::new(&date.0.to_be_bytes())))
        }));
    }
    functions.push(Function::strict(
        "floor",
        vec![CqlType::Time, CqlType::Duration],
        CqlType::Time,
        |_, args| {
            let Some((time, duration)) = read(Some(arg(args, 0))).zip(duration(args)) else {
                return Ok(None);
            };
            time_of_day(time, &duration)
        },
    ));
    functions
}

fn read(bytes: Option<&[u8]>) -> Option<i64> {
    Some(i64::from_be_bytes(bytes?.try_into().ok()?))
}

fn read_date(bytes: Option<&[u8]>) -> Option<i64> {
    Some(Date(u32::from_be_bytes(bytes?.try_into().ok()?)).start().0)
}

/// The third argument, or 1970-01-01.
fn start_of(args: &[Wire], read: fn(Option<&[u8]>) -> Option<i64>) -> Option<i64> {
    if args.len() > 2 { read(Some(arg(args, 2))) } else { Some(0) }
}

fn duration(args: &[Wire]) -> Option<CqlDuration> {
    match codec::decode(arg(args, 1), &CqlType::Duration) {
        Ok(Value::Duration(duration)) => Some(duration),
        _ => None,
    }
}

fn check_sign(duration: &CqlDuration) -> Result<()> {
    if duration.months < 0 || duration.days < 0 || duration.nanos < 0 {
        return Err(CqlError::invalid("Negative durations are not supported by the floor function"));
    }
    Ok(())
}

/// The floor in milliseconds since 1970.
fn millis(time: i64, duration: &CqlDuration, start: i64) -> Result<i64> {
    if start > time {
        return Err(CqlError::invalid("The floor function starting time is greater than the provided time"));
    }
    check_sign(duration)?;
    if !calendar::is_of_millis(duration) {
        return Err(CqlError::invalid(format!(
            "The floor cannot be computed for the {duration} duration as precision is below 1 millisecond"
        )));
    }
    let months = i64::from(duration.months);
    if months == 0 {
        return Ok(match calendar::millis(duration) {
            0 => time,
            width => time - (i128::from(time) - i128::from(start)).rem_euclid(width.into()) as i64,
        });
    }
    // The greatest number of times the duration fits in: at most as often as its months do.
    let (mut least, mut most) =
        (0, (calendar::month_index(time) - calendar::month_index(start)) / months + 1);
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        let rest = i128::from(calendar::millis(duration)) * i128::from(middle);
        let after = i128::from(calendar::add_months(start, months.saturating_mul(middle))) + rest;
        if after <= i128::from(time) {
            least = middle;
        } else {
            most = middle;
        }
    }
    Ok(calendar::add(start, duration, least))
}

fn time_of_day(time: i64, duration: &CqlDuration) -> Result<Wire> {
    check_sign(duration)?;
    if duration.months != 0 || duration.days != 0 || duration.nanos > NANOS_PER_DAY {
        return Err(CqlError::invalid(
            "For time values, the floor can only be computed for durations smaller that a day",
        ));
    }
    let floor = time - time.checked_rem(duration.nanos).unwrap_or(0);
    Ok(Some(Bytes::new(&floor.to_be_bytes())))
}

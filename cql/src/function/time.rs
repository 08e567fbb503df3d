//! Functions of times: the present, conversions between its types, the bounds of time UUIDs; `token` and `uuid`, which stand beside them.

use std::sync::Arc;

use skep_engine::model::bytes::Bytes;
use skep_engine::model::composite;
use skep_engine::{CqlType, Date, Timestamp, Timeuuid, Token};

use crate::error::Result;
use crate::function::calendar::{MILLIS_PER_DAY, date_of};
use crate::function::identity::{GREGORIAN_OFFSET, random_uuid, time_uuid, with_ticks};
use crate::function::{Function, arg};
use crate::value::Wire;

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions =
        vec![Function::impure("uuid", CqlType::Uuid, |_| Ok(Some(Bytes::new(&random_uuid()))))];
    for name in ["now", "currenttimeuuid", "current_timeuuid"] {
        functions.push(Function::impure(name, CqlType::Timeuuid, |cx| {
            Ok(Some(Bytes::new(&time_uuid(cx.now_micros))))
        }));
    }
    for name in ["currenttimestamp", "current_timestamp"] {
        functions.push(Function::impure(name, CqlType::Timestamp, |cx| Ok(timestamp(now(cx.now_micros)))));
    }
    for name in ["currentdate", "current_date"] {
        functions.push(Function::impure(name, CqlType::Date, |cx| Ok(date(date_of(now(cx.now_micros))))));
    }
    for name in ["currenttime", "current_time"] {
        functions.push(Function::impure(name, CqlType::Time, |cx| {
            let nanos = cx.now_micros.rem_euclid(MILLIS_PER_DAY * 1000) * 1000;
            Ok(Some(Bytes::new(&nanos.to_be_bytes())))
        }));
    }
    for from in [CqlType::Timeuuid, CqlType::Timestamp] {
        for name in ["todate", "to_date"] {
            functions.push(conversion(name, from.clone(), CqlType::Date));
        }
    }
    for from in [CqlType::Timeuuid, CqlType::Date] {
        for name in ["totimestamp", "to_timestamp"] {
            functions.push(conversion(name, from.clone(), CqlType::Timestamp));
        }
    }
    for from in [CqlType::Timeuuid, CqlType::Timestamp, CqlType::Date] {
        for name in ["tounixtimestamp", "to_unix_timestamp"] {
            functions.push(conversion(name, from.clone(), CqlType::Bigint));
        }
    }
    for name in ["mintimeuuid", "min_timeuuid"] {
        functions.push(bound(name, 0, 0x8080_8080_8080_8080));
    }
    for name in ["maxtimeuuid", "max_timeuuid"] {
        functions.push(bound(name, 9999, 0x7f7f_7f7f_7f7f_7f7f));
    }
    functions
}

/// The token of a partition key of these types.
#[must_use]
pub fn token(key: &[CqlType]) -> Arc<Function> {
    let single = key.len() == 1;
    Function::strict("token", key.to_vec(), CqlType::Bigint, move |_, args| {
        let token = if single {
            Token::of(arg(args, 0))
        } else {
            let mut bytes = Vec::new();
            composite::encode(
                args.iter().map(|component| component.as_deref().unwrap_or_default()),
                &mut bytes,
            )?;
            Token::of(&bytes)
        };
        Ok(Some(Bytes::new(&token.0.to_be_bytes())))
    })
}

/// The time in `bytes` of type `from` (time UUID, timestamp or date) as one of type `to` (timestamp, date or `bigint`); `None` for an
/// empty value.
pub(crate) fn convert(bytes: &[u8], from: &CqlType, to: &CqlType) -> Wire {
    let time = match from {
        CqlType::Date => Date(u32::from_be_bytes(bytes.try_into().ok()?)).start(),
        CqlType::Timeuuid => {
            let uuid = Timeuuid::from_bytes(bytes.try_into().ok()?).ok()?;
            Timestamp(uuid.unix_micros().div_euclid(1000))
        }
        _ => Timestamp(i64::from_be_bytes(bytes.try_into().ok()?)),
    };
    match to {
        CqlType::Date => date(date_of(time)),
        _ => timestamp(time),
    }
}

fn conversion(name: &str, from: CqlType, to: CqlType) -> Arc<Function> {
    let (source, target) = (from.clone(), to.clone());
    Function::strict(name, vec![from], to, move |_, args| Ok(convert(arg(args, 0), &source, &target)))
}

/// The smallest or greatest time UUID of a millisecond.
fn bound(name: &str, extra: i64, rest: u64) -> Arc<Function> {
    Function::strict(name, vec![CqlType::Timestamp], CqlType::Timeuuid, move |_, args| {
        bound_of(arg(args, 0), extra, rest)
    })
}

fn bound_of(bytes: &[u8], extra: i64, rest: u64) -> Result<Wire> {
    let Ok(millis) = bytes.try_into().map(i64::from_be_bytes) else { return Ok(None) };
    let ticks = millis.wrapping_mul(10_000).wrapping_add(GREGORIAN_OFFSET + extra);
    Ok(Some(Bytes::new(&with_ticks(ticks, rest))))
}

fn now(micros: i64) -> Timestamp {
    Timestamp(micros.div_euclid(1000))
}

fn timestamp(time: Timestamp) -> Wire {
    Some(Bytes::new(&time.0.to_be_bytes()))
}

fn date(date: Date) -> Wire {
    Some(Bytes::new(&date.0.to_be_bytes()))
}

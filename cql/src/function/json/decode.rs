//! JSON to values, by type.
//!
//! Strings are taken for every type that has a text form, numbers and truth values only for their own; a collection may come as a string
//! that holds JSON. Errors are in Cassandra's words.

use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlType, UdtType, Value};

use crate::error::{CqlError, Result};
use crate::function::CallContext;
use crate::function::json::parse;
use crate::function::json::parse::{Json, put};
use crate::function::text::{from_text, hex};
use crate::value::{ColumnSpec, Wire};

/// Why a JSON value is none of a type.
enum Fault {
    /// Told as the reason of an error that names the column or function.
    Reason(String),
    /// An error of its own, which Cassandra does not wrap (those of durations).
    Alone(CqlError),
}

type Decoded<T> = std::result::Result<T, Fault>;

fn reason<T>(text: String) -> Decoded<T> {
    Err(Fault::Reason(text))
}

impl From<skep_engine::Error> for Fault {
    fn from(error: skep_engine::Error) -> Self {
        Self::Reason(error.message().to_owned())
    }
}

/// The value of type `ty` in a JSON text, as `fromJson` gives it.
///
/// # Errors
/// `FunctionFailure`: the text is no JSON, or no value of the type.
pub fn from_json(cx: &CallContext, text: &str, ty: &CqlType) -> Result<Wire> {
    let failed =
        |detail: String| CqlError::function(format!("execution of 'system.fromjson[text]' failed: {detail}"));
    let json = parse::parse(text)
        .map_err(|wrong| failed(format!("Could not decode JSON string '{text}': {wrong}")))?;
    decode(cx, &json, ty).map_err(|fault| match fault {
        Fault::Reason(text) => failed(text),
        Fault::Alone(error) => error,
    })
}

/// The values of an INSERT JSON for the columns `receivers`, in their order: `None` for one that the text does not name, `Some(None)` for
/// null. Names are case-insensitive unless they are in quotes inside the string.
///
/// # Errors
/// `Invalid`: the text is no JSON object, names an unknown column, or has a value of the wrong type.
pub fn insert_values(cx: &CallContext, text: &str, receivers: &[ColumnSpec]) -> Result<Vec<Option<Wire>>> {
    let undecodable = |wrong: String| {
        CqlError::invalid(format!("Could not decode JSON string as a map: {wrong}. (String was: {text})"))
    };
    let entries = match parse::parse(text).map_err(undecodable)? {
        Json::Null => return Err(CqlError::invalid("Got null for INSERT JSON values")),
        Json::Map(entries) => entries,
        other => return Err(undecodable(format!("expected an object, but got a {}", other.class()))),
    };
    let mut entries = named(entries);
    let mut values = Vec::with_capacity(receivers.len());
    for receiver in receivers {
        let Some(at) = entries.iter().position(|(name, _)| *name == receiver.name) else {
            values.push(None);
            continue;
        };
        let (_, json) = entries.swap_remove(at);
        values.push(Some(decode(cx, &json, &receiver.ty).map_err(|fault| match fault {
            Fault::Reason(text) => {
                CqlError::invalid(format!("Error decoding JSON value for {}: {text}", receiver.name))
            }
            Fault::Alone(error) => error,
        })?));
    }
    match entries.first() {
        Some((name, _)) => {
            Err(CqlError::invalid(format!("JSON values map contains unrecognized column: {name}")))
        }
        None => Ok(values),
    }
}

/// Entries by names in their final case: lower case, unless in quotes.
fn named(entries: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut named = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let name = quoted.map_or_else(|| name.to_lowercase(), str::to_owned);
        put(&mut named, name, value);
    }
    named
}

fn decode(cx: &CallContext, json: &Json, ty: &CqlType) -> Decoded<Wire> {
    if *json == Json::Null {
        return Ok(None);
    }
    // Through values: encoding sorts sets and maps.
    let value = value(cx, json, ty)?;
    Ok(Some(Bytes::new(&codec::to_bytes(&value, ty)?)))
}

fn value(cx: &CallContext, json: &Json, ty: &CqlType) -> Decoded<Value> {
    let mut json = json;
    let inner;
    let ty = ty.unfrozen();
    let container =
        ty.is_collection() || matches!(ty, CqlType::Tuple(_) | CqlType::Udt(_) | CqlType::Vector(..));
    if let (true, Json::String(text)) = (container, json) {
        inner = parse::parse(text)
            .map_err(|wrong| Fault::Reason(format!("Could not decode JSON string '{text}': {wrong}")))?;
        json = &inner;
    }
    match (ty, json) {
        (CqlType::List(element), Json::List(items)) => {
            Ok(Value::List(elements(cx, items, element, "Invalid null element in list")?))
        }
        (CqlType::Set(element), Json::List(items)) => {
            Ok(Value::Set(elements(cx, items, element, "Invalid null element in set")?))
        }
        (CqlType::Vector(element, dimension), Json::List(items)) => {
            if items.len() != *dimension as usize {
                return reason(format!(
                    "List had incorrect size: expected {dimension} but given {}; {}",
                    items.len(),
                    json.java()
                ));
            }
            Ok(Value::Vector(elements(cx, items, element, "Invalid null element in list")?))
        }
        (CqlType::Map(key, of), Json::Map(entries)) => {
            let mut decoded = Vec::with_capacity(entries.len());
            for (name, entry) in entries {
                if *entry == Json::Null {
                    return reason("Invalid null value in map".into());
                }
                decoded.push((value(cx, &Json::String(name.clone()), key)?, value(cx, entry, of)?));
            }
            Ok(Value::Map(decoded))
        }
        (CqlType::Tuple(types), Json::List(items)) => tuple(cx, json, items, types),
        (CqlType::Udt(udt), Json::Map(entries)) => user_type(cx, entries, udt),
        _ if container => reason(mismatch(json, ty)),
        _ => scalar(cx, json, ty),
    }
}

fn elements(cx: &CallContext, items: &[Json], ty: &CqlType, null: &str) -> Decoded<Vec<Value>> {
    let element = |item: &Json| if *item == Json::Null { reason(null.into()) } else { value(cx, item, ty) };
    items.iter().map(element).collect()
}

fn tuple(cx: &CallContext, json: &Json, items: &[Json], types: &[CqlType]) -> Decoded<Value> {
    if items.len() > types.len() {
        return reason(format!("Tuple contains extra items (expected {}): {}", types.len(), json.java()));
    }
    if items.len() < types.len() {
        return reason(format!("Tuple is missing items (expected {}): {}", types.len(), json.java()));
    }
    let fields = items.iter().zip(types).map(|(item, ty)| nullable(cx, item, ty));
    Ok(Value::Tuple(fields.collect::<Decoded<_>>()?))
}

fn user_type(cx: &CallContext, entries: &[(String, Json)], udt: &UdtType) -> Decoded<Value> {
    let mut fields = Vec::new();
    for (name, json) in named(entries.to_vec()) {
        let Some((_, ty)) = udt.fields.iter().find(|(known, _)| *known == name) else {
            return reason(format!("Unknown field '{name}' in value of user defined type {}", udt.name));
        };
        fields.push((name, nullable(cx, &json, ty)?));
    }
    Ok(Value::Udt(fields))
}

fn nullable(cx: &CallContext, json: &Json, ty: &CqlType) -> Decoded<Option<Value>> {
    if *json == Json::Null { Ok(None) } else { value(cx, json, ty).map(Some) }
}

fn scalar(cx: &CallContext, json: &Json, ty: &CqlType) -> Decoded<Value> {
    let from = |text: &str| -> Decoded<Value> {
        let bytes = from_text(cx, text, ty).map_err(|error| match ty {
            CqlType::Duration => Fault::Alone(error),
            _ => Fault::Reason(error.message().to_owned()),
        })?;
        Ok(codec::decode(&bytes, ty)?)
    };
    match (ty, json) {
        (CqlType::Blob, Json::String(text)) => {
            let digits = match text.strip_prefix("0x") {
                Some(digits) => hex(digits).map_err(|error| error.message().to_owned()),
                None => Err(format!("String representation of blob is missing 0x prefix: {text}")),
            };
            let wrong =
                |why| Fault::Reason(format!("Value '{text}' is not a valid blob representation: {why}"));
            digits.map(Value::Blob).map_err(wrong)
        }
        (CqlType::Varint | CqlType::Decimal, json) => {
            let text = json.java();
            let wrong =
                || Fault::Reason(format!("Value '{text}' is not a valid representation of a {ty} value"));
            if text.is_empty() { Err(wrong()) } else { from(&text).map_err(|_| wrong()) }
        }
        (
            CqlType::Smallint | CqlType::Tinyint,
            Json::Integer(_) | Json::Long(_) | Json::Big(_) | Json::Double(_),
        ) => from(&json.java()),
        (_, Json::String(text)) => from(text),
        (CqlType::Int, Json::Integer(number)) => Ok(Value::Int(*number)),
        (CqlType::Bigint | CqlType::Counter, Json::Integer(number)) => Ok(Value::Bigint((*number).into())),
        (CqlType::Bigint | CqlType::Counter, Json::Long(number)) => Ok(Value::Bigint(*number)),
        (CqlType::Timestamp, Json::Long(number)) => {
            Ok(codec::decode(&number.to_be_bytes(), &CqlType::Timestamp)?)
        }
        (CqlType::Boolean, Json::Boolean(truth)) => Ok(Value::Boolean(*truth)),
        (
            CqlType::Double | CqlType::Float,
            Json::Integer(_) | Json::Long(_) | Json::Big(_) | Json::Double(_),
        ) => from(&json.java()),
        _ => reason(mismatch(json, ty)),
    }
}

fn mismatch(json: &Json, ty: &CqlType) -> String {
    let wanted = match ty {
        CqlType::Ascii => "an ascii string",
        CqlType::Text => "a UTF-8 string",
        CqlType::Bigint | CqlType::Counter => "a bigint value",
        CqlType::Int => "an int value",
        CqlType::Smallint => "a short value",
        CqlType::Tinyint => "a byte value",
        CqlType::Boolean => "a boolean value",
        CqlType::Double => "a double value",
        CqlType::Float => "a float value",
        CqlType::Blob => {
            return format!(
                "Value '{}' is not a valid blob representation: it is a {}, not a string",
                json.java(),
                json.class()
            );
        }
        CqlType::Date => "a string representation of a date value",
        CqlType::Time => "a string representation of a time value",
        CqlType::Timestamp => "a long or a datestring representation of a timestamp value",
        CqlType::Inet => "a string representation of an inet value",
        CqlType::Uuid => "a string representation of a uuid",
        CqlType::Timeuuid => "a string representation of a timeuuid",
        CqlType::Duration => "a string representation of a duration",
        CqlType::Set(_) => "a list (representing a set)",
        CqlType::Map(..) | CqlType::Udt(_) => "a map",
        CqlType::Tuple(_) => "a list representation of a tuple",
        _ => "a list",
    };
    format!("Expected {wanted}, but got a {}: {}", json.class(), json.java())
}

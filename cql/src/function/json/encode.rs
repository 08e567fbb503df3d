//! Values as JSON, in the form of Cassandra's `toJSONString`.
//!
//! Numbers and booleans are bare, everything else is in quotes; NaN and the infinities are `null`, an empty value is `""`. Names with
//! capitals are in quotes of their own: `{"\"Name\"": 1}`.

use skep_engine::model::codec;
use skep_engine::{CqlDuration, CqlType, Value};

use crate::error::Result;
use crate::function::java;
use crate::value::Wire;

/// The value as JSON; null is `null`.
///
/// # Errors
/// `Invalid`: the bytes are no value of `ty`.
pub fn to_json(value: &Wire, ty: &CqlType) -> Result<String> {
    let mut out = String::new();
    write_wire(&mut out, value, ty)?;
    Ok(out)
}

/// A row of SELECT JSON: an object of names (of columns in their final case, aliases, or texts of selectors) and values.
///
/// # Errors
/// As [`to_json`].
pub fn row<'a>(columns: impl Iterator<Item = (&'a str, &'a CqlType, &'a Wire)>) -> Result<String> {
    let mut out = String::from("{");
    for (i, (name, ty, value)) in columns.enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        write_name(&mut out, name);
        out.push_str(": ");
        write_wire(&mut out, value, ty)?;
    }
    out.push('}');
    Ok(out)
}

fn write_wire(out: &mut String, value: &Wire, ty: &CqlType) -> Result<()> {
    match value {
        Some(bytes) => write(out, &codec::decode(bytes, ty)?),
        None => out.push_str("null"),
    }
    Ok(())
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Bigint(_)
        | Value::Counter(_)
        | Value::Int(_)
        | Value::Smallint(_)
        | Value::Tinyint(_)
        | Value::Varint(_)
        | Value::Decimal(_)
        | Value::Boolean(_) => out.push_str(&value.to_string()),
        Value::Double(number) if number.is_finite() => out.push_str(&java::double(*number)),
        Value::Float(number) if number.is_finite() => out.push_str(&java::float(*number)),
        Value::Double(_) | Value::Float(_) => out.push_str("null"),
        Value::Ascii(text) | Value::Text(text) => write_string(out, text),
        Value::Duration(duration) if *duration == CqlDuration::default() => out.push_str("\"\""),
        Value::Inet(address) => write_string(out, &java::host_address(*address)),
        Value::List(items) | Value::Set(items) | Value::Vector(items) => {
            write_joined(out, "[]", items, write);
        }
        Value::Tuple(fields) => {
            write_joined(out, "[]", fields, |out, field| write_nullable(out, field.as_ref()))
        }
        Value::Map(entries) => write_joined(out, "{}", entries, |out, (key, value)| {
            write_key(out, key);
            out.push_str(": ");
            write(out, value);
        }),
        Value::Udt(fields) => write_joined(out, "{}", fields, |out, (name, value)| {
            write_name(out, name);
            out.push_str(": ");
            write_nullable(out, value.as_ref());
        }),
        Value::Empty => out.push_str("\"\""),
        other => write_string(out, &other.to_string()),
    }
}

fn write_nullable(out: &mut String, value: Option<&Value>) {
    match value {
        Some(value) => write(out, value),
        None => out.push_str("null"),
    }
}

fn write_joined<T>(out: &mut String, brackets: &str, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    let (open, close) = brackets.split_at(1);
    out.push_str(open);
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        write(out, item);
    }
    out.push_str(close);
}

/// A key of a map: a JSON string, of whatever the key is in JSON.
fn write_key(out: &mut String, key: &Value) {
    let mut text = String::new();
    write(&mut text, key);
    if text.starts_with('"') { out.push_str(&text) } else { write_string(out, &text) }
}

fn write_name(out: &mut String, name: &str) {
    if name.chars().any(char::is_uppercase) {
        write_string(out, &format!("\"{name}\""));
    } else {
        write_string(out, name);
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

//! Values between text and the engine: arguments and CSV fields in, CSV fields and JSON out.
//!
//! Text forms are the engine's ([`parse_text`] and `Display`), so that what is printed can be read back. Only what text alone cannot
//! tell apart is settled here: null, empty text, and the empty value that Cassandra has for most types.

use serde_json::{Map, Number, Value as Json};
use skep::model::text_parse::parse_text;
use skep::{Arg, CqlType, Result, Value};
use std::borrow::Cow;

/// How the empty value of a type without an ordinary one (`int`, `timestamp`, ...) is written. No other value of these types is.
const EMPTY: &str = "''";

/// Integers beyond this are strings in JSON: readers that hold numbers as doubles would change them (2^53 - 1).
const SAFE: i64 = (1 << 53) - 1;

/// The value that `text` spells, as an argument. Text is borrowed.
///
/// # Errors
/// `Invalid`, saying what is wrong with it.
pub(crate) fn argument<'a>(text: &'a str, ty: &CqlType) -> Result<Arg<'a>> {
    if *ty == CqlType::Text {
        return Ok(Arg::Text(Cow::Borrowed(text)));
    }
    let text = match text == EMPTY && !ty.is_stringlike() && ty.allows_empty() {
        true => "",
        false => text,
    };
    Ok(match parse_text(text, ty)? {
        Value::Double(number) => Arg::Double(number),
        Value::Int(number) => Arg::Int(number.into()),
        Value::Bigint(number) => Arg::Int(number),
        Value::Timestamp(time) => Arg::Timestamp(time),
        Value::Date(date) => Arg::Date(date),
        other => Arg::Value(other),
    })
}

/// The arguments that `texts` spell for columns of these types, fewer texts than types allowed.
///
/// # Errors
/// `Invalid`, naming the column.
pub(crate) fn key_arguments<'a>(
    texts: &'a [String],
    columns: &[&skep::model::schema::Column],
) -> Result<Vec<Arg<'a>>> {
    let argument = |(text, column): (&'a String, &&skep::model::schema::Column)| {
        argument(text, &column.ty)
            .map_err(|error| skep::Error::invalid(format!("column {}: {}", column.name, error.message())))
    };
    texts.iter().zip(columns).map(argument).collect()
}

/// Appends `value` as a CSV field, in quotes where needed. Null is the empty field, empty text is `""`.
pub(crate) fn put_csv(value: Option<&Value>, out: &mut String) {
    match value {
        None => {}
        Some(Value::Empty) => out.push_str(EMPTY),
        Some(value) => put_csv_text(&value.to_string(), out),
    }
}

/// Appends text as a CSV field.
pub(crate) fn put_csv_text(text: &str, out: &mut String) {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

/// The value as JSON. Integers that doubles cannot hold, decimals, NaN and infinities are strings; blobs are `0x...`; maps are
/// objects whose keys are strings.
pub(crate) fn json(value: Option<&Value>) -> Json {
    let Some(value) = value else { return Json::Null };
    match value {
        Value::Boolean(truth) => Json::Bool(*truth),
        Value::Tinyint(number) => (*number).into(),
        Value::Smallint(number) => (*number).into(),
        Value::Int(number) => (*number).into(),
        Value::Bigint(number) | Value::Counter(number) => match (-SAFE..=SAFE).contains(number) {
            true => (*number).into(),
            false => Json::String(number.to_string()),
        },
        Value::Double(number) => float(*number, value),
        // Through its text, so that 0.1 stays 0.1.
        Value::Float(number) => float(number.to_string().parse().unwrap_or(f64::NAN), value),
        Value::List(items) | Value::Set(items) | Value::Vector(items) => {
            Json::Array(items.iter().map(|item| json(Some(item))).collect())
        }
        Value::Tuple(fields) => Json::Array(fields.iter().map(|field| json(field.as_ref())).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.to_string(), json(Some(value)))).collect())
        }
        Value::Udt(fields) => {
            let mut object = Map::new();
            for (name, field) in fields {
                object.insert(name.clone(), json(field.as_ref()));
            }
            Json::Object(object)
        }
        Value::Empty => Json::String(String::new()),
        other => Json::String(other.to_string()),
    }
}

fn float(number: f64, value: &Value) -> Json {
    Number::from_f64(number).map_or_else(|| Json::String(value.to_string()), Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(value: Option<Value>) -> String {
        let mut out = String::new();
        put_csv(value.as_ref(), &mut out);
        out
    }

    #[test]
    fn null_empty_text_and_empty_values_are_three_things_in_csv() {
        assert_eq!(csv(None), "");
        assert_eq!(csv(Some(Value::Text(String::new()))), "\"\"");
        assert_eq!(csv(Some(Value::Empty)), "''");
        assert_eq!(csv(Some(Value::Text("a \"b\",\nc".into()))), "\"a \"\"b\"\",\nc\"");
        assert_eq!(argument("''", &CqlType::Int).unwrap(), Arg::Value(Value::Empty));
        assert_eq!(argument("''", &CqlType::Text).unwrap(), Arg::Text("''".into()));
        assert!(argument("''", &CqlType::Date).is_err());
    }

    #[test]
    fn json_keeps_what_doubles_would_lose() {
        assert_eq!(json(Some(&Value::Bigint(SAFE))).to_string(), "9007199254740991");
        assert_eq!(json(Some(&Value::Bigint(-SAFE - 1))).to_string(), "\"-9007199254740992\"");
        assert_eq!(json(Some(&Value::Double(f64::NAN))).to_string(), "\"NaN\"");
        assert_eq!(json(Some(&Value::Double(f64::NEG_INFINITY))).to_string(), "\"-Infinity\"");
        assert_eq!(json(Some(&Value::Float(0.1))).to_string(), "0.1");
        assert_eq!(json(Some(&Value::Blob(vec![0xca, 0xfe]))).to_string(), "\"0xcafe\"");
        assert_eq!(json(None), Json::Null);
    }
}

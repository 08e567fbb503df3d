//! Calls and their results, family by family. Arguments are written `type text`, the text as in a CSV file; `null` is null.

use super::*;
use crate::error::Code;
use crate::syntax::ast::{Literal, Operator};
use crate::value::ColumnSpec;
use skep_engine::Value;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::model::text_parse::parse_text;

/// 2024-02-29T12:34:56.789012Z.
pub(crate) const CONTEXT: CallContext = CallContext { now_micros: 1_709_210_096_789_012 };

pub(crate) fn ty(text: &str) -> CqlType {
    CqlType::parse(text, &|_, _| None).unwrap()
}

/// `int 5` as type and bytes.
fn argument(text: &str) -> (CqlType, Wire) {
    let (name, value) = text.split_once(' ').map(|(name, value)| (name.replace(',', ", "), value)).unwrap();
    let ty = ty(&name);
    let wire = match value {
        "null" => None,
        _ if ty == CqlType::Timestamp => {
            Some(literal::parse_as(&CONTEXT, Literal::String, value, &ty).unwrap())
        }
        "''" => Some(Bytes::EMPTY),
        _ => Some(Bytes::new(&codec::to_bytes(&parse_text(value, &ty).unwrap(), &ty).unwrap())),
    };
    (ty, wire)
}

pub(crate) fn show(wire: &Wire, ty: &CqlType) -> String {
    match wire {
        None => "null".into(),
        Some(bytes) => match codec::decode(bytes, ty).unwrap() {
            Value::Empty => "empty".into(),
            value => value.to_string(),
        },
    }
}

/// `f(a, b)` evaluated: the type and value of the result, or the error.
fn call(name: &str, args: &[&str]) -> Result<String> {
    let args: Vec<(CqlType, Wire)> = args.iter().map(|text| argument(text)).collect();
    let known: Vec<Argument> = args
        .iter()
        .map(|(ty, _)| Argument { text: "x".into(), ty: Some(ty.clone()), elements: None })
        .collect();
    let types: Vec<CqlType> = args.iter().map(|(ty, _)| ty.clone()).collect();
    let values: Vec<Wire> = args.into_iter().map(|(_, value)| value).collect();
    let overload = candidates(name, &known, None)?
        .into_iter()
        .find(|overload| overload.args == types)
        .ok_or_else(|| CqlError::invalid("no overload"))?;
    Ok(show(&overload.call(&CONTEXT, &values)?, &overload.returns))
}

/// Checks `call => result` or `call => error text` for each line `name(type text; type text) => expected`.
fn check(table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (left, expected) = line.split_once(" => ").unwrap();
        let (name, rest) = left.split_once('(').unwrap();
        let inside = rest.strip_suffix(')').unwrap();
        let args: Vec<&str> = inside.split("; ").filter(|arg| !arg.is_empty()).collect();
        let result = call(name, &args).unwrap_or_else(|error| error.message().to_owned());
        assert_eq!(result, expected, "{line}");
    }
}

#[test]
fn blobs() {
    check(
        "intasblob(int 258) => 0x00000102
         int_as_blob(int 258) => 0x00000102
         varcharasblob(text ab) => 0x6162
         durationasblob(duration 1mo2d3ns) => 0x020406
         intasblob(int '') => 0x
         intasblob(int null) => null
         blobasint(blob 0x00000102) => 258
         blob_as_text(blob 0x6869) => hi
         blobasint(blob 0x) => empty
         blobasboolean(blob 0x02) => true
         blobassmallint(blob 0x) => In call to function system.blobassmallint, value 0x is not a valid binary representation for type smallint
         blobasint(blob 0x01) => In call to function system.blobasint, value 0x01 is not a valid binary representation for type int
         blobastimeuuid(blob 0x550e8400e29b41d4a716446655440000) => In call to function system.blobastimeuuid, value 0x550e8400e29b41d4a716446655440000 is not a valid binary representation for type timeuuid
         blobasblob(blob 0x) => no overload",
    );
}

#[test]
fn times() {
    check(
        "todate(timestamp 2024-02-29T12:34:56.789Z) => 2024-02-29
         todate(timestamp -1) => 1970-01-01
         to_date(timeuuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8) => 1998-02-04
         totimestamp(date 2024-02-29) => 2024-02-29 00:00:00.000Z
         totimestamp(timeuuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8) => 1998-02-04 22:13:53.151Z
         tounixtimestamp(date 1969-12-31) => -86400000
         to_unix_timestamp(timestamp -1) => -1
         todate(timestamp null) => null
         todate(date 2024-02-29) => no overload
         mintimeuuid(timestamp 2024-02-29T12:34:56.789Z) => f2293c50-d6fe-11ee-8080-808080808080
         max_timeuuid(timestamp 2024-02-29T12:34:56.789Z) => f229635f-d6fe-11ee-7f7f-7f7f7f7f7f7f
         maxtimeuuid(timestamp -1) => 13813fff-1dd2-11b2-7f7f-7f7f7f7f7f7f
         currenttimestamp() => 2024-02-29 12:34:56.789Z
         current_date() => 2024-02-29
         currenttime() => 12:34:56.789012000",
    );
    assert!(candidates("dateof", &[], None).unwrap().is_empty());
    let now = candidates("now", &[], None).unwrap().remove(0);
    assert!(!now.is_pure());
    assert_ne!(now.call(&CONTEXT, &[]).unwrap(), now.call(&CONTEXT, &[]).unwrap());
}

#[test]
fn floors() {
    check(
        "floor(timestamp 2024-02-29T12:34:56.789Z; duration 15m) => 2024-02-29 12:30:00.000Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 3mo) => 2024-01-01 00:00:00.000Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 1mo1d) => 2024-02-20 00:00:00.000Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 1d1h) => 2024-02-29 07:00:00.000Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 0s) => 2024-02-29 12:34:56.789Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 1mo; timestamp 2024-01-15T00:00:00Z) => 2024-02-15 00:00:00.000Z
         floor(timestamp 2024-02-10T00:00:00Z; duration 1mo; timestamp 2024-01-15T00:00:00Z) => 2024-01-15 00:00:00.000Z
         floor(timestamp 2024-02-29T12:34:56.789Z; duration 1w; timestamp 2024-01-01T00:00:00Z) => 2024-02-26 00:00:00.000Z
         floor(timestamp -1; duration 1h) => The floor function starting time is greater than the provided time
         floor(timestamp 0; duration 1us) => The floor cannot be computed for the 1us duration as precision is below 1 millisecond
         floor(timestamp 0; duration -1h) => Negative durations are not supported by the floor function
         floor(timestamp null; duration 1h) => null
         floor(timeuuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8; duration 1h; timestamp 1998-02-04T00:30:00Z) => 1998-02-04 21:30:00.000Z
         floor(date 2024-02-29; duration 1w) => 2024-02-29
         floor(date 2024-02-29; duration 2mo; date 2024-01-01) => 2024-01-01
         floor(date 5; duration 1h) => The floor on date values cannot be computed for the 1h duration as precision is below 1 day
         floor(time 12:34:56.789012345; duration 7ns) => 12:34:56.789012342
         floor(time 12:34:56; duration 1d) => For time values, the floor can only be computed for durations smaller that a day",
    );
}

#[test]
fn mathematics() {
    check(
        "abs(tinyint -128) => -128
         abs(varint -9223372036854775809) => 9223372036854775809
         abs(float -0.0) => 0.0
         abs(decimal -3.75) => 3.75
         abs(counter -12) => 12
         abs(int '') => null
         abs(text a) => no overload
         round(double -2.5) => -2.0
         round(decimal -3.75) => -4
         round(decimal 1e3) => 1000
         exp(tinyint 5) => -108
         exp(tinyint 100) => -1
         exp(int 30) => 2147483647
         exp(varint 0) => 1
         exp(decimal 0) => 1
         log(int -7) => 0
         log(int 0) => -2147483648
         log(double 0) => -Infinity
         log(decimal 1) => 0
         log(decimal 0) => execution of 'system.log[decimal]' failed: Natural log of number zero or less
         log10(bigint 1000000) => 6
         log10(varint 1000) => 3
         log10(decimal 100) => 2",
    );
}

#[test]
fn collections() {
    check(
        "map_keys(map<text,int> {'a': 3, 'b': 1}) => {'a', 'b'}
         map_values(map<text,int> {'a': 3, 'b': 1}) => [3, 1]
         map_keys(frozen<map<int,text>> {}) => {}
         map_keys(list<int> [1]) => Function system.map_keys requires a map argument, but found argument x of type list<int>
         map_keys() => Invalid number of arguments for function system.map_keys(map)
         collection_count(set<int> {5, 1}) => 2
         collection_count(map<int,int> {1: 2}) => 1
         collection_count(list<int> null) => null
         collection_count(tuple<int,int> (1, 2)) => Function system.collection_count requires a collection argument, but found argument x of type frozen<tuple<int, int>>
         collection_min(list<double> [NaN, 1]) => 1.0
         collection_max(list<text> ['b', 'a', 'c']) => c
         collection_min(frozen<list<int>> []) => null
         collection_min(map<text,int> {}) => Function system.collection_min requires a set or list argument, but found argument x of type map<text, int>
         collection_sum(list<int> [2147483647, 1]) => -2147483648
         collection_sum(frozen<list<int>> []) => 0
         collection_sum(list<float> [0.1, 0.2]) => 0.3
         collection_sum(list<decimal> [1.10, 2.2]) => 3.30
         collection_sum(list<text> ['a']) => Function system.collection_sum requires a numeric set/list argument, but found argument x of type list<text>
         collection_avg(list<tinyint> [100, 100, 1]) => 67
         collection_avg(list<bigint> [9223372036854775807, 1]) => 4611686018427387904
         collection_avg(list<float> [0.1, 0.2]) => 0.15",
    );
}

#[test]
fn masks() {
    check(
        "mask_default(text confidential) => ****
         mask_default(text null) => ****
         mask_default(decimal 8) => 0
         mask_default(timeuuid null) => 13814000-1dd2-11b2-8080-808080808080
         mask_default(tuple<int,text> (1, 'a')) => (0, '****')
         mask_default(vector<float,2> [1, 2]) => [0.0, 0.0]
         mask_default() => Invalid number of arguments for function system.mask_default(any)
         mask_null(int 5) => null
         mask_replace(int 5; int -1) => -1
         mask_inner(text confidential; int 1; int 2) => c*********al
         mask_inner(text confidential; int null; int 2) => **********al
         mask_inner(text confidential; int 100; int 100) => confidential
         mask_inner(text confidential; int -1; int 1) => ***********l
         mask_inner(ascii ascii; int 1; int 1; text +) => a+++i
         mask_inner(text null; int 1; int 1) => null
         mask_inner(text ab; int 1; int 1; text ##) => The padding argument for function system.mask_inner should be single-character, but '##' has 2 characters.
         mask_inner(int 5; int 1; int 1) => Function system.mask_inner requires an argument of type [text|varchar|ascii], but found argument x of type int
         mask_inner(text ab; int 1) => Invalid number of arguments for function system.mask_inner([text|varchar|ascii], int, int, [text])
         mask_outer(text confidential; int 1; int 2) => *onfidenti**
         mask_outer(text confidential; int 100; int 100) => ************
         mask_outer(text confidential; int 2; int null; text #) => ##nfidential
         mask_hash(text confidential; text MD5) => 0x35de502b0c10aa63409da8d1ece87598
         mask_hash(text confidential) => 0x3151084286f59511ce11d4fd234b6485012514587a1968fa55afff83b05e213e
         mask_hash(int null) => null
         mask_hash(text a; text NOSUCH) => Hash algorithm not found: NOSUCH",
    );
}

#[test]
fn similarities() {
    check(
        "similarity_cosine(vector<float,3> [1, 2, 3]; vector<float,3> [3, 2, 1]) => 0.85714287
         similarity_cosine(vector<float,3> [1, 2, 3]; vector<float,3> [4, 5, 6]) => 0.9873159
         similarity_euclidean(vector<float,3> [1, 2, 3]; vector<float,3> [3, 2, 1]) => 0.11111111
         similarity_dot_product(vector<float,3> [1, 2, 3]; vector<float,3> [3, 2, 1]) => 5.5
         similarity_cosine(vector<float,2> [0, 0]; vector<float,2> [1, 1]) => Function system.similarity_cosine doesn't support all-zero vectors.
         similarity_cosine(vector<float,2> null; vector<float,2> [1, 1]) => null
         similarity_cosine(vector<float,2> [1, 1]; vector<float,3> [1, 1, 1]) => All arguments must have the same vector dimensions
         similarity_cosine(vector<double,2> [1, 1]; vector<double,2> [1, 1]) => Function system.similarity_cosine requires a float vector argument, but found argument x of type vector<double, 2>
         similarity_cosine(vector<float,2> [1, 1]) => Invalid number of arguments for function system.similarity_cosine(vector<float, n>, vector<float, n>)",
    );
    let literal = Argument { text: "[1, 2]".into(), ty: Some(ty("list<int>")), elements: Some(2) };
    let made = candidates("similarity_cosine", &[literal.clone(), literal], None).unwrap();
    assert_eq!(made[0].args[0], ty("vector<float, 2>"), "a list literal counts as a vector");
    let null = Argument { text: "NULL".into(), ty: None, elements: None };
    let error = candidates("collection_count", &[null], None).unwrap_err();
    assert_eq!(
        error.message(),
        "Cannot infer type of argument NULL in call to function system.collection_count(collection): use type casts to disambiguate"
    );
}

/// `left op right` evaluated.
fn operate(left: &str, operator: Operator, right: &str) -> Result<(String, String)> {
    let ((left_type, left), (right_type, right)) = (argument(left), argument(right));
    let overload = arithmetic::candidates(operator)
        .iter()
        .find(|overload| overload.args == [left_type.clone(), right_type.clone()])
        .ok_or_else(|| CqlError::invalid("no overload"))?;
    assert_eq!(arithmetic::result_type(operator, &left_type, &right_type), Some(overload.returns.clone()));
    let result = overload.call(&CONTEXT, &[left, right])?;
    Ok((overload.returns.to_string(), show(&result, &overload.returns)))
}

#[test]
fn operators() {
    use Operator::{Add, Divide, Modulo, Multiply, Subtract};
    for (left, operator, right, returns, value) in [
        ("tinyint 7", Add, "smallint 7", "smallint", "14"),
        ("int 7", Add, "float 7", "float", "14.0"),
        ("bigint 7", Add, "float 7", "double", "14.0"),
        ("counter 7", Add, "int 7", "bigint", "14"),
        ("varint 7", Add, "float 7", "decimal", "14.0"),
        ("decimal 7", Add, "tinyint 7", "decimal", "14.0"),
        ("decimal 7", Add, "varint 7", "decimal", "14"),
        ("tinyint 127", Add, "tinyint 127", "tinyint", "-2"),
        ("int 2147483647", Multiply, "int 2147483647", "int", "1"),
        ("int -2147483648", Divide, "int -1", "int", "-2147483648"),
        ("bigint -9223372036854775808", Divide, "int -1", "bigint", "-9223372036854775808"),
        ("int -2147483648", Modulo, "int 3", "int", "-2"),
        ("varint -9223372036854775809", Divide, "int 2", "varint", "-4611686018427387904"),
        ("varint -9223372036854775809", Modulo, "int 2", "varint", "-1"),
        ("double 7", Divide, "int 0", "double", "Infinity"),
        ("float 7", Modulo, "int 0", "float", "NaN"),
        ("float 7", Subtract, "int 10", "float", "-3.0"),
        ("decimal 7", Divide, "int 3", "decimal", "2.33333333333333333333333333333333"),
        ("decimal 7", Multiply, "double 1.10", "decimal", "7.7"),
        ("decimal -3.50", Modulo, "int 2", "decimal", "-1.50"),
        ("int 5", Add, "int null", "int", "null"),
        ("int ''", Add, "int 1", "int", "null"),
        ("text a", Add, "ascii b", "text", "ab"),
        ("ascii a", Add, "ascii b", "ascii", "ab"),
        ("timestamp 2024-01-31T12:00:00Z", Add, "duration 1mo", "timestamp", "2024-02-29 12:00:00.000Z"),
        (
            "timestamp 2024-01-31T12:00:00Z",
            Subtract,
            "duration 1mo1d1h",
            "timestamp",
            "2023-12-30 11:00:00.000Z",
        ),
        ("timestamp 0", Add, "duration 1000us", "timestamp", "1970-01-01 00:00:00.001Z"),
        ("date 2024-03-31", Subtract, "duration 1mo", "date", "2024-02-29"),
        ("date 2024-01-31", Add, "duration -1d", "date", "2024-01-30"),
    ] {
        let result = operate(left, operator, right).unwrap();
        assert_eq!(result, (returns.into(), value.into()), "{left} {operator:?} {right}");
    }
    for (left, operator, right, fault) in [
        ("int 1", Divide, "int 0", "'int / int' failed: / by zero"),
        ("bigint 1", Modulo, "tinyint 0", "'bigint % tinyint' failed: / by zero"),
        ("varint 1", Divide, "int 0", "'varint / int' failed: BigInteger divide by zero"),
        ("decimal 1", Divide, "int 0", "'decimal / int' failed: BigInteger divide by zero"),
        ("decimal 1", Modulo, "int 0", "'decimal % int' failed: Division by zero"),
        (
            "decimal 1",
            Add,
            "double NaN",
            "'decimal + double' failed: A NaN cannot be converted into a decimal",
        ),
        (
            "timestamp 0",
            Subtract,
            "duration 1500us",
            "'timestamp - duration' failed: The duration must have a millisecond precision. Was: 1ms500us",
        ),
        (
            "date 2024-01-01",
            Add,
            "duration 24h",
            "'date + duration' failed: The duration must have a day precision. Was: 24h",
        ),
    ] {
        let error = operate(left, operator, right).unwrap_err();
        assert_eq!(error.code(), Code::FunctionFailure);
        assert_eq!(error.message(), format!("the operation {fault}"));
    }
    for (operator, left, right) in [
        (Subtract, "text a", "text a"),
        (Multiply, "duration 1h", "int 2"),
        (Add, "duration 1h", "timestamp 0"),
    ] {
        assert_eq!(operate(left, operator, right).unwrap_err().message(), "no overload");
    }
}

#[test]
fn negation() {
    for (value, negated) in [
        ("tinyint -128", "-128"),
        ("decimal 7.50", "-7.50"),
        ("double 0", "-0.0"),
        ("varint 5", "-5"),
        ("int null", "null"),
    ] {
        let (ty, wire) = argument(value);
        let overload = arithmetic::negations().iter().find(|overload| overload.args[0] == ty).unwrap();
        assert_eq!(show(&overload.call(&CONTEXT, &[wire]).unwrap(), &overload.returns), negated, "{value}");
    }
}

#[test]
fn casts() {
    for (value, to, expected) in [
        ("smallint 300", "tinyint", "44"),
        ("bigint 5000000000", "int", "705032704"),
        ("varint -9223372036854775809", "bigint", "9223372036854775807"),
        ("varint -9223372036854775809", "text", "-9223372036854775809"),
        ("float -10000000000.0", "decimal", "-1.0E+10"),
        ("float -10000000000.0", "text", "-1.0E10"),
        ("float 16777217", "decimal", "16777216"),
        ("float 0.1", "decimal", "0.1"),
        ("double 1e300", "varint", "9223372036854775807"),
        ("double 1e300", "float", "Infinity"),
        ("double NaN", "int", "0"),
        ("decimal 1e30", "varint", "5076944270305263616"),
        ("decimal 1e30", "double", "1e30"),
        ("decimal -0.00000001", "text", "-1E-8"),
        ("boolean true", "ascii", "true"),
        ("timestamp 2024-02-29T12:34:56.789Z", "text", "2024-02-29T12:34:56.789Z"),
        ("timestamp 2024-02-29T12:34:56.789Z", "date", "2024-02-29"),
        ("timestamp 2024-02-29T12:34:56.789Z", "bigint", "1709210096789"),
        ("date 2024-02-29", "timestamp", "2024-02-29 00:00:00.000Z"),
        ("time 01:02:03.000000004", "text", "01:02:03.000000004"),
        ("timeuuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "date", "1998-02-04"),
        ("inet 2001:db8::1", "text", "2001:db8:0:0:0:0:0:1"),
        ("counter 300", "tinyint", "44"),
        ("int ''", "text", "null"),
        ("ascii ''", "text", ""),
    ] {
        let ((from, wire), to) = (argument(value), ty(to));
        let cast = cast::candidates(&to).into_iter().find(|cast| cast.args[0] == from).unwrap();
        assert_eq!(show(&cast.call(&CONTEXT, &[wire]).unwrap(), &to), expected, "{value} as {to}");
    }
    for (from, to) in [
        ("int", "boolean"),
        ("text", "ascii"),
        ("bigint", "timestamp"),
        ("blob", "text"),
        ("uuid", "timeuuid"),
    ] {
        assert!(!cast::candidates(&ty(to)).iter().any(|cast| cast.args[0] == ty(from)), "{from} as {to}");
    }
}

fn total(name: &str, element: &str, values: &[&str]) -> String {
    let known = Argument { text: "x".into(), ty: Some(ty(element)), elements: None };
    let function = candidates(name, &[known], None)
        .unwrap()
        .into_iter()
        .find(|function| function.args == [ty(element)] || name == "count")
        .unwrap();
    let mut state = function.start().unwrap();
    for value in values {
        state.push(&[argument(&format!("{element} {value}")).1]).unwrap();
    }
    show(&state.finish().unwrap(), &function.returns)
}

#[test]
fn aggregates() {
    for (name, element, values, expected) in [
        ("sum", "int", &[][..], "0"),
        ("avg", "double", &[], "0.0"),
        ("avg", "decimal", &["null"], "0"),
        ("min", "int", &[], "null"),
        ("count", "text", &["a", "null", "b"], "2"),
        ("min", "inet", &["10.0.0.2", "9.0.0.1"], "9.0.0.1"),
        ("max", "double", &["1", "NaN", "Infinity"], "NaN"),
        ("sum", "tinyint", &["127", "127"], "-2"),
        ("avg", "bigint", &["9223372036854775807", "9223372036854775807"], "9223372036854775807"),
        ("avg", "int", &["-7", "2"], "-2"),
        ("avg", "varint", &["-7", "2"], "-2"),
        ("sum", "counter", &["5", "8"], "13"),
        ("sum", "float", &["3.4028235e38", "3.4028235e38"], "Infinity"),
        ("avg", "float", &["3.4028235e38", "3.4028235e38"], "3.4028235e38"),
        ("sum", "double", &["1.7976931348623157e308", "1.7976931348623157e308"], "Infinity"),
        ("avg", "double", &["1.7976931348623157e308", "1.7976931348623157e308"], "1.7976931348623157e308"),
        ("sum", "double", &["Infinity", "-Infinity"], "NaN"),
        ("avg", "double", &["Infinity", "0"], "Infinity"),
        ("sum", "double", &["0.1", "0.2", "0.3"], "0.6"),
        ("avg", "decimal", &["1.10", "2.2"], "1.65"),
        ("avg", "decimal", &["-7", "2"], "-3"),
        ("avg", "decimal", &["1.10", "2.205", "-7", "2", "3"], "0.261"),
        ("sum", "decimal", &["1.10", "2.2"], "3.30"),
    ] {
        assert_eq!(total(name, element, values), expected, "{name}({element}) of {values:?}");
    }
    let sum = candidates("sum", &[], None).unwrap().remove(0);
    assert!(sum.is_aggregate() && sum.call(&CONTEXT, &[None]).is_err());
    let mut rows = count_rows().start().unwrap();
    rows.push(&[]).unwrap();
    assert_eq!(show(&rows.finish().unwrap(), &CqlType::Bigint), "1");
}

#[test]
fn tokens_are_those_of_keys() {
    let (_, one) = argument("float NaN");
    let evaluate = |key: &[&str], values: &[Wire]| {
        let key: Vec<CqlType> = key.iter().map(|name| ty(name)).collect();
        show(&token(&key).call(&CONTEXT, values).unwrap(), &CqlType::Bigint)
    };
    assert_eq!(evaluate(&["float"], &[one]), "-7253780401204684297");
    assert_eq!(evaluate(&["vector<int, 2>"], &[argument("vector<int,2> [2, 1]").1]), "-5343102534192127085");
    assert_eq!(evaluate(&["int", "int"], &[argument("int 1").1, None]), "null");
    let error = token(&[CqlType::Int]).call(&CONTEXT, &[]).unwrap_err();
    assert_eq!(
        error.message(),
        "Invalid number of arguments in call to function system.token: 1 required but 0 provided"
    );
}

fn constant(kind: Literal, text: &str, of: &str) -> Result<String> {
    let ty = ty(of);
    let receiver = ColumnSpec { keyspace: "ks".into(), table: "t".into(), name: "v".into(), ty: ty.clone() };
    Ok(show(&Some(literal::parse(&CONTEXT, kind, text, &receiver)?), &ty))
}

#[test]
fn constants() {
    use Literal::{Boolean, Duration, Float, Hex, Integer, String, Uuid};
    for (kind, text, of, value) in [
        (Integer, "-007", "int", "-7"),
        (Integer, "-0", "double", "-0.0"),
        (Integer, "16777217", "float", "16777216.0"),
        (Integer, "5", "decimal", "5"),
        (Float, "1.10", "decimal", "1.10"),
        (Float, "1.", "double", "1.0"),
        (Float, "3.5e38", "float", "Infinity"),
        (Float, "-NaN", "double", "NaN"),
        (Integer, "-1", "timestamp", "1969-12-31 23:59:59.999Z"),
        (String, "now", "timestamp", "2024-02-29 12:34:56.789Z"),
        (String, "", "timestamp", "empty"),
        (String, "", "inet", "empty"),
        (String, "::ffff:192.0.2.128", "inet", "192.0.2.128"),
        (Integer, "2147483649", "date", "1970-01-02"),
        (Integer, "29574000000000", "time", "08:12:54.000000000"),
        (Hex, "0XFF", "blob", "0xff"),
        (Hex, "0x", "blob", "0x"),
        (Hex, "0x05", "tinyint", "5"),
        (Boolean, "TRUE", "boolean", "true"),
        (Duration, "-1mo2d3h", "duration", "-1mo2d3h"),
        (Uuid, "123E4567-E89B-12D3-A456-426614174000", "timeuuid", "123e4567-e89b-12d3-a456-426614174000"),
        (String, "abc", "ascii", "abc"),
        (Integer, "1", "tuple<int, text>", "(1)"),
    ] {
        assert_eq!(constant(kind, text, of).unwrap(), value, "{text} as {of}");
    }
    let bits = |of: &str| literal::parse_as(&CONTEXT, Float, "-NaN", &ty(of)).unwrap().to_vec();
    assert_eq!(bits("double"), 0x7ff8_0000_0000_0000u64.to_be_bytes(), "NaN has no sign");
    assert_eq!(bits("float"), 0x7fc0_0000u32.to_be_bytes());
    for (kind, text, of, message) in [
        (String, "abc", "int", "Invalid STRING constant (abc) for \"v\" of type int"),
        (Float, "1e3", "varint", "Invalid FLOAT constant (1e3) for \"v\" of type varint"),
        (Hex, "0x05", "int", "Invalid HEX constant (0x05) for \"v\" of type int"),
        (Boolean, "true", "double", "Invalid BOOLEAN constant (true) for \"v\" of type double"),
        (Integer, "1", "list<int>", "Invalid INTEGER constant (1) for \"v\" of type list<int>"),
        (String, "1h", "duration", "Invalid STRING constant (1h) for \"v\" of type duration"),
        (String, "x", "uuid", "Invalid STRING constant (x) for \"v\" of type uuid"),
        (Integer, "128", "tinyint", "Unable to make byte from '128'"),
        (Integer, "2147483648", "int", "Unable to make int from '2147483648'"),
        (Integer, "9223372036854775808", "counter", "Unable to make long from '9223372036854775808'"),
        (
            Integer,
            "9223372036854775808",
            "timestamp",
            "Unable to make long (for date) from: '9223372036854775808'",
        ),
        (Integer, "-1", "date", "Unable to make unsigned int (for date) from: '-1'"),
        (String, "", "date", "Unable to coerce '' to a formatted date (long)"),
        (String, "08:12", "time", "(TimeType) Unable to coerce '08:12' to a formatted time (long)"),
        (Float, "NaN", "decimal", "unable to make BigDecimal from 'NaN'"),
        (Integer, "5", "duration", "Unable to convert '5' to a duration"),
        (Duration, "1d1y", "duration", "Invalid duration. The days should be after years"),
        (Hex, "0x0506", "tinyint", "Invalid HEX constant (0x0506) for \"v\" of type tinyint"),
        (Hex, "0xabc", "blob", "cannot parse 'abc' as hex bytes"),
        (String, "256.0.0.1", "inet", "Unable to make inet address from '256.0.0.1'"),
        (Uuid, "550e8400-e29b-41d4-a716-446655440000", "timeuuid", "TimeUUID supports only version 1 UUIDs"),
    ] {
        let error = constant(kind, text, of).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::Invalid, message), "{text} as {of}");
    }
    for (kind, text, preferred) in [
        (Integer, "2147483648", "bigint"),
        (Integer, "99999999999999999999", "varint"),
        (Float, "1.10", "double"),
        (Float, "1.12345678901234567890123", "decimal"),
        (Float, "NaN", "double"),
        (Hex, "0x01", "tinyint"),
        (Hex, "0x0102", "blob"),
        (Uuid, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "timeuuid"),
        (String, "a", "ascii"),
        (String, "\u{e4}", "text"),
    ] {
        assert_eq!(literal::preferred_type(kind, text), ty(preferred), "{text}");
        assert_eq!(literal::fit(kind, text, &ty(preferred)), literal::Fit::Exact);
    }
    assert_eq!(literal::fit(Integer, "1", &CqlType::Bigint), literal::Fit::Weak);
    assert_eq!(literal::fit(Float, "1.0", &CqlType::Bigint), literal::Fit::No);
}

#[test]
fn names_are_known() {
    let names = names();
    for name in ["token", "now", "to_json", "map_keys", "similarity_cosine", "avg", "count", "blob_as_int"] {
        assert!(names.contains(&name) && exists(name), "{name}");
    }
    assert!(!exists("length") && !exists("sqrt"));
    let overload = candidates("todate", &[], None).unwrap().remove(0);
    assert_eq!(overload.to_string(), "system.todate : (timeuuid) -> date");
}

/// Types that functions are tried with.
fn any_type(choice: u8) -> CqlType {
    let simple = [
        "ascii",
        "bigint",
        "blob",
        "boolean",
        "counter",
        "date",
        "decimal",
        "double",
        "duration",
        "float",
        "inet",
        "int",
        "smallint",
        "text",
        "time",
        "timestamp",
        "timeuuid",
        "tinyint",
        "uuid",
        "varint",
        "list<int>",
        "frozen<set<text>>",
        "map<text, decimal>",
        "tuple<int, text>",
        "vector<float, 2>",
        "list<decimal>",
    ];
    ty(simple[usize::from(choice) % simple.len()])
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_function_panic(
        name in 0usize..300,
        choices in proptest::collection::vec((proptest::prelude::any::<u8>(), proptest::option::of(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..12))), 0..4),
    ) {
        let names = names();
        let name = names[name % names.len()];
        let types: Vec<CqlType> = choices.iter().map(|(choice, _)| any_type(*choice)).collect();
        let values: Vec<Wire> = choices.into_iter().map(|(_, bytes)| bytes.map(|bytes| Bytes::new(&bytes))).collect();
        let known: Vec<Argument> = types
            .iter()
            .map(|ty| Argument { text: "x".into(), ty: Some(ty.clone()), elements: None })
            .collect();
        for overload in candidates(name, &known, Some(&CqlType::Int)).unwrap_or_default() {
            let _ = overload.call(&CONTEXT, &values);
            if let Some(mut state) = overload.start() {
                let _ = state.push(&values);
                let _ = state.finish();
            }
        }
        if let [left, right, ..] = types.as_slice() {
            for operator in [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide, Operator::Modulo] {
                for overload in arithmetic::candidates(operator).iter().filter(|o| o.args[0] == *left && o.args[1] == *right) {
                    let _ = overload.call(&CONTEXT, &values[..2]);
                }
            }
            for cast in cast::candidates(left) {
                let _ = cast.call(&CONTEXT, &values[1..2]);
            }
            let _ = json::to_json(&values[0], left);
        }
    }

    #[test]
    fn no_text_makes_a_constant_or_json_panic(text in "\\PC{0,20}", json in "[\\[\\]{}\",:0-9a-u\\\\ .eE+-]{0,30}", choice in proptest::prelude::any::<u8>()) {
        let of = any_type(choice);
        for text in [&text, &json] {
            if let Ok(bytes) = text::from_text(&CONTEXT, text, &of) {
                proptest::prop_assert!(skep_engine::model::validate::validate(&bytes, &of).is_ok(), "{text} as {of}");
            }
            if let Ok(Some(bytes)) = json::from_json(&CONTEXT, text, &of) {
                proptest::prop_assert!(skep_engine::model::validate::validate(&bytes, &of).is_ok(), "{text} as {of}");
            }
        }
    }
}

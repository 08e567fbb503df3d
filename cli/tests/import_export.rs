//! `skep import` and `skep export`, end to end.

mod common;

use common::{Dir, fails, ok, run};
use skep::model::numeric::{Decimal, Varint};
use skep::{Arg, CqlDuration, CqlType, Date, Db, Schema, Time, Timestamp, Timeuuid, UdtType, Uuid, Value};
use std::sync::Arc;

/// Day `d` of February 2014 in two series.
fn series(dir: &Dir) -> [String; 2] {
    let mut a = "timestamp,value\n".to_owned();
    let mut b = "timestamp,value\n".to_owned();
    for n in 0..300 {
        let (hour, minute) = (n / 12 % 24, n % 12 * 5);
        let day = 14 + n / 288;
        a += &format!("2014-02-{day} {hour:02}:{minute:02}:00,{}\n", f64::from(n) / 8.0);
        b += &format!("2014-02-{day} {hour:02}:{minute:02}:00,{n}\n");
    }
    [dir.file("cpu.csv", &a), dir.file("load.csv", &b)]
}

#[test]
fn series_files_are_imported_as_they_are() {
    let dir = Dir::new("series");
    let store = dir.path("store");
    let [a, b] = series(&dir);
    let text = ok(&["import", &store, "metrics", &a, &b, "--create", "--window", "6h", "--ttl", "90d"]);
    assert!(text.contains("CREATE TABLE main.metrics ("), "{text}");
    for line in [
        "    series text,",
        "    day date,",
        "    timestamp timestamp,",
        "    value double,",
        "PRIMARY KEY ((series, day), timestamp)",
        "CLUSTERING ORDER BY (timestamp DESC)",
        "'compaction_window_size': '6', 'compaction_window_unit': 'HOURS'",
        "default_time_to_live = 7776000",
        "imported 600 rows of 2 files into main.metrics",
        "rows read 600, written 600",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    let csv = ok(&[
        "slice",
        &store,
        "metrics",
        "cpu",
        "2014-02-14",
        "--from",
        "2014-02-14 00:05",
        "--before",
        "2014-02-14 00:20",
        "--format",
        "csv",
    ]);
    let expected = "series,day,timestamp,value\n\
                    cpu,2014-02-14,2014-02-14 00:15:00.000Z,0.375\n\
                    cpu,2014-02-14,2014-02-14 00:10:00.000Z,0.25\n\
                    cpu,2014-02-14,2014-02-14 00:05:00.000Z,0.125\n";
    assert_eq!(csv, expected);
    let reversed = ok(&[
        "slice",
        &store,
        "metrics",
        "load",
        "2014-02-15",
        "--reverse",
        "--limit",
        "1",
        "--columns",
        "value",
        "--format",
        "csv",
    ]);
    assert_eq!(reversed, "value\n288.0\n");
    // Several days: newest first, as the table is.
    let days = ok(&[
        "slice",
        &store,
        "metrics",
        "load",
        "2014-02-14..2014-02-15",
        "--columns",
        "value",
        "--limit",
        "13",
        "--format",
        "csv",
    ]);
    assert_eq!((days.lines().nth(1), days.lines().last()), (Some("299.0"), Some("287.0")));
    let row = ok(&["get", &store, "metrics", "cpu", "2014-02-14", "2014-02-14 00:05"]);
    assert!(row.contains("0.125") && row.ends_with("(1 row)\n"), "{row}");
    assert_eq!(ok(&["scan", &store, "metrics", "--format", "json"]).lines().count(), 600);
    assert_eq!(
        ok(&["scan", &store, "metrics", "--per-partition-limit", "2", "--format", "json"]).lines().count(),
        8
    );
    // Written when they happened, the rows lie in the windows of their days.
    let past = dir.path("past");
    ok(&["import", &past, "metrics", &a, "--create", "--timestamp-from", "timestamp"]);
    let stats: serde_json::Value = serde_json::from_str(&ok(&["stats", &past, "--json"])).unwrap();
    let starts: Vec<_> =
        stats["tables"][0]["windows"].as_array().unwrap().iter().map(|w| w["start"].as_i64()).collect();
    assert_eq!(starts, [Some(1_392_336_000), Some(1_392_422_400)], "2014-02-14 and 2014-02-15");
    let half = |range: &str| {
        ok(&["scan", &store, "metrics", "--token-range", range, "--format", "json"]).lines().count()
    };
    assert_eq!(half("-9223372036854775808:0") + half("1:9223372036854775807"), 600);
}

#[test]
fn bad_lines_are_listed_and_good_ones_kept() {
    let dir = Dir::new("bad");
    let store = dir.path("store");
    let file = dir.file(
        "s.csv",
        "timestamp,value,note\n2024-01-01 00:00,1.5,a\n2024-01-01 00:01,warm,b\n2024-01-01 00:02,2.5\n\n\"2024-01-01 00:03\",3.5,\"two\nlines\"\n,4.5,no time\n2024-01-01 00:05,,\n",
    );
    let output = run(&["import", &store, "t", &file, "--create", "--type", "value=double"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 4, "{error}");
    assert!(lines[0].ends_with("s.csv:3: column value: Unable to make double from 'warm'"), "{error}");
    assert!(lines[1].ends_with("s.csv:4: 2 fields where 3 are expected"), "{error}");
    assert!(lines[2].ends_with("s.csv:8: column day is part of the key and has no value"), "{error}");
    assert_eq!(lines[3], "skep: 3 of 6 records were refused, the others are imported");
    let csv = ok(&["export", &store, "t"]);
    let expected = "series,day,timestamp,value,note\n\
                    s,2024-01-01,2024-01-01 00:05:00.000Z,,\n\
                    s,2024-01-01,2024-01-01 00:03:00.000Z,3.5,\"two\nlines\"\n\
                    s,2024-01-01,2024-01-01 00:00:00.000Z,1.5,a\n";
    assert_eq!(csv, expected);
    // Empty fields wrote nothing, not even tombstones.
    let stats: serde_json::Value = serde_json::from_str(&ok(&["stats", &store, "--json"])).unwrap();
    assert_eq!((&stats["tables"][0]["tombstones"], &stats["tables"][0]["rows"]), (&0.into(), &3.into()));
}

#[test]
fn a_first_line_of_data_is_not_taken_for_a_header() {
    let dir = Dir::new("headerless");
    let store = dir.path("store");
    let file = dir.file("s.csv", "2024-01-01 00:00,1.5\n2024-01-01 00:01,2.5\n");
    let error = fails(&["import", &store, "t", &file, "--create"]);
    assert!(error.contains("'2024-01-01 00:00' in the first line looks like a value"), "{error}");
    assert!(error.contains("--no-header --columns"), "{error}");
    assert!(!std::path::Path::new(&store).exists(), "nothing is made");
    ok(&["import", &store, "t", &file, "--create", "--no-header", "--columns", "timestamp,value"]);
    assert_eq!(ok(&["scan", &store, "t", "--columns", "value", "--format", "csv"]), "value\n2.5\n1.5\n");
    let years = dir.file("years.csv", "timestamp,2024\n2024-01-01,1\n");
    assert!(fails(&["import", &store, "y", &years, "--create"]).contains("'2024' in the first line"));
    ok(&["import", &store, "y", &years, "--create", "--header"]);
    assert!(ok(&["schema", &store, "y"]).contains("\"2024\" int"));
}

#[test]
fn more_than_twenty_bad_lines_are_counted() {
    let dir = Dir::new("many-bad");
    let bad: String = (0..50).map(|n| format!("2024-01-01 00:{n:02},1,1\n")).collect();
    let file = dir.file("s.csv", &format!("timestamp,value\n2024-01-01,1\n{bad}"));
    let error = fails(&["import", &dir.path("store"), "t", &file, "--create"]);
    assert_eq!(error.lines().count(), 22, "{error}");
    assert!(error.contains("... and 30 more bad lines"), "{error}");
}

#[test]
fn repeated_keys_are_reported_and_the_later_line_wins() {
    let dir = Dir::new("upsert");
    let store = dir.path("store");
    // The earlier values are the greater ones: with equal write times they would win.
    let file = dir.file(
        "s.csv",
        "timestamp,value\n2024-01-01 00:00,9\n2024-01-01 00:01,8\n2024-01-01 00:00,1\n2024-01-01 00:00,0\n",
    );
    let text = ok(&["import", &store, "t", &file, "--create"]);
    assert!(text.contains("rows read 4, written 4, distinct keys 2"), "{text}");
    assert!(text.contains("repeated keys 2: the later line replaced the earlier one"), "{text}");
    assert_eq!(ok(&["scan", &store, "t", "--columns", "value", "--format", "csv"]), "value\n8\n0\n");
}

#[test]
fn fields_are_mapped_skipped_and_separated_as_asked() {
    let dir = Dir::new("map");
    let store = dir.path("store");
    let db = Db::open(&store).unwrap();
    let schema = Schema::table("ks.readings")
        .partition_key("Sensor", CqlType::Text)
        .partition_key("bucket", CqlType::Date)
        .clustering("ts", CqlType::Timestamp)
        .column("kind", CqlType::Text)
        .column("n", CqlType::Int);
    db.create_keyspace("ks").unwrap();
    db.create_table(schema).unwrap();
    db.close().unwrap();
    let file = dir.file("hive-7.csv", "Time;N;junk;written\n1704067200;1;x;1000\n1704067260;NA;y;2000\n1704067320;3;z;3000\n1704067380;4;z;3000\n");
    let import = [
        "import",
        &store,
        "ks.readings",
        &file,
        "--delimiter",
        ";",
        "--map",
        "time=ts",
        "--map",
        "junk=",
        "--time-unit",
        "s",
    ];
    let more = [
        "--null",
        "NA",
        "--key",
        "kind=raw",
        "--key-from-file",
        "sensor",
        "--skip",
        "1",
        "--limit",
        "2",
        "--timestamp-from",
        "written",
    ];
    ok(&[&import[..], &more[..]].concat());
    let expected = "Sensor,bucket,ts,kind,n\n\
                    hive-7,2024-01-01,2024-01-01 00:01:00.000Z,raw,\n\
                    hive-7,2024-01-01,2024-01-01 00:02:00.000Z,raw,3\n";
    assert_eq!(ok(&["export", &store, "ks.readings"]), expected);
    // A later import with older write times changes nothing.
    let older = dir.file("hive-7-older.csv", "hive-7,2024-01-01,2024-01-01T00:02:00Z,cooked,99,2999\n");
    let columns = "Sensor,bucket,ts,kind,n,written";
    ok(&[
        "import",
        &store,
        "ks.readings",
        &older,
        "--no-header",
        "--columns",
        columns,
        "--timestamp-from",
        "written",
    ]);
    assert_eq!(ok(&["export", &store, "ks.readings"]), expected);
    let error = fails(&[&import[..], &["--map", "jnuk="]].concat());
    assert!(error.contains("--map jnuk=: no field is called jnuk"), "{error}");
    let error = fails(&["import", &store, "ks.readings", &file]);
    assert!(error.contains("field 'Time;N;junk;written' is no column of ks.readings"), "{error}");
}

/// A table with a column of every type, collections in all forms, and a user type.
fn every_type(name: &str) -> Schema {
    let boxed = |ty: &CqlType| Box::new(ty.clone());
    let list = CqlType::List(boxed(&CqlType::Text));
    let udt = UdtType {
        keyspace: "main".into(),
        name: "place".into(),
        fields: vec![("x".into(), CqlType::Int), ("Name".into(), CqlType::Text)],
    };
    let udt = CqlType::Udt(Arc::new(udt));
    Schema::table(name)
        .partition_key("p", CqlType::Text)
        .clustering("c", CqlType::Timeuuid)
        .static_column("s", CqlType::Text)
        .column("a_ascii", CqlType::Ascii)
        .column("a_bigint", CqlType::Bigint)
        .column("a_blob", CqlType::Blob)
        .column("a_boolean", CqlType::Boolean)
        .column("a_date", CqlType::Date)
        .column("a_decimal", CqlType::Decimal)
        .column("a_double", CqlType::Double)
        .column("a_duration", CqlType::Duration)
        .column("a_float", CqlType::Float)
        .column("a_inet", CqlType::Inet)
        .column("a_int", CqlType::Int)
        .column("a_smallint", CqlType::Smallint)
        .column("a_text", CqlType::Text)
        .column("a_time", CqlType::Time)
        .column("a_timestamp", CqlType::Timestamp)
        .column("a_tinyint", CqlType::Tinyint)
        .column("a_uuid", CqlType::Uuid)
        .column("a_varint", CqlType::Varint)
        .column("a_list", list.clone())
        .column("a_set", CqlType::Set(boxed(&CqlType::Double)))
        .column("a_map", CqlType::Map(boxed(&CqlType::Text), boxed(&CqlType::Blob)))
        .column("a_frozen", CqlType::Map(boxed(&CqlType::Int), boxed(&list.freeze())).freeze())
        .column("a_tuple", CqlType::Tuple(vec![CqlType::Int, CqlType::Text, CqlType::Date]))
        .column("a_udt", udt.freeze())
        .column("a_vector", CqlType::Vector(boxed(&CqlType::Float), 3))
}

fn timeuuid(n: u8) -> Timeuuid {
    Timeuuid::parse(&format!("2c1e5b80-c8f1-11e8-8000-0000000000{n:02x}")).unwrap()
}

/// Rows of [`every_type`] with the values that are easy to get wrong.
fn rows() -> Vec<Vec<Arg<'static>>> {
    let text = |text: &str| Value::Text(text.to_owned());
    let value = |value: Value| Arg::Value(value);
    let full = |n: u8, odd: &str, double: f64, bigint: i64| -> Vec<Arg<'static>> {
        vec![
            Arg::from(format!("p{odd}")),
            Arg::from(timeuuid(n)),
            Arg::Unset,
            Arg::from("plain ascii, with comma".to_owned()),
            Arg::from(bigint),
            Arg::from(vec![0, 255, n]),
            Arg::from(n.is_multiple_of(2)),
            Arg::from(Date::parse("-0001-02-03").unwrap_or(Date(1 << 31))),
            Arg::from(Decimal::parse("-12345678901234567890.000100").unwrap()),
            Arg::from(double),
            Arg::from(CqlDuration { months: 14, days: 3, nanos: 123_456_789 }),
            Arg::from(0.1f32),
            Arg::from("2001:db8::1".parse::<std::net::IpAddr>().unwrap()),
            Arg::from(i32::MIN),
            Arg::from(i16::MAX),
            Arg::from(odd.to_owned()),
            Arg::from(Time(86_399_999_999_999)),
            Arg::from(Timestamp::from_millis(-62_135_596_800_001)),
            Arg::from(i8::MIN),
            Arg::from(Uuid([n; 16])),
            Arg::from(Varint::parse("-170141183460469231731687303715884105729").unwrap()),
            value(Value::List(vec![text(odd), text(""), text("it's")])),
            value(Value::Set(vec![Value::Double(-0.5), Value::Double(double)])),
            value(Value::Map(vec![(text(odd), Value::Blob(vec![1, 2]))])),
            value(Value::Map(vec![(Value::Int(-1), Value::List(vec![text("a, b"), text("]")]))])),
            value(Value::Tuple(vec![Some(Value::Int(1)), None, Some(Value::Date(Date(1 << 31)))])),
            value(Value::Udt(vec![("x".into(), None), ("Name".into(), Some(text(odd)))])),
            value(Value::Vector(vec![Value::Float(1.5), Value::Float(-0.0), Value::Float(1e-30)])),
        ]
    };
    let odds = [
        "\"quoted\"",
        "two\nlines\r\nand more",
        "",
        " spaces ",
        "null",
        "''",
        "it's; \u{fc}\u{1f41d}",
        "\\N",
        "1,2",
    ];
    let doubles = [1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX, -0.0, 0.1, 1e21];
    let mut rows: Vec<_> = (1u8..)
        .zip(odds)
        .zip(doubles)
        .map(|((n, odd), double)| full(n, odd, double, i64::MAX - i64::from(n)))
        .collect();
    // Nulls everywhere; empty values; a partition of a static column alone.
    rows.push(vec![Arg::from("nulls"), Arg::from(timeuuid(1))]);
    let mut empty = vec![
        Arg::from("empties"),
        Arg::from(timeuuid(2)),
        Arg::from("static"),
        Arg::from(""),
        value(Value::Empty),
    ];
    empty.push(Arg::from(Vec::new()));
    empty.push(value(Value::Empty));
    rows.push(empty);
    rows.push(vec![Arg::from("static alone"), Arg::Unset, Arg::from("s,\"t\"")]);
    rows
}

#[test]
fn export_and_import_bring_every_type_back() {
    let dir = Dir::new("types");
    let (store, csv, json) = (dir.path("store"), dir.path("all.csv"), dir.path("all.json"));
    let db = Db::open(&store).unwrap();
    let from = db.create_table(every_type("a")).unwrap();
    let to = db.create_table(every_type("b")).unwrap();
    for row in rows() {
        from.insert(&row).unwrap();
    }
    db.close().unwrap();
    drop((from, to, db));
    ok(&["export", &store, "a", "--output", &csv]);
    let said = ok(&["import", &store, "b", &csv]);
    assert!(said.contains(&format!("rows read {0}, written {0}\n", rows().len())), "{said}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), ok(&["export", &store, "b"]));
    // Not only the same text: the same values, to the bit.
    let db = Db::open_read_only(&store).unwrap();
    let all = |table: &str| {
        let rows = db.table(table).unwrap().scan().rows().unwrap().map(Result::unwrap);
        rows.map(|row| (0..28).map(|i| format!("{:?}", row.value(i).unwrap())).collect())
            .collect::<Vec<Vec<String>>>()
    };
    let (a, b) = (all("a"), all("b"));
    assert_eq!(a.len(), rows().len());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a, b);
    }
    drop(db);
    ok(&["export", &store, "a", "--output", &json, "--format", "json"]);
    let text = std::fs::read_to_string(&json).unwrap();
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), rows().len());
    let nan = objects.iter().find(|o| o["a_double"] == "NaN").expect("NaN is a string");
    assert_eq!(nan["a_text"], "two\nlines\r\nand more");
    assert_eq!(nan["a_bigint"], (i64::MAX - 2).to_string());
    assert_eq!(nan["a_frozen"]["-1"], serde_json::json!(["a, b", "]"]));
    let nulls = objects.iter().find(|o| o["p"] == "nulls").unwrap();
    assert!(nulls["a_int"].is_null() && nulls["s"].is_null());
}

#[test]
fn counters_are_exported_and_added() {
    let dir = Dir::new("counters");
    let (store, csv) = (dir.path("store"), dir.path("c.csv"));
    let db = Db::open(&store).unwrap();
    let schema = Schema::table("c").partition_key("k", CqlType::Int).column("n", CqlType::Counter);
    let table = db.create_table(schema).unwrap();
    table.add(&skep::row![7], "n", 5).unwrap();
    drop(table);
    db.close().unwrap();
    drop(db);
    ok(&["export", &store, "c", "--output", &csv]);
    ok(&["import", &store, "c", &csv]);
    assert_eq!(ok(&["get", &store, "c", "7", "--format", "json"]), "{\"k\":7,\"n\":10}\n");
}

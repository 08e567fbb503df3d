//! What users of other engines ran into, each tried here: deletes and resurrection, range tombstones and reverse order, time,
//! values. The numbers are those of the list of cases that the project keeps; even ones are for others to try.
//!
//! Elsewhere: 15 in `corrupt.rs`. 17 needs levels, 67 needs appending to lists.

use skep_engine::{CqlType, KeyRange, Null, Schema, Table, Timestamp, Token, Value, With, row};
use skep_tests::store::{Store, at, ints, kv, r, rows, s, t};
use std::time::Duration;

fn ttl(seconds: u64) -> With {
    With::DEFAULT.ttl(Duration::from_secs(seconds))
}

fn all(table: &Table) -> Vec<String> {
    rows(table.scan()).unwrap()
}

#[test]
fn case_01_deleted_rows_stay_deleted_though_an_idle_table_pins_the_log() {
    let mut store = Store::default();
    let (idle, table) = (store.create(kv()), store.create(t().gc_grace(Duration::ZERO)));
    idle.insert(&row!["once", 1]).unwrap();
    table.insert(&row![1, 1, 1]).unwrap();
    table.delete(&row![1]).unwrap();
    table.flush().unwrap();
    store.pass(1);
    table.compact().unwrap();
    assert!(store.files("t").is_empty(), "data and tombstone are both gone");
    drop((idle, table));
    for _ in 0..2 {
        store.kill();
        assert_eq!(all(&store.table("t")), Vec::<String>::new());
        assert_eq!(all(&store.table("kv")), ["'once',1,null"]);
    }
}

#[test]
fn case_03_a_partition_delete_survives_the_merge() {
    let mut store = Store::default();
    let table = store.create(t());
    let first = 1_609_459_200_000_000; // 2021-01-01
    for ck in 1..=10 {
        table.insert_with(&row![1, ck, ck], at(first)).unwrap();
    }
    table.flush().unwrap();
    for pk in [1, 2] {
        store.batch(&table, |batch, schema| batch.delete(schema, &row![pk], at(first + 1)));
    }
    table.compact().unwrap();
    assert_eq!(all(&table), Vec::<String>::new());
    assert_eq!((table.stats().rows, table.stats().tombstones), (0, 2), "both deletions are kept");
    drop(table);
    store.reopen();
    assert_eq!(all(&store.table("t")), Vec::<String>::new());
    store.pass(11 * 86_400);
    store.table("t").compact().unwrap();
    assert!(store.files("t").is_empty(), "after gc_grace they go");
}

#[test]
fn case_05_row_tombstones_keep_their_places_and_the_static_row_its_value() {
    let store = Store::default();
    let table = store.create(s());
    for ck in 1..=5 {
        table.insert(&row![1, ck, 7, "v"]).unwrap();
    }
    table.flush().unwrap();
    for ck in 1..=2 {
        table.delete(&row![1, ck]).unwrap();
        table.flush().unwrap();
    }
    let expected = ["1,3,7,'v'", "1,4,7,'v'", "1,5,7,'v'"];
    assert_eq!(all(&table), expected);
    table.compact().unwrap();
    assert_eq!(all(&table), expected);
}

#[test]
fn case_07_of_one_timestamp_a_tombstone_beats_an_expiring_value() {
    let store = Store::default();
    let table = store.create(t());
    let living = at(100).ttl(Duration::from_secs(3600));
    table.insert_with(&row![0, 0, Null], at(100)).unwrap();
    table.insert_with(&row![1, 0, 1], living).unwrap();
    table.flush().unwrap();
    table.insert_with(&row![0, 0, 1], living).unwrap();
    table.insert_with(&row![1, 0, Null], at(100)).unwrap();
    let check = || {
        for pk in [0, 1] {
            assert_eq!(ints(table.slice(&row![pk], ..), "v"), [i32::MIN]);
        }
    };
    check();
    table.flush().unwrap();
    check();
    table.compact().unwrap();
    check();
}

#[test]
fn case_09_of_one_timestamp_the_expiring_marker_wins_in_both_orders() {
    let store = Store::default();
    let table = store.create(t());
    let expiring = at(5).ttl(Duration::from_secs(1));
    table.insert_with(&row![1, 1], at(5)).unwrap();
    table.insert_with(&row![1, 1], expiring).unwrap();
    table.insert_with(&row![2, 1], expiring).unwrap();
    table.insert_with(&row![2, 1], at(5)).unwrap();
    assert_eq!(table.scan().count().unwrap(), 2);
    store.pass(2);
    for step in ["memtable", "file", "compacted"] {
        assert_eq!(table.scan().count().unwrap(), 0, "{step}");
        if step == "memtable" { table.flush().unwrap() } else { table.compact().unwrap() }
    }
}

#[test]
fn case_11_an_expired_value_hides_the_older_one_for_good() {
    let store = Store::default();
    let eager = [
        ("class", "SizeTieredCompactionStrategy"),
        ("tombstone_threshold", "0.01"),
        ("tombstone_compaction_interval", "1"),
        ("unchecked_tombstone_compaction", "true"),
    ];
    let table = store.create(kv().gc_grace(Duration::ZERO).compaction(eager));
    table.insert(&row!["k", 1]).unwrap();
    table.flush().unwrap();
    table.update(&[("k", "k".into()), ("a", 2.into())], ttl(1)).unwrap();
    table.flush().unwrap();
    assert_eq!(all(&table), ["'k',2,null"]);
    for _ in 0..5 {
        store.pass(1000);
        store.db.tick().unwrap();
        assert_eq!(all(&table), ["'k',null,null"]);
    }
    assert!(!table.compactions().is_empty(), "the second file was compacted alone");
    table.compact().unwrap();
    assert_eq!(all(&table), ["'k',null,null"]);
}

#[test]
fn case_13_a_dropped_column_comes_back_with_its_type_only_and_without_its_values() {
    let store = Store::default();
    let table =
        store.create(Schema::table("x").partition_key("pk", CqlType::Text).column("c1", CqlType::Int));
    table.insert(&row!["a", 1]).unwrap();
    table.flush().unwrap();
    let alter = || store.db.alter_table("x").unwrap();
    alter().drop_column("c1").unwrap().apply().unwrap();
    assert_eq!(all(&table), ["'a'"]);
    let list = CqlType::List(Box::new(CqlType::Int));
    let error = alter().add_column("c1", list).unwrap_err();
    assert!(error.message().contains("c1"), "{error}");
    alter().add_column("c1", CqlType::Int).unwrap().apply().unwrap();
    assert_eq!(all(&table), ["'a',null"]);
    table.insert(&row!["b", 2]).unwrap();
    table.flush().unwrap();
    assert_eq!(table.get(&row!["b"]).unwrap().unwrap().get::<i32>("c1").unwrap(), 2);
    alter().drop_column("c1").unwrap().apply().unwrap();
    table.compact().unwrap();
    assert_eq!(all(&table).len(), 2);
    store.verify();
}

#[test]
fn case_19_range_tombstones_in_both_directions() {
    for flushing in [false, true] {
        let store = Store::default();
        let table = store.create(t());
        let step = || {
            if flushing {
                table.flush().unwrap()
            }
        };
        for n in [0, 2, 4, 5, 6] {
            table.insert(&row![0, n, n]).unwrap();
            step();
        }
        let ranges: [KeyRange<'_>; 3] =
            [(1..=3).into(), KeyRange::all().above(4).at_most(8), KeyRange::all().above(0).at_most(1)];
        for range in ranges {
            table.delete_range(&row![0], range).unwrap();
            step();
        }
        assert_eq!(ints(table.slice(&row![0], ..), "v"), [0, 4]);
        assert_eq!(ints(table.slice(&row![0], ..).reverse(), "v"), [4, 0]);
    }
}

#[test]
fn case_21_reverse_over_a_range_tombstone_of_many_blocks() {
    let store = Store::default();
    let pad = "x".repeat(200);
    let table = store.create(s().compression_none());
    for ck in 0..2000 {
        table.insert(&row![1, ck, None::<i32>, format!("{ck}{pad}")]).unwrap();
    }
    table.flush().unwrap();
    table.delete_range(&row![1], KeyRange::all().above(100).below(1800)).unwrap();
    table.flush().unwrap();
    let forward = ints(table.slice(&row![1], ..), "ck");
    assert_eq!(forward, (0..=100).chain(1800..2000).collect::<Vec<_>>());
    let expected: Vec<i32> = forward.into_iter().rev().collect();
    for size in [1, 7, 100] {
        let (mut found, mut state) = (Vec::new(), None);
        loop {
            let select = table.slice(&row![1], ..).reverse().columns(&["ck"]);
            let select = match state.take() {
                Some(state) => select.resume(state),
                None => select,
            };
            let page = select.page(size).unwrap();
            found.extend(page.rows.iter().map(|row| row.get::<i32>("ck").unwrap()));
            match page.next {
                Some(next) => state = Some(next),
                None => break,
            }
        }
        assert_eq!(found, expected, "pages of {size}");
    }
}

#[test]
fn case_23_a_row_delete_within_a_prefix_delete() {
    let store = Store::default();
    let schema = Schema::table("tab").partition_key("pk", CqlType::Text).clustering("ck1", CqlType::Text);
    let table = store.create(schema.clustering("ck2", CqlType::Text).column("data", CqlType::Text));
    store.batch(&table, |batch, schema| batch.delete(schema, &row!["p", "aaa"], at(10)));
    table.flush().unwrap();
    store.batch(&table, |batch, schema| batch.delete(schema, &row!["p", "aaa", "bbb"], at(20)));
    table.flush().unwrap();
    for ck2 in ["aaa", "bbb", "ccc"] {
        table.insert_with(&row!["p", "aaa", ck2, "d"], at(15)).unwrap();
        table.insert_with(&row!["p", "aaa", format!("{ck2}-old"), "d"], at(5)).unwrap();
        table.flush().unwrap();
    }
    let check = || {
        assert_eq!(all(&table), ["'p','aaa','aaa','d'", "'p','aaa','ccc','d'"]);
        let mut reversed = rows(table.slice(&row!["p"], ..).reverse()).unwrap();
        reversed.reverse();
        assert_eq!(reversed, all(&table));
    };
    check();
    table.compact().unwrap();
    check();
}

#[test]
fn case_25_slices_on_the_second_clustering_column() {
    for descending in [false, true] {
        let store = Store::default();
        let schema = Schema::table("k").partition_key("k", CqlType::Int);
        let schema = match descending {
            true => schema.clustering_desc("c0", CqlType::Int).clustering_desc("c1", CqlType::Int),
            false => schema.clustering("c0", CqlType::Int).clustering("c1", CqlType::Int),
        };
        let table = store.create(schema.column("v", CqlType::Int));
        let check = || {
            let read = |range: KeyRange<'static>| {
                let mut found = ints(table.slice(&row![0], range.within(row![2])), "c1");
                if descending {
                    found.reverse();
                }
                found
            };
            assert_eq!(read(KeyRange::all().above(2)), [3, 4]);
            assert_eq!(read(KeyRange::all().below(2)), [0, 1]);
            assert_eq!(read(KeyRange::all().at_least(2)), [2, 3, 4]);
            assert_eq!(read(KeyRange::all().at_most(2)), [0, 1, 2]);
        };
        for c0 in 0..4 {
            for c1 in 0..5 {
                table.insert(&row![0, c0, c1, 1]).unwrap();
            }
            if c0 == 2 {
                store.db.flush().unwrap();
            }
        }
        check();
        table.compact().unwrap();
        check();
    }
}

#[test]
fn case_27_a_reverse_read_has_the_static_row() {
    let store = Store::default();
    let table = store.create(s());
    table.insert(&row![1, 1, 1, "one"]).unwrap();
    table.insert(&row![1, 2, None::<i32>, "two"]).unwrap();
    for _ in 0..2 {
        assert_eq!(rows(table.slice(&row![1], ..).reverse()).unwrap(), ["1,2,1,'two'", "1,1,1,'one'"]);
        table.flush().unwrap();
    }
}

#[test]
fn case_29_the_newest_row_is_the_newest_acknowledged_one() {
    let store = Store::default();
    let table = store.create(r());
    for n in 0..200i64 {
        table.insert(&row!["s", 1, Timestamp::from_millis(n), n as f64]).unwrap();
        if n % 37 == 9 {
            table.flush().unwrap();
        }
        let newest = table.slice(&row!["s", 1], ..).limit(1).rows().unwrap().next().unwrap().unwrap();
        assert_eq!(newest.get::<f64>("val").unwrap(), n as f64);
    }
}

#[test]
fn case_31_one_of_two_collections_is_updated() {
    let store = Store::default();
    let list = || CqlType::List(Box::new(CqlType::Int));
    let table = store
        .create(Schema::table("l").partition_key("k", CqlType::Int).column("a", list()).column("b", list()));
    let value = Value::List(vec![Value::Int(1), Value::Int(2)]);
    table.update(&[("k", 1.into()), ("a", value.into())], ttl(600_000_000)).unwrap();
    for _ in 0..2 {
        assert_eq!(all(&table), ["1,[1, 2],null"]);
        table.flush().unwrap();
    }
    store.verify();
    assert_eq!(table.stats().tombstones, 1, "the overwritten list has a deletion, the other has none");
}

#[test]
fn case_33_value_and_row_expire_in_the_same_second() {
    let store = Store::default();
    let table = store.create(t());
    table.insert_with(&row![0, 0, 0], ttl(1)).unwrap();
    store.disk.clock().advance(Duration::from_millis(999));
    assert_eq!(all(&table), ["0,0,0"]);
    store.disk.clock().advance(Duration::from_millis(1));
    assert_eq!(all(&table), Vec::<String>::new(), "at the second of the expiry");
    store.pass(1);
    assert_eq!(all(&table), Vec::<String>::new());
}

#[test]
fn case_37_a_write_in_the_far_future_stays_and_says_why() {
    let store = Store::default();
    let table = store.create(t());
    let far = 9_000_000_000_000_000_000;
    table.insert_with(&row![1, 1, 1], at(far)).unwrap();
    table.delete(&row![1, 1]).unwrap();
    let row = table.slice(&row![1], ..).with_lives().rows().unwrap().next().unwrap().unwrap();
    assert_eq!(row.writetime("v").unwrap(), Some(far), "the value tells what it was written with");
    for early in [-1, 0, i64::MIN + 1] {
        table.insert_with(&row![2, 2, 2], at(early)).unwrap();
    }
    assert_eq!(table.slice(&row![2], ..).count().unwrap(), 1);
    let error = table.insert_with(&row![3, 3, 3], at(i64::MIN)).unwrap_err();
    assert!(error.message().contains("timestamp"), "{error}");
}

#[test]
fn case_61_an_empty_text_is_a_value_and_null_is_refused() {
    let mut store = Store::default();
    let schema = Schema::table("e").partition_key("pk", CqlType::Text).clustering("c1", CqlType::Text);
    let table = store.create(schema.clustering("c2", CqlType::Blob).column("v", CqlType::Int));
    for (n, (c1, c2)) in [("", &b""[..]), ("", b"\0"), ("a", b""), ("a", b"x")].into_iter().enumerate() {
        table.insert(&row!["p", c1, c2, n as i32]).unwrap();
    }
    let error = table.insert(&row!["p", Null, &b""[..], 1]).unwrap_err();
    assert!(error.message().contains("null") && error.message().contains("c1"), "{error}");
    drop(table);
    let check = |store: &Store| {
        let table = store.table("e");
        assert_eq!(ints(table.slice(&row!["p"], ..), "v"), [0, 1, 2, 3]);
        assert_eq!(ints(table.slice(&row!["p"], ..).reverse(), "v"), [3, 2, 1, 0]);
        assert_eq!(ints(table.slice(&row!["p"], ""..), "v"), [0, 1, 2, 3]);
        assert_eq!(ints(table.slice(&row!["p"], KeyRange::all().above("")), "v"), [2, 3]);
        assert!(table.get(&row!["p", "", &b""[..]]).unwrap().is_some());
        assert_eq!(rows(table.scan().limit(1)).unwrap(), ["'p','',0x,0"]);
    };
    check(&store);
    store.db.flush().unwrap();
    check(&store);
    store.reopen();
    check(&store);
}

/// The answers of Cassandra for many keys are in `tokens_and_order.rs`.
#[test]
fn case_63_the_token_of_bytes_over_127() {
    let hex = "00104327529fb645dd00b883ec39ae448bb800000400066a6b00";
    let key: Vec<u8> =
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
    assert_eq!(Token::of(&key).0, -9_223_371_632_693_506_265);
}

#[test]
fn case_65_nan_and_signed_zero_in_order() {
    let mut store = Store::default();
    store.create(Schema::table("d").partition_key("pk", CqlType::Int).clustering("ck", CqlType::Double));
    let table = store.table("d");
    for ck in [f64::NAN, -f64::NAN, -0.0, 0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
        table.insert(&row![1, ck]).unwrap();
    }
    drop(table);
    let order = ["-Infinity", "-1.0", "-0.0", "0.0", "Infinity", "NaN"].map(|text| format!("1,{text}"));
    for step in 0..3 {
        let table = store.table("d");
        assert_eq!(rows(table.slice(&row![1], ..)).unwrap(), order, "step {step}");
        let mut reversed = rows(table.slice(&row![1], ..).reverse()).unwrap();
        reversed.reverse();
        assert_eq!(reversed, order, "step {step}");
        let positive = rows(table.slice(&row![1], KeyRange::all().above(0.0))).unwrap();
        assert_eq!(positive, order[4..], "step {step}");
        drop(table);
        if step == 0 { store.db.flush().unwrap() } else { store.reopen() }
    }
}

#[test]
fn case_69_only_null_makes_a_tombstone() {
    let store = Store::default();
    let table =
        store.create(Schema::table("test").partition_key("a", CqlType::Int).column("b", CqlType::Int));
    table.insert(&row![1, 1]).unwrap();
    table.insert(&row![2, Null]).unwrap();
    table.insert(&row![3]).unwrap();
    table.insert(&row![4, None::<i32>]).unwrap();
    table.flush().unwrap();
    assert_eq!((table.stats().rows, table.stats().tombstones), (4, 1));
}

#[test]
fn case_71_two_writes_of_one_key_are_one_row_the_later_one() {
    let store = Store::default();
    let table = store.create(r());
    let mut appender = table.appender();
    for n in 0..10i64 {
        appender.append(&row!["s", 1, Timestamp::from_millis(n / 2), n as f64]).unwrap();
    }
    assert_eq!(appender.finish().unwrap(), 10, "rows given");
    assert_eq!(table.scan().count().unwrap(), 5, "rows there are");
    assert_eq!(table.scan().sum("val").unwrap(), f64::from(1 + 3 + 5 + 7 + 9));
}

#[test]
fn case_73_large_collections_work_and_cells_over_the_limit_are_refused() {
    let store = Store::default();
    let schema = Schema::table("h").partition_key("k", CqlType::Int);
    let table =
        store.create(schema.column("l", CqlType::List(Box::new(CqlType::Int))).column("b", CqlType::Blob));
    let list: Vec<Value> = (0..20_000).map(Value::Int).collect();
    table.insert(&row![1, Value::List(list.clone())]).unwrap();
    table.compact().unwrap();
    let row = table.get(&row![1]).unwrap().unwrap();
    assert_eq!(row.get::<Value>("l").unwrap(), Value::List(list));
    let error = table.insert(&row![2, None::<i32>, vec![0u8; 20 << 20]]).unwrap_err();
    assert!(error.message().contains("segment"), "{error}");
    table.insert(&row![2, None::<i32>, vec![0u8; 1 << 20]]).unwrap();
    table.flush().unwrap();
    assert_eq!(table.get(&row![2]).unwrap().unwrap().get::<&[u8]>("b").unwrap().len(), 1 << 20);
}

/// Rows without a marker, of which only some have a collection, read without that column.
#[test]
fn rows_that_only_an_unread_collection_or_another_column_holds_are_seen() {
    let store = Store::default();
    let list = CqlType::List(Box::new(CqlType::Int));
    let schema = Schema::table("u").partition_key("p", CqlType::Int).clustering("c", CqlType::Int);
    let table = store.create(schema.column("a", CqlType::Int).column("l", list));
    for c in 0..10 {
        let key = |column: &'static str, value: skep_engine::Arg<'static>| {
            [("p", 1.into()), ("c", c.into()), (column, value)]
        };
        match c % 3 {
            0 => table.update(&key("l", Value::List(vec![Value::Int(c)]).into()), With::DEFAULT).unwrap(),
            _ => table.update(&key("a", c.into()), With::DEFAULT).unwrap(),
        };
    }
    for _ in 0..2 {
        assert_eq!(ints(table.slice(&row![1], ..).columns(&["c"]), "c"), (0..10).collect::<Vec<_>>());
        assert_eq!(ints(table.slice(&row![1], 4..6).columns(&["c", "a"]), "a"), [4, 5]);
        assert_eq!(table.scan().count().unwrap(), 10);
        table.flush().unwrap();
    }
}

#[test]
fn a_write_after_closing_and_opening_is_later_than_all_before_though_the_clock_went_back() {
    for compact in [false, true] {
        let mut store = Store::default();
        let table = store.create(t());
        store.pass(10);
        for v in 0..5 {
            table.insert(&row![1, 1, v]).unwrap();
        }
        table.delete(&row![1]).unwrap();
        store.disk.clock().set_micros(store.now() - 5_000_000);
        if compact {
            table.flush().unwrap();
            table.insert(&row![2, 1, 1]).unwrap();
            table.flush().unwrap();
            table.compact().unwrap();
        }
        store.reopen();
        store.table("t").insert(&row![1, 1, 7]).unwrap();
        let rows = all(&store.table("t"));
        assert!(rows.contains(&"1,1,7".to_owned()), "{rows:?}");
    }
}

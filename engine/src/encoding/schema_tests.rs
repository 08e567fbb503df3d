//! Schemas come back from their bytes; damaged ones are refused.

use super::*;
use proptest::prelude::*;
use std::sync::Arc;

fn any_type() -> impl Strategy<Value = CqlType> {
    let simple = prop_oneof![
        Just(CqlType::Int),
        Just(CqlType::Text),
        Just(CqlType::Timestamp),
        Just(CqlType::Double),
        Just(CqlType::Blob),
    ];
    simple.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|ty| CqlType::List(Box::new(ty.freeze()))),
            (inner.clone(), inner.clone())
                .prop_map(|(k, v)| CqlType::Map(Box::new(k.freeze()), Box::new(v.freeze()))),
            inner.clone().prop_map(|ty| CqlType::Tuple(vec![ty.clone(), ty])),
            inner.prop_map(|ty| CqlType::Udt(Arc::new(UdtType {
                keyspace: "ks".into(),
                name: "Pair".into(),
                fields: vec![("a".into(), ty.clone()), ("b".into(), ty)],
            }))),
        ]
    })
}

fn any_map() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-z_]{1,8}", ".{0,8}", 0..3)
}

fn any_options() -> impl Strategy<Value = TableOptions> {
    (0.001f64..=1.0, any::<u32>(), any::<i32>(), any_map(), any_map(), ".{0,9}", any_map()).prop_map(
        |(fp, grace, ttl, compaction, compression, comment, other)| TableOptions {
            bloom_filter_fp_chance: fp,
            gc_grace_seconds: grace,
            default_time_to_live: ttl,
            compaction,
            compression,
            comment,
            other,
        },
    )
}

/// Tables with keys, static and regular columns of any type, altered a few times.
pub(crate) fn any_schema() -> impl Strategy<Value = TableSchema> {
    let regular = proptest::collection::vec(any_type(), 1..5);
    (any::<u32>(), any_options(), regular, any::<(bool, bool)>(), any::<i64>()).prop_map(
        |(id, options, types, (desc, alter), dropped_at)| {
            let order = if desc { Order::Desc } else { Order::Asc };
            let mut columns = vec![
                ("Part Key".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
                ("day".to_owned(), CqlType::Date, ColumnKind::PartitionKey),
                ("at".to_owned(), CqlType::Timestamp, ColumnKind::Clustering(order)),
                ("site".to_owned(), CqlType::Text, ColumnKind::Static),
            ];
            columns.extend((0..).zip(types).map(|(n, ty)| (format!("r{n}"), ty, ColumnKind::Regular)));
            let schema = TableSchema::new(TableId(id), "ks", "readings", columns, options).unwrap();
            if !alter {
                return schema;
            }
            let schema = schema.drop_column("r0", dropped_at).unwrap();
            schema.add_column("late", CqlType::Int, ColumnKind::Regular).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_schema_comes_back_and_no_shorter_one_does(schema in any_schema()) {
        let mut bytes = Vec::new();
        put_schema(&mut bytes, &schema);
        let mut reader = ByteReader::new(&bytes);
        prop_assert_eq!(read_schema(&mut reader).unwrap(), schema);
        prop_assert!(reader.is_empty());
        for end in 0..bytes.len() {
            prop_assert!(read_schema(&mut ByteReader::new(&bytes[..end])).is_err());
        }
    }

    #[test]
    fn changed_bytes_make_it_fail_or_differ_but_never_panic(schema in any_schema(), at: prop::sample::Index, mask in 1u8..) {
        let mut bytes = Vec::new();
        put_schema(&mut bytes, &schema);
        let at = at.index(bytes.len());
        bytes[at] ^= mask;
        let _ = read_schema(&mut ByteReader::new(&bytes));
    }
}

#[test]
fn the_worked_example_is_as_documented() {
    let hex = "01 07 02 6b 73 01 74 00 7b 14 ae 47 e1 7a 84 3f 80 de 34 00 00 00 00 00 \
               02 00 01 6b 0e 00 01 01 76 0c 04 00 02";
    let bytes: Vec<u8> = hex.split_whitespace().map(|h| u8::from_str_radix(h, 16).unwrap()).collect();
    let options =
        TableOptions { compaction: BTreeMap::new(), compression: BTreeMap::new(), ..TableOptions::default() };
    let columns = vec![
        ("k".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
        ("v".to_owned(), CqlType::Int, ColumnKind::Regular),
    ];
    let schema = TableSchema::new(TableId(7), "ks", "t", columns, options).unwrap();
    let mut written = Vec::new();
    put_schema(&mut written, &schema);
    assert_eq!(written, bytes);
    assert_eq!(read_schema(&mut ByteReader::new(&bytes)).unwrap(), schema);
}

#[test]
fn column_numbers_that_were_never_given_out_or_twice_are_refused() {
    let columns = vec![
        ("k".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
        ("v".to_owned(), CqlType::Int, ColumnKind::Regular),
    ];
    let schema = TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap();
    let mut bytes = Vec::new();
    put_schema(&mut bytes, &schema);
    let last = bytes.len() - 1;
    bytes[last] = 1;
    let error = read_schema(&mut ByteReader::new(&bytes)).unwrap_err();
    assert!(error.message().contains("column v has number 1"), "{error}");
    bytes[last] = 2;
    // The number of `v` stands before its name.
    let v = bytes.windows(3).rposition(|w| w == [1, 1, b'v']).unwrap();
    bytes[v] = 0;
    let error = read_schema(&mut ByteReader::new(&bytes)).unwrap_err();
    assert!(error.message().contains("shares its number"), "{error}");
}

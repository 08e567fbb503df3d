//! Changes of the schema: all or nothing, also over a crash; what is refused; what stays with stored data.

use super::*;
use crate::env::sim::SimDisk;
use crate::model::schema::{ColumnKind, TableOptions};
use crate::row;

fn open(env: &SimDisk) -> Db {
    Db::builder("/store").env(env.env()).background(false).open().unwrap()
}

fn udt(fields: &[(&str, CqlType)]) -> UdtType {
    let fields = fields.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect();
    UdtType { keyspace: "ks".into(), name: "pair".into(), fields }
}

fn table(name: &str, ty: CqlType) -> Schema {
    Schema::table(name).keyspace("ks").partition_key("p", CqlType::Int).column("v", ty)
}

#[test]
fn a_change_of_many_steps_is_there_after_opening_again() {
    let env = SimDisk::new(1);
    let db = open(&env);
    let epoch = db.schema_epoch();
    let options = BTreeMap::from([("replication".to_owned(), "{'class': 'SimpleStrategy'}".to_owned())]);
    let old = udt(&[("a", CqlType::Int)]);
    let frozen = CqlType::Udt(Arc::new(old.clone())).freeze();
    let mut other = TableOptions::default();
    other.other.insert("#mask:v".to_owned(), "{}".to_owned());
    let change = SchemaChange::new()
        .create_keyspace("ks", options.clone())
        .put_type(old)
        .create_table(table("base", frozen).options(other))
        .create_table(table("index", CqlType::Int))
        .create_table(table("gone", CqlType::Int))
        .drop_table("ks", "gone");
    let created = db.change_schema(change).unwrap();
    assert_eq!(created.iter().map(Table::name).collect::<Vec<_>>(), ["ks.base", "ks.index"]);
    assert!(db.schema_epoch() > epoch);

    let new = Arc::new(udt(&[("first", CqlType::Int), ("second", CqlType::Text)]));
    let base = created[0].schema().with_type(&new).unwrap().unwrap();
    let renamed = base.rename_column("p", "key").unwrap();
    db.change_schema(SchemaChange::new().put_type(UdtType::clone(&new)).put_table(renamed)).unwrap();
    db.close().unwrap();

    let db = open(&env);
    assert_eq!(db.keyspace_options("ks"), Some(options));
    assert_eq!(db.types("ks"), std::slice::from_ref(&new));
    assert_eq!(db.user_type("ks", "pair"), Some(new.clone()));
    let schema = db.find_table("ks", "base").unwrap().schema();
    assert_eq!(schema.column("key").unwrap().kind, ColumnKind::PartitionKey);
    assert_eq!(schema.column("v").unwrap().ty, CqlType::Udt(new).freeze());
    assert_eq!(schema.options.other["#mask:v"], "{}");
    assert!(db.find_table("ks", "gone").is_none());
}

#[test]
fn a_change_with_a_step_that_fails_changes_nothing() {
    let db = open(&SimDisk::new(2));
    let epoch = db.schema_epoch();
    let change = SchemaChange::new()
        .create_keyspace("ks", BTreeMap::new())
        .create_table(table("a", CqlType::Int))
        .create_table(table("a", CqlType::Text));
    assert_eq!(db.change_schema(change).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!((db.keyspaces(), db.schema_epoch()), (vec!["main".to_owned()], epoch));
    assert!(db.tables().is_empty());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let db = open(&SimDisk::new(3));
    let pair = udt(&[("a", CqlType::Int)]);
    let frozen = CqlType::Udt(Arc::new(pair.clone())).freeze();
    let change = SchemaChange::new()
        .create_keyspace("ks", BTreeMap::new())
        .put_type(pair)
        .create_table(table("t", frozen));
    let t = db.change_schema(change).unwrap().remove(0);
    let fails = |change: SchemaChange| db.change_schema(change).unwrap_err().to_string();
    let new = SchemaChange::new;
    assert!(fails(new().drop_type("ks", "pair")).contains("is used by table ks.t"));
    assert!(fails(new().put_type(udt(&[("a", CqlType::Int), ("a", CqlType::Int)]))).contains("twice"));
    assert!(fails(new().put_type(udt(&[]))).contains("1 to 32767"));
    assert!(fails(new().put_type(udt(&[("a", CqlType::Counter)]))).contains("counter"));
    assert!(fails(new().drop_table("ks", "none")).contains("does not exist"));
    assert!(fails(new().create_table(Schema::table("no.t"))).contains("keyspace no does not exist"));
    let mixed = table("c", CqlType::Counter).column("w", CqlType::Int);
    assert!(fails(new().create_table(mixed)).contains("Cannot mix counter and non counter"));
    let expiring = table("c", CqlType::Counter).ttl(std::time::Duration::from_secs(1));
    assert!(fails(new().create_table(expiring)).contains("default TTL"));
    let inside = table("c", CqlType::List(Box::new(CqlType::Counter)));
    assert!(fails(new().create_table(inside)).contains("part of another type"));
    let stale = t.schema().with_options(TableOptions::default());
    db.change_schema(new().put_table(stale.clone())).unwrap();
    assert_eq!(db.change_schema(new().put_table(stale)).unwrap_err().kind(), ErrorKind::Busy);
    assert!(
        t.schema().rename_column("v", "w").unwrap_err().to_string().contains("not part of the primary key")
    );
    assert!(t.schema().rename_column("p", "v").unwrap_err().to_string().contains("named twice"));
}

#[test]
fn rows_written_under_another_name_or_type_are_read() {
    let env = SimDisk::new(4);
    let db = open(&env);
    let old = udt(&[("a", CqlType::Int)]);
    let change =
        SchemaChange::new().create_keyspace("ks", BTreeMap::new()).put_type(old.clone()).create_table(
            Schema::table("t")
                .keyspace("ks")
                .partition_key("p", CqlType::Int)
                .clustering("c", CqlType::Udt(Arc::new(old.clone())).freeze())
                .column("v", CqlType::Udt(Arc::new(old))),
        );
    let t = db.change_schema(change).unwrap().remove(0);
    let value = |fields: &[(&str, i32)]| {
        let fields = fields.iter().map(|(name, v)| ((*name).to_owned(), Some(crate::Value::Int(*v))));
        crate::Arg::Value(crate::Value::Udt(fields.collect()))
    };
    for c in [0, 1, 3] {
        t.insert(&[1.into(), value(&[("a", c)]), value(&[("a", 10)])]).unwrap();
    }
    db.flush().unwrap();
    let new = Arc::new(udt(&[("x", CqlType::Int), ("y", CqlType::Int)]));
    let schema = t.schema().with_type(&new).unwrap().unwrap().rename_column("c", "place").unwrap();
    db.change_schema(SchemaChange::new().put_type(UdtType::clone(&new)).put_table(schema)).unwrap();
    t.insert(&[1.into(), value(&[("x", 1), ("y", 2)]), value(&[("y", 20)])]).unwrap();
    for flushed in [false, true] {
        if flushed {
            db.flush().unwrap();
        }
        let rows: Vec<_> = t.slice(&row![1], ..).rows().unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4, "flushed: {flushed}");
        assert_eq!(rows[1].value(1).unwrap().unwrap().to_string(), "{x: 1, y: null}");
        assert_eq!(rows[2].value(2).unwrap().unwrap().to_string(), "{x: null, y: 20}");
        let found = t.get(&[1.into(), value(&[("x", 1), ("y", 2)])]).unwrap();
        assert!(found.is_some(), "flushed: {flushed}");
        let range = crate::KeyRange::all().at_least(value(&[("x", 1), ("y", 0)]));
        let found: Result<Vec<_>> = t.slice(&row![1], range).rows().unwrap().collect();
        assert_eq!(found.unwrap().len(), 2, "flushed: {flushed}");
    }
    t.compact().unwrap();
    assert_eq!(t.scan().count().unwrap(), 4);
}

#[test]
fn a_batch_filled_before_a_column_was_dropped_is_not_written() {
    let db = open(&SimDisk::new(5));
    let t = db
        .create_table(Schema::table("t").partition_key("p", CqlType::Int).column("v", CqlType::Int))
        .unwrap();
    let mut batch = db.batch();
    batch.insert(&t, &row![1, 2]).unwrap();
    db.alter_table("t").unwrap().drop_column("v").unwrap().apply().unwrap();
    assert_eq!(db.write(&mut batch).unwrap_err().kind(), ErrorKind::Busy);
    db.alter_table("t").unwrap().add_column("v", CqlType::Int).unwrap().apply().unwrap();
    assert_eq!(t.scan().count().unwrap(), 0);
    batch.clear();
    batch.insert(&t, &row![1, 3]).unwrap();
    db.write(&mut batch).unwrap();
    assert_eq!(t.get(&row![1]).unwrap().unwrap().get::<i32>("v").unwrap(), 3);
}

#[test]
fn the_default_keyspace_can_go_and_comes_back() {
    let env = SimDisk::new(6);
    let db = open(&env);
    let table = || Schema::table("t").partition_key("p", CqlType::Int);
    db.create_table(table()).unwrap();
    db.drop_keyspace("main").unwrap();
    assert!(db.keyspaces().is_empty() && db.tables().is_empty());
    db.close().unwrap();
    let db = open(&env);
    assert!(db.keyspaces().is_empty());
    db.create_table(table()).unwrap();
    assert_eq!(db.keyspaces(), ["main"]);
}

#[test]
fn attachments_are_made_once_and_do_not_keep_the_store_open() {
    struct Catalog(Db, std::sync::atomic::AtomicUsize);
    let env = SimDisk::new(7);
    let db = open(&env);
    let made = |db: &Db| db.attachment(|db| Catalog(db, 0.into()));
    made(&db).1.fetch_add(1, Ordering::Relaxed);
    let catalog = made(&db.clone());
    assert_eq!(catalog.1.load(Ordering::Relaxed), 1);
    let create = |db: &Db, name| db.create_table(Schema::table(name).partition_key("p", CqlType::Int));
    drop(create(&catalog.0, "a").unwrap());
    drop(db);
    assert_eq!(create(&catalog.0, "b").unwrap_err().kind(), ErrorKind::Closed);
    let again = open(&env); // the lock is free
    assert_eq!(made(&again).1.load(Ordering::Relaxed), 0);
}

#[test]
fn partitions_are_locked_without_deadlock_whatever_the_order() {
    let db = open(&SimDisk::new(8));
    let keys: Vec<[u8; 4]> = (0..600u32).map(u32::to_be_bytes).collect();
    let total = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for turn in 0..4 {
            let (db, keys, total) = (db.clone(), &keys, &total);
            scope.spawn(move || {
                for i in 0..50 {
                    let mut mine: Vec<_> = keys.iter().map(|key| (TableId(1), &key[..])).collect();
                    mine.rotate_left(turn * 97 + i);
                    let _guard = db.lock_partitions(&mine[..300]);
                    let seen = total.load(Ordering::Relaxed);
                    std::hint::black_box(&mine);
                    total.store(seen + 1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 200);
}

//! Damaged files: every byte and every length is noticed, with file and offset, and nothing wrong is ever read.

use super::*;
use crate::error::{Error, ErrorKind};
use proptest::strategy::ValueTree;

fn replace(env: &Arc<dyn Env>, bytes: &[u8]) {
    let mut file = env.create(&path()).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// Reads everything in all ways.
fn read_all(file: &Arc<SsTable>, keys: &[DecoratedKey]) -> Result<(Vec<Fragment>, Vec<Fragment>)> {
    let mut found = Vec::new();
    for key in keys {
        if file.may_contain(key)?
            && let Some(partition) = file.partition(key)?
        {
            found.push(Fragment::Partition { key: key.clone(), deletion: partition.deletion() });
            found.extend(partition.static_row()?.map(Fragment::Static));
            let mut cursor = partition.cursor(&ClusteringRange::all(), false)?;
            while let Some(item) = SsCursor::next(&mut cursor)? {
                found.push(item);
            }
        }
    }
    Ok((scan(file, TokenRange::ALL)?, found))
}

fn small() -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    while fragments.len() < 30 || !fragments.iter().any(|f| matches!(f, Fragment::Bound(_))) {
        fragments = streams().new_tree(&mut runner).unwrap().current();
        for fragment in &mut fragments {
            // Keep the file small enough to damage each of its bytes.
            if let Fragment::Row(row) = fragment {
                row.cells.retain(|(_, cell)| cell.value.as_ref().is_none_or(|value| value.len() < 1000));
            }
        }
    }
    fragments
}

fn check(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
    assert!(error.file() == Some(&path()) && error.offset().is_some(), "{error}");
}

#[test]
fn every_changed_byte_is_an_error_with_its_place_or_does_no_harm() {
    let env = disk();
    let fragments = small();
    let meta = write(&env, &table(), &fragments);
    let good = env.read(&path()).unwrap();
    let keys: Vec<_> = partitions(&fragments).into_iter().map(|part| part.0).collect();
    let whole = read_all(&open(&env, meta.clone()), &keys).unwrap();
    assert_eq!(whole, (fragments.clone(), fragments));
    let mut bad = good.clone();
    for i in 0..good.len() {
        bad[i] ^= 1 << (i % 8);
        replace(&env, &bad);
        check(&open(&env, meta.clone()).verify().expect_err("every byte is under a checksum"));
        match read_all(&open(&env, meta.clone()), &keys) {
            Ok(found) => assert_eq!(found, whole, "byte {i}"),
            Err(error) => check(&error),
        }
        bad[i] = good[i];
    }
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let env = disk();
    let fragments = small();
    let meta = write(&env, &table(), &fragments);
    let good = env.read(&path()).unwrap();
    for end in 0..good.len() {
        replace(&env, &good[..end]);
        check(&open(&env, meta.clone()).layout().unwrap_err());
        assert!(SsTable::open_alone(Arc::clone(&env), &path(), Arc::new(BlockCache::new(0))).is_err());
    }
    let mut longer = good;
    longer.push(0);
    replace(&env, &longer);
    check(&open(&env, meta.clone()).layout().unwrap_err());
    env.remove(&path()).unwrap();
    check(&open(&env, meta).layout().unwrap_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_are_safe_to_open(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let env = disk();
        replace(&env, &bytes);
        prop_assert!(SsTable::open_alone(Arc::clone(&env), &path(), Arc::new(BlockCache::new(0))).is_err());
    }
}

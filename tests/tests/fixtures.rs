//! Stores that were written once and kept: what this build reads in them is what was told when they were written.

use skep_tests::fixtures::{Place, answers, copy, open};
use skep_tests::source::root;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of a store, gone when dropped.
struct Copy(PathBuf);

impl Copy {
    fn of(store: &Path, name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("skep-fixture-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        copy(store, &dir).unwrap();
        Self(dir)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn stores_of_all_versions_are_read_verified_and_rewritten() {
    let mut stores = 0;
    for version in fs::read_dir(root().join("tests/fixtures")).unwrap() {
        let version = version.unwrap().path();
        if !version.is_dir() {
            continue;
        }
        let told = fs::read_to_string(version.join("answers.golden")).unwrap();
        assert!(told.len() > 2000 && !told.contains("error "), "{told}");
        for place in Place::ALL {
            let store = Copy::of(&version.join(place.name()), place.name());
            let name = store.0.display();
            let (db, mut runner) = open(&store.0).unwrap_or_else(|error| panic!("{name}: {error}"));
            let report = db.verify().unwrap();
            assert!(report.problems.is_empty(), "{name}: {:?}", report.problems);
            assert_eq!(
                (report.files > 0, report.log_records > 0),
                (place != Place::Log, place != Place::Files)
            );
            assert_eq!(answers(&mut runner), told, "{name}");
            db.flush().unwrap();
            db.tables().iter().for_each(|table| table.compact().unwrap());
            assert_eq!(answers(&mut runner), told, "{name}, written anew");
            db.close().unwrap();
            drop((db, runner));
            let (db, mut runner) = open(&store.0).unwrap();
            assert_eq!(answers(&mut runner), told, "{name}, opened again");
            assert_eq!(db.verify().unwrap().log_records, 0);
            db.close().unwrap();
            stores += 1;
        }
    }
    assert!(stores >= 3, "{stores} stores");
}

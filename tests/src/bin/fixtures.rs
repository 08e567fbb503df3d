//! Writes the stores of the present version of the formats, and the answers to what is asked of them:
//! `cargo run -p skep-tests --bin fixtures`. Earlier versions' stay as they are.

use skep_tests::fixtures::{Place, answers, make, open};
use skep_tests::source::root;
use std::fs;

/// Version of the formats that this build writes.
const VERSION: &str = "v1";

fn main() -> Result<(), String> {
    let dir = root().join("tests/fixtures").join(VERSION);
    let failed = |error: std::io::Error| error.to_string();
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(failed)?;
    }
    let mut told: Option<String> = None;
    for place in Place::ALL {
        let store = dir.join(place.name());
        for (path, bytes) in make(place)? {
            let path = store.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&store)).map_err(failed)?;
            fs::write(&path, bytes).map_err(failed)?;
        }
        // Not on the store itself: opening changes it.
        let copy = std::env::temp_dir().join(format!("skep-fixture-{}", std::process::id()));
        skep_tests::fixtures::copy(&store, &copy)?;
        let (db, mut runner) = open(&copy)?;
        let found = answers(&mut runner);
        db.close().map_err(|error| error.to_string())?;
        fs::remove_dir_all(&copy).map_err(failed)?;
        if told.as_ref().is_some_and(|told| *told != found) {
            return Err(format!(
                "the store {} gives other answers than the one before:\n{found}",
                place.name()
            ));
        }
        told = Some(found);
    }
    fs::write(dir.join("answers.golden"), told.unwrap_or_default()).map_err(failed)
}

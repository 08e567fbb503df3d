//! The fuzz targets as plain tests: every input that once failed, and some thousands of random ones.

use std::fs;

use skep_engine::env::Random;
use skep_tests::fuzz::{TARGETS, run};
use skep_tests::source::root;

/// Random inputs for each target; `SKEP_FUZZ_INPUTS` sets another number for a longer run.
const INPUTS: u64 = 4000;

/// One in so many of them for the target that runs a whole store.
const WHOLE_STORE: u64 = 20;

/// Longest random input in bytes.
const MAX_BYTES: u64 = 400;

fn target(name: &str) {
    for (file, data) in corpus(name) {
        eprintln!("regression {file}");
        run(name, &data);
    }
    let inputs = std::env::var("SKEP_FUZZ_INPUTS").map_or(INPUTS, |text| text.parse().expect("a number"));
    let inputs = if name == "ops" { inputs / WHOLE_STORE } else { inputs };
    for seed in 0..inputs {
        eprintln!("random input {seed}");
        run(name, &random_input(seed));
    }
}

/// The files of a target's corpus, by name.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let dir = root().join("fuzz/regressions").join(name);
    let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a directory entry").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a readable file")))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", dir.display());
    files
}

/// Bytes that depend on `seed` alone: every one of some inputs is random, those of others come from a few.
fn random_input(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let len = random.below(MAX_BYTES);
    let few = [0x00, 0x01, 0x02, 0x04, 0x10, 0x40, 0x80, 0xff];
    let mix = random.below(4);
    (0..len)
        .map(|_| match random.below(4) < mix {
            true => few[random.below(few.len() as u64) as usize],
            false => random.below(256) as u8,
        })
        .collect()
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                target(stringify!($name));
            }
        )*

        #[test]
        fn every_target_has_its_test_and_its_program() {
            let tested = [$(stringify!($name)),*];
            let known: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(tested[..], known[..]);
            let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
            for name in known {
                let program = fs::read_to_string(root().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
                assert!(program.contains(&format!("run(\"{name}\", data)")), "{name}");
                assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
            }
        }
    };
}

targets! { record commitlog sstable manifest manifest_file row_roundtrip key_order values ops statements }

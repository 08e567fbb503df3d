//! Fuzz target `statements`; its body is in `tests/src/fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| skep_tests::fuzz::run("statements", data));

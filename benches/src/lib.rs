//! Data and key distributions for the benches, seeded.
#![forbid(unsafe_code)]

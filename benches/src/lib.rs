//! What the benches and the workload runner measure on: a seeded stream of sensor readings, the same on every machine.
//!
//! The stream is an iterator, so that a run of a hundred million rows needs no memory for its input. Numbers are
//! random walks with two decimals, as a sensor sends them; random doubles would measure the worst case of every
//! encoding and no user's data.
#![forbid(unsafe_code)]

pub mod files;
pub mod fixture;
pub mod readings;
pub mod rng;
pub mod store;

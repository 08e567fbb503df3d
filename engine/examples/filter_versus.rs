//! Measures skep's partition filter against the `bloomfilter` crate: bytes per key, rate of false positives, time per
//! lookup. The results and the choice are in docs/decisions/0002-bloom-filter.md.
//!
//! ```text
//! cargo run --release -p skep-engine --example filter_versus
//! ```

use bloomfilter::Bloom;
use skep_engine::model::token::hash128;
use skep_engine::sstable::filter::{FilterBuilder, FilterShape};
use std::hint::black_box;
use std::time::Instant;

/// The 16-byte key number `i`.
fn key(i: u64) -> [u8; 16] {
    (u128::from(i).wrapping_mul(0x2545_f491_4f6c_dd1d_9e37_79b9_7f4a_7c15)).to_be_bytes()
}

/// Nanoseconds per call of `probe` over `count` keys from `first` on (lower quartile of 9), and how many it found.
fn measure(first: u64, count: u64, mut probe: impl FnMut(&[u8]) -> bool) -> (f64, u64) {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..9 {
        let start = Instant::now();
        found = (first..first + count).filter(|&i| black_box(probe(&key(i)))).count() as u64;
        times.push(start.elapsed().as_nanos() as f64 / count as f64);
    }
    times.sort_by(f64::total_cmp);
    (times[2], found)
}

fn main() {
    println!(
        "   keys  chance  filter        bytes/key  false positives  absent ns  present ns  with hash known ns"
    );
    for keys in [1_000u64, 100_000, 4_000_000] {
        for chance in [0.1, 0.01, 0.001] {
            let asked = 1_000_000.min(10 * keys);
            let Ok(mut bloom) = Bloom::<[u8]>::new_for_fp_rate(keys as usize, chance) else {
                continue;
            };
            (0..keys).for_each(|i| bloom.set(&key(i)));
            let (absent, wrong) = measure(keys, asked, |key| bloom.check(key));
            let (present, _) = measure(0, keys.min(asked), |key| bloom.check(key));
            let bytes = bloom.len() as f64 / 8.0 / keys as f64;
            let rate = wrong as f64 / asked as f64;
            println!(
                "{keys:>7}  {chance:<6}  bloomfilter   {bytes:>9.2}  {rate:>15.5}  {absent:>9.1}  {present:>10.1}           -"
            );

            let mut builder = FilterBuilder::new(chance);
            (0..keys).for_each(|i| builder.add(hash128(&key(i))));
            let section = builder.finish(0);
            let Ok(filter) = FilterShape::check(&section, 0) else {
                continue;
            };
            let (absent, wrong) = measure(keys, asked, |key| filter.may_contain(&section, hash128(key)));
            let (present, _) = measure(0, keys.min(asked), |key| filter.may_contain(&section, hash128(key)));
            let hashes: Vec<_> = (keys..keys + asked).map(|i| hash128(&key(i))).collect();
            let mut at = 0;
            let (known, _) = measure(keys, asked, |_| {
                at = (at + 1) % hashes.len();
                filter.may_contain(&section, hashes[at])
            });
            let bytes = section.len() as f64 / keys as f64;
            let rate = wrong as f64 / asked as f64;
            println!(
                "{keys:>7}  {chance:<6}  skep          {bytes:>9.2}  {rate:>15.5}  {absent:>9.1}  {present:>10.1}  {known:>10.1}"
            );
        }
    }
}

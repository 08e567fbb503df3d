//! What the operating system knows about this process and its files.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Counters of `/proc/self/io`.
#[derive(Clone, Copy, Default)]
pub struct Io {
    /// Bytes handed to write calls.
    pub written: u64,
    /// Bytes that reach the disk: pages dirtied, less those of files deleted
    /// before write-back.
    pub to_disk: u64,
}

pub fn io() -> Io {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|v| v.parse().ok()).unwrap_or(0)
    };
    let cancelled = field("cancelled_write_bytes:");
    Io { written: field("wchar:"), to_disk: field("write_bytes:").saturating_sub(cancelled) }
}

fn status_kib(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|v| v.parse().ok()).unwrap_or(0)
}

pub fn rss_bytes() -> u64 {
    status_kib("VmRSS:") * 1024
}

pub fn peak_rss_bytes() -> u64 {
    status_kib("VmHWM:") * 1024
}

pub fn reset_peak_rss() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn each_file(dir: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { each_file(&path, visit) } else { visit(&path) }
    }
}

/// Allocated bytes (so preallocated files count, holes do not).
pub fn disk_bytes(dir: &Path) -> u64 {
    let mut total = 0;
    each_file(dir, &mut |path| total += fs::metadata(path).map_or(0, |m| m.blocks() * 512));
    total
}

/// Drops the files below `dir` from the page cache, writing them out first.
pub fn evict(dir: &Path) {
    each_file(dir, &mut |path| {
        if let Ok(file) = fs::File::open(path) {
            let _ = file.sync_all();
            // SAFETY: the descriptor is open as long as `file` lives.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
    });
}

/// Holds an exclusive lock on `path` while it lives.
pub struct Lock(#[allow(dead_code)] fs::File);

pub fn lock(path: &str) -> Lock {
    let file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    // SAFETY: the descriptor is open as long as `file` lives.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(locked, 0, "flock {path}");
    Lock(file)
}

/// CPU seconds: busy and stolen over the whole machine, and used by children.
pub fn cpu_seconds() -> [f64; 3] {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .map(|v| v.parse::<f64>().unwrap_or(0.0) / 100.0)
        .collect();
    let at = |i: usize| ticks.get(i).copied().unwrap_or(0.0);
    let busy = at(0) + at(1) + at(2) + at(5) + at(6);
    [busy, at(7), cpu_of(libc::RUSAGE_CHILDREN)]
}

/// CPU seconds of this process, all threads.
pub fn own_cpu() -> f64 {
    cpu_of(libc::RUSAGE_SELF)
}

fn cpu_of(who: libc::c_int) -> f64 {
    // SAFETY: rusage is plain numbers, for which zero is valid, and getrusage only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Writes everything in the page cache back.
pub fn sync() {
    // SAFETY: takes nothing and returns nothing.
    unsafe { libc::sync() };
}

/// Cores, CPU model, memory and kernel, for the report.
pub fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find(|l| l.starts_with("model name")).unwrap_or(": unknown CPU");
    let cores = cpu.lines().filter(|l| l.starts_with("processor")).count();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: f64 = memory.split_whitespace().nth(1).and_then(|v| v.parse().ok()).unwrap_or(0.0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let model = model.split(':').nth(1).unwrap_or_default().trim();
    format!("{cores} cores, {model}, {:.1} GiB memory, Linux {}", kib / 1048576.0, kernel.trim())
}

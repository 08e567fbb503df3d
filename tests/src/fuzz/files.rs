//! Targets `commitlog` and `manifest_file`: whole files on a simulated disk, as they are after damage.

use std::path::Path;
use std::sync::Arc;

use super::Choices;
use super::manifest::edit;
use skep_engine::commitlog::{CommitLog, LogOptions, Mark, replay};
use skep_engine::env::sim::SimDisk;
use skep_engine::env::{DataDir, Env};
use skep_engine::error::{ErrorKind, Result};
use skep_engine::manifest::{Manifest, Version};
use skep_engine::model::schema::TableId;
use skep_engine::options::ReplayMode;

fn put(env: &dyn Env, path: &Path, bytes: &[u8]) {
    let mut file = env.create(path).expect("a file on the simulated disk");
    file.append(bytes).expect("room on the simulated disk");
}

/// Flips a bit of one of `files` or cuts it short; says whether anything is other than before.
fn damage(disk: &SimDisk, choices: &mut Choices<'_>, part: &str) -> bool {
    let files: Vec<_> =
        disk.dump().into_iter().filter(|(path, _)| path.to_string_lossy().contains(part)).collect();
    let Some((path, bytes)) = files.get(choices.below(files.len())) else { return false };
    let mut damaged = bytes.clone();
    choices.damage(&mut damaged);
    put(&*disk.env(), path, &damaged);
    damaged != *bytes
}

fn check_kind(error: &skep_engine::error::Error) {
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
}

/// What replay gives is what was appended: all of it; after damage a beginning of each run in strict mode, a selection in salvage.
pub(super) fn commitlog(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (disk, dir) = (SimDisk::new(1), DataDir::new("d"));
    let options = LogOptions { segment_bytes: 4096, limit_bytes: 1 << 20 };
    let (mut written, mut second_run) = (Vec::new(), 0);
    for _ in 0..1 + choices.below(2) {
        second_run = written.len();
        let log = CommitLog::open(disk.env(), &dir, options, 1).expect("a log on the simulated disk");
        for _ in 0..choices.below(8) {
            let mut payload = choices.bytes(60).to_vec();
            payload.resize(1 + payload.len() * (1 + choices.below(30)), written.len() as u8);
            payload[0] = payload[0].max(Mark::FIRST_BYTE + 1); // the log's own records begin with the byte below
            log.append(&payload, &[TableId(1)]).expect("a short payload");
            written.push(payload);
        }
        log.sync().expect("the simulated disk does not fail");
    }
    assert_eq!(read_log(&disk, &dir, ReplayMode::Strict).expect("an undamaged log"), written);
    let damaged = damage(&disk, &mut choices, "commitlog");
    match read_log(&disk, &dir, ReplayMode::Strict) {
        Ok(read) => {
            // A run may end torn, whatever later runs wrote: it was so when they began.
            let (first, second) = written.split_at(second_run);
            let same = first.iter().zip(&read).take_while(|(a, b)| a == b).count();
            assert!(
                second.starts_with(&read[same..]) && (damaged || read == written),
                "a beginning of each run"
            );
        }
        Err(error) => check_kind(&error),
    }
    match read_log(&disk, &dir, ReplayMode::Salvage) {
        Ok(read) => {
            let mut all = written.iter();
            assert!(
                read.iter().all(|payload| all.any(|known| known == payload)),
                "only what was written, in order"
            );
        }
        Err(error) => check_kind(&error),
    }
    // A segment of any bytes.
    put(&*disk.env(), &dir.segment(1), choices.rest());
    for mode in [ReplayMode::Strict, ReplayMode::Salvage] {
        read_log(&disk, &dir, mode).err().iter().for_each(check_kind);
    }
}

fn read_log(disk: &SimDisk, dir: &DataDir, mode: ReplayMode) -> Result<Vec<Vec<u8>>> {
    let mut payloads = Vec::new();
    replay(&*disk.env(), dir, mode, &mut |_, payload| {
        payloads.push(payload.to_vec());
        Ok(())
    })?;
    Ok(payloads)
}

/// A manifest opens as it was left; after damage as it was after some earlier change, or not at all.
pub(super) fn manifest_file(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (disk, dir) = (SimDisk::new(1), DataDir::new("d"));
    let mut manifest = Manifest::create(disk.env(), &dir).expect("an empty simulated disk");
    let mut versions = vec![Arc::clone(manifest.version())];
    for _ in 0..choices.below(12) {
        let edits: Vec<_> = (0..1 + choices.below(3)).map(|_| edit(&mut choices)).collect();
        let before = Arc::clone(manifest.version());
        match manifest.apply(&edits) {
            Ok(()) => versions.push(Arc::clone(manifest.version())),
            Err(_) => assert_eq!(**manifest.version(), *before, "a refused change changes nothing"),
        }
    }
    manifest.close().expect("the simulated disk does not fail");
    assert_eq!(Some(&open_manifest(&disk, &dir).expect("an undamaged manifest")), versions.last());
    damage(&disk, &mut choices, "");
    match open_manifest(&disk, &dir) {
        Ok(version) => assert!(versions.contains(&version), "a version that once was"),
        Err(error) => check_kind(&error),
    }
}

fn open_manifest(disk: &SimDisk, dir: &DataDir) -> Result<Arc<Version>> {
    Ok(Arc::clone(Manifest::open(disk.env(), dir)?.version()))
}

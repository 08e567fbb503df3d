//! Runs one compaction: reads the inputs, merges, leaves out what may go, writes the outputs.
//!
//! ```text
//! index entries -> segments --one input, nothing to purge--> blocks copied unread, or lane by lane
//!                           |-rows alone, nothing to purge--> lane by lane, by runs
//!                           \-else-> streams -> merge -> purge -> rows
//! ```
//! The background worker calls [`run`] with a [`Task`] of a strategy and installs the [`Outcome`]: outputs in, inputs out, in one
//! edit of the manifest and one swap of the view. Nothing here changes what readers see.
//!
//! # Invariants
//! 1. After an error or a cancel no output is left, and the inputs are as they were.
//! 2. All outputs are complete and synced when [`run`] returns.
//! 3. The output does not depend on which blocks were copied, but for how it is cut into blocks.

use crate::compact::history::Record;
use crate::compact::interleave::{Input, interleave};
use crate::compact::output::{OutputPlan, Outputs, Rolling};
use crate::compact::pace::{Cancel, Pace};
use crate::compact::progress::Progress;
use crate::compact::purge::{Outside, Purge, Purged};
use crate::compact::segments::{Part, Segment, Segments};
use crate::compact::settings::Windows;
use crate::compact::split::Splitter;
use crate::compact::stream::BlockStream;
use crate::compact::task::{Task, TaskKind};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::schema::TableSchema;
use crate::read::merge::Merge;
use crate::sstable::block::builder::FULL_ITEMS;
use crate::sstable::block::rows::Projection;
use crate::sstable::blocks::BlockRef;
use crate::sstable::meta::{FileId, FileMeta};
use crate::sstable::reader::SsTable;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A block with fewer bytes and fewer than half the items of a full one is not copied but filled up: else
/// every compaction would leave smaller blocks behind.
const COPY_BYTES: u32 = 8 << 10;

/// What an output may need over the size of its inputs, whatever that is.
const SPARE_BYTES: u64 = 16 << 10;

/// Fragments between two looks at the pace.
const STEP: u32 = 512;

/// One compaction, with what it needs.
pub struct Job<'a> {
    /// Files, clock.
    pub env: &'a Arc<dyn Env>,
    /// The table's directory.
    pub directory: &'a Path,
    /// The table as it is now; gc_grace_seconds and dropped columns count.
    pub schema: &'a TableSchema,
    /// What to do.
    pub task: &'a Task,
    /// The inputs of the task.
    pub inputs: Vec<Arc<SsTable>>,
    /// What the table holds beside them.
    pub outside: &'a (dyn Outside + Sync),
    /// Second that decides what has expired.
    pub now_seconds: i64,
    /// Gives each output its number.
    pub next_id: &'a (dyn Fn() -> Result<FileId> + Sync),
    /// Bytes that other compactions, which run at this time, may still write.
    pub reserved_bytes: u64,
    /// How fast.
    pub pace: &'a Pace,
    /// Stops it.
    pub cancel: &'a Cancel,
    /// How far it has come.
    pub progress: &'a Progress,
}

/// A compaction that is under way.
#[derive(Clone, Debug)]
pub struct Running {
    /// What is done, to which files, and why.
    pub task: Task,
    /// When it began, micros.
    pub started_micros: i64,
    /// How far it has come.
    pub progress: Arc<Progress>,
}

/// What a compaction made.
#[derive(Debug)]
pub struct Outcome {
    /// The new files; none if nothing was left.
    pub outputs: Vec<FileMeta>,
    /// The files that they replace.
    pub removed: Vec<FileId>,
    /// For the history.
    pub record: Record,
}

/// Runs a compaction to its end.
///
/// # Errors
/// `NoSpace` before anything is written if the outputs may not fit; `Closed` if it was cancelled; `Corrupt`, naming
/// the file, if an input is damaged; those of writing files. No output is left then.
pub fn run(job: &Job<'_>) -> Result<Outcome> {
    let began = job.env.monotonic_nanos();
    let bytes = job.inputs.iter().map(|input| input.meta().size_bytes).sum();
    job.progress.expect(bytes);
    check_inputs(job)?;
    let mut done = Done::default();
    if job.task.kind != TaskKind::DropExpired {
        check_space(job, bytes)?;
        let newest = job.inputs.iter().map(|input| input.meta().created_micros).max();
        let now = job.env.now_micros();
        let plan = OutputPlan {
            env: job.env,
            directory: job.directory,
            schema: job.schema,
            level: job.task.output_level,
            ancestors: job.task.inputs.clone(),
            created_micros: newest.map_or(now, |newest| newest.max(now)),
            next_id: job.next_id,
            begun: RefCell::default(),
        };
        done = match job.task.kind {
            TaskKind::Split(windows) => split(job, &plan, windows)?,
            _ => Run::new(job, &plan)?.run()?,
        };
    }
    let elapsed = job.env.monotonic_nanos().saturating_sub(began);
    let record = Record {
        task: job.task.clone(),
        outputs: done.files.iter().map(|file| file.id).collect(),
        bytes_read: if job.task.kind == TaskKind::DropExpired { 0 } else { bytes },
        bytes_written: done.files.iter().map(|file| file.size_bytes).sum(),
        rows_read: job.inputs.iter().map(|input| input.meta().rows).sum(),
        rows_written: done.files.iter().map(|file| file.rows).sum(),
        blocks_copied: done.copied,
        purged: done.purged,
        ended: job.now_seconds,
        duration: Duration::from_nanos(elapsed),
        error: None,
    };
    Ok(Outcome { outputs: done.files, removed: job.task.inputs.clone(), record })
}

#[derive(Default)]
struct Done {
    files: Vec<FileMeta>,
    purged: Purged,
    copied: u64,
}

fn check_inputs(job: &Job<'_>) -> Result<()> {
    job.cancel.check()?;
    let named = |id: &FileId| job.inputs.iter().any(|input| input.id() == *id);
    if job.inputs.len() != job.task.inputs.len() || !job.task.inputs.iter().all(named) {
        let text = "the files handed to a compaction are not those of its task";
        return Err(Error::invalid(text).in_table(job.schema.full_name()));
    }
    Ok(())
}

/// The inputs go only when the outputs are there, and those are at most as large, but for a little that differs in how
/// they are cut into blocks.
fn check_space(job: &Job<'_>, bytes: u64) -> Result<()> {
    let most = bytes.saturating_add(bytes / 32).saturating_add(SPARE_BYTES);
    let needed = most.saturating_add(job.reserved_bytes);
    match job.env.free_space(job.directory)? {
        Some(free) if free < needed => {
            let text = format!(
                "compacting {} files may need {most} bytes, other compactions may still write {}, and {free} bytes are free",
                job.inputs.len(),
                job.reserved_bytes
            );
            let error = Error::new(ErrorKind::NoSpace, text).in_file(job.directory);
            Err(error.in_table(job.schema.full_name()).hint("free some space; it is tried again"))
        }
        _ => Ok(()),
    }
}

/// Every fragment of the inputs into the file of its window.
fn split(job: &Job<'_>, plan: &OutputPlan<'_>, windows: Windows) -> Result<Done> {
    let streams = whole_streams(job)?;
    let mut purge = Purge::new(job.schema, job.now_seconds, job.outside);
    let mut splitter = Splitter::new(windows, || plan.create());
    let mut meter = Meter::default();
    for fragment in Merge::streams(streams) {
        purge.push(fragment?, &mut |fragment| splitter.push(fragment))?;
        meter.step(job)?;
    }
    let mut outputs = Outputs::new(plan);
    for writer in splitter.into_writers() {
        job.cancel.check()?;
        outputs.finish(writer)?;
    }
    Ok(Done { files: outputs.keep(), purged: purge.purged(), copied: 0 })
}

fn whole_streams<'a>(job: &'a Job<'_>) -> Result<Vec<BlockStream<'a>>> {
    let mut streams = Vec::with_capacity(job.inputs.len());
    for table in &job.inputs {
        let projection = Arc::new(Projection::all(table.layout()?));
        if let Some(first) = table.first_block()? {
            streams.push(BlockStream::new(table, projection, job.progress, first, u64::MAX));
        }
    }
    Ok(streams)
}

/// Spends what was read since it last looked.
#[derive(Default)]
struct Meter {
    steps: u32,
    spent: u64,
}

impl Meter {
    #[inline]
    fn step(&mut self, job: &Job<'_>) -> Result<()> {
        self.steps(1, job)
    }

    #[inline]
    fn steps(&mut self, count: usize, job: &Job<'_>) -> Result<()> {
        self.steps = self.steps.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if self.steps < STEP { Ok(()) } else { self.spend(job) }
    }

    fn spend(&mut self, job: &Job<'_>) -> Result<()> {
        self.steps = 0;
        let read = job.progress.read_bytes();
        let due = read - std::mem::replace(&mut self.spent, read);
        job.pace.spend(due, job.cancel)
    }
}

/// A merge under way.
struct Run<'a> {
    job: &'a Job<'a>,
    out: Rolling<'a>,
    purge: Purge<&'a (dyn Outside + Sync)>,
    projections: Vec<Arc<Projection>>,
    /// Whether blocks of each input have the columns of the output.
    same_columns: Vec<bool>,
    copied: u64,
    meter: Meter,
}

impl<'a> Run<'a> {
    fn new(job: &'a Job<'a>, plan: &'a OutputPlan<'a>) -> Result<Self> {
        let mut out = Rolling::new(plan, job.task.target_bytes);
        let layout = Arc::clone(out.writer()?.layout());
        let (mut projections, mut same_columns) = (Vec::new(), Vec::new());
        for table in &job.inputs {
            projections.push(Arc::new(Projection::all(table.layout()?)));
            same_columns.push(*table.layout()? == layout);
        }
        let purge = Purge::new(job.schema, job.now_seconds, job.outside);
        Ok(Self { job, out, purge, projections, same_columns, copied: 0, meter: Meter::default() })
    }

    fn run(mut self) -> Result<Done> {
        let blocks = self.job.inputs.iter().map(SsTable::blocks).collect::<Result<Vec<_>>>()?;
        let mut segments = Segments::new(blocks)?;
        while let Some(segment) = segments.next()? {
            match segment.parts.as_slice() {
                [part] if self.purge.leaves_alone(segment.min_local, segment.min_timestamp) => {
                    self.take_over(part)?;
                }
                _ if self.has_rows_alone(&segment) => self.interleave(segment)?,
                _ => self.merge(segment)?,
            }
        }
        self.job.cancel.check()?;
        Ok(Done { files: self.out.finish()?, purged: self.purge.purged(), copied: self.copied })
    }

    /// Blocks of one input in which nothing is to be changed.
    fn take_over(&mut self, part: &Part) -> Result<()> {
        let table = &self.job.inputs[part.source];
        let mut next = Some(part.first.clone());
        for _ in 0..part.blocks {
            let Some(block) = next.take() else { return Ok(()) };
            if self.can_copy(part.source, &block) {
                let writer = match block.continues {
                    true => self.out.writer()?,
                    false => self.out.writer_for_partition()?,
                };
                writer.copy_block(table, &block)?;
                self.copied += 1;
            } else {
                self.take_rows(table, &block)?;
            }
            self.job.progress.add_read(block.length.into(), block.summary.items as u64);
            self.meter.spend(self.job)?;
            next = block.next(table)?;
        }
        Ok(())
    }

    /// Whether the block is large enough and follows what is in the output.
    fn can_copy(&self, source: usize, block: &BlockRef) -> bool {
        let large = block.summary.items >= FULL_ITEMS / 2 || block.length >= COPY_BYTES;
        let follows = match (block.continues, self.out.partition()) {
            (true, current) => current == Some(&block.first),
            (false, current) => current.is_none_or(|current| *current < block.first),
        };
        self.same_columns[source] && large && follows
    }

    /// The items of a block, lane by lane.
    fn take_rows(&mut self, table: &SsTable, block: &BlockRef) -> Result<()> {
        let decoded = table.peek_block(block)?;
        for p in 0..decoded.partitions() {
            let partition = decoded.partition(p);
            let (key, deletion) = (DecoratedKey::new(partition.key), partition.deletion);
            self.out.push(&Fragment::Partition { key, deletion })?;
            self.out.writer()?.push_rows_from(&decoded, partition.items)?;
        }
        Ok(())
    }

    /// Whether the segment's rows go to the output as they are, but for equal ones: nothing has expired, and nothing goes.
    fn has_rows_alone(&self, segment: &Segment) -> bool {
        segment.rows_only
            && segment.min_local > self.job.now_seconds
            && self.purge.leaves_alone(segment.min_local, segment.min_timestamp)
            && segment.parts.iter().all(|part| self.same_columns[part.source])
    }

    fn interleave(&mut self, segment: Segment) -> Result<()> {
        let (job, projections, meter) = (self.job, &self.projections, &mut self.meter);
        let inputs = segment.parts.into_iter().map(|Part { source, first, blocks }| {
            let projection = Arc::clone(&projections[source]);
            Input::new(&job.inputs[source], projection, job.progress, first, blocks)
        });
        let mut inputs: Vec<_> = inputs.collect();
        interleave(&mut inputs, &mut self.out, |rows| meter.steps(rows, job))
    }

    fn merge(&mut self, segment: Segment) -> Result<()> {
        let (job, projections) = (self.job, &self.projections);
        let streams = segment.parts.into_iter().map(|Part { source, first, blocks }| {
            let projection = Arc::clone(&projections[source]);
            BlockStream::new(&job.inputs[source], projection, job.progress, first, blocks)
        });
        let streams: Vec<_> = streams.collect();
        for fragment in Merge::streams(streams) {
            let out = &mut self.out;
            self.purge.push(fragment?, &mut |fragment| out.push(&fragment))?;
            self.meter.step(job)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;

//! The differential test: `differ --ask COMMAND --out DIR (--generate COMMAND --seeds A-B | SCRIPT...)` has scripts answered by an oracle and by skep.
//!
//! For each seed the generator's script is written to `DIR/seed-N.cql` and its answers to `seed-N.golden`, which is kept: a second run asks
//! only for what is not there or was made otherwise. skep then runs the script three ways, as the program `golden` does with `--ways`. A script
//! whose answers differ is cut down to the least that still differs, and that is written with the oracle's answers to
//! `DIR/found-N.golden`. Scripts may be given as files instead. The commands are described in `skep_tests::differ`.
//!
//! `--whole` only tells what differs, `--batch N` (20) is how many scripts the oracle is given at once. Exit code 1 when anything differs.

use skep_tests::differ::commands::{Generator, Oracle, golden_of, read, write};
use skep_tests::differ::script::{Difference, Piece, first_difference, golden, pieces, script};
use skep_tests::differ::shrink::shrink;
use skep_tests::golden::Way;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "differ --ask COMMAND --out DIR [--batch N] [--whole] (--generate COMMAND --seeds A-B | SCRIPT...)\n\n  \
                     --generate 'PROGRAM {seed}'   prints the script of a seed\n  \
                     --ask 'PROGRAM'               is given SCRIPT.cql files and writes SCRIPT.golden beside each";

struct Arguments {
    oracle: Oracle,
    out: PathBuf,
    batch: usize,
    whole: bool,
    scripts: Vec<Origin>,
}

/// Where a script comes from.
enum Origin {
    Seed(u64, Generator),
    File(PathBuf),
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A statement that panics is reported as its answer; the default message would only be in the way.
    std::panic::set_hook(Box::new(|_| {}));
    match run(&arguments) {
        Ok(different) => {
            println!("{} scripts, {different} different", arguments.scripts.len());
            ExitCode::from(u8::from(different > 0))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut ask, mut out, mut batch, mut whole) = (None, None, 20, false);
    let (mut generate, mut seeds, mut scripts) = (None, None, Vec::new());
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--ask" => ask = Some(Oracle(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--batch" => batch = value()?.parse().map_err(|_| "--batch needs a number".to_owned())?,
            "--whole" => whole = true,
            "--generate" => generate = Some(Generator(value()?)),
            "--seeds" => seeds = Some(range(&value()?)?),
            _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
            _ => scripts.push(Origin::File(PathBuf::from(word))),
        }
    }
    match (generate, seeds) {
        (Some(generate), Some(seeds)) => {
            scripts.extend(seeds.map(|seed| Origin::Seed(seed, generate.clone())));
        }
        (None, None) => {}
        _ => return Err("--generate and --seeds go together".to_owned()),
    }
    if scripts.is_empty() {
        return Err("no script is given".to_owned());
    }
    let (oracle, out) = (ask.ok_or("--ask is missing")?, out.ok_or("--out is missing")?);
    Ok(Arguments { oracle, out, batch: batch.max(1), whole, scripts })
}

fn range(text: &str) -> Result<std::ops::RangeInclusive<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => Ok(first..=last),
        _ => Err(format!("--seeds takes 7 or 1-1000, not {text}")),
    }
}

/// How many scripts differ.
fn run(arguments: &Arguments) -> Result<usize, String> {
    std::fs::create_dir_all(&arguments.out)
        .map_err(|error| format!("{}: {error}", arguments.out.display()))?;
    let mut different = 0;
    for origins in arguments.scripts.chunks(arguments.batch) {
        let scripts: Vec<_> =
            origins.iter().map(|origin| place(arguments, origin)).collect::<Result<_, _>>()?;
        let unanswered: Vec<_> =
            scripts.iter().filter(|script| !golden_of(script).exists()).cloned().collect();
        arguments.oracle.record(&unanswered)?;
        for script in &scripts {
            different += usize::from(compare(arguments, script)?);
        }
    }
    Ok(different)
}

/// The script's file under the directory of answers. Answers to another script of that name are removed.
fn place(arguments: &Arguments, origin: &Origin) -> Result<PathBuf, String> {
    let (name, text) = match origin {
        Origin::Seed(seed, generator) => (format!("seed-{seed:04}.cql"), generator.script(*seed)?),
        Origin::File(file) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, read(file)?)
        }
    };
    let file = arguments.out.join(name);
    if read(&file).ok().as_ref() != Some(&text) {
        // That it was not there is as good.
        let _ = std::fs::remove_file(golden_of(&file));
        write(&file, &text)?;
    }
    Ok(file)
}

/// Whether skep answers a script otherwise; says how, and keeps the least of it.
fn compare(arguments: &Arguments, file: &Path) -> Result<bool, String> {
    let asked = pieces(&read(&golden_of(file))?);
    let Some(difference) = first_difference(&asked, &Way::ALL)? else { return Ok(false) };
    show(file, &asked, &difference);
    if arguments.whole {
        return Ok(true);
    }
    let scratch = arguments.out.join("shorter.cql");
    let mut ask =
        |shorter: Vec<Piece>| Ok::<_, String>(pieces(&arguments.oracle.answer(&script(&shorter), &scratch)?));
    let (shortest, difference) = shrink(&asked, &difference, &mut ask)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let found = arguments.out.join(format!("found-{}.golden", name.trim_start_matches("seed-")));
    write(&found, &golden(&shortest))?;
    println!("the least of it, {} statements:", shortest.len());
    show(&found, &shortest, &difference);
    Ok(true)
}

fn show(file: &Path, pieces: &[Piece], difference: &Difference) {
    let piece = &pieces[difference.place];
    println!("{}{}\n> {}", file.display(), difference.way.name(), piece.statement);
    piece.answer.iter().for_each(|line| println!("  want {line}"));
    difference.got.iter().for_each(|line| println!("  got  {line}"));
    println!();
}

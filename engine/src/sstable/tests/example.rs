//! The file that FORMAT.md spells out is the one that is written.

use super::*;
use crate::encoding::order::encode_component;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::Liveness;
use crate::model::row::Row;
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions};
use crate::model::types::CqlType;

/// The bytes between the marks of the example: pairs of hex digits, up to the comment of each line.
fn documented() -> Vec<u8> {
    let text = include_str!("../FORMAT.md");
    let from = text.find("<!-- example: file -->").expect("the example's mark");
    let block = text[from..].split("```").nth(1).expect("a fenced block follows the mark");
    let lines = block.lines().skip(1).map(|line| line.split("  #").next().unwrap_or(""));
    lines
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("hex bytes"))
        .collect()
}

#[test]
fn the_documented_file_is_written() {
    let columns = [
        ("sensor", CqlType::Text, ColumnKind::PartitionKey),
        ("at", CqlType::Timestamp, ColumnKind::Clustering(Order::Asc)),
        ("value", CqlType::Double, ColumnKind::Regular),
    ];
    let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
    let options = TableOptions { bloom_filter_fp_chance: 1.0, ..TableOptions::default() };
    let schema = TableSchema::new(TableId(3), "ks", "sensors", columns, options).unwrap();
    let mut fragments = vec![Fragment::Partition { key: DecoratedKey::new(b"s1"), deletion: None }];
    for i in 0..4i64 {
        let at = 1_700_000_000_000i64 + 1000 * i;
        let mut order = Vec::new();
        encode_component(&at.to_be_bytes(), &CqlType::Timestamp, false, &mut order).unwrap();
        let mut row = Row::new(Clustering::new(Bytes::new(&order)));
        let life = Liveness::new(1000 * at + 250);
        row.liveness = Some(life);
        let value = ((2050 + i) as f64 / 100.0).to_be_bytes();
        row.cells.push((ColumnId(2), Cell::live(life, Bytes::new(&value))));
        fragments.push(Fragment::Row(row));
    }
    let env = disk();
    let options = WriterOptions::of(&schema, FileId(7), 1_700_000_000_000_000);
    let mut writer = SsTableWriter::create(Arc::clone(&env), &path(), &schema, options).unwrap();
    fragments.iter().for_each(|fragment| writer.push(fragment).unwrap());
    let file = open(&env, writer.finish().unwrap().unwrap());
    let written = env.read(&path()).unwrap();
    let annotations = file.dump().unwrap();
    // The example leaves out the schema section; what it is is said elsewhere.
    let shown = annotations.iter().filter(|part| !part.what.starts_with("schema:"));
    let mut bytes = Vec::new();
    let mut text = String::new();
    for part in shown {
        let field = &written[part.offset as usize..part.end() as usize];
        bytes.extend_from_slice(field);
        for (i, line) in field.chunks(16).enumerate() {
            let hex: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let what = if i == 0 { part.what.as_str() } else { "" };
            text.push_str(format!("{:48}  # {what}", hex.join(" ")).trim_end());
            text.push('\n');
        }
    }
    assert!(bytes == documented(), "written:\n{text}");
    assert_eq!(scan(&file, TokenRange::ALL).unwrap(), fragments);
}

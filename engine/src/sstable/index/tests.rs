//! Index pages and directories against lists of random entries.

use super::*;
use crate::model::life::NEVER;
use crate::sstable::index_page::decode_page;
use proptest::prelude::*;

/// Entries of blocks as a file of `parts` partitions with some blocks each could have them.
pub(crate) fn entries(parts: &[Vec<(u64, i64, f64)>]) -> Vec<BlockEntry> {
    let mut keys: Vec<_> = (0..parts.len() as u32).map(|i| DecoratedKey::new(&i.to_be_bytes())).collect();
    keys.sort();
    let mut offset = 32;
    let mut all = Vec::new();
    for (key, blocks) in keys.iter().zip(parts) {
        for (i, &(number, time, value)) in blocks.iter().enumerate() {
            let position = (i as u64 * 1000).to_be_bytes();
            let end = (i as u64 * 1000 + 500).to_be_bytes();
            let zone = Zone {
                min_timestamp: time,
                max_timestamp: time.wrapping_add(number as i64),
                min_local: if number % 3 == 0 { NEVER } else { time },
                max_local: if number % 2 == 0 { NEVER } else { time.wrapping_add(5) },
                cells: number % 4096,
                cell_tombstones: number % 5,
                ..Zone::default()
            };
            let ints = ColumnZone::Ints {
                count: number % 1024 + 1,
                min: time,
                max: i64::MAX,
                sum: i128::from(time) * 3,
            };
            let floats = ColumnZone::Floats {
                count: 1 + number % 7,
                nans: 1,
                min: value,
                max: value + 1.0,
                sum: 1e6 * value,
            };
            let mut columns = vec![(1, ints), (4, floats)];
            columns.truncate(number as usize % 3);
            all.push(BlockEntry {
                offset,
                length: (number % 9000 + 1) as u32,
                first: key.clone(),
                last: key.clone(),
                continues: i > 0,
                open: number % 2 == 1,
                summary: BlockSummary {
                    partitions: 1,
                    items: number as usize % 1025,
                    rows: number as usize % 1025,
                    first: if i == 0 { Bound::bottom() } else { Bound::before(&position) },
                    last: Bound::after(&end),
                    zone,
                    columns,
                },
            });
            offset += u64::from((number % 9000 + 1) as u32);
        }
    }
    all
}

fn built(all: &[BlockEntry]) -> (Vec<u8>, Vec<u8>) {
    let mut builder = IndexBuilder::default();
    all.iter().for_each(|entry| builder.push(entry.clone()));
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn entries_come_back_and_are_found(
        parts in prop::collection::vec(prop::collection::vec((any::<u64>(), any::<i64>(), any::<i32>().prop_map(f64::from)), 1..60), 1..12),
    ) {
        let all = entries(&parts);
        let (pages, section) = built(&all);
        let end = 1000 + pages.len() as u64;
        let directory = Directory::decode(&section, end, 1000, end).unwrap();
        prop_assert_eq!(directory.blocks, all.len() as u64);
        let blocks_end = all.last().map_or(0, |entry| entry.offset + u64::from(entry.length));
        let mut back = Vec::new();
        for page in &directory.pages {
            let start = (page.offset - 1000) as usize;
            let bytes = &pages[start..start + page.length as usize];
            back.extend(decode_page(bytes, page, blocks_end).unwrap().entries);
        }
        prop_assert_eq!(&back, &all);
        for (i, entry) in all.iter().enumerate() {
            let page = directory.search(&entry.first, &entry.summary.first).unwrap();
            let (expected, place) = directory.page_of(i as u64).unwrap();
            prop_assert_eq!(page, expected);
            prop_assert_eq!(directory.pages[page].first_block + place as u64, i as u64);
        }
        prop_assert_eq!(directory.page_of(all.len() as u64), None);
    }
}

#[test]
fn a_block_of_a_time_series_costs_little_in_the_index() {
    let parts: Vec<Vec<_>> = (0..20)
        .map(|sensor| {
            (0..100)
                .map(|i| {
                    (
                        4400 + i % 7 + i * 6,
                        1_700_000_000_000_000 + 1_024_000_000 * i as i64,
                        20.25 + sensor as f64,
                    )
                })
                .collect()
        })
        .collect();
    let all = entries(&parts);
    let (pages, directory) = built(&all);
    let each = (pages.len() + directory.len()) as f64 / all.len() as f64;
    assert!(each < 60.0, "{each} bytes a block with zones of two columns");
}

#[test]
fn damage_and_disorder_are_errors() {
    let all = entries(&[vec![(7, 5, 1.5), (8, 6, 2.5)], vec![(9, 7, 3.5)]]);
    let (pages, section) = built(&all);
    let end = pages.len() as u64;
    let directory = Directory::decode(&section, end, 0, end).unwrap();
    let blocks_end = all[2].offset + u64::from(all[2].length);
    for i in 0..pages.len() {
        let mut bad = pages.clone();
        bad[i] ^= 1;
        assert!(decode_page(&bad, &directory.pages[0], blocks_end).is_err());
        assert!(decode_page(&pages[..i], &directory.pages[0], blocks_end).is_err());
    }
    assert!(decode_page(&pages, &directory.pages[0], blocks_end - 1).is_err(), "blocks reach into the index");
    for i in 0..section.len() {
        let mut bad = section.clone();
        bad[i] ^= 1;
        assert!(Directory::decode(&bad, end, 0, end).is_err());
    }
    assert!(Directory::decode(&section, end, 0, end + 1).is_err());
    let mut swapped = all.clone();
    swapped.swap(0, 1);
    let (pages, section) = built(&swapped);
    let end = pages.len() as u64;
    let directory = Directory::decode(&section, end, 0, end).unwrap();
    assert!(decode_page(&pages, &directory.pages[0], blocks_end).is_err());
}

proptest! {
    #[test]
    fn any_bytes_behind_a_right_checksum_are_safe(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let all = entries(&[vec![(7, 5, 1.5), (8, 6, 2.5)], vec![(9, 7, 3.5)]]);
        let (pages, section) = built(&all);
        let end = pages.len() as u64;
        let directory = Directory::decode(&section, end, 0, end).unwrap();
        let mut body = pages[..pages.len() - 4].to_vec();
        for (at, byte) in flips {
            let at = at.index(body.len());
            body[at] = byte;
        }
        put_checksum(&mut body, 0);
        let _ = decode_page(&body, &directory.pages[0], 1 << 40);
    }
}

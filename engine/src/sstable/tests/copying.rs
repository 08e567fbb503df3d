//! Blocks and runs taken over from another file.

use super::*;

fn target(env: &Arc<dyn Env>, schema: &TableSchema) -> SsTableWriter {
    let options = WriterOptions::of(schema, FileId(8), 2_000_000);
    SsTableWriter::create(Arc::clone(env), Path::new("data/0000000008.sst"), schema, options).unwrap()
}

fn opened(env: &Arc<dyn Env>, writer: SsTableWriter) -> Arc<SsTable> {
    let meta = writer.finish().unwrap().unwrap();
    let cache = Arc::new(BlockCache::new(1 << 20));
    SsTable::open(Arc::clone(env), Path::new("data/0000000008.sst"), Arc::new(meta), cache)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn copied_blocks_and_pushed_runs_make_the_same_file(fragments in streams(), choices in any::<u64>(), length in 1usize..50) {
        prop_assume!(!fragments.is_empty());
        let (env, schema) = (disk(), table());
        let source = open(&env, write(&env, &schema, &fragments));
        let mut writer = target(&env, &schema);
        let mut scan = source.scan(TokenRange::ALL).unwrap();
        let mut dice = choices;
        let mut next = || {
            dice = dice.rotate_left(1);
            dice & 1 == 1
        };
        loop {
            // A block that begins in the middle of a partition needs the one before to end like the source's.
            if next() && let Some(block) = scan.peek_block().cloned() {
                writer.copy_block(&source, &block).unwrap();
                scan.pass_block().unwrap();
            } else if next() && let Some((block, items)) = scan.peek_run() {
                let items = items.start..items.end.min(items.start + length);
                writer.push_rows_from(&Arc::clone(block), items.clone()).unwrap();
                scan.pass_items(items.len());
            } else {
                match scan.next() {
                    Some(fragment) => writer.push(&fragment.unwrap()).unwrap(),
                    None => break,
                }
            }
        }
        let copy = opened(&env, writer);
        prop_assert_eq!(super::scan(&copy, TokenRange::ALL).unwrap(), fragments);
        copy.verify().unwrap();
        let (old, new) = (source.meta(), copy.meta());
        prop_assert_eq!((old.rows, old.cells, old.tombstones), (new.rows, new.cells, new.tombstones));
        prop_assert_eq!((old.min_timestamp, old.max_local), (new.min_timestamp, new.max_local));
    }
}

#[test]
fn a_copied_block_is_the_same_bytes() {
    let (env, schema) = (disk(), sensors_table());
    let source = open(&env, write(&env, &schema, &sensors(3, 3000)));
    let mut writer = target(&env, &schema);
    for block in source.blocks().unwrap() {
        writer.copy_block(&source, &block.unwrap()).unwrap();
    }
    let copy = opened(&env, writer);
    let bytes = |file: &Arc<SsTable>| {
        let blocks = file.blocks().unwrap().map(|block| file.block_bytes(&block.unwrap()).unwrap().to_vec());
        blocks.collect::<Vec<_>>()
    };
    assert_eq!(bytes(&copy), bytes(&source));
    copy.verify().unwrap();
}

#[test]
fn what_does_not_fit_is_refused() {
    let (env, schema) = (disk(), sensors_table());
    let source = open(&env, write(&env, &schema, &sensors(2, 3000)));
    let blocks: Vec<_> = source.blocks().unwrap().collect::<Result<_>>().unwrap();
    for order in [vec![1], vec![0, 0], vec![0, 2, 1], vec![3, 0], vec![0, 4]] {
        let mut writer = target(&env, &schema);
        let refused = order.iter().any(|&i: &usize| writer.copy_block(&source, &blocks[i]).is_err());
        assert!(refused, "{order:?}");
    }
    let mut other = target(&env, &table());
    assert!(!other.can_copy_from(&source).unwrap());
    assert!(other.copy_block(&source, &blocks[0]).is_err());
}

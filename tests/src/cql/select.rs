//! Random SELECTs, and what the model says to them.

use crate::cql::{CqlRun, Row, Statement};
use crate::model::Seen;
use std::collections::BTreeMap;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A value that clustering columns and cells have, or just not.
    fn value(&mut self) -> i32 {
        self.below(6) as i32
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn limit(&mut self) -> Option<usize> {
        self.one_in(3).then(|| 1 + self.below(5) as usize)
    }

    fn page(&mut self) -> Option<usize> {
        (!self.one_in(3)).then(|| 1 + self.below(6) as usize)
    }

    fn sign(&mut self) -> &'static str {
        ["<", "<=", ">", ">=", "="][self.below(5) as usize]
    }
}

fn holds<T: Ord>(left: &T, sign: &str, right: &T) -> bool {
    match sign {
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        ">=" => left >= right,
        _ => left == right,
    }
}

/// What a place in a partition must fulfil.
type Test = Box<dyn Fn(&[i32]) -> bool>;

/// Conditions on clustering columns: their text, and which rows fulfil them.
struct Restricted {
    text: Statement,
    fulfils: Test,
    any: bool,
}

impl Restricted {
    fn nothing(markers: bool) -> Self {
        Self { text: Statement::new(markers), fulfils: Box::new(|_| true), any: false }
    }

    fn and(self, fulfils: impl Fn(&[i32]) -> bool + 'static) -> Self {
        let before = self.fulfils;
        Self { fulfils: Box::new(move |place| before(place) && fulfils(place)), any: true, ..self }
    }

    /// `c = 1`, `c >= 1`.
    fn compare(mut self, column: usize, sign: &'static str, value: i32) -> Self {
        self.text.put(&format!(" AND c{column} {sign} ")).int(Some(value));
        self.and(move |place| holds(&place[column], sign, &value))
    }

    /// `c IN (1, 3, 1)`.
    fn one_of(mut self, column: usize, values: Vec<i32>) -> Self {
        self.text.put(&format!(" AND c{column} IN ("));
        for (i, value) in values.iter().enumerate() {
            self.text.put(if i > 0 { ", " } else { "" }).int(Some(*value));
        }
        self.text.put(")");
        self.and(move |place| values.contains(&place[column]))
    }

    /// `(c0, c1) >= (1, 2)`.
    fn compare_both(mut self, sign: &'static str, values: [i32; 2]) -> Self {
        self.text.put(&format!(" AND (c0, c1) {sign} ("));
        self.text.int(Some(values[0])).put(", ").int(Some(values[1])).put(")");
        self.and(move |place| holds(&[place[0], place[1]], sign, &values))
    }

    /// `(c0, c1) IN ((1, 2), (3, 4))`.
    fn both_of(mut self, values: Vec<[i32; 2]>) -> Self {
        self.text.put(" AND (c0, c1) IN (");
        for (i, [first, second]) in values.iter().enumerate() {
            self.text.put(if i > 0 { ", (" } else { "(" });
            self.text.int(Some(*first)).put(", ").int(Some(*second)).put(")");
        }
        self.text.put(")");
        self.and(move |place| values.contains(&[place[0], place[1]]))
    }

    fn random(clusterings: usize, random: &mut Random) -> Self {
        let mut made = Self::nothing(random.one_in(2));
        let few = |random: &mut Random| (0..=random.below(3)).map(|_| random.value()).collect::<Vec<_>>();
        match random.below(if clusterings == 2 { 7 } else { 4 }) {
            _ if clusterings == 0 => made,
            0 => made,
            1 => made.compare(0, random.sign(), random.value()),
            2 => made.compare(0, ">=", random.value()).compare(0, "<", random.value()),
            3 => {
                let values = few(random);
                made = made.one_of(0, values);
                match random.below(3) {
                    _ if clusterings == 1 => made,
                    0 => made.compare(1, random.sign(), random.value()),
                    1 => {
                        let values = few(random);
                        made.one_of(1, values)
                    }
                    _ => made,
                }
            }
            4 => made.compare(0, "=", random.value()).compare(1, random.sign(), random.value()),
            5 => {
                let (low, high) = ([random.value(), random.value()], [random.value(), random.value()]);
                made = made.compare_both(if random.one_in(2) { ">" } else { ">=" }, low);
                if random.one_in(2) {
                    made
                } else {
                    made.compare_both(if random.one_in(2) { "<" } else { "<=" }, high)
                }
            }
            _ => {
                let pairs = few(random).into_iter().map(|value| [value, random.value()]).collect();
                made.both_of(pairs)
            }
        }
    }
}

/// What LIMIT and PER PARTITION LIMIT leave.
fn limited(partitions: &[Vec<Row>], per_partition: Option<usize>, limit: Option<usize>) -> Vec<Row> {
    let each = partitions.iter().flat_map(|rows| rows.iter().take(per_partition.unwrap_or(usize::MAX)));
    each.take(limit.unwrap_or(usize::MAX)).cloned().collect()
}

fn put_limits(per_partition: Option<usize>, limit: Option<usize>, out: &mut Statement) {
    for (what, limit) in [("PER PARTITION LIMIT", per_partition), ("LIMIT", limit)] {
        if let Some(limit) = limit {
            out.put(&format!(" {what} ")).int(i32::try_from(limit).ok());
        }
    }
}

impl CqlRun {
    /// Asks a number of random questions.
    ///
    /// # Panics
    /// If an answer is not the model's.
    pub fn check(&self, seed: u64) {
        let mut random = Random(seed);
        for key in 0..4 {
            for _ in 0..2 {
                self.check_partition(key, &mut random);
            }
        }
        let order = self.check_distinct(&mut random);
        self.check_scan(&order, &mut random);
        self.check_filter(&order, &mut random);
        self.check_groups(&order, &mut random);
        self.check_partitions(&mut random);
    }

    fn columns(&self) -> Vec<String> {
        let shape = &self.run.shape;
        let clusterings = (0..shape.descending.len()).map(|i| format!("c{i}"));
        let cells = (0..shape.statics + shape.regulars).map(|i| shape.name(i));
        ["p".to_owned()].into_iter().chain(clusterings).chain(cells).collect()
    }

    fn select(&self, markers: bool) -> Statement {
        let mut statement = Statement::new(markers);
        statement.put(&format!("SELECT {} FROM t", self.columns().join(", ")));
        statement
    }

    fn compare(&self, statement: &Statement, page: Option<usize>, expected: &[Row]) {
        let found = self.fetch(statement, page);
        assert_eq!(found, expected, "{} in pages of {page:?}, values {:?}", statement.text, statement.binds);
    }

    /// Rows of a partition as the model has them.
    fn rows(&self, key: i32, restricted: &Restricted) -> Vec<Row> {
        let seen = self.run.model.read(key, None, self.run.second());
        let fits = |seen: &&Seen| match &seen.clustering {
            Some(place) => (restricted.fulfils)(place),
            None => !restricted.any,
        };
        seen.iter().filter(fits).map(|seen| self.row(key, seen)).collect()
    }

    fn row(&self, key: i32, seen: &Seen) -> Row {
        let clusterings = self.run.shape.descending.len();
        let place: Row = match &seen.clustering {
            Some(place) => place.iter().map(|value| Some(i64::from(*value))).collect(),
            None => vec![None; clusterings],
        };
        let values = seen.values.iter().map(|value| value.map(i64::from));
        [Some(i64::from(key))].into_iter().chain(place).chain(values).collect()
    }

    /// One partition: slices, IN, both directions, limits.
    fn check_partition(&self, key: i32, random: &mut Random) {
        let descending = &self.run.shape.descending;
        let restricted = Restricted::random(descending.len(), random);
        let mut expected = self.rows(key, &restricted);
        let mut statement = self.select(restricted.text.markers);
        statement.put(" WHERE p = ").int(Some(key));
        statement.put(&restricted.text.text).binds.extend(restricted.text.binds.clone());
        if let Some(first) = descending.first()
            && !random.one_in(3)
        {
            let reverse = random.one_in(2);
            statement.put(if *first != reverse { " ORDER BY c0 DESC" } else { " ORDER BY c0 ASC" });
            if reverse {
                expected.reverse();
            }
        }
        let (per, limit) = (random.limit(), random.limit());
        put_limits(per, limit, &mut statement);
        self.compare(&statement, random.page(), &limited(&[expected], per, limit));
    }

    /// Which partitions there are; they come in the order of their tokens, which is given back.
    fn check_distinct(&self, random: &mut Random) -> Vec<i32> {
        let shape = &self.run.shape;
        let statics: String = (0..shape.statics).map(|i| format!(", {}", shape.name(i))).collect();
        let mut statement = Statement::new(false);
        statement.put(&format!("SELECT DISTINCT token(p), p{statics} FROM t"));
        let rows = self.fetch(&statement, random.page());
        assert!(rows.iter().map(|row| row[0]).is_sorted(), "{rows:?} by token");
        let now = self.run.second();
        let mut found: BTreeMap<i64, Row> = BTreeMap::new();
        for row in &rows {
            let key = row[1].expect("a key");
            assert!(found.insert(key, row[2..].to_vec()).is_none(), "{key} came twice in {rows:?}");
        }
        let seen = self.run.model.keys().into_iter().map(|key| (key, self.run.model.read(key, None, now)));
        let statics =
            |seen: &Seen| seen.values[..shape.statics].iter().map(|value| value.map(i64::from)).collect();
        let expected: BTreeMap<i64, Row> =
            seen.filter_map(|(key, rows)| Some((i64::from(key), statics(rows.first()?)))).collect();
        assert_eq!(found, expected, "{}", statement.text);
        let limit = 1 + random.below(3) as usize;
        put_limits(None, Some(limit), &mut statement);
        self.compare(&statement, random.page(), &rows[..limit.min(rows.len())]);
        rows.iter().filter_map(|row| i32::try_from(row[1]?).ok()).collect()
    }

    /// The whole table.
    fn check_scan(&self, order: &[i32], random: &mut Random) {
        let all = Restricted::nothing(random.one_in(2));
        let partitions: Vec<Vec<Row>> = order.iter().map(|key| self.rows(*key, &all)).collect();
        let mut statement = self.select(all.text.markers);
        let (per, limit) = (random.limit(), random.limit());
        put_limits(per, limit, &mut statement);
        self.compare(&statement, random.page(), &limited(&partitions, per, limit));
        let mut statement = Statement::new(false);
        statement.put("SELECT count(*), count(v0), max(v0) FROM t");
        let rows: Vec<Row> = partitions.concat();
        let v0 = 1 + self.run.shape.descending.len() + self.run.shape.statics;
        let values: Vec<i64> = rows.iter().filter_map(|row| row[v0]).collect();
        let expected = vec![Some(rows.len() as i64), Some(values.len() as i64), values.iter().max().copied()];
        self.compare(&statement, random.page(), &[expected]);
    }

    /// A value that no index knows.
    fn check_filter(&self, order: &[i32], random: &mut Random) {
        let (sign, value) = (random.sign(), random.value());
        let v0 = 1 + self.run.shape.descending.len() + self.run.shape.statics;
        let fits = |row: &Row| row[v0].is_some_and(|found| holds(&found, sign, &i64::from(value)));
        let all = Restricted::nothing(random.one_in(2));
        let rows = |key: &i32| self.rows(*key, &all).into_iter().filter(fits).collect::<Vec<_>>();
        let partitions: Vec<Vec<Row>> = order.iter().map(rows).collect();
        let mut statement = self.select(all.text.markers);
        statement.put(&format!(" WHERE v0 {sign} ")).int(Some(value));
        let (per, limit) = (random.limit(), random.limit());
        put_limits(per, limit, &mut statement);
        statement.put(" ALLOW FILTERING");
        self.compare(&statement, random.page(), &limited(&partitions, per, limit));
    }

    /// Rows by partition, or by the first clustering column.
    fn check_groups(&self, order: &[i32], random: &mut Random) {
        let by = if self.run.shape.descending.is_empty() { 1 } else { 1 + random.below(2) as usize };
        let columns = self.columns()[..by].join(", ");
        let v0 = 1 + self.run.shape.descending.len() + self.run.shape.statics;
        let mut statement = Statement::new(false);
        statement.put(&format!("SELECT {columns}, count(*), max(v0) FROM t GROUP BY {columns}"));
        let all = Restricted::nothing(false);
        let groups = |key: &i32| {
            let mut groups: Vec<Row> = Vec::new();
            for row in self.rows(*key, &all) {
                if groups.last().is_none_or(|group| group[..by] != row[..by]) {
                    groups.push(row[..by].iter().copied().chain([Some(0), None]).collect());
                }
                let group = groups.last_mut().expect("just made");
                group[by] = group[by].map(|count| count + 1);
                group[by + 1] = group[by + 1].max(row[v0]);
            }
            groups
        };
        let partitions: Vec<Vec<Row>> = order.iter().map(groups).collect();
        let (per, limit) = (random.limit(), random.limit());
        put_limits(per, limit, &mut statement);
        self.compare(&statement, random.page(), &limited(&partitions, per, limit));
    }

    /// Several partitions by name: each once, whole, and limits leave a part of just that.
    fn check_partitions(&self, random: &mut Random) {
        let keys: Vec<i32> = (0..=random.below(4)).map(|_| random.below(4) as i32).collect();
        let restricted = Restricted::random(self.run.shape.descending.len(), random);
        let mut statement = self.select(restricted.text.markers);
        statement.put(" WHERE p IN (");
        for (i, key) in keys.iter().enumerate() {
            statement.put(if i > 0 { ", " } else { "" }).int(Some(*key));
        }
        statement.put(")").put(&restricted.text.text).binds.extend(restricted.text.binds.clone());
        let mut partitions: Vec<Vec<Row>> = Vec::new();
        for row in self.fetch(&statement, None) {
            match partitions.last_mut() {
                Some(rows) if rows[0][0] == row[0] => rows.push(row),
                _ => partitions.push(vec![row]),
            }
        }
        let found: BTreeMap<Option<i64>, &Vec<Row>> =
            partitions.iter().map(|rows| (rows[0][0], rows)).collect();
        assert_eq!(found.len(), partitions.len(), "{}: a partition came in two parts", statement.text);
        for key in 0..4 {
            let expected = if keys.contains(&key) { self.rows(key, &restricted) } else { Vec::new() };
            let rows = found.get(&Some(i64::from(key))).map_or(&[][..], |rows| rows);
            assert_eq!(rows, expected, "{}, partition {key}, values {:?}", statement.text, statement.binds);
        }
        let (per, limit) = (random.limit(), random.limit());
        put_limits(per, limit, &mut statement);
        self.compare(&statement, random.page(), &limited(&partitions, per, limit));
    }
}

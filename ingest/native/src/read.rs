//! One body: plain lines of known heads become rows, and of all others it is said what they are.

use crate::heads::{Book, Head, Place, Plan, Series};
use crate::scan::{self, Value};
use crate::tables::{Kind, Table};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

pub const QUARTER_US: i64 = 900_000_000;
pub const HOUR_US: i64 = 3_600_000_000;
pub const PART_US: i64 = 6 * HOUR_US;
const LONGEST_LINE: usize = 1_000_000;
/// Longer heads are not remembered.
const LONGEST_HEAD: usize = 4096;
const NONE: u32 = u32::MAX;

/// Times in nanoseconds: the unit of the body's, and between which they are kept.
#[derive(Clone, Copy)]
pub struct Times {
    pub unit: i64,
    pub earliest: i64,
    pub latest: i64,
}

/// The rows of one series in a body, with their first and last time in microseconds.
pub struct Own {
    pub series: Series,
    pub first: i64,
    pub last: i64,
    last_row: u32,
    quarter: i64,
}

/// Lines of one head that is refused: the first of them, and how many they are.
pub struct Refused {
    pub line: u32,
    pub begin: usize,
    pub end: usize,
    pub count: u32,
}

#[derive(Default)]
pub struct Found<'a> {
    pub tables: Vec<Table>,
    pub own: Vec<Own>,
    pub hours: HashSet<(i64, i64)>,
    pub parts: HashSet<i64>,
    pub unknown: HashMap<&'a [u8], HashSet<&'a [u8]>>,
    pub refused: HashMap<&'a [u8], Refused>,
    /// Number, begin and end of what the strict parser must read.
    pub left: Vec<(u32, usize, usize)>,
    pub saying: HashSet<&'a [u8]>,
    pub accepted: u32,
    pub ignored: u32,
}

enum Local {
    Rows {
        plan: Arc<Plan>,
        own: Box<[u32]>,
        says: bool,
    },
    Refused,
    Left,
    Unknown,
}

pub struct Reader<'a, 'b> {
    book: &'b Book,
    kinds: &'b [Vec<Kind>],
    times: Times,
    heads: HashMap<&'a [u8], usize>,
    locals: Vec<Local>,
    own_of: HashMap<u32, u32>,
    by_time: Option<HashMap<(u8, u32, i64), u32>>,
    /// Of the line that is read: the rows by slot, and the slots that have one.
    rows: Vec<u32>,
    touched: Vec<u16>,
    found: Found<'a>,
}

impl<'a, 'b> Reader<'a, 'b> {
    pub fn read(book: &'b Book, kinds: &'b [Vec<Kind>], body: &'a [u8], times: Times) -> Found<'a> {
        let tables = kinds
            .iter()
            .map(|columns| Table::new(columns.len()))
            .collect();
        let mut reader = Reader {
            book,
            kinds,
            times,
            heads: HashMap::new(),
            locals: Vec::new(),
            own_of: HashMap::new(),
            by_time: None,
            rows: Vec::new(),
            touched: Vec::new(),
            found: Found {
                tables,
                ..Found::default()
            },
        };
        reader.body(body);
        reader.found
    }

    fn body(&mut self, body: &'a [u8]) {
        let ends = memchr::memchr_iter(b'\n', body).chain(std::iter::once(body.len()));
        let (mut begin, mut number) = (0, 0);
        for end in ends {
            number += 1;
            let line = &body[begin..end];
            let bare = line.strip_suffix(b"\r").unwrap_or(line);
            if !bare.is_empty() && self.line(bare, number, begin).is_none() {
                if scan::may_go_on(line) {
                    self.found.left.push((number, begin, body.len()));
                    return;
                }
                self.found.left.push((number, begin, end));
            }
            begin = end + 1;
        }
    }

    /// None if the strict parser has to say what the line is.
    fn line(&mut self, line: &'a [u8], number: u32, begin: usize) -> Option<()> {
        if line[0] == b'#' || line[0] == b' ' || line.len() > LONGEST_LINE {
            return None;
        }
        let end = scan::head_end(line)?;
        if end > LONGEST_HEAD {
            return None;
        }
        let head = &line[..end];
        let place = match self.heads.get(head) {
            Some(place) => *place,
            None => {
                let local = self.local(head);
                self.locals.push(local);
                self.heads.insert(head, self.locals.len() - 1);
                self.locals.len() - 1
            }
        };
        match self.locals[place] {
            Local::Left => None,
            Local::Rows { .. } => {
                let local = std::mem::replace(&mut self.locals[place], Local::Left);
                let taken = match &local {
                    Local::Rows { plan, own, says } => self.row_line(line, end, plan, own, *says),
                    _ => None,
                };
                self.locals[place] = local;
                taken
            }
            Local::Unknown => {
                let names = self.names(line, end)?;
                self.found.unknown.entry(head).or_default().extend(names);
                Some(())
            }
            Local::Refused => {
                // They are refused for their head, unless they are no lines at all.
                std::str::from_utf8(line).ok()?;
                names(line, end)?;
                let first = Refused {
                    line: number,
                    begin,
                    end: begin + line.len(),
                    count: 0,
                };
                self.found.refused.entry(head).or_insert(first).count += 1;
                Some(())
            }
        }
    }

    fn local(&mut self, head: &[u8]) -> Local {
        match self.book.heads.get(head) {
            None => Local::Unknown,
            Some(Head::Refused) => Local::Refused,
            Some(Head::Left) => Local::Left,
            Some(Head::Rows { plan, series, says }) => {
                let own = series.iter().map(|one| self.own(*one)).collect();
                Local::Rows {
                    plan: plan.clone(),
                    own,
                    says: *says,
                }
            }
        }
    }

    fn own(&mut self, series: Series) -> u32 {
        let all = &mut self.found.own;
        *self.own_of.entry(series.number).or_insert_with(|| {
            let (first, last) = (i64::MAX, i64::MIN);
            all.push(Own {
                series,
                first,
                last,
                last_row: NONE,
                quarter: i64::MIN,
            });
            all.len() as u32 - 1
        })
    }

    fn row_line(
        &mut self,
        line: &'a [u8],
        end: usize,
        plan: &Plan,
        own: &[u32],
        says: bool,
    ) -> Option<()> {
        self.rows.clear();
        self.rows.resize(own.len(), NONE);
        self.touched.clear();
        let time_at = match self.fields(line, end, plan, own) {
            Some(Taken::Fields(at)) => at,
            None => {
                self.drop_rows(plan);
                return None;
            }
            // The whole body is read again when it is known.
            Some(Taken::UnknownField) => {
                self.drop_rows(plan);
                let names = self.names(line, end)?;
                self.found
                    .unknown
                    .entry(&line[..end])
                    .or_default()
                    .extend(names);
                return Some(());
            }
        };
        let Some(time_ns) = time(line, time_at).and_then(|at| at.checked_mul(self.times.unit))
        else {
            self.drop_rows(plan);
            return None;
        };
        self.drop_empty_rows(plan);
        if self.touched.is_empty() {
            // What such a line says beside its rows counts only if its time does.
            if says {
                return None;
            }
            self.found.ignored += 1;
            return Some(());
        }
        if time_ns < self.times.earliest || time_ns > self.times.latest {
            self.drop_rows(plan);
            return None;
        }
        for place in 0..self.touched.len() {
            let slot = self.touched[place];
            self.finish_row(
                plan.tables[slot as usize],
                own[slot as usize],
                self.rows[slot as usize],
                time_ns / 1000,
            );
        }
        if says {
            self.found.saying.insert(&line[..end]);
        }
        self.found.accepted += 1;
        Some(())
    }

    /// The names of the fields of a line that is to be made known: one whose time is refused makes
    /// no series.
    fn names(&self, line: &'a [u8], end: usize) -> Option<Vec<&'a [u8]>> {
        let (found, at) = names(line, end)?;
        let at_ns = at.checked_mul(self.times.unit)?;
        (self.times.earliest..=self.times.latest)
            .contains(&at_ns)
            .then_some(found)
    }

    fn fields(&mut self, line: &'a [u8], end: usize, plan: &Plan, own: &[u32]) -> Option<Taken> {
        let mut at = end + 1;
        loop {
            let (name, value_at) = scan::name(line, at)?;
            let (value, behind) = scan::value(line, value_at)?;
            match plan.fields.get(name) {
                None => return Some(Taken::UnknownField),
                Some(Place::LeftOut) => {}
                Some(Place::Column { slot, column }) => {
                    let table = plan.tables[*slot as usize];
                    let kind = self.kinds[table as usize][*column as usize];
                    let bits = bits(kind, value)?;
                    let rows = &mut self.found.tables[table as usize];
                    let row = &mut self.rows[*slot as usize];
                    if *row == NONE {
                        *row = rows.add(own[*slot as usize]);
                        self.touched.push(*slot);
                    }
                    match bits {
                        Some(bits) => rows.set(*row, *column as usize, bits),
                        None => rows.unset(*row, *column as usize),
                    }
                }
            }
            match line.get(behind)? {
                b',' => at = behind + 1,
                b' ' => return Some(Taken::Fields(behind + 1)),
                _ => return None,
            }
        }
    }

    /// Forget the rows of this line; they are the last of their tables.
    fn drop_rows(&mut self, plan: &Plan) {
        for slot in self.touched.drain(..).rev() {
            let table = plan.tables[slot as usize] as usize;
            self.found.tables[table].truncate(self.rows[slot as usize]);
        }
    }

    /// Of the rows of this line, forget those in which no column has a value.
    fn drop_empty_rows(&mut self, plan: &Plan) {
        let (tables, rows) = (&mut self.found.tables, &self.rows);
        self.touched.retain(|slot| {
            let table = plan.tables[*slot as usize] as usize;
            !tables[table].is_empty_row(rows[*slot as usize])
        });
    }

    fn finish_row(&mut self, table: u8, own: u32, row: u32, time_us: i64) {
        let rows = &mut self.found.tables[table as usize];
        rows.set_time(row, time_us);
        let known = &mut self.found.own[own as usize];
        if time_us == known.last && known.last_row != NONE {
            rows.unite(known.last_row, row);
            return;
        }
        if known.first <= time_us && time_us <= known.last && self.by_time.is_none() {
            let mut all = HashMap::new();
            for (number, table) in self.found.tables.iter().enumerate() {
                table.by_time(number as u8, &mut all);
            }
            self.by_time = Some(all);
        }
        if let Some(all) = &mut self.by_time {
            let earlier = *all.entry((table, own, time_us)).or_insert(row);
            if earlier != row {
                self.found.tables[table as usize].unite(earlier, row);
                return;
            }
        }
        let known = &mut self.found.own[own as usize];
        known.first = known.first.min(time_us);
        if time_us > known.last {
            known.last = time_us;
            known.last_row = row;
        }
        let quarter = time_us.div_euclid(QUARTER_US);
        if quarter != known.quarter {
            known.quarter = quarter;
            for at in [(quarter - 1) * QUARTER_US, (quarter + 2) * QUARTER_US] {
                self.found
                    .hours
                    .insert((known.series.host, at.div_euclid(HOUR_US) * HOUR_US));
            }
            self.found.parts.insert(time_us.div_euclid(PART_US));
        }
    }
}

enum Taken {
    /// The place of the time.
    Fields(usize),
    UnknownField,
}

/// What a column keeps of a value: None if the strict parser has to say, Some(None) for nothing.
fn bits(kind: Kind, value: Value<'_>) -> Option<Option<u64>> {
    match (kind, value) {
        (_, Value::Other) => None,
        (
            Kind::Number,
            Value::Whole {
                digits,
                negative,
                suffix,
            },
        ) => {
            let number = digits as f64;
            // "-0" is a number of its own, "-0i" is not.
            let number = if negative && (digits > 0 || !suffix) {
                -number
            } else {
                number
            };
            Some(Some(number.to_bits()))
        }
        (Kind::Number, Value::Fraction(text)) => {
            let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            Some(Some(number.to_bits()))
        }
        (_, Value::Fraction(_)) => None,
        (
            _,
            Value::Whole {
                digits, negative, ..
            },
        ) if !negative || digits == 0 => Some(Some(digits)),
        // Linux and Telegraf say -1 for what they do not know.
        (Kind::Whole, Value::Whole { .. }) => Some(None),
        (Kind::Counter, Value::Whole { .. }) => None,
    }
}

/// The names of the fields of a line that is plain up to its end, and its time.
fn names(line: &[u8], end: usize) -> Option<(Vec<&[u8]>, i64)> {
    let (mut at, mut found) = (end + 1, Vec::new());
    loop {
        let (name, value_at) = scan::name(line, at)?;
        let (_, behind) = scan::value(line, value_at)?;
        found.push(name);
        match line.get(behind) {
            Some(b',') => at = behind + 1,
            Some(b' ') => return time(line, behind + 1).map(|at| (found, at)),
            _ => return None,
        }
    }
}

fn time(line: &[u8], from: usize) -> Option<i64> {
    let (digits, end) = scan::digits(line, from, 19)?;
    (end == line.len()).then_some(())?;
    i64::try_from(digits).ok()
}

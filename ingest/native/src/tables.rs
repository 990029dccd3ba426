//! Rows of the sample tables: gathered, united, and written as PostgreSQL's binary COPY.

use hashbrown::HashMap;

/// How a column takes numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Counter,
    Whole,
    Number,
}

/// PostgreSQL counts time from 2000-01-01.
const EPOCH_US: i64 = 946_684_800_000_000;
const NULL: [u8; 4] = (-1i32).to_be_bytes();
const EIGHT_BYTES: [u8; 4] = 8i32.to_be_bytes();
/// A row is the number of its series in the body, its time, which columns it has, and these.
const SERIES: usize = 0;
const TIME: usize = 1;
const PRESENT: usize = 2;
const VALUES: usize = 3;

pub struct Table {
    columns: usize,
    rows: Vec<u64>,
}

impl Table {
    pub fn new(columns: usize) -> Self {
        Table {
            columns,
            rows: Vec::new(),
        }
    }

    fn stride(&self) -> usize {
        VALUES + self.columns
    }

    pub fn count(&self) -> u32 {
        (self.rows.len() / self.stride()) as u32
    }

    /// A new row without values, whose time is not known yet; its number.
    pub fn add(&mut self, series: u32) -> u32 {
        let number = self.count();
        let begin = self.rows.len();
        self.rows.resize(begin + self.stride(), 0);
        self.rows[begin + SERIES] = u64::from(series);
        number
    }

    pub fn truncate(&mut self, rows: u32) {
        self.rows.truncate(rows as usize * self.stride());
    }

    fn row(&mut self, number: u32) -> &mut [u64] {
        let stride = self.stride();
        let begin = number as usize * stride;
        &mut self.rows[begin..begin + stride]
    }

    pub fn set(&mut self, number: u32, column: usize, bits: u64) {
        let row = self.row(number);
        row[VALUES + column] = bits;
        row[PRESENT] |= 1 << column;
    }

    pub fn unset(&mut self, number: u32, column: usize) {
        self.row(number)[PRESENT] &= !(1 << column);
    }

    pub fn is_empty_row(&mut self, number: u32) -> bool {
        self.row(number)[PRESENT] == 0
    }

    pub fn set_time(&mut self, number: u32, time_us: i64) {
        self.row(number)[TIME] = time_us as u64;
    }

    /// Take what a later row has into an earlier one of the same series and time.
    pub fn unite(&mut self, earlier: u32, later: u32) {
        let present = self.row(later)[PRESENT];
        for column in (0..self.columns).filter(|column| present & (1 << column) != 0) {
            let bits = self.row(later)[VALUES + column];
            self.set(earlier, column, bits);
        }
        // A row without values is not written.
        self.row(later)[PRESENT] = 0;
    }

    /// The first row of each series and time.
    pub fn by_time(&self, table: u8, into: &mut HashMap<(u8, u32, i64), u32>) {
        for (number, row) in self.rows.chunks_exact(self.stride()).enumerate() {
            if row[PRESENT] != 0 {
                let key = (table, row[SERIES] as u32, row[TIME] as i64);
                into.entry(key).or_insert(number as u32);
            }
        }
    }

    /// Series, time and value of the rows that have this column.
    pub fn column(&self, column: usize) -> Vec<(u32, i64, i64)> {
        let rows = self.rows.chunks_exact(self.stride());
        rows.filter(|row| row[PRESENT] & (1 << column) != 0)
            .map(|row| {
                (
                    row[SERIES] as u32,
                    row[TIME] as i64,
                    row[VALUES + column] as i64,
                )
            })
            .collect()
    }

    /// The rows without header and trailer, and how many they are; `ids` by number of series.
    pub fn encode(&self, ids: impl Fn(u32) -> i64) -> (Vec<u8>, u32) {
        let mut out = Vec::with_capacity(self.count() as usize * (26 + 12 * self.columns));
        let mut written = 0;
        for row in self
            .rows
            .chunks_exact(self.stride())
            .filter(|row| row[PRESENT] != 0)
        {
            out.extend_from_slice(&((2 + self.columns) as i16).to_be_bytes());
            out.extend_from_slice(&EIGHT_BYTES);
            out.extend_from_slice(&ids(row[SERIES] as u32).to_be_bytes());
            out.extend_from_slice(&EIGHT_BYTES);
            out.extend_from_slice(&(row[TIME] as i64 - EPOCH_US).to_be_bytes());
            for (column, bits) in row[VALUES..].iter().enumerate() {
                if row[PRESENT] & (1 << column) != 0 {
                    out.extend_from_slice(&EIGHT_BYTES);
                    out.extend_from_slice(&bits.to_be_bytes());
                } else {
                    out.extend_from_slice(&NULL);
                }
            }
            written += 1;
        }
        (out, written)
    }
}

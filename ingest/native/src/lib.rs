//! Line protocol to rows in PostgreSQL's binary COPY format.
//!
//! It does what it can vouch for: plain lines of heads that Python has made known. Of every other
//! line it says where it is, and the strict parser in `ingest.core.line_protocol` reads it.

mod heads;
mod read;
mod scan;
mod tables;
mod unpack;

use heads::{Book, Head, Place, Series};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use read::{Found, Reader, Times};
use std::sync::{Arc, PoisonError, RwLock};
use tables::Kind;

/// What is known of the heads of one sender, and the tables that rows of them go to.
#[pyclass(frozen)]
struct LineBook {
    kinds: Vec<Vec<Kind>>,
    watched: (u8, usize),
    book: RwLock<Book>,
}

type Copies = Vec<(u8, Py<PyBytes>, u32)>;
type Unknown = Vec<(Py<PyBytes>, Vec<Py<PyBytes>>)>;

/// What a body holds; arrays are of the machine's own byte order.
#[pyclass(frozen, get_all)]
struct Lines {
    /// By table: its number, rows without header and trailer, their count.
    copies: Copies,
    /// Of each series with rows its number (u32), first and last time in microseconds (i64).
    series: Py<PyBytes>,
    first_us: Py<PyBytes>,
    last_us: Py<PyBytes>,
    /// Hours (host, microseconds) and parts (number) that rows touch.
    hours: Vec<(i64, i64)>,
    parts: Vec<i64>,
    /// Series (row), time in microseconds and value of the watched column.
    watched: Vec<(i64, i64, i64)>,
    /// Heads that are not known, or not with these fields.
    unknown: Unknown,
    /// Refused heads with the number, begin and end of their first line, and the count of lines.
    refused: Vec<(Py<PyBytes>, u32, usize, usize, u32)>,
    /// Number, begin and end of what the strict parser has to read.
    left: Vec<(u32, usize, usize)>,
    /// Heads with rows that say something beside them.
    saying: Vec<Py<PyBytes>>,
    accepted: u32,
    ignored: u32,
}

#[pymethods]
impl LineBook {
    /// `kinds` says of each column of each table 0 (counter), 1 (whole number) or 2 (number).
    /// `watched` is the table and column whose values are given back.
    #[new]
    fn new(kinds: Vec<Vec<u8>>, watched: (u8, usize)) -> PyResult<Self> {
        let kinds: Option<Vec<Vec<Kind>>> = kinds
            .iter()
            .map(|columns| columns.iter().map(|kind| kind_of(*kind)).collect())
            .collect();
        let kinds = kinds.ok_or_else(|| PyValueError::new_err("a kind is 0, 1 or 2"))?;
        if kinds.iter().any(|columns| columns.len() > 64) {
            return Err(PyValueError::new_err("a table has at most 64 columns"));
        }
        Ok(LineBook {
            kinds,
            watched,
            book: RwLock::default(),
        })
    }

    /// Lines of this head become rows of these series: table, number, row's and host's key.
    /// `fields` says of each field its series, by place, and column; None leaves it out.
    fn learn(
        &self,
        head: &[u8],
        series: Vec<(u8, u32, i64, i64)>,
        fields: Vec<(Vec<u8>, Option<(u16, u8)>)>,
        says: bool,
    ) -> PyResult<()> {
        for place in fields.iter().filter_map(|(_, place)| *place) {
            let columns = series
                .get(place.0 as usize)
                .and_then(|one| self.kinds.get(one.0 as usize));
            if columns.is_none_or(|columns| place.1 as usize >= columns.len()) {
                return Err(PyValueError::new_err(
                    "a field has a place that is not there",
                ));
            }
        }
        let tables = series.iter().map(|one| one.0).collect();
        let fields = fields
            .into_iter()
            .map(|(name, place)| (name, place_of(place)))
            .collect();
        let series: Arc<[Series]> = series
            .into_iter()
            .map(|(_, number, id, host)| Series { number, id, host })
            .collect();
        let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
        let plan = book.plan(tables, fields);
        book.heads
            .insert(head.into(), Head::Rows { plan, series, says });
        Ok(())
    }

    /// The names of the fields of a head that are known.
    fn names(&self, py: Python<'_>, head: &[u8]) -> Vec<Py<PyBytes>> {
        match self
            .book
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .heads
            .get(head)
        {
            Some(Head::Rows { plan, .. }) => plan
                .fields
                .keys()
                .map(|name| PyBytes::new(py, name).unbind())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Plain lines of this head are refused, all for one reason.
    fn refuse(&self, head: &[u8]) {
        self.put(head, Head::Refused);
    }

    /// Lines of this head are read by the strict parser.
    fn leave(&self, head: &[u8]) {
        self.put(head, Head::Left);
    }

    /// The lines of a body; times are nanoseconds since 1970, and `unit` is that of the body.
    fn read(
        &self,
        py: Python<'_>,
        body: &[u8],
        unit: i64,
        earliest: i64,
        latest: i64,
    ) -> PyResult<Lines> {
        let times = Times {
            unit,
            earliest,
            latest,
        };
        let (found, copies) = py.detach(|| {
            let book = self.book.read().unwrap_or_else(PoisonError::into_inner);
            let found = Reader::read(&book, &self.kinds, body, times);
            let id = |own: u32| found.own[own as usize].series.id;
            let copies: Vec<_> = if found.unknown.is_empty() {
                found.tables.iter().map(|table| table.encode(id)).collect()
            } else {
                Vec::new()
            };
            (found, copies)
        });
        Ok(lines(py, found, copies, self.watched))
    }
}

impl LineBook {
    fn put(&self, head: &[u8], what: Head) {
        let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
        book.heads.insert(head.into(), what);
    }
}

fn lines(
    py: Python<'_>,
    found: Found<'_>,
    copies: Vec<(Vec<u8>, u32)>,
    watched: (u8, usize),
) -> Lines {
    let bytes = |content: &[u8]| PyBytes::new(py, content).unbind();
    let own: Vec<_> = found
        .own
        .iter()
        .filter(|one| one.first <= one.last)
        .collect();
    let series: Vec<u8> = own
        .iter()
        .flat_map(|one| one.series.number.to_ne_bytes())
        .collect();
    let first: Vec<u8> = own.iter().flat_map(|one| one.first.to_ne_bytes()).collect();
    let last: Vec<u8> = own.iter().flat_map(|one| one.last.to_ne_bytes()).collect();
    let watched = found
        .tables
        .get(watched.0 as usize)
        .map_or_else(Vec::new, |table| {
            let id = |one: u32| found.own[one as usize].series.id;
            table
                .column(watched.1)
                .into_iter()
                .map(|(one, at, value)| (id(one), at, value))
                .collect()
        });
    Lines {
        copies: (0..)
            .zip(copies)
            .filter(|(_, (_, count))| *count > 0)
            .map(|(table, (rows, count))| (table, bytes(&rows), count))
            .collect(),
        series: bytes(&series),
        first_us: bytes(&first),
        last_us: bytes(&last),
        hours: found.hours.into_iter().collect(),
        parts: found.parts.into_iter().collect(),
        watched,
        unknown: found
            .unknown
            .into_iter()
            .map(|(head, names)| (bytes(head), names.into_iter().map(bytes).collect()))
            .collect(),
        refused: found
            .refused
            .into_iter()
            .map(|(head, one)| (bytes(head), one.line, one.begin, one.end, one.count))
            .collect(),
        left: found.left,
        saying: found.saying.into_iter().map(bytes).collect(),
        accepted: found.accepted,
        ignored: found.ignored,
    }
}

fn kind_of(kind: u8) -> Option<Kind> {
    [Kind::Counter, Kind::Whole, Kind::Number]
        .get(kind as usize)
        .copied()
}

fn place_of(place: Option<(u16, u8)>) -> Place {
    place.map_or(Place::LeftOut, |(slot, column)| Place::Column {
        slot,
        column,
    })
}

/// A gzip body unpacked; None if it is larger than `most` bytes, broken or cut off.
#[pyfunction]
fn gunzip(py: Python<'_>, packed: &[u8], most: usize) -> Option<Py<PyBytes>> {
    let content = py.detach(|| unpack::gunzip(packed, most))?;
    Some(PyBytes::new(py, &content).unbind())
}

#[pymodule]
fn sluice_lines(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("QUARTER_US", read::QUARTER_US)?;
    module.add("HOUR_US", read::HOUR_US)?;
    module.add("PART_US", read::PART_US)?;
    module.add_class::<LineBook>()?;
    module.add_class::<Lines>()?;
    module.add_function(wrap_pyfunction!(gunzip, module)?)
}

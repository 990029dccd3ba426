//! The plain part of line protocol: what is not plain is left to the strict parser.

/// A value of a field, as far as it is plain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// With `i` or `u` behind it, or whole and without a point.
    Whole {
        digits: u64,
        negative: bool,
        suffix: bool,
    },
    /// The text of a number with a point.
    Fraction(&'a [u8]),
    /// True, false or a short plain text.
    Other,
}

/// So many digits fit 64 bits, whatever they are.
const MOST_DIGITS: usize = 18;
/// Whole numbers up to here are the same as a double.
const MOST_EXACT_DIGITS: usize = 15;
const MOST_FRACTION_BYTES: usize = 40;
const WORDS: [&[u8]; 10] = [
    b"t", b"T", b"true", b"True", b"TRUE", b"f", b"F", b"false", b"False", b"FALSE",
];

/// The end of the head: the first space that no backslash stands before.
pub fn head_end(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b' ', line).find(|&at| at > 0 && line[at - 1] != b'\\')
}

/// The name of a field that begins here and the place behind its `=`.
pub fn name(line: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let mut at = from;
    while at < line.len() {
        match line[at] {
            b'=' => return (at > from).then(|| (&line[from..at], at + 1)),
            b',' | b'\\' | b'"' | 0..=b' ' | 0x7f => return None,
            _ => at += 1,
        }
    }
    None
}

/// The value that begins here and the place behind it.
pub fn value(line: &[u8], from: usize) -> Option<(Value<'_>, usize)> {
    match *line.get(from)? {
        b'"' => text(line, from + 1),
        b'-' | b'0'..=b'9' => number(line, from),
        _ => word(line, from),
    }
}

/// Digits and the place behind them; None if there are none or more than fit.
pub fn digits(line: &[u8], from: usize, most: usize) -> Option<(u64, usize)> {
    let (mut found, mut at) = (0u64, from);
    while let Some(digit) = line
        .get(at)
        .map(|byte| byte.wrapping_sub(b'0'))
        .filter(|d| *d <= 9)
    {
        if at - from == most {
            return None;
        }
        found = found * 10 + u64::from(digit);
        at += 1;
    }
    (at > from).then_some((found, at))
}

fn number(line: &[u8], from: usize) -> Option<(Value<'_>, usize)> {
    let negative = line[from] == b'-';
    let begin = from + usize::from(negative);
    let (digits_found, mut at) = digits(line, begin, MOST_DIGITS)?;
    match line.get(at) {
        Some(b'i') => Some((
            Value::Whole {
                digits: digits_found,
                negative,
                suffix: true,
            },
            at + 1,
        )),
        Some(b'u') if !negative => Some((
            Value::Whole {
                digits: digits_found,
                negative,
                suffix: true,
            },
            at + 1,
        )),
        Some(b'.') => {
            at += 1;
            while line.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            (at - from <= MOST_FRACTION_BYTES).then(|| (Value::Fraction(&line[from..at]), at))
        }
        _ if at - begin <= MOST_EXACT_DIGITS => Some((
            Value::Whole {
                digits: digits_found,
                negative,
                suffix: false,
            },
            at,
        )),
        _ => None,
    }
}

fn text(line: &[u8], from: usize) -> Option<(Value<'_>, usize)> {
    let mut at = from;
    loop {
        match *line.get(at)? {
            b'"' => return Some((Value::Other, at + 1)),
            b' '..=b'~' if line[at] != b'\\' => at += 1,
            _ => return None,
        }
    }
}

fn word(line: &[u8], from: usize) -> Option<(Value<'_>, usize)> {
    let length = line[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    WORDS
        .contains(&&line[from..from + length])
        .then_some((Value::Other, from + length))
}

/// Whether the following lines may belong to a text that this line, which is not plain, begins.
pub fn may_go_on(line: &[u8]) -> bool {
    match memchr::memrchr(b'"', line) {
        None => false,
        Some(0) => true,
        Some(at) => line[at - 1] == b'=' || memchr::memchr(b'\\', line).is_some(),
    }
}

//! A capability in Rust: the ABI sigil/1, and JSON to read the input from and to write the answer with.
//!
//!     use crate::sigil::{fail, Failure, Json};
//!
//!     pub fn answer(input: Json) -> Result<Json, Failure> {
//!         let name = input.get("name").text();
//!         if name.is_empty() {
//!             return fail("EINVAL", "whom shall I greet?");
//!         }
//!         Ok(Json::object().with("hello", name))
//!     }
//!
//! The input has passed the manifest's schema: members are there and of their types. Every call has a fresh memory.
#![allow(dead_code)]

use std::fmt::Write;

/// A JSON value. What is asked of a value of another kind is empty: no text, 0, false, no members.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A whole number that 64 bits hold.
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Why a call fails: `code` is E and 2 to 15 capital letters or digits, `message` goes to whoever called.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

/// The failure that `answer` returns.
pub fn fail<T>(code: &str, message: &str) -> Result<T, Failure> {
    Err(Failure { code: code.into(), message: message.into() })
}

static NULL: Json = Json::Null;
const DEEPEST: usize = 200;

impl Json {
    pub fn object() -> Json {
        Json::Object(Vec::new())
    }

    /// The object with one member more.
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Json {
        if let Json::Object(members) = &mut self {
            members.retain(|(known, _)| known != name);
            members.push((name.into(), value.into()));
        }
        self
    }

    /// The member of this name; null when there is none.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().rev().find(|(known, _)| known == name).map_or(&NULL, |(_, value)| value),
            _ => &NULL,
        }
    }

    pub fn text(&self) -> &str {
        if let Json::Text(text) = self { text } else { "" }
    }

    pub fn number(&self) -> f64 {
        match self {
            Json::Integer(number) => *number as f64,
            Json::Number(number) => *number,
            _ => 0.0,
        }
    }

    /// The whole number that it is, towards zero.
    pub fn integer(&self) -> i64 {
        match self {
            Json::Integer(number) => *number,
            Json::Number(number) => *number as i64,
            _ => 0,
        }
    }

    pub fn boolean(&self) -> bool {
        matches!(self, Json::Bool(true))
    }

    pub fn items(&self) -> &[Json] {
        if let Json::List(items) = self { items } else { &[] }
    }

    pub fn members(&self) -> &[(String, Json)] {
        if let Json::Object(members) = self { members } else { &[] }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The value of a JSON text; None when it is none.
    pub fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.next().is_none().then(|| value)
    }

    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Integer(number) => drop(write!(out, "{}", number)),
            Json::Number(number) if !number.is_finite() => out.push_str("null"),
            Json::Number(number) if number.abs() >= 1e16 || (*number != 0.0 && number.abs() < 1e-5) => drop(write!(out, "{:e}", number)),
            Json::Number(number) => drop(write!(out, "{}", number)),
            Json::Text(text) => quoted(text, out),
            Json::List(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    quoted(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// As JSON.
impl std::fmt::Display for Json {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        to.write_str(&out)
    }
}

macro_rules! from {
    ($($kind:ty, $value:ident => $made:expr;)*) => { $(impl From<$kind> for Json { fn from($value: $kind) -> Json { $made } })* };
}
from! {
    bool, value => Json::Bool(value);
    i32, value => Json::Integer(value.into());
    u32, value => Json::Integer(value.into());
    i64, value => Json::Integer(value);
    usize, value => Json::Integer(value as i64);
    f64, value => Json::Number(value);
    &str, value => Json::Text(value.into());
    String, value => Json::Text(value);
    &Json, value => value.clone();
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        Json::List(items.into_iter().map(Into::into).collect())
    }
}

/// Asks the host: the member `ok` of its answer, or its error. What there is to ask, the ABI's page tells.
pub fn call(operation: &str, argument: Json) -> Result<Json, Failure> {
    #[link(wasm_import_module = "sigil")]
    extern "C" {
        #[link_name = "call"]
        fn host_call(at: *const u8, size: usize) -> i32;
        #[link_name = "take"]
        fn host_take(at: *mut u8);
    }
    let request = Json::object().with("op", operation).with("arg", argument).to_string();
    let size = unsafe { host_call(request.as_ptr(), request.len()) };
    if size < 0 {
        return fail("EINVAL", "not a request");
    }
    let mut answer = vec![0; size as usize];
    unsafe { host_take(answer.as_mut_ptr()) };
    let answer = Json::parse(std::str::from_utf8(&answer).unwrap_or("")).unwrap_or(Json::Null);
    match answer.get("error") {
        Json::Null => Ok(answer.get("ok").clone()),
        error => fail(error.get("code").text(), error.get("message").text()),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        let found = self.text[self.at..].starts_with(word);
        self.at += word.len();
        found.then(|| value)
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        match self.next()? {
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'[' => self.list(depth),
            b'{' => self.members(depth),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        self.at += 1;
        while self.next()? != b']' {
            if self.next()? == b',' {
                self.at += 1;
            }
            items.push(self.value(depth + 1)?);
        }
        self.at += 1;
        Some(Json::List(items))
    }

    fn members(&mut self, depth: usize) -> Option<Json> {
        let mut members = Vec::new();
        self.at += 1;
        while self.next()? != b'}' {
            if self.next()? == b',' {
                self.at += 1;
                self.next()?;
            }
            let name = self.string()?;
            if self.next()? != b':' {
                return None;
            }
            self.at += 1;
            members.push((name, self.value(depth + 1)?));
        }
        self.at += 1;
        Some(Json::Object(members))
    }

    fn number(&mut self) -> Option<Json> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        self.at += end;
        let written = &rest[..end];
        written.parse().map(Json::Integer).or_else(|_| written.parse().map(Json::Number)).ok()
    }

    fn string(&mut self) -> Option<String> {
        let mut made = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(|c| c == '"' || c == '\\')?;
            made.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Some(made);
            }
            made.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        self.at += 1;
        Some(match self.text.as_bytes().get(self.at - 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) || !self.text[self.at..].starts_with("\\u") {
                    return char::from_u32(high);
                }
                self.at += 2;
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + self.unit()?.wrapping_sub(0xdc00))?
            }
            other => *other as char,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        self.at += 4;
        u32::from_str_radix(self.text.get(self.at - 4..self.at)?, 16).ok()
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => drop(write!(out, "\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}

// ---- the ABI

static mut OUTPUT: (usize, usize) = (0, 0);

#[no_mangle]
pub extern "C" fn sigil_alloc(size: usize) -> *mut u8 {
    if size > 16 << 20 {
        return std::ptr::null_mut();
    }
    Vec::with_capacity(size.max(1)).leak_room()
}

trait Room {
    fn leak_room(self) -> *mut u8;
}

impl Room for Vec<u8> {
    fn leak_room(mut self) -> *mut u8 {
        let at = self.as_mut_ptr();
        std::mem::forget(self);
        at
    }
}

#[no_mangle]
pub unsafe extern "C" fn sigil_run(at: *const u8, size: usize) -> i32 {
    let text = std::str::from_utf8(std::slice::from_raw_parts(at, size)).unwrap_or("");
    let answer = match Json::parse(text) {
        Some(input) => crate::main::answer(input),
        None => fail("EINVAL", "the input is nested too deep"),
    };
    let (output, ending) = match answer {
        Ok(value) => (value.to_string(), 0),
        Err(failure) => (Json::object().with("code", failure.code).with("message", failure.message).to_string(), 1),
    };
    OUTPUT = (output.as_ptr() as usize, output.len());
    std::mem::forget(output);
    ending
}

#[no_mangle]
pub unsafe extern "C" fn sigil_out_ptr() -> usize {
    OUTPUT.0
}

#[no_mangle]
pub unsafe extern "C" fn sigil_out_len() -> usize {
    OUTPUT.1
}

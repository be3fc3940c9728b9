//! The stack machine of the pickle format, protocols 0 to 5 as far as data needs them.

use std::cell::RefCell;
use std::rc::Rc;

use super::value::Value;
use super::{Result, array, opcode as op};

/// Operations that build something able to nest. Bounds how deep values nest, and with it the stack used to drop them.
const MOST_CONTAINERS: usize = 2_000;
/// Values on the stack.
const MOST_VALUES: usize = 4_000_000;

enum Slot {
    Mark,
    Value(Value),
}

/// Reads one pickle from the start of `input`.
pub(crate) struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    stack: Vec<Slot>,
    memo: Vec<Option<Value>>,
    containers: usize,
    decoded: usize,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Machine { input, at: 0, stack: Vec::new(), memo: Vec::new(), containers: 0, decoded: 0 }
    }

    /// Runs to the end of the pickle; its value, and how many bytes it took.
    pub(crate) fn run(mut self) -> Result<(Value, usize)> {
        loop {
            let start = self.at;
            let operation = self.byte()?;
            if operation == op::STOP {
                let value = self.pop()?;
                return Ok((value, self.at));
            }
            self.step(operation).map_err(|reason| format!("pickle, byte {start}: {reason}"))?;
            if self.stack.len() > MOST_VALUES {
                return Err(format!("pickle, byte {start}: more than {MOST_VALUES} values"));
            }
        }
    }

    fn step(&mut self, operation: u8) -> Result<()> {
        match operation {
            op::PROTO => drop(self.take(1)?),
            op::FRAME => drop(self.take(8)?),
            op::MARK => self.stack.push(Slot::Mark),
            op::POP => drop(self.stack.pop()),
            op::POP_MARK => drop(self.since_mark()?),
            op::DUP => {
                let top = self.top()?.clone();
                self.push(top);
            }
            op::NONE => self.push(Value::None),
            op::NEWTRUE | op::NEWFALSE => self.push(Value::Bool),
            op::BINFLOAT => {
                self.take(8)?;
                self.push(Value::Float);
            }
            op::INT | op::LONG => self.decimal()?,
            op::BININT => {
                let value = self.number(4)? as u32 as i32;
                self.push(Value::Int(value.into()));
            }
            op::BININT1 => self.integer(1)?,
            op::BININT2 => self.integer(2)?,
            op::LONG1 => self.long()?,
            op::BINUNICODE | op::BINSTRING => self.string(operation, 4)?,
            op::SHORT_BINUNICODE | op::SHORT_BINSTRING => self.string(operation, 1)?,
            op::BINUNICODE8 => self.string(operation, 8)?,
            op::BINBYTES => self.bytes(4)?,
            op::SHORT_BINBYTES => self.bytes(1)?,
            op::BINBYTES8 | op::BYTEARRAY8 => self.bytes(8)?,
            _ => self.container_step(operation)?,
        }
        Ok(())
    }

    fn container_step(&mut self, operation: u8) -> Result<()> {
        match operation {
            op::EMPTY_TUPLE => self.push(Value::Tuple(Rc::from([]))),
            op::EMPTY_LIST => self.push(Value::List(Rc::default())),
            op::EMPTY_DICT => self.push(Value::Dict(Rc::default())),
            op::TUPLE => {
                let items = self.since_mark()?;
                self.nest(Value::Tuple(items.into()))?;
            }
            op::TUPLE1 | op::TUPLE2 | op::TUPLE3 => {
                let items = self.pop_many(usize::from(operation - op::TUPLE1) + 1)?;
                self.nest(Value::Tuple(items.into()))?;
            }
            op::LIST => {
                let items = self.since_mark()?;
                self.nest(Value::List(Rc::new(RefCell::new(items))))?;
            }
            op::DICT => {
                let items = pairs(self.since_mark()?)?;
                self.nest(Value::Dict(Rc::new(RefCell::new(items))))?;
            }
            op::APPEND => {
                let item = self.pop()?;
                self.extend_list(vec![item])?;
            }
            op::APPENDS => {
                let items = self.since_mark()?;
                self.extend_list(items)?;
            }
            op::SETITEM => {
                let items = self.pop_many(2)?;
                self.extend_dict(items)?;
            }
            op::SETITEMS => {
                let items = self.since_mark()?;
                self.extend_dict(items)?;
            }
            _ => self.object_step(operation)?,
        }
        Ok(())
    }

    fn object_step(&mut self, operation: u8) -> Result<()> {
        match operation {
            op::GLOBAL => {
                let name = format!("{}.{}", self.line()?, self.line()?);
                self.push(Value::Name(name.into()));
            }
            op::STACK_GLOBAL => {
                let parts = self.pop_many(2)?;
                let [Value::Text(module), Value::Text(name)] = &parts[..] else {
                    return Err("the name of a function is not text".into());
                };
                self.push(Value::Name(format!("{module}.{name}").into()));
            }
            op::REDUCE | op::NEWOBJ => {
                let parts = self.pop_many(2)?;
                let [Value::Name(function), Value::Tuple(arguments)] = &parts[..] else {
                    return Err("a call without a name or arguments".into());
                };
                let value = array::simplify(function.clone(), arguments.clone())?;
                if let Value::Bytes(bytes) = &value {
                    self.spend(bytes.len())?;
                }
                self.nest(value)?;
            }
            op::BUILD => {
                let state = self.pop()?;
                self.count()?;
                let call = self.top()?.call().ok_or("a state without an object")?;
                call.state.replace(Some(state));
            }
            op::BINPERSID => {
                let value = self.pop()?;
                self.nest(Value::Outside(Rc::new(value)))?;
            }
            op::PUT | op::GET => {
                let index = self.line()?.parse().map_err(|_| "an unreadable memo number")?;
                self.memoise(operation == op::PUT, index)?;
            }
            op::BINPUT | op::BINGET => {
                let index = self.number(1)?;
                self.memoise(operation == op::BINPUT, index)?;
            }
            op::LONG_BINPUT | op::LONG_BINGET => {
                let index = self.number(4)?;
                self.memoise(operation == op::LONG_BINPUT, index)?;
            }
            op::MEMOIZE => self.memoise(true, self.memo.len() as u64)?,
            other => return Err(format!("operation 0x{other:02x} is not one that arrays of integers need")),
        }
        Ok(())
    }

    fn memoise(&mut self, put: bool, index: u64) -> Result<()> {
        // Every entry takes at least one operation, so an honest number is below the length of the input.
        let limit = self.input.len();
        let index = usize::try_from(index).ok().filter(|&index| index < limit).ok_or("a huge memo number")?;
        if put {
            let value = self.top()?.clone();
            if self.memo.len() <= index {
                self.memo.resize(index + 1, None);
            }
            self.memo[index] = Some(value);
        } else {
            let value = self.memo.get(index).cloned().flatten().ok_or("a memo number that was not set")?;
            self.push(value);
        }
        Ok(())
    }

    fn push(&mut self, value: Value) {
        self.stack.push(Slot::Value(value));
    }

    /// Pushes a value that holds others, within the limit on nesting.
    fn nest(&mut self, value: Value) -> Result<()> {
        self.count()?;
        self.push(value);
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.containers += 1;
        if self.containers > MOST_CONTAINERS {
            return Err(format!("more than {MOST_CONTAINERS} nested values"));
        }
        Ok(())
    }

    /// Decoded bytes come from distinct places of the input in an honest pickle, so they cannot outgrow it.
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.decoded = self.decoded.saturating_add(bytes);
        let limit = self.input.len();
        if self.decoded > limit { Err(format!("more than {limit} bytes of decoded data")) } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<Value> {
        match self.stack.pop() {
            Some(Slot::Value(value)) => Ok(value),
            _ => Err("the stack is empty".into()),
        }
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Value>> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
        items.reverse();
        Ok(items)
    }

    fn top(&self) -> Result<&Value> {
        match self.stack.last() {
            Some(Slot::Value(value)) => Ok(value),
            _ => Err("the stack is empty".into()),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.stack.iter().rposition(|slot| matches!(slot, Slot::Mark)).ok_or("no mark on the stack")?;
        let values = self.stack.drain(mark..).skip(1);
        Ok(values.filter_map(|slot| if let Slot::Value(value) = slot { Some(value) } else { None }).collect())
    }

    fn extend_list(&mut self, items: Vec<Value>) -> Result<()> {
        self.count_if_nesting(&items)?;
        let Value::List(list) = self.top()? else { return Err("items for something that is not a list".into()) };
        list.borrow_mut().extend(items);
        Ok(())
    }

    fn extend_dict(&mut self, items: Vec<Value>) -> Result<()> {
        self.count_if_nesting(&items)?;
        let Value::Dict(dict) = self.top()? else { return Err("items for something that is not a dictionary".into()) };
        dict.borrow_mut().extend(pairs(items)?);
        Ok(())
    }

    fn count_if_nesting(&mut self, items: &[Value]) -> Result<()> {
        let nests = |item: &Value| !matches!(item, Value::Int(_) | Value::Text(_) | Value::Bytes(_) | Value::Name(_));
        if items.iter().any(nests) { self.count() } else { Ok(()) }
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.input.get(self.at).ok_or("the pickle ends too early")?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let rest = &self.input[self.at..];
        let count = usize::try_from(count)
            .ok()
            .filter(|&count| count <= rest.len())
            .ok_or_else(|| format!("{count} bytes are announced, {} are left", rest.len()))?;
        self.at += count;
        Ok(&rest[..count])
    }

    /// A little-endian number of up to eight bytes.
    fn number(&mut self, width: usize) -> Result<u64> {
        let bytes = self.take(width as u64)?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn integer(&mut self, width: usize) -> Result<()> {
        let value = self.number(width)? as i64;
        self.push(Value::Int(value));
        Ok(())
    }

    /// A little-endian two's complement number; one beyond 64 bits (PyTorch's magic number) counts as zero.
    fn long(&mut self) -> Result<()> {
        let width = self.byte()?;
        let bytes = self.take(width.into())?;
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let start = if negative { -1i64 } else { 0 };
        let value = if bytes.len() <= 8 {
            bytes.iter().rev().fold(start, |value, &byte| value << 8 | i64::from(byte))
        } else {
            0
        };
        self.push(Value::Int(value));
        Ok(())
    }

    fn decimal(&mut self) -> Result<()> {
        let line = self.line()?;
        let value = match line {
            "00" | "01" => Value::Bool,
            digits => Value::Int(digits.trim_end_matches('L').parse().map_err(|_| "an unreadable number")?),
        };
        self.push(value);
        Ok(())
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = &self.input[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or("a line without an end")?;
        self.at += end + 1;
        std::str::from_utf8(&rest[..end]).map_err(|_| "a line that is not UTF-8".into())
    }

    fn string(&mut self, operation: u8, width: usize) -> Result<()> {
        let length = self.number(width)?;
        let bytes = self.take(length)?;
        let value = match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.into()),
            // Python 2 wrote raw bytes with the same operations.
            Err(_) if matches!(operation, op::BINSTRING | op::SHORT_BINSTRING) => Value::Bytes(bytes.into()),
            Err(_) => return Err("text that is not UTF-8".into()),
        };
        self.push(value);
        Ok(())
    }

    fn bytes(&mut self, width: usize) -> Result<()> {
        let length = self.number(width)?;
        let bytes = self.take(length)?;
        self.push(Value::Bytes(bytes.into()));
        Ok(())
    }
}

fn pairs(items: Vec<Value>) -> Result<Vec<(Value, Value)>> {
    if !items.len().is_multiple_of(2) {
        return Err("a key without a value".into());
    }
    let mut items = items.into_iter();
    Ok(std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect())
}

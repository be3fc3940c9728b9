//! Arrays of integers, as NumPy and PyTorch write them into a pickle.

use std::rc::Rc;

use super::Result;
use super::value::{Call, Value};

/// Fetches the bytes of a PyTorch storage by its key.
pub(crate) type Storage<'a> = dyn Fn(&str) -> Result<Vec<u8>> + 'a;

/// Turns the calls that only carry bytes into those bytes; keeps every other call as it is.
pub(super) fn simplify(function: Rc<str>, arguments: Rc<[Value]>) -> Result<Value> {
    // Before protocol 3 there were no byte strings: Python writes them as text in Latin-1.
    if &*function == "_codecs.encode" {
        let text = arguments.first().and_then(Value::text).ok_or("bytes that are not written as text")?;
        let bytes = text.chars().map(|c| u8::try_from(u32::from(c))).collect::<std::result::Result<Vec<_>, _>>();
        return Ok(Value::Bytes(bytes.map_err(|_| "bytes written as text beyond Latin-1")?.into()));
    }
    Ok(Value::Call(Rc::new(Call { function, arguments, state: Default::default() })))
}

/// The integers of a NumPy array, a PyTorch tensor or a list.
pub(crate) fn integers(value: &Value, storage: &Storage) -> Result<Vec<i64>> {
    match value {
        Value::List(items) => items
            .borrow()
            .iter()
            .map(|item| item.int().ok_or("a list with something else than integers".into()))
            .collect(),
        Value::Call(call) if is_reconstruct(call) => numpy(call),
        Value::Call(call) if &*call.function == "torch._utils._rebuild_tensor_v2" => torch(call, storage),
        Value::Call(call) => Err(format!("an object of {} where an array of integers is expected", call.function)),
        _ => Err("no array of integers".into()),
    }
}

fn is_reconstruct(call: &Call) -> bool {
    // The module was renamed in NumPy 2.
    matches!(&*call.function, "numpy.core.multiarray._reconstruct" | "numpy._core.multiarray._reconstruct")
}

/// What a NumPy array of objects holds, such as the dictionary that `numpy.save` wraps.
pub(crate) fn wrapped(value: &Value) -> Option<Value> {
    let call = value.call().filter(|call| is_reconstruct(call))?;
    let state = call.state.borrow();
    let Value::List(items) = state.as_ref()?.tuple()?.get(4)? else { return None };
    let items = items.borrow();
    if items.len() == 1 { items.first().cloned() } else { None }
}

/// State of an array: version, shape, type, whether Fortran order, data.
fn numpy(call: &Call) -> Result<Vec<i64>> {
    let state = call.state.borrow();
    let state = state.as_ref().and_then(Value::tuple).ok_or("an array without its data")?;
    let [_, shape, kind, _, data] = state else { return Err("an array of an unknown layout".into()) };
    let shape = shape.tuple().ok_or("an array without a shape")?;
    let rows = match shape {
        [rows] => rows.int(),
        // A column is as good as a vector.
        [rows, Value::Int(1)] => rows.int(),
        _ => return Err(format!("an array of {} dimensions, expected 1", shape.len())),
    };
    let (width, signed, big) = number_type(kind)?;
    let bytes = match data {
        Value::Bytes(bytes) => &bytes[..],
        Value::Text(text) => text.as_bytes(),
        _ => return Err("an array without bytes".into()),
    };
    decode(bytes, rows, width, signed, big)
}

/// Width in bytes, whether signed, whether big-endian.
fn number_type(value: &Value) -> Result<(usize, bool, bool)> {
    let call = value.call().filter(|call| &*call.function == "numpy.dtype").ok_or("an array without a type")?;
    let code = call.arguments.first().and_then(Value::text).ok_or("an array without a type")?;
    let (width, signed) = match code {
        "i1" => (1, true),
        "i2" => (2, true),
        "i4" => (4, true),
        "i8" => (8, true),
        "u1" => (1, false),
        "u2" => (2, false),
        "u4" => (4, false),
        "u8" => (8, false),
        other => return Err(format!("an array of type {other}, expected integers")),
    };
    let state = call.state.borrow();
    let order = state.as_ref().and_then(Value::tuple).and_then(|items| items.get(1)).and_then(Value::text);
    Ok((width, signed, order == Some(">")))
}

/// Arguments of a tensor: storage, offset, size, stride, …
fn torch(call: &Call, storage: &Storage) -> Result<Vec<i64>> {
    let [Value::Outside(reference), offset, size, stride, ..] = &call.arguments[..] else {
        return Err("a tensor of an unknown layout".into());
    };
    // The reference: "storage", type, key, device, length.
    let reference = reference.tuple().ok_or("a tensor without a storage")?;
    let [_, Value::Name(kind), Value::Text(key), ..] = reference else {
        return Err("a tensor without a storage".into());
    };
    let (width, signed) = match &**kind {
        "torch.LongStorage" => (8, true),
        "torch.IntStorage" => (4, true),
        "torch.ShortStorage" => (2, true),
        "torch.CharStorage" => (1, true),
        "torch.ByteStorage" => (1, false),
        other => return Err(format!("a tensor of {other}, expected integers")),
    };
    let contiguous = offset.int() == Some(0) && matches!(stride.tuple(), Some([Value::Int(1)]));
    let Some([rows]) = size.tuple().filter(|_| contiguous) else {
        return Err("a tensor that is not one contiguous vector".into());
    };
    decode(&storage(key)?, rows.int(), width, signed, false)
}

fn decode(bytes: &[u8], rows: Option<i64>, width: usize, signed: bool, big: bool) -> Result<Vec<i64>> {
    let rows = rows.and_then(|rows| usize::try_from(rows).ok()).ok_or("an array of an unreadable size")?;
    if rows.checked_mul(width) != Some(bytes.len()) {
        return Err(format!("an array of {rows} numbers of {width} bytes with {} bytes of data", bytes.len()));
    }
    let one = |chunk: &[u8]| {
        let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        let value = if big { chunk.iter().fold(0, join) } else { chunk.iter().rev().fold(0, join) };
        let unused = 64 - 8 * width as u32;
        if signed { (value << unused) as i64 >> unused } else { value as i64 }
    };
    Ok(bytes.chunks_exact(width).map(one).collect())
}

//! The part of the `.npy` format that the measurements need: little-endian arrays in C order.

use std::path::Path;

use crate::Result;

/// An array of one or two dimensions, as 32-bit numbers.
#[derive(Debug, Clone)]
pub struct Array {
    /// Its numbers, row after row.
    pub values: Vec<f32>,
    /// Numbers in a row; 1 for an array of one dimension.
    pub columns: usize,
}

/// Reads features or any other numbers.
pub fn read(path: &Path) -> Result<Array> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&bytes).map_err(|reason| format!("{}: {reason}", path.display()).into())
}

/// Reads labels.
pub fn read_labels(path: &Path) -> Result<Vec<u32>> {
    // Labels are small integers, which 32-bit floats hold exactly.
    Ok(read(path)?.values.into_iter().map(|v| v as u32).collect())
}

fn parse(bytes: &[u8]) -> std::result::Result<Array, String> {
    let short = || "ends inside its header".to_owned();
    if bytes.get(..6) != Some(b"\x93NUMPY") {
        return Err("not an .npy file".into());
    }
    let version = *bytes.get(6).ok_or_else(short)?;
    let (start, length) = if version == 1 {
        let field = bytes.get(8..10).ok_or_else(short)?;
        (10, usize::from(u16::from_le_bytes([field[0], field[1]])))
    } else {
        let field = bytes.get(8..12).ok_or_else(short)?;
        (12, u32::from_le_bytes([field[0], field[1], field[2], field[3]]) as usize)
    };
    let header = String::from_utf8_lossy(bytes.get(start..start + length).ok_or_else(short)?).into_owned();
    let data = &bytes[start + length..];
    if header.contains("'fortran_order': True") {
        return Err("columns stand one after the other; save the array in C order".into());
    }
    let between = |open: &str, close: &str| {
        let from = header.find(open)? + open.len();
        header[from..].find(close).map(|to| header[from..from + to].to_owned())
    };
    let kind = between("'descr': '", "'").ok_or("has no number type")?;
    let shape = between("'shape': (", ")").ok_or("has no shape")?;
    let shape: Vec<usize> =
        shape.split(',').map(str::trim).filter(|s| !s.is_empty()).map_while(|s| s.parse().ok()).collect();
    let values: Vec<f32> = match kind.as_str() {
        "<f2" => data.chunks_exact(2).map(|b| half(u16::from_le_bytes([b[0], b[1]]))).collect(),
        "<f4" => data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        "|u1" => data.iter().map(|&b| f32::from(b)).collect(),
        "<i8" => data
            .chunks_exact(8)
            .map(|b| i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f32)
            .collect(),
        other => return Err(format!("numbers of type {other}; expected <f2, <f4, |u1 or <i8")),
    };
    let expected: usize = shape.iter().product();
    if shape.is_empty() || shape.len() > 2 || expected != values.len() {
        return Err(format!("holds {} numbers for the shape {shape:?}", values.len()));
    }
    Ok(Array { values, columns: shape.get(1).copied().unwrap_or(1) })
}

/// A 16-bit float, exactly.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x7bff, 65504.0), (0, 0.0)] {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(1), 2f32.powi(-24));
        assert!(half(0x7c01).is_nan());
    }
}

//! Pixels as PNG.

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Rows of pixels, eight bits a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Columns of pixels.
    pub width: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Colours of a pixel: 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// The colours of every pixel, side by side, row after row.
    pub bytes: Vec<u8>,
}

/// A PNG file. The picture is left out (`None`) if its size does not fit its bytes or the format.
pub fn encode_png(pixels: &Pixels) -> Option<Vec<u8>> {
    let line = pixels.width.checked_mul(pixels.channels)?;
    let (width, height) = (u32::try_from(pixels.width).ok()?, u32::try_from(pixels.height).ok()?);
    let colour = match pixels.channels {
        1 => 0,
        3 => 2,
        _ => return None,
    };
    if line == 0 || height == 0 || pixels.bytes.len() != line.checked_mul(pixels.height)? {
        return None;
    }
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, colour, 0, 0, 0]);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.bytes.chunks_exact(line) {
        // Filter 0: figures are flat, and small pictures small anyway. Writing to memory does not fail.
        packed.write_all(&[0]).ok()?;
        packed.write_all(row).ok()?;
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, body) in [(b"IHDR", header), (b"IDAT", packed.finish().ok()?), (b"IEND", Vec::new())] {
        out.extend(u32::try_from(body.len()).ok()?.to_be_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(name);
        sum.update(&body);
        out.extend(name);
        out.extend(body);
        out.extend(sum.sum().to_be_bytes());
    }
    Some(out)
}

/// A picture as an address that holds it.
pub fn data_uri(pixels: &Pixels) -> Option<String> {
    let png = encode_png(pixels)?;
    Some(format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(png)))
}

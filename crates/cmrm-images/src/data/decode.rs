//! JPEG and PNG files as bytes of one size.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageReader, RgbImage};

use super::Images;
use crate::error::{Error, Result};

/// Files that cannot be read and are named in one message.
const NAMED: usize = 5;

/// A decoded file.
struct Decoded {
    pixels: RgbImage,
    is_grey: bool,
}

/// Decodes all files, on all cores, in their order. With `side`, each is scaled until its shorter side has so many pixels
/// and the middle square is cut out; without, all must be of one size.
pub(super) fn decode(files: &[PathBuf], side: Option<usize>) -> Result<Images> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = files.len().div_ceil(threads).max(1);
    let decoded: Vec<_> = thread::scope(|scope| {
        let work = |files: &'_ [PathBuf]| files.iter().map(|file| read(file, side)).collect::<Vec<_>>();
        let workers: Vec<_> = files.chunks(part).map(|files| scope.spawn(move || work(files))).collect();
        let broken = |_| vec![Err("a decoder panicked".to_string())];
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(broken)).collect()
    });
    let (mut good, mut bad) = (Vec::with_capacity(files.len()), Vec::new());
    for (file, outcome) in files.iter().zip(decoded) {
        match outcome {
            Ok(image) => good.push(image),
            Err(why) => bad.push(format!("{}: {why}", file.display())),
        }
    }
    if !bad.is_empty() {
        let more = bad.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        return Err(Error::settings(format!(
            "{} of {} files cannot be read; repair or remove them:\n{}{more}",
            bad.len(),
            files.len(),
            bad[..bad.len().min(NAMED)].join("\n")
        )));
    }
    pack(files, &good)
}

fn read(file: &Path, side: Option<usize>) -> std::result::Result<Decoded, String> {
    let words = |error: image::ImageError| error.to_string();
    // The content says what it is: many a JPEG is named .png.
    let reader = ImageReader::open(file).and_then(ImageReader::with_guessed_format).map_err(|e| e.to_string())?;
    let mut decoder = reader.into_decoder().map_err(words)?;
    let turned = decoder.orientation().map_err(words)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(words)?;
    image.apply_orientation(turned);
    if let Some(side) = side {
        let side = side as u32;
        if (image.width(), image.height()) != (side, side) {
            image = image.resize_to_fill(side, side, FilterType::Triangle);
        }
    }
    Ok(Decoded { is_grey: !image.color().has_color(), pixels: image.into_rgb8() })
}

/// One block of bytes; a single channel where no file has colours.
fn pack(files: &[PathBuf], decoded: &[Decoded]) -> Result<Images> {
    let Some(first) = decoded.first() else { return Ok(Images::default()) };
    let (width, height) = first.pixels.dimensions();
    if let Some(at) = decoded.iter().position(|image| image.pixels.dimensions() != (width, height)) {
        let (w, h) = decoded[at].pixels.dimensions();
        return Err(Error::in_file(
            &files[at],
            format!(
                "{w}×{h} pixels, but {} has {width}×{height}; set a common size (`size` in a plan, --size)",
                files[0].display()
            ),
        ));
    }
    let channels = if decoded.iter().all(|image| image.is_grey) { 1 } else { 3 };
    let mut pixels = Vec::with_capacity(decoded.len() * (width * height) as usize * channels);
    for image in decoded {
        pixels.extend(image.pixels.pixels().flat_map(|pixel| &pixel.0[..channels]));
    }
    Ok(Images { pixels, height: height as usize, width: width as usize, channels, ..Images::default() })
}

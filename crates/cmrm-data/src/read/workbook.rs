//! Workbooks of spreadsheet programs, which are recognised to say what to do with them.

use zip::ZipArchive;

use super::Source;
use crate::error::{Error, Problem, Result};

/// The first bytes of Microsoft's older container, which holds `.xls` and workbooks with a password.
const COMPOUND_FILE: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0];
/// An OpenDocument file says what it is in an entry that comes first and is not packed.
const OPEN_DOCUMENT: &[u8] = b"mimetypeapplication/vnd.oasis.opendocument.";

/// Refuses a workbook, which would pass for another archive or for nothing known.
pub(super) fn refuse(source: &Source) -> Result<()> {
    let head = source.head(128)?;
    let what = if head.starts_with(COMPOUND_FILE) {
        "an Excel workbook (.xls, or one with a password)"
    } else if !head.starts_with(b"PK") {
        return Ok(());
    } else if head.windows(OPEN_DOCUMENT.len()).any(|piece| piece == OPEN_DOCUMENT) {
        "an OpenDocument file (.ods)"
    } else {
        // The reader of archives says what is wrong with a damaged one.
        let Ok(archive) = ZipArchive::new(source.open_seekable()?) else { return Ok(()) };
        let has = |fits: &dyn Fn(&str) -> bool| archive.file_names().flatten().any(|name| fits(&name));
        if has(&|name| name.starts_with("xl/workbook.")) {
            "an Excel workbook (.xlsx)"
        } else if has(&|name| name == "[Content_Types].xml") {
            "an Office document"
        } else {
            return Ok(());
        }
    };
    let way_out = "save it as CSV (UTF-8) in the program that it comes from";
    Err(Error::new(Problem::Unsupported(what.into())).in_file(source.name()).way_out(way_out))
}

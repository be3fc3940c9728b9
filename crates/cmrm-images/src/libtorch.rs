//! The libtorch that the program found when it started.

#![allow(unsafe_code)]

use cmrm_libtorch::{VERSION, WAY_OUT};
use libloading::os::unix::Library;

use crate::error::{Error, Result};

/// Refuses a libtorch of another version than the program was built for: its functions may have the same names and
/// other arguments.
pub fn check() -> Result<()> {
    match version() {
        Some(found) if found == VERSION => Ok(()),
        found => Err(Error::settings(format!(
            "built for libtorch {VERSION}, but started with {}; check LD_LIBRARY_PATH\n{WAY_OUT}",
            found.as_deref().unwrap_or("a version too old to identify")
        ))),
    }
}

/// The version of the loaded library, where it states one.
pub fn version() -> Option<String> {
    let program = Library::this();
    // SAFETY: libtorch declares `uint64_t aoti_torch_abi_version()` in its C interface, which it keeps stable.
    let stated = unsafe {
        let function = program.get::<unsafe extern "C" fn() -> u64>(b"aoti_torch_abi_version").ok()?;
        function()
    };
    // Three bytes: major, minor, patch; the rest is a tag.
    Some([56, 48, 40].map(|shift| (stated >> shift & 0xff).to_string()).join("."))
}

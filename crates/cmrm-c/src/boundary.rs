//! The functions of `cmrm.h`: pointers become references here, and nowhere else. What each promises and asks for is said in the header.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};
use std::slice;

use crate::failure::{Failure, OK, Result, guarded, last};
use crate::model::{CmrmModel, CmrmRows};

/// The reference that a pointer stands for.
///
/// # Safety
/// The pointer is null or one that this library gave out and that was not freed, as the header says.
unsafe fn given<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: by the contract above. Shared references alone are made of it, until it is freed.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::input(format!("{what} is NULL")))
}

/// Text of the caller.
///
/// # Safety
/// The pointer is null or leads to bytes that end in a zero byte and do not change during the call.
unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Failure::input(format!("{what} is NULL")));
    }
    // SAFETY: not null, and by the contract above.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Failure::input(format!("{what} is not UTF-8: {error}")))
}

/// Copies values into an array of the caller; into none where it is null.
///
/// # Safety
/// The pointer is null or leads to room for as many values, which nobody else uses during the call.
unsafe fn fill<T: Copy>(values: &[T], out: *mut T) {
    if !out.is_null() {
        // SAFETY: by the contract above; what was just computed does not overlap an array of the caller.
        unsafe { out.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

fn boxed<T>(made: Result<T>) -> Result<*mut T> {
    Ok(Box::into_raw(Box::new(made?)))
}

fn code(done: std::result::Result<(), c_int>) -> c_int {
    done.err().unwrap_or(OK)
}

/// See `cmrm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn cmrm_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// See `cmrm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn cmrm_last_error() -> *const c_char {
    let mut pointer = null();
    // The thread keeps the words, so the pointer stays good until it fails again.
    last(|words| pointer = words.as_ptr());
    pointer
}

/// See `cmrm.h`.
///
/// # Safety
/// `run` is null or text that ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_open(run: *const c_char) -> *mut CmrmModel {
    guarded(|| {
        // SAFETY: as this function's caller promises.
        let run = unsafe { text(run, "the name of the run's folder") }?;
        boxed(CmrmModel::open(run))
    })
    .unwrap_or(null_mut())
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` is null or came from [`cmrm_open`], was not freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_model_free(model: *mut CmrmModel) {
    if !model.is_null() {
        // SAFETY: a box was made of it in `boxed`, and the caller gives it back once.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` is null or came from [`cmrm_open`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_feature_count(model: *const CmrmModel) -> usize {
    // SAFETY: as this function's caller promises.
    unsafe { model.as_ref() }.map_or(0, CmrmModel::features)
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` is null or came from [`cmrm_open`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_class_count(model: *const CmrmModel) -> usize {
    // SAFETY: as this function's caller promises.
    unsafe { model.as_ref() }.map_or(0, CmrmModel::classes)
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` is null or came from [`cmrm_open`] and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_class_name(model: *const CmrmModel, class_index: usize) -> *const c_char {
    guarded(|| {
        // SAFETY: as this function's caller promises.
        let model = unsafe { given(model, "the model") }?;
        let missing = || Failure::input(format!("class {class_index}: there are {} classes", model.classes()));
        Ok(model.name(class_index).ok_or_else(missing)?.as_ptr())
    })
    .unwrap_or(null())
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` came from [`cmrm_open`] and was not freed; `values` leads to `row_count` times `width` numbers. Either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_rows_from_floats(
    model: *const CmrmModel,
    values: *const f32,
    row_count: usize,
    width: usize,
) -> *mut CmrmRows {
    guarded(|| {
        // SAFETY: as this function's caller promises.
        let model = unsafe { given(model, "the model") }?;
        let fits = |count: &usize| *count <= isize::MAX as usize / size_of::<f32>();
        let count = row_count.checked_mul(width).filter(fits);
        let count = count
            .ok_or_else(|| Failure::input(format!("{row_count} rows of {width} numbers have no room in memory")))?;
        if values.is_null() && count > 0 {
            return Err(Failure::input("the array of numbers is NULL"));
        }
        // SAFETY: not null, of a size that an array can have, and as this function's caller promises.
        let values = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(values, count) } };
        boxed(model.rows_of_floats(values.to_vec(), width))
    })
    .unwrap_or(null_mut())
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` came from [`cmrm_open`] and was not freed; `json` is text that ends in a zero byte. Either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_rows_from_json(model: *const CmrmModel, json: *const c_char) -> *mut CmrmRows {
    guarded(|| {
        // SAFETY: as this function's caller promises.
        let (model, json) = unsafe { (given(model, "the model")?, text(json, "the text of the rows")?) };
        boxed(model.rows_of_json(json))
    })
    .unwrap_or(null_mut())
}

/// See `cmrm.h`.
///
/// # Safety
/// `rows` is null or came from this library and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_row_count(rows: *const CmrmRows) -> usize {
    // SAFETY: as this function's caller promises.
    unsafe { rows.as_ref() }.map_or(0, CmrmRows::count)
}

/// See `cmrm.h`.
///
/// # Safety
/// `rows` is null or came from this library, was not freed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_rows_free(rows: *mut CmrmRows) {
    if !rows.is_null() {
        // SAFETY: a box was made of it in `boxed`, and the caller gives it back once.
        drop(unsafe { Box::from_raw(rows) });
    }
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` and `rows` came from this library and were not freed; the arrays have room for what the header says. All may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_predict(
    model: *const CmrmModel,
    rows: *const CmrmRows,
    probabilities: *mut f32,
    labels: *mut u32,
) -> c_int {
    code(guarded(|| {
        // SAFETY: as this function's caller promises.
        let (model, rows) = unsafe { (given(model, "the model")?, given(rows, "the rows")?) };
        let said = model.predict(rows)?;
        // SAFETY: as this function's caller promises: a number for each row and class, a label for each row.
        unsafe { fill(said.probabilities(), probabilities) };
        // SAFETY: the same.
        unsafe { fill(said.labels(), labels) };
        Ok(())
    }))
}

/// See `cmrm.h`.
///
/// # Safety
/// `model` and `rows` came from this library and were not freed; `mask` has a byte for each row and class. All may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cmrm_predict_sets(
    model: *const CmrmModel,
    rows: *const CmrmRows,
    coverage: f64,
    mask: *mut u8,
) -> c_int {
    code(guarded(|| {
        // SAFETY: as this function's caller promises.
        let (model, rows) = unsafe { (given(model, "the model")?, given(rows, "the rows")?) };
        let sets = model.predict_sets(rows, coverage)?;
        // SAFETY: as this function's caller promises.
        unsafe { fill(&sets, mask) };
        Ok(())
    }))
}

/// Threads share models and rows, as the header allows: this does not compile if they may not.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<CmrmModel>();
    shared::<CmrmRows>();
};

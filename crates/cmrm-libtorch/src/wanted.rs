// Included by lib.rs and by build.rs.

/// The version of libtorch that the bindings are made for.
pub const VERSION: &str = "2.11.0";

/// How to get it.
pub const WAY_OUT: &str = "\
Two ways to get it:
  pip install torch==2.11.0
  export LIBTORCH=$(python3 -c 'import torch; print(torch.__path__[0])')
or, without Python, unpack libtorch 2.11.0 (the archive \"shared with deps\", cxx11 ABI, from pytorch.org) and
  export LIBTORCH=/where/it/is/libtorch
More in docs/images.md.";

/// The version that a libtorch's `version.h` states.
pub fn version_in(header: &str) -> Option<String> {
    let number = |name: &str| {
        let (_, rest) = header.split_once(&format!("#define {name}"))?;
        rest.split_whitespace().next().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts = ["TORCH_VERSION_MAJOR", "TORCH_VERSION_MINOR", "TORCH_VERSION_PATCH"].map(number);
    Some(parts.into_iter().collect::<Option<Vec<_>>>()?.join("."))
}

//! Which libtorch is wanted, and where to get it.
//!
//! The check itself is this crate's build script. It is a crate of its own because a build script runs only after those
//! of its dependencies: the bindings would fail first, in a C++ compiler's words.

include!("wanted.rs");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_header() {
        let header =
            "// c\n#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n";
        assert_eq!(version_in(header).as_deref(), Some(VERSION));
        assert_eq!(version_in("#define TORCH_VERSION_MAJOR 2\n"), None);
        assert_eq!(version_in("#define TORCH_VERSION_MAJOR @MAJOR@"), None);
    }
}

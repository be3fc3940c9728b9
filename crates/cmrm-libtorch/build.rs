//! Refuses a build without the right libtorch, and says how to get it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

include!("src/wanted.rs");

/// Where libtorch has stated its version, newest first.
const HEADERS: [&str; 2] = ["include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h"];

fn main() -> ExitCode {
    match check() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\n{why}\n{WAY_OUT}\n");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/wanted.rs");
    let variable = |name: &str| {
        println!("cargo:rerun-if-env-changed={name}");
        env::var_os(name).map(PathBuf::from)
    };
    // The bindings ask that Python for its torch and check the version themselves.
    if variable("LIBTORCH_USE_PYTORCH").is_some() || variable("LIBTORCH_BYPASS_VERSION_CHECK").is_some() {
        return Ok(());
    }
    let system = || Path::new("/usr/lib/libtorch.so").exists().then(|| PathBuf::from("/usr"));
    let Some(libtorch) = variable("LIBTORCH").or_else(system) else {
        return Err(format!("Images need libtorch {VERSION}, and the environment variable LIBTORCH is not set."));
    };
    let headers = variable("LIBTORCH_INCLUDE").unwrap_or_else(|| libtorch.clone());
    let Some(header) = HEADERS.iter().map(|name| headers.join(name)).find(|path| path.is_file()) else {
        return Err(format!("LIBTORCH is {}, and there is no libtorch with its headers.", libtorch.display()));
    };
    println!("cargo:rerun-if-changed={}", header.display());
    let text = fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    match version_in(&text) {
        Some(found) if found == VERSION => Ok(()),
        found => Err(format!(
            "Images need libtorch {VERSION}, and the one in {} is {}.",
            libtorch.display(),
            found.as_deref().unwrap_or("of an unknown version")
        )),
    }
}

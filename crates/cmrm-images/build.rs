//! Finds libtorch through torch-sys, and compiles the CUDA half where libtorch has one.
//!
//! The CUDA half is a small shared library whose symbols stay open: it is loaded at run time, after libtorch's own CUDA
//! library. So one binary runs on machines with and without a card, and a libtorch for the CPU alone builds too.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(cmrm_cuda)");
    println!("cargo:rerun-if-changed=cuda/shim.cpp");
    let Some(lib) = env::var_os("DEP_TCH_LIBTORCH_LIB").map(PathBuf::from) else { return };
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    let Some(torch) = lib.parent() else { return };
    if lib.join("libtorch_cuda.so").is_file()
        && let Some(runtime) = cuda_headers(torch)
    {
        match compile(torch, &runtime) {
            Ok(()) => println!("cargo:rustc-cfg=cmrm_cuda"),
            Err(why) => println!("cargo:warning=built for the CPU alone: {why}"),
        }
    }
}

/// The folder with `cuda_runtime_api.h`: beside torch in a Python environment, or where CUDA_HOME says.
fn cuda_headers(torch: &Path) -> Option<PathBuf> {
    println!("cargo:rerun-if-env-changed=CUDA_HOME");
    let packages = torch.parent()?.join("nvidia");
    let mut candidates = vec![packages.join("cu13/include"), packages.join("cuda_runtime/include")];
    candidates.extend(env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("include")));
    candidates.push("/usr/local/cuda/include".into());
    // The runtime's header needs one of the compiler's, which is a package of its own.
    let whole =
        |folder: &PathBuf| ["cuda_runtime_api.h", "crt/host_defines.h"].iter().all(|name| folder.join(name).is_file());
    candidates.into_iter().find(whole)
}

fn compile(torch: &Path, runtime: &Path) -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo named no folder for the output")?);
    let status = cc::Build::new()
        .cpp(true)
        .get_compiler()
        .to_command()
        .args(["-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w", "-s", "-static-libgcc"])
        .arg("-I")
        .arg(torch.join("include"))
        .arg("-I")
        .arg(torch.join("include/torch/csrc/api/include"))
        .arg("-I")
        .arg(runtime)
        .arg("cuda/shim.cpp")
        .arg("-o")
        .arg(out.join("libcmrm_cuda.so"))
        .status()
        .map_err(|error| format!("the C++ compiler did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the C++ compiler ended with {status}")) }
}

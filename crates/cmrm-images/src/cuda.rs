//! Streams and graphs of a CUDA card: the one module that calls foreign code.
//!
//! A training step of a small network is some three hundred short kernels; launching them one by one keeps the card
//! waiting. Captured once into a graph, a step is one launch.

#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// What the loaded library offers.
#[derive(Debug)]
pub struct Cuda {
    api: Api,
}

#[cfg(not(cmrm_cuda))]
#[derive(Debug)]
enum Api {}

#[cfg(cmrm_cuda)]
use loaded::Api;

impl Cuda {
    /// Loads libtorch's CUDA half and the one made by build.rs, once. `Err` says why there is none.
    pub fn load() -> Result<&'static Cuda> {
        static LOADED: std::sync::OnceLock<std::result::Result<Cuda, String>> = std::sync::OnceLock::new();
        LOADED.get_or_init(|| Api::load().map(|api| Cuda { api })).as_ref().map_err(|why| Error::Cuda(why.clone()))
    }

    /// Gives the calling thread a stream of its own; an urgent one goes before the others.
    pub fn enter_stream(&self, urgent: bool) -> Result<()> {
        self.api.enter_stream(urgent)
    }

    /// Waits for the calling thread's stream.
    pub fn synchronise(&self) -> Result<()> {
        self.api.synchronise()
    }

    /// Whether convolutions in single precision may round their factors to TF32.
    pub fn allow_tf32(&self, allow: bool) -> Result<()> {
        self.api.allow_tf32(allow)
    }

    /// Captures what `work` launches on the calling thread's stream. Nothing runs before [`Graph::replay`].
    pub fn capture(&'static self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let graph = Graph { handle: self.api.graph_new()?, api: &self.api };
        self.api.graph_begin(graph.handle)?;
        // tch panics at an operation that a capture forbids. The capture must end all the same, so that the caller can
        // go on without a graph.
        let worked = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::Cuda(words(&*panic))));
        let ended = self.api.graph_end(graph.handle);
        worked.and(ended).map(|()| graph)
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a step that cannot be captured").to_owned()
}

/// A captured piece of work.
#[derive(Debug)]
pub struct Graph {
    handle: *mut std::ffi::c_void,
    api: &'static Api,
}

impl Graph {
    /// Launches it on the calling thread's stream.
    pub fn replay(&self) -> Result<()> {
        self.api.graph_replay(self.handle)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A graph that cannot be freed is leaked; there is no one left to tell.
        let _ = self.api.graph_delete(self.handle);
    }
}

#[cfg(not(cmrm_cuda))]
impl Api {
    fn load() -> std::result::Result<Api, String> {
        Err("this program was built with a CPU-only libtorch".into())
    }
    fn enter_stream(&self, _urgent: bool) -> Result<()> {
        match *self {}
    }
    fn synchronise(&self) -> Result<()> {
        match *self {}
    }
    fn allow_tf32(&self, _allow: bool) -> Result<()> {
        match *self {}
    }
    fn graph_new(&self) -> Result<*mut std::ffi::c_void> {
        match *self {}
    }
    fn graph_begin(&self, _graph: *mut std::ffi::c_void) -> Result<()> {
        match *self {}
    }
    fn graph_end(&self, _graph: *mut std::ffi::c_void) -> Result<()> {
        match *self {}
    }
    fn graph_replay(&self, _graph: *mut std::ffi::c_void) -> Result<()> {
        match *self {}
    }
    fn graph_delete(&self, _graph: *mut std::ffi::c_void) -> Result<()> {
        match *self {}
    }
}

#[cfg(cmrm_cuda)]
mod loaded {
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::io::Write;

    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

    use crate::error::{Error, Result};

    /// The library that build.rs compiled.
    const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libcmrm_cuda.so"));

    type Call<A> = unsafe extern "C" fn(A) -> *mut c_char;

    #[derive(Debug)]
    pub struct Api {
        free_text: unsafe extern "C" fn(*mut c_char),
        enter_stream: Call<c_int>,
        synchronise: unsafe extern "C" fn() -> *mut c_char,
        allow_tf32: Call<c_int>,
        graph_new: Call<*mut *mut c_void>,
        graph_begin: Call<*mut c_void>,
        graph_end: Call<*mut c_void>,
        graph_replay: Call<*mut c_void>,
        graph_delete: Call<*mut c_void>,
    }

    impl Api {
        pub fn load() -> std::result::Result<Api, String> {
            // SAFETY: libtorch's own initialisers run here, as they do when it is linked. They must run before the
            // first question about CUDA, whose answer libtorch remembers.
            let torch = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) }
                .map_err(|error| format!("cannot load libtorch_cuda.so: {error}"))?;
            if !tch::Cuda::is_available() {
                return Err("libtorch finds no CUDA GPU".into());
            }
            let shim = open_shim().map_err(|error| format!("cannot load the CUDA part of cmrm: {error}"))?;
            // Libraries stay loaded to the end: functions of theirs are kept.
            std::mem::forget(torch);
            // SAFETY: names and signatures are those of cuda/shim.cpp, compiled into SHIM.
            let api = unsafe {
                Api {
                    free_text: function(&shim, "cmrm_cuda_free_text")?,
                    enter_stream: function(&shim, "cmrm_cuda_enter_stream")?,
                    synchronise: function(&shim, "cmrm_cuda_synchronise")?,
                    allow_tf32: function(&shim, "cmrm_cuda_allow_tf32")?,
                    graph_new: function(&shim, "cmrm_cuda_graph_new")?,
                    graph_begin: function(&shim, "cmrm_cuda_graph_begin")?,
                    graph_end: function(&shim, "cmrm_cuda_graph_end")?,
                    graph_replay: function(&shim, "cmrm_cuda_graph_replay")?,
                    graph_delete: function(&shim, "cmrm_cuda_graph_delete")?,
                }
            };
            std::mem::forget(shim);
            Ok(api)
        }

        fn check(&self, text: *mut c_char) -> Result<()> {
            if text.is_null() {
                return Ok(());
            }
            // SAFETY: the library returns a C string that it allocated; it is copied before it is freed.
            let message = unsafe {
                let message = CStr::from_ptr(text).to_string_lossy().into_owned();
                (self.free_text)(text);
                message
            };
            Err(Error::Cuda(message))
        }

        pub fn enter_stream(&self, urgent: bool) -> Result<()> {
            // SAFETY: as declared in cuda/shim.cpp; so are the calls below. Handles come from graph_new alone.
            self.check(unsafe { (self.enter_stream)(c_int::from(urgent)) })
        }

        pub fn synchronise(&self) -> Result<()> {
            self.check(unsafe { (self.synchronise)() })
        }

        pub fn allow_tf32(&self, allow: bool) -> Result<()> {
            self.check(unsafe { (self.allow_tf32)(c_int::from(allow)) })
        }

        pub fn graph_new(&self) -> Result<*mut c_void> {
            let mut graph = std::ptr::null_mut();
            self.check(unsafe { (self.graph_new)(&mut graph) })?;
            Ok(graph)
        }

        pub fn graph_begin(&self, graph: *mut c_void) -> Result<()> {
            self.check(unsafe { (self.graph_begin)(graph) })
        }

        pub fn graph_end(&self, graph: *mut c_void) -> Result<()> {
            self.check(unsafe { (self.graph_end)(graph) })
        }

        pub fn graph_replay(&self, graph: *mut c_void) -> Result<()> {
            self.check(unsafe { (self.graph_replay)(graph) })
        }

        pub fn graph_delete(&self, graph: *mut c_void) -> Result<()> {
            self.check(unsafe { (self.graph_delete)(graph) })
        }
    }

    /// A function of the library. Its type must be the one that cuda/shim.cpp declares.
    unsafe fn function<T: Copy>(shim: &Library, name: &str) -> std::result::Result<T, String> {
        // SAFETY: the caller names the right type.
        unsafe { shim.get::<T>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| error.to_string())
    }

    /// Writes the library where the loader can find it, loads it, and removes the file again.
    fn open_shim() -> std::result::Result<Library, Box<dyn std::error::Error>> {
        let path = std::env::temp_dir().join(format!("libcmrm_cuda-{}.so", std::process::id()));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(SHIM)?;
        drop(file);
        // SAFETY: the library has no initialisers of its own.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW) };
        std::fs::remove_file(&path)?;
        Ok(library?)
    }
}

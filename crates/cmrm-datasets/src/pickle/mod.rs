//! Integer arrays from Python pickles, without running anything.
//!
//! CIFAR-N is published only as a pickled dictionary of arrays, inside a PyTorch or NumPy file. A pickle is a program;
//! this reader follows its stack operations and builds plain values. Where the program would call a function, the name
//! and the arguments are kept as data, and only the handful of constructors that NumPy and PyTorch write for an array
//! of integers are understood afterwards. Anything else is refused.

mod array;
mod container;
mod machine;
mod opcode;
mod value;

pub(crate) use container::named_arrays;
use machine::Machine;
pub(crate) use value::Value;

/// Shorthand: the error is one sentence, and the caller adds the file.
pub(crate) type Result<T> = std::result::Result<T, String>;

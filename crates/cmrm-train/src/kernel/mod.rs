//! Kernel machines: ridge regression on the kernel's features, whose leave-one-out predictions need no second training.

mod fit;
mod machine;

pub use fit::{KernelConfig, KernelFitted, KernelGrid};
pub(crate) use machine::KernelHeader;
pub use machine::KernelMachine;

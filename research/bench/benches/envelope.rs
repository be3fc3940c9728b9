//! What the envelope costs: `cargo bench -p cmrm-bench`.

use cmrm_bench::{LinearStep, Stream, on_one_thread};
use divan::Bencher;

fn main() {
    on_one_thread(divan::main);
}

/// A step of a linear layer 1024→100, batch 128.
#[divan::bench_group]
mod linear_step {
    use super::*;

    #[divan::bench]
    fn base(bencher: Bencher<'_, '_>) {
        let mut step = LinearStep::new();
        bencher.bench_local(|| step.base());
    }

    #[divan::bench]
    fn enveloped(bencher: Bencher<'_, '_>) {
        let mut step = LinearStep::new();
        bencher.bench_local(|| step.enveloped());
    }
}

/// The fused kernel on 8192 × 100 logits against a copy of them.
#[divan::bench_group]
mod stream {
    use super::*;

    #[divan::bench(args = [Stream::FROM_CACHE, Stream::FROM_MEMORY])]
    fn copy(bencher: Bencher<'_, '_>, pairs: usize) {
        let mut stream = Stream::new(pairs);
        bencher.bench_local(|| stream.copy());
    }

    #[divan::bench(args = [Stream::FROM_CACHE, Stream::FROM_MEMORY])]
    fn kernel(bencher: Bencher<'_, '_>, pairs: usize) {
        let mut stream = Stream::new(pairs);
        bencher.bench_local(|| stream.kernel());
    }
}

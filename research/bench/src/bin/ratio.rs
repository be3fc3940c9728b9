//! The two ratios that the method promises, measured so that a busy machine disturbs both sides alike:
//! `cargo run --release -p cmrm-bench --bin ratio [REPEATS]`.
//!
//! Both sides alternate call by call. Each is judged by the fastest tenth of its calls, those that nothing interrupted
//! (a longer call is interrupted more often, so medians on a busy machine would favour the shorter one).

use std::hint::black_box;
use std::time::{Duration, Instant};

use cmrm_bench::{LinearStep, Stream, on_one_thread};

fn main() {
    let repeats = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2000usize).max(1);
    on_one_thread(|| run(repeats));
}

fn run(repeats: usize) {
    let (mut plain, mut wrapped) = (LinearStep::new(), LinearStep::new());
    let step = compare(repeats, || plain.base(), || wrapped.enveloped());
    println!("linear step 1024→100, batch 128");
    step.print("base", "with the envelope", Some(1.05));

    // From the cache a copy is nearly free and the kernel's arithmetic is not: there to be seen, not a goal.
    for (pairs, name, limit) in
        [(Stream::FROM_MEMORY, "memory", Some(2.0)), (Stream::FROM_CACHE, "the last-level cache", None)]
    {
        // Each side has half of the buffers, so that together they rotate over as much as one would alone.
        let (mut copies, mut kernels) = (Stream::new(pairs.div_ceil(2)), Stream::new(pairs.div_ceil(2)));
        let stream = compare(repeats.div_ceil(4), || f64::from(copies.copy()), || kernels.kernel());
        println!("8192 × 100 logits from {name}");
        stream.print("copy", "fused kernel", limit);
    }
}

/// Lower decile and median of both sides.
struct Comparison {
    first: [Duration; 2],
    second: [Duration; 2],
}

fn compare(repeats: usize, mut first: impl FnMut() -> f64, mut second: impl FnMut() -> f64) -> Comparison {
    for _ in 0..repeats.div_ceil(10) {
        black_box((first(), second()));
    }
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for i in 0..repeats {
        // Who goes first alternates, so that neither side always inherits the other's cache.
        let (a, b) = if i % 2 == 0 {
            let a = time(&mut first);
            (a, time(&mut second))
        } else {
            let b = time(&mut second);
            (time(&mut first), b)
        };
        firsts.push(a);
        seconds.push(b);
    }
    Comparison { first: quantiles(firsts), second: quantiles(seconds) }
}

fn quantiles(mut times: Vec<Duration>) -> [Duration; 2] {
    times.sort();
    [times[times.len() / 10], times[times.len() / 2]]
}

fn time(work: &mut impl FnMut() -> f64) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

impl Comparison {
    fn print(&self, first: &str, second: &str, limit: Option<f64>) {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        for (name, [decile, median]) in [(first, self.first), (second, self.second)] {
            println!("  {name:<18} {:>9.1} µs (median {:.1})", micros(decile), micros(median));
        }
        let ratio = micros(self.second[0]) / micros(self.first[0]);
        let verdict = match limit {
            Some(limit) if ratio <= limit => format!(" (limit {limit}) ok"),
            Some(limit) => format!(" (limit {limit}) MISSED"),
            None => String::new(),
        };
        println!("  ratio {ratio:.3}{verdict}\n");
    }
}

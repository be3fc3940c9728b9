#!/usr/bin/env bash
# run.sh DIR_OUT SECONDS [BIN_DIR]: every fuzz target at once, one process each. Needs this folder and the binaries that
# `cargo +nightly fuzz build` made, in BIN_DIR or bin/ beside this file.
# TARGETS="a b" runs only those. grown.tar.xz, what earlier runs found worth keeping, is the start beside the seeds.
# DIR_OUT gets TARGET.log, summary.txt, artifacts/TARGET/ (inputs that failed) and corpus.tar.xz (grown and minimised).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
seconds=$2
bin=${3:-$here/bin}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Leaks are not looked for: a pickle may refer to itself, and its values then outlive it. What grows without bound still
# meets the limit on memory.
export ASAN_OPTIONS=detect_odr_violation=0:detect_leaks=0:symbolize=0
limits=(-rss_limit_mb=2048 -malloc_limit_mb=256 -timeout=20)
read -ra targets <<<"${TARGETS:-$(cd "$here/corpus" && echo *)}"
if [ -f "$here/grown.tar.xz" ]; then tar -C "$work" -xJf "$here/grown.tar.xz"; fi

fuzz() {
  local target=$1
  mkdir -p "$out/artifacts/$target" "$work/$target" "$work/small/$target"
  cp "$here/corpus/$target"/* "$work/$target/"
  "$bin/$target" "$work/$target" "${limits[@]}" -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$out/artifacts/$target/" > "$out/$target.log" 2>&1
  echo $? > "$work/$target.rc"
  # Only what adds coverage; a minute is enough, and what is left out can be found again.
  timeout 60 "$bin/$target" -merge=1 "${limits[@]}" "$work/small/$target" "$here/corpus/$target" "$work/$target" \
    > "$out/$target.merge.log" 2>&1
}

for target in "${targets[@]}"; do fuzz "$target" & done
wait

{
  echo "target executions cov features corpus peak_mb exit artifacts"
  for target in "${targets[@]}"; do
    log=$out/$target.log
    last=$(grep -E '^#[0-9]+.* cov:' "$log" | tail -1)
    cov=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' <<<"$last")
    ft=$(sed -n 's/.* ft: \([0-9]*\).*/\1/p' <<<"$last")
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    kept=$(find "$work/small/$target" -type f | wc -l)
    bad=$(find "$out/artifacts/$target" -type f | wc -l)
    echo "$target ${runs:-?} ${cov:-?} ${ft:-?} $kept ${peak:-?} $(cat "$work/$target.rc") $bad"
  done
} | tee "$out/summary.txt"
tar -C "$work/small" -cJf "$out/corpus.tar.xz" .

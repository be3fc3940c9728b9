#!/usr/bin/env bash
# Training steps on one thread of the CPU, ours and PyTorch's in alternation: images for a second of processor time, which
# other programs on the machine disturb less than the time on the clock. Start and warm-up are subtracted.
set -euo pipefail
cd "$(dirname "$0")/../.."
images=${1:-target/release/cmrm-images} python=${2:-python3}
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
TIMEFORMAT='%U %S'
seconds() { { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'; }
ours() { seconds "$images" --device cpu speed --precision f32 --steps "$1"; }
pytorch() { seconds "$python" research/images/speed.py --cpu --channels-last --steps "$1"; }
for _ in 1 2 3; do
    for who in ours pytorch; do
        few=$($who 2) many=$($who 12)
        awk -v who="$who" -v few="$few" -v many="$many" 'BEGIN { printf "%s: %.0f images/s\n", who, 1280 / (many - few) }'
    done
done

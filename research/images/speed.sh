#!/usr/bin/env bash
# Ours and PyTorch's training speed on a card, in one call: JSON lines for `cmrm-images tables --speed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
images=${1:-target/release/cmrm-images}
export CUDA_DEVICE_MAX_CONNECTIONS=32
"$images" --device cuda speed --runs 1,4,8,16,24 --precision tf32,mixed,f32 --steps 100
"$images" --device cuda speed --runs 1 --steps 60 --eager
"$images" --device cuda speed --runs 8 --steps 100 --envelope
"$images" --device cuda --choose-kernels speed --runs 1,4 --steps 100
python3 research/images/speed.py --steps 150

#!/bin/bash
# What to run on the first machine with a GPU, in order; see docs/gpu.md. Ends with a table of what passed.
# usage: benchmarks/gpu_first_day.sh [BUILD_FOLDER [SCENARIOS.jsonl]]
set -u
build=${1:-build/release}
scenarios=${2:-scenarios/corpus}
bin=$build/bin
results=()

step() {  # step NAME COMMAND…
  local name=$1 code
  shift
  echo "== $name: $*"
  "$@"
  code=$?
  if [ "$code" -eq 0 ]; then results+=("passed   $name"); elif [ "$code" -eq 77 ]; then results+=("skipped  $name"); else results+=("FAILED   $name ($code)"); fi
}

"$bin/shardlab" doctor
if ! nvidia-smi; then
  echo "skipped: no GPU"
  exit 77
fi
export SHARDLAB_KERNEL_CACHE=${SHARDLAB_KERNEL_CACHE:-$(mktemp -d)}
step "tests without a GPU" ctest --test-dir "$build" -L cuda --output-on-failure
for devices in 1 2 8; do
  step "toy on $devices devices of one GPU" "$bin/shardlab" run --backend cuda --devices-per-gpu "$devices" -d "$devices" -- "$bin/toy"
done
for program in "$bin"/guide_* "$bin"/distributed_*; do
  [ -x "$program" ] && step "$(basename "$program")" "$bin/shardlab" run --backend cuda --devices-per-gpu 8 -d 8 --limit 300 -- "$program"
done
step "two processes that share the card" "$bin/shardlab" run --backend cuda -n 2 -d 4 --devices-per-gpu 4 -- "$bin/toy"
on_gpu=$(mktemp -d)
python3 - "$scenarios" "$on_gpu" <<'PY'
import json, pathlib, sys
source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
files = sorted(source.glob("*.json")) if source.is_dir() else [source]
count = 0
for file in files:
    for line in (file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]):
        if not line.strip():
            continue
        document = json.loads(line)
        document.setdefault("cluster", {})["backend"] = "cuda"
        (out / f"{file.stem}-{count}.json").write_text(json.dumps(document))
        count += 1
PY
step "scenarios on the GPU" env SHARDLAB_DEVICES_PER_GPU=64 "$bin/shardlab" replay "$on_gpu" --report "$on_gpu.report.json" --no-failure-traces
for tool in memcheck racecheck; do
  step "compute-sanitizer $tool" env SHARDLAB_PLATFORM=cuda SHARDLAB_NUM_CPU_DEVICES=8 SHARDLAB_DEVICES_PER_GPU=8 \
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/toy"
done
printf '\n'
printf '%s\n' "${results[@]}"
! printf '%s\n' "${results[@]}" | grep -q '^FAILED'

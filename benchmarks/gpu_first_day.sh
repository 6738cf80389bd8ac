#!/bin/bash
# What to run on a machine with a GPU; see docs/gpu.md. Every step has a limit, a failure stops none of the others, and the results
# are in OUT, after each part: results.txt, which says of each step passed, FAILED, LATE or skipped, and logs.tar.gz with a log a part.
# Where a command may take ten minutes at most, these three do all, one after another on one machine (kernels that one compiled serve the
# others):  … --out OUT1 tests speed    … --out OUT2 programs processes scenarios    … --out OUT3 oracle sanitizer
# Where each of them may bring little with it, gpu_bundle.sh packs a bundle of those parts alone.
# usage: benchmarks/gpu_first_day.sh [--build FOLDER] [--bundle FILE] [--oracle FILE.jsonl[.xz]] [--out FOLDER] [--dry] [--beside] [PART…]
#   parts: tests programs processes scenarios oracle speed sanitizer (default: all; together at most 25 minutes)
#   --bundle: what gpu_bundle.sh packed, instead of a build; --dry: without a GPU, on CPU devices, to try the script
#   --beside: speed first, then the others at the same time: minutes, where there are cores enough
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build/release
bundle= oracle= dry= beside= out=${OUT:-gpu_first_day}
parts=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    --bundle) bundle=$2; shift 2 ;;
    --oracle) oracle=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --dry) dry=1; shift ;;
    --beside) beside=1; shift ;;
    tests | programs | processes | scenarios | oracle | speed | sanitizer) parts+=("$1"); shift ;;
    *) sed -n 2,11p "$0"; exit 2 ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(tests programs processes scenarios oracle speed sanitizer)
mkdir -p "$out" && out=$(cd "$out" && pwd)
given_path=${LD_LIBRARY_PATH:-}  # for programs that are not ours: the bundle's libraries may be older than those they need
export PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d)
logs=$work/logs
mkdir "$logs"
trap 'rm -rf "$work"' EXIT
if [ -n "$bundle" ]; then
  mkdir "$work/bundle" && tar -C "$work/bundle" -xf "$bundle" || exit 1
  build=$work/bundle
  export LD_LIBRARY_PATH=$work/bundle/lib:${LD_LIBRARY_PATH:-}
fi
bin=$build/bin
backend=cuda
[ -n "$dry" ] && backend=cpu

# CUDA's libraries, where the loader does not know them: the toolkit's folder, or Python's packages.
for folder in /usr/local/cuda/lib64 $(python3 -c '
import glob, site, sys
for root in site.getsitepackages() + [p for p in sys.path if p.endswith("-packages")]:
    print("\n".join(glob.glob(root + "/nvidia/*/lib")))' 2>/dev/null | sort -u); do
  [ -d "$folder" ] && LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
# Kept from one call to the next.
export SHARDLAB_KERNEL_CACHE=${SHARDLAB_KERNEL_CACHE:-${TMPDIR:-/tmp}/shardlab_kernels_$(id -u)}
result() { printf '%-8s %-52s %s\n' "$1" "$2" "$3" | tee -a "$out/results.txt"; }

# Seconds; together 25 minutes.
declare -A limits=([tests]=280 [programs]=240 [processes]=120 [scenarios]=200 [oracle]=240 [speed]=200 [sanitizer]=220)
part=start
step() {  # step SECONDS NAME COMMAND…: the output goes to the part's log
  local limit=$1 name=$2 begin=$SECONDS left=$((ends - SECONDS)) code verdict
  shift 2
  if [ "$left" -le 0 ]; then result LATE "$name" "not begun: the part's time is over"; return; fi
  [ "$limit" -lt "$left" ] || limit=$left
  printf '\n== %s: %s\n' "$name" "$*" >>"$logs/$part.log"
  timeout -k 5 "$limit" "$@" >"$work/said" 2>&1
  code=$?
  head -c 4000000 "$work/said" >>"$logs/$part.log"
  case $code in
    0) verdict=passed; grep -q 'skipped: no GPU' "$work/said" && verdict=skipped ;;
    77) verdict=skipped ;;
    124 | 137) verdict=LATE ;;
    *) verdict=FAILED ;;
  esac
  result "$verdict" "$name" "$((SECONDS - begin)) s, status $code"
}

{ date -u; "$bin/shardlab" doctor; nvidia-smi; } >>"$logs/start.log" 2>&1
if ! nvidia-smi >/dev/null 2>&1 && [ -z "$dry" ]; then
  for part in "${parts[@]}"; do result skipped "$part: skipped: no GPU" "nvidia-smi finds none"; done
  exit 77
fi
run=("$bin/shardlab" run --backend "$backend")

# The programs first: compiling the kernels of every sample takes longest.
tests() {
  step 120 "programs on eight virtual devices" "$build/tests/cuda_device_test" --gtest_filter='ProgramsOnAGpu.*'
  step 280 "every sample of every primitive" "$build/tests/cuda_device_test" --gtest_filter='OnAGpu.*'
}

programs() {
  local program size
  step 40 "toy on 8 devices of one GPU" "${run[@]}" --devices-per-gpu 8 -d 8 -- "$bin/toy"
  for program in "$bin"/guide_* "$bin"/distributed_*; do
    size=()
    [ -n "$dry" ] && [ "${program##*/}" = distributed_arrays ] && size=(512)  # of matrices; 8192 is a GPU's
    [ -x "$program" ] &&
      step 110 "${program##*/} on 8 devices" "${run[@]}" --devices-per-gpu 8 -d 8 --limit 100 -- "$program" "${size[@]}"
  done
}

# They share the card, so what they exchange goes by way of the host.
processes() {
  step 60 "toy, 2 processes of 4 devices on one GPU" "${run[@]}" -n 2 -d 4 --devices-per-gpu 4 -- "$bin/toy"
  step 60 "toy, 4 processes, recorded" "${run[@]}" -n 4 -d 2 --devices-per-gpu 2 --trace "$work/toy.db" -- "$bin/toy"
  step 20 "its report" "$bin/shardlab" report "$work/toy.db"
  # NCCL takes several ranks on a GPU from 2.30 on; an older one leaves it to the host.
  step 60 "toy, 4 processes on one GPU, by NCCL" env NCCL_MULTI_RANK_GPU_ENABLE=1 "${run[@]}" -n 4 -d 2 --devices-per-gpu 2 -- "$bin/toy"
  # Ends with the verdict on a deadlock, which is its success.
  step 60 "a deadlock is told" sh -c '"$@" 2>&1 | tee /dev/stderr | grep -qE "deadlock|order-mismatch"' - \
    "${run[@]}" -n 2 -d 4 --devices-per-gpu 4 -- "$bin/deadlock_swapped"
}

on_backend() {  # on_backend SOURCE FOLDER: scenarios with that backend
  python3 - "$1" "$2" "$backend" <<'PY'
import json, lzma, pathlib, sys
source, out, backend = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
out.mkdir(parents=True, exist_ok=True)
for file in sorted(source.glob("*.json")) if source.is_dir() else [source]:
    text = lzma.decompress(file.read_bytes()).decode() if file.suffix == ".xz" else file.read_text()
    lines = [text] if file.suffix == ".json" else text.splitlines()
    documents = [json.loads(line) for line in lines if line.strip()]
    for document in documents:
        document.setdefault("cluster", {})["backend"] = backend
    (out / (file.stem + ".jsonl")).write_text("".join(json.dumps(each) + "\n" for each in documents))
PY
}
replay() {  # replay SECONDS NAME SOURCE REPORT
  on_backend "$3" "$work/$part" || return
  step "$1" "$2" env SHARDLAB_DEVICES_PER_GPU=64 "$bin/shardlab" replay "$work/$part" --report "$4" --no-failure-traces -j "$(nproc)"
}
scenarios() {
  replay 150 "the corpus" "$here/../scenarios/corpus" "$logs/corpus.json"
  [ -d "$here/../scenarios/diagnoses" ] && part=diagnoses replay 100 "diagnoses and their quiet twins" "$here/../scenarios/diagnoses" "$logs/diagnoses.json"
}
oracle() {
  if [ -z "$oracle" ]; then result skipped "the oracle's cases" "no --oracle"; return; fi
  replay 240 "the oracle's cases" "$oracle" "$logs/oracle.json"
}

speed() {
  step 60 "our kernels by themselves" "$build/benchmarks/bench_gpu_kernels"
  export SHARDLAB_PLATFORM=$backend SHARDLAB_NUM_CPU_DEVICES=8 SHARDLAB_DEVICES_PER_GPU=8
  step 110 "our times, 8 devices of one GPU" "$build/benchmarks/bench_runtime" axpy_64M sin_64M sum_64M gelu_softmax_4M dot_2048_no_comm \
    mlp_step_dp jit_chain100_1M
  unset SHARDLAB_PLATFORM SHARDLAB_NUM_CPU_DEVICES SHARDLAB_DEVICES_PER_GPU
  step 110 "JAX and cuBLAS on the same card" env LD_LIBRARY_PATH="$given_path" python3 "$here/gpu_reference.py"
}

sanitizer() {
  local tool
  if ! command -v compute-sanitizer >/dev/null; then result skipped "compute-sanitizer" "not on the PATH"; return; fi
  for tool in memcheck racecheck; do
    step 110 "compute-sanitizer $tool" env SHARDLAB_PLATFORM=cuda SHARDLAB_NUM_CPU_DEVICES=8 SHARDLAB_DEVICES_PER_GPU=8 \
      compute-sanitizer --tool "$tool" --error-exitcode 1 "$bin/toy"
    step 110 "compute-sanitizer $tool, programs" compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/tests/cuda_device_test" \
      --gtest_filter='ProgramsOnAGpu.*'
  done
}

pack() { tar -C "$logs" -czf "$work/packed" . && mv "$work/packed" "$out/logs.tar.gz"; }
# A part by a script of its own, whose results and logs become this one's.
by_itself() {
  local own=$work/parts/$1
  "$0" --build "$build" ${oracle:+--oracle "$oracle"} --out "$own" ${dry:+--dry} "$1" >"$own.said" 2>&1
  cat "$own/results.txt" | tee -a "$out/results.txt"
  tar -C "$logs" -xzf "$own/logs.tar.gz" --exclude=./start.log
}
others=()
for part in "${parts[@]}"; do
  if [ -n "$beside" ] && [ "$part" != speed ]; then others+=("$part"); continue; fi
  ends=$((SECONDS + limits[$part]))
  "$part"
  pack
done
if [ ${#others[@]} -gt 0 ]; then
  mkdir "$work/parts"
  for part in "${others[@]}"; do by_itself "$part" & done
  wait
  pack
fi
! grep -qE '^(FAILED|LATE)' "$out/results.txt"

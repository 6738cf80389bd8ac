#!/bin/bash
# Packs what gpu_first_day.sh runs, with the libraries that it needs, for a machine that has a GPU and no packages: a few tens of MiB.
# usage: benchmarks/gpu_bundle.sh [BUILD_FOLDER [BUNDLE.tar.xz]]
# The C library and CUDA's are the machine's own, which must not be older than this one's.
set -eu
build=${1:-build/release}
bundle=${2:-gpu_bundle.tar.xz}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tests" "$folder/benchmarks" "$folder/lib"
cp "$build"/bin/shardlab "$build"/bin/shardlab-coordinator "$build"/bin/toy "$build"/bin/guide_* "$build"/bin/distributed_* \
  "$build"/bin/deadlock_* "$folder/bin"
cp "$build"/tests/cuda_device_test "$folder/tests"
cp "$build"/benchmarks/bench_runtime "$build"/benchmarks/bench_gpu_kernels "$folder/benchmarks"
strip "$folder"/bin/* "$folder"/tests/* "$folder"/benchmarks/*
for program in "$folder"/bin/* "$folder"/tests/* "$folder"/benchmarks/*; do ldd "$program"; done |
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$folder/lib"
tar -C "$folder" -c . | xz -T1 --lzma2=preset=2,dict=96MiB >"$bundle"
ls -l "$bundle"

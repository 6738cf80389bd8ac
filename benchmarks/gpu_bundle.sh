#!/bin/bash
# Packs what gpu_first_day.sh runs, with the libraries that it needs, for a machine that has a GPU and no packages: of all parts, or of those
# that are named, where less may be sent at once.
# usage: benchmarks/gpu_bundle.sh [BUILD_FOLDER [BUNDLE.tar.xz [PART…]]]
# The C library and CUDA's are the machine's own, which must not be older than this one's.
set -eu
build=${1:-build/release}
bundle=${2:-gpu_bundle.tar.xz}
shift $(($# < 2 ? $# : 2))
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tests" "$folder/benchmarks" "$folder/lib"
of_part() {  # what a part runs
  case $1 in
    tests) echo tests/cuda_device_test ;;
    programs) echo bin/shardlab-coordinator bin/toy bin/guide_* bin/distributed_* ;;
    processes) echo bin/shardlab-coordinator bin/toy bin/deadlock_swapped ;;
    scenarios | oracle) ;;
    speed) echo benchmarks/bench_runtime benchmarks/bench_gpu_kernels ;;
    sanitizer) echo bin/toy tests/cuda_device_test ;;
    *) echo "gpu_bundle.sh: no part is called '$1'" >&2; exit 2 ;;
  esac
}
[ $# -gt 0 ] || set -- tests programs processes scenarios oracle speed sanitizer
cd "$build"
for part in "$@"; do files="${files:-bin/shardlab} $(of_part "$part")"; done
for file in $files; do cp "$file" "$folder/$file"; done
cd - >/dev/null
find "$folder/bin" "$folder/tests" "$folder/benchmarks" -type f -exec strip {} +
find "$folder/bin" "$folder/tests" "$folder/benchmarks" -type f -exec ldd {} \; |
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$folder/lib"
# Loaded by its name, so that ldd tells nothing of it.
sorts=$build/lib/libshardlab_sorts.so
if [ -f "$sorts" ]; then cp "$sorts" "$folder/lib"; else echo "gpu_bundle.sh: $sorts is not built: sorts will be generated" >&2; fi
tar -C "$folder" --sort=name -c . | xz -T1 --lzma2=preset=6,dict=96MiB >"$bundle"
ls -l "$bundle"

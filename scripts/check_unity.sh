#!/usr/bin/env bash
# Checks that the sources of each library compile as one translation unit. CMake joins them in groups that change with
# each new file, so two names in unnamed namespaces may meet that did not before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=(
  -path 'src/kernel/*' -o -path 'src/jit/*' -o -name 'bundled_*'  # compiled on their own
)
# Some definitions come from the build: any text will do.
flags=(
  -std=c++23 -fsyntax-only -I. -Isrc -Iinclude -Ibuild-lint/src/code/generated -DBOOST_ALL_NO_LIB -DFMT_SHARED
  -DFRAZIL_JIT=1 -DFRAZIL_LIBRARY_FOLDER='""' -DFRAZIL_MODULE_FOLDER='""' -DFRAZIL_VERSION='"0"' -DFRAZIL_LIVE_FILES='""' -DFRAZIL_HOST_FILES='""' -DFRAZIL_VIEW_PAGE='""' -DFRAZIL_VIEW_MODULES='""'
  -Wshadow -Werror -Wno-deprecated-declarations
)
failed=0
for library in src/*/ govern server compat tool; do
  find "${library%/}" -name '*.cc' -not \( "${alone[@]}" \) -printf '#include "%p"\n' | sort >build-lint/one.cc
  [[ -s build-lint/one.cc ]] || continue
  clang++-19 "${flags[@]}" build-lint/one.cc || { echo "$0: $library: names collide" >&2; failed=1; }
done
exit "$failed"

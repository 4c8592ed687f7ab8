#!/bin/sh
# Checks that the generated pages in docs/ are what the command and the Python package print: check_docs.sh TOOL
# [--write]. --write writes them. The reference of the package is left out if the build has no package.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
tool=${1:?usage: check_docs.sh TOOL [--write]}
print() {
  "$tool" "$1" --markdown | if [ "$1" = ops ]; then python3 "$root/scripts/operator_cases.py"; else cat; fi
}
for table in ops:operators knobs:knobs passes:passes; do
  page=$root/docs/${table#*:}.md
  if [ "${2:-}" = --write ]; then
    print "${table%%:*}" >"$page"
  elif ! print "${table%%:*}" | diff - "$page" >/dev/null; then
    echo "docs/${table#*:}.md is not what '$(basename "$tool") ${table%%:*} --markdown' prints: run scripts/check_docs.sh $tool --write" >&2
    exit 1
  fi
done
build=$(dirname "$tool")
python=$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$python" ] && [ -e "$build/python/frazil/__init__.pyi" ]; then
  PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 "$python" "$root/scripts/python_reference.py" \
    $([ "${2:-}" = --write ] || echo --check)
fi

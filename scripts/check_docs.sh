#!/bin/sh
# The generated tables in docs/ are what the command prints now: check_docs.sh TOOL. With --write it writes them.
set -eu
docs=$(cd "$(dirname "$0")/.." && pwd)/docs
tool=${1:?usage: check_docs.sh TOOL [--write]}
for table in ops:operators knobs:knobs passes:passes; do
  page=$docs/${table#*:}.md
  if [ "${2:-}" = --write ]; then
    "$tool" "${table%%:*}" --markdown >"$page"
  elif ! "$tool" "${table%%:*}" --markdown | diff -q - "$page" >/dev/null; then
    echo "docs/${table#*:}.md is not what '$(basename "$tool") ${table%%:*} --markdown' prints: run scripts/check_docs.sh $tool --write" >&2
    exit 1
  fi
done

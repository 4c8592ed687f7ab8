#!/bin/sh
# Checks that the generated tables in docs/ equal the output of the command: check_docs.sh TOOL. --write writes them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
tool=${1:?usage: check_docs.sh TOOL [--write]}
print() {
  # shellcheck disable=SC2086  # the words of a command
  case $1 in
    audit*) "$tool" $1 ;;
    ops) "$tool" ops --markdown | python3 "$root/scripts/operator_cases.py" ;;
    *) "$tool" $1 --markdown ;;
  esac
}
page=docs/reference/onnxruntime-functions.md
if [ "${2:-}" = --write ]; then
  python3 "$root/scripts/onnxruntime_functions.py" >"$root/$page"
elif ! python3 "$root/scripts/onnxruntime_functions.py" | diff - "$root/$page" >/dev/null; then
  echo "$page is not what scripts/onnxruntime_functions.py prints: run scripts/check_docs.sh $tool --write" >&2
  exit 1
fi
for table in ops:operators knobs:knobs passes:passes "policy hooks:policy" "audit kinds:audit-events"; do
  page=docs/reference/${table#*:}.md
  if [ "${2:-}" = --write ]; then
    print "${table%%:*}" >"$root/$page"
  elif ! print "${table%%:*}" | diff - "$root/$page" >/dev/null; then
    echo "$page is not what '$(basename "$tool") ${table%%:*}' prints: run scripts/check_docs.sh $tool --write" >&2
    exit 1
  fi
done

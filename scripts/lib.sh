# Shared by the scripts beside it; sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # variables are for the scripts that source this

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=$ROOT/.cache
NATIVE=$ROOT/packages/helper/native
PNPM_VERSION=12.4.2

say() { printf '%s\n' "$*" >&2; }
step() { printf '==> %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }

# Runs a command without its output; shows all of it when the command fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    cat "$log" >&2
    say "failed ($status): $*"
  fi
  rm -f "$log"
  return "$status"
}

# version_at_least HAVE WANT: dotted numbers.
version_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Holds a lock until the calling script ends, so that two runs never build into each other.
take_lock() {
  if ! { mkdir -p "$CACHE" && : >>"$CACHE/$1.lock"; } 2>/dev/null; then
    die "$ROOT cannot be written by $(id -un); take a clone of your own"
  fi
  exec 9>"$CACHE/$1.lock"
  if ! flock -n 9; then
    say "waiting for another run of $1 in this checkout"
    flock 9
  fi
}

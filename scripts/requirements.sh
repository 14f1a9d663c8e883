# What must be on the machine before anything is built; sourced by bootstrap.
# shellcheck shell=bash
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NODE_WANTED=20.12.0
GIT_WANTED=2.38.0

has() { command -v "$1" >/dev/null 2>&1; }

# Tried with the compiler itself: it alone knows where it looks for headers and static libraries.
has_static_seccomp() {
  local out status=0
  out=$(mktemp -d)
  printf '#include <seccomp.h>\nint main(void) { return seccomp_api_get() == 0; }\n' |
    cc -static -x c - -o "$out/probe" -lseccomp 2>/dev/null || status=1
  rm -rf "$out"
  return "$status"
}

# Debian packages that are missing here, one a line.
missing_packages() {
  has cc || echo gcc
  has c++ || echo g++
  has make || echo make
  has python3 || echo python3
  has git || echo git
  # The linker needs libc's static part too, which libc6-dev carries.
  if ! has cc || ! has_static_seccomp; then printf 'libc6-dev\nlibseccomp-dev\n'; fi
}

require_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  if ! is_root || ! has apt-get; then
    die "packages are missing; install them first: sudo apt-get install ${missing[*]}"
  fi
  step "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  quietly apt-get update -q || say "apt-get update failed; trying with the package lists that are here"
  quietly apt-get install -q -y --no-install-recommends "${missing[@]}"
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -eq 0 ] || die "still missing after apt-get install: ${missing[*]}"
}

require_git() {
  local have
  have=$(git version | sed 's/^git version \([0-9.]*[0-9]\).*/\1/')
  version_at_least "$have" "$GIT_WANTED" || die "git $GIT_WANTED or newer is needed; this one is $have"
}

# Node is not installed for you: which one runs your projects is yours to choose.
require_node() {
  has node || die "Node.js $NODE_WANTED or newer is needed and there is no \`node\` on PATH"
  local have
  have=$(node -p process.versions.node)
  version_at_least "$have" "$NODE_WANTED" || die "Node.js $NODE_WANTED or newer is needed; \`node\` on PATH is $have"
  has npm || die "npm is needed and there is none on PATH; it usually comes with Node.js"
}

# Native modules are compiled against node's own headers where they lie beside it, so that nothing is downloaded for it.
use_node_headers() {
  local prefix
  prefix=$(cd "$(dirname "$(readlink -f "$(command -v node)")")/.." && pwd)
  if [ -f "$prefix/include/node/node.h" ]; then export npm_config_nodedir=$prefix; fi
}

require_packages
require_git
require_node
use_node_headers

# Shell functions for quickstart and check: progress lines, commands whose log is shown only on failure, and Debian
# packages. For bash with `set -euo pipefail`. Sets `root`, the top folder of the source tree.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
logs=$root/build/logs

# Packages besides those of libraries, which the lines `acr_dependency(...)` name.
acr_tool_packages=(gcc libc6-dev make cmake pkg-config git ca-certificates python3 python3-dev libpython3-dev pylint)

say() { printf '%s\n' "$*"; }
heading() { printf '\n== %s\n' "$*"; }

# Exit with a one-line message.
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# quietly NAME COMMAND...: run the command and print one line with the time; write its output to build/logs/NAME.log, and
# print the output if the command fails.
quietly() {
  local name=$1 log=$logs/$1.log start=$SECONDS
  shift
  mkdir -p "$logs"
  if "$@" >"$log" 2>&1 </dev/null; then
    printf '  %-28s %4d s\n' "$name" $((SECONDS - start))
    return 0
  fi
  printf '  %-28s failed after %d s\n' "$name" $((SECONDS - start))
  tail -n 60 "$log" >&2
  fail "$name failed; all of its output is in ${log#"$root"/}"
}

# Print the Debian packages needed to build, one per line: tools, and the libraries that CMake would name.
build_packages() {
  printf '%s\n' "${acr_tool_packages[@]}"
  sed -n 's/^acr_dependency(.* \([^ )]*\)).*/\1/p' "$root/tools/cmake/AcrDependencies.cmake"
}

# missing_packages PACKAGE...: print the packages that are not installed, one per line.
missing_packages() {
  local package installed
  installed=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)$'\n'
  for package in "$@"; do
    [[ $installed == *$'\n'"$package installed"$'\n'* ]] || say "$package"
  done
}

# need_packages PACKAGE...: install missing packages; fetch the package lists only if a package is missing.
need_packages() {
  local missing admin=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "  no apt-get here: continuing with the installed packages"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "packages are missing; as root run: apt-get install ${missing[*]}"
    admin=(sudo)
  fi
  say "  missing: ${missing[*]}"
  apt_get() { "${admin[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }
  [ ${#admin[@]} = 0 ] || sudo -v
  quietly "apt-get update" apt_get update
  quietly "apt-get install" apt_get install -y --no-install-recommends "${missing[@]}"
}

# memory_folder: create a folder in memory for temporary files and print its path. Print nothing if there is too little
# memory, or if the folder could not run programs or hold overlays.
memory_folder() {
  local folder available
  available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  [ "${available:-0}" -ge $((6 << 20)) ] && [ "$(stat -f -c '%T' /dev/shm 2>/dev/null)" = tmpfs ] || return 0
  [ "$(df --output=avail /dev/shm | tail -n 1)" -ge $((4 << 20)) ] || return 0
  folder=$(mktemp -d /dev/shm/acr-host-XXXXXX) || return 0
  if cp /bin/true "$folder/" && "$folder/true" && python3 -c "import os; os.setxattr('$folder/true', 'user.a', b'')"; then
    chmod 755 "$folder"
    say "$folder"
  else
    rm -r "$folder"
  fi 2>/dev/null
}

# show_progress LOG: print how much of a build is done by its log, "[ 42%]", until this process is killed or its parent
# ends: on a terminal on one line, elsewhere a line every 20 seconds.
show_progress() {
  local share every=20 end='\n' never
  exec {never}<> <(:) # a pipe to wait at, because a `sleep` would outlive this process
  [ ! -t 1 ] || { every=2 end='\033[K\r'; }
  while ! read -r -t "$every" -u "$never" && kill -0 $$ 2>/dev/null; do
    share=$(grep -oE '^\[ *[0-9]+%' "$1" 2>/dev/null | tail -n 1 | tr -d '[ ') || true
    printf "  compiling: %s$end" "${share:-0%}"
  done
}

# build PRESET [TARGET...]: configure and build into build/PRESET, with ccache if it is installed.
build() {
  local preset=$1 targets=()
  shift
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS=pch_defines,time_macros # what precompiled headers need
  fi
  [ $# = 0 ] || targets=(--target "$@")
  quietly "configure-$preset" cmake -S "$root" --preset "$preset" -DCMAKE_RULE_MESSAGES=OFF # a process for each line
  say "  compiling, which can take minutes; the output is in ${logs#"$root"/}/build-$preset.log"
  show_progress "$logs/build-$preset.log" &
  local progress=$!
  disown "$progress" # so that bash does not report its end
  quietly "build-$preset" cmake --build "$root/build/$preset" --parallel "$(nproc)" "${targets[@]}"
  kill "$progress" 2>/dev/null || true
}

# python_tools: install the pinned version of ruff into build/tools/venv. If no package index answers, the check that needs
# ruff is skipped.
python_tools() {
  local venv=$root/build/tools/venv ruff=ruff==0.17.6 log=$logs/python-tools.log
  mkdir -p "$logs"
  [ -e "$venv/$ruff" ] && return 0
  if python3 -m venv --without-pip "$venv" >"$log" 2>&1 &&
    PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) "$venv/bin/python" -m pip install -q "$ruff" >>"$log" 2>&1 </dev/null; then
    touch "$venv/$ruff"
  else
    rm -rf "$venv"
    say "  no ruff (see ${log#"$root"/}): check/python_style is skipped"
  fi
}

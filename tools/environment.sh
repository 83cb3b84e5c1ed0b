# Sets up everything Tenon needs on Debian 12 and builds it; sourced by
# tools/quickstart and tools/check. What is there already is skipped.
#
# Defines: root, venv (a Python environment with the pinned packages, installed
# in the background: `wait "$python_packages"` before it is used) and build_tenon
# PRESET, after which build/PRESET/bin holds the tools.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$root/.venv"
cd "$root"

say() { printf '\n== %s\n' "$*"; }

# Debian 12 carries LLVM 22 in its security archive; the major version is part of
# the package names, so this pins it.
apt_packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  liblld-22-dev libclang-rt-22-dev libzstd-dev zlib1g-dev
  cmake ninja-build ccache g++
  libdnnl-dev libflatbuffers-dev flatbuffers-compiler libxxhash-dev
  nlohmann-json3-dev libgtest-dev libgmock-dev libgomp1
  liblapack-dev
  libopenmpi-dev openmpi-bin
  python3 python3-venv
  strace valgrind pkg-config abigail-tools
  zsh fish groff-base
)

install_apt_packages() {
  local missing=() package
  for package in "${apt_packages[@]}"; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed'; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "Debian packages: all there"
    return
  fi
  say "Debian packages: installing ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "error: installing packages needs root; run as root or install sudo" >&2
      exit 1
    fi
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -q
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# install_requirements FILE STAMP [OPTION...]
install_requirements() {
  local file="$1" stamp="$venv/$2"
  shift 2
  if [ -x "$venv/bin/python" ] && cmp -s "$file" "$stamp"; then
    say "Packages of $file: all there"
    return
  fi
  say "Packages: installing $file into .venv"
  # Debian's interpreter, whatever else is first on the path.
  [ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv "$venv"
  # Python compiles what is imported when it is imported, which is little of it.
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-compile \
    "$@" -r "$file"
  cp "$file" "$stamp"
}

install_python_packages() {
  install_requirements python/requirements.txt .requirements
  # What the tools depend on is for programs in CUDA.
  install_requirements python/requirements-gpu.txt .requirements-gpu --no-deps
}

# build_tenon PRESET [TARGET...]
build_tenon() {
  local preset="$1"
  shift
  say "building ($preset)"
  cmake --preset "$preset" >"$root/build/$preset.configure.log" 2>&1 || {
    cat "$root/build/$preset.configure.log"
    exit 1
  }
  # ccache takes the headers from what the compiler writes, instead of running the
  # preprocessor before it, which is a fifth of compiling for the first time.
  CCACHE_DEPEND=1 NINJA_STATUS='[%f/%t %es] ' \
    cmake --build "$root/build/$preset" -- "$@"
}

mkdir -p "$root/build"
install_apt_packages
# Downloading leaves the processors to the build.
install_python_packages &
python_packages=$!

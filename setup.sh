#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the packages that commlab needs and this machine lacks.
#
#   ./setup.sh              install them
#   ./setup.sh --slides     install also what `make slides` needs: pandoc, a browser, npm
#   ./setup.sh --dry-run    only print the missing packages, and the command that would install them
#
# - It runs apt-get (Debian, Ubuntu) or dnf (Fedora), as root or with a sudo that asks for no password. If it cannot, it
#   prints the command and exits with 1.
# - It changes no package that is installed. If nothing is missing, it does not use the network.
set -u

# The names of a package in Debian and in Fedora. `a|b`: either is enough; the script installs the first. `-`: another
# package contains it. gcc, a C library and make are needed; ./probe.sh says what the others are for.
packages='
gcc                               gcc
libc6-dev                         glibc-devel
make                              make
libjansson-dev                    jansson-devel
libinih-dev                       inih-devel
libexpat1-dev                     expat-devel
libsodium-dev                     libsodium-devel
libseccomp-dev                    libseccomp-devel
libcmocka-dev                     libcmocka-devel
libfabric-dev                     libfabric-devel
gnuplot-nox|gnuplot-qt|gnuplot-x11 gnuplot
fonts-dejavu-core                 dejavu-sans-fonts
libpmix-dev                       pmix-devel
libopenblas-dev                   openblas-devel
clang                             clang
libclang-rt-dev                   compiler-rt
g++                               gcc-c++
libgloo-dev                       gloo-devel
libopenmpi-dev|libmpich-dev       openmpi-devel
-                                 libasan
-                                 libubsan
-                                 libtsan
'

for_slides='
pandoc                            pandoc
chromium|google-chrome-stable     chromium
npm                               nodejs-npm
'

usage='usage: ./setup.sh [--slides] [--dry-run]'
dry_run=
for option; do
    case $option in
    --dry-run) dry_run=1 ;;
    --slides) packages+=$for_slides ;;
    --help) echo "$usage"; exit ;;
    *) echo "$usage" >&2; exit 2 ;;
    esac
done

# Installed, or contained in a package that is: NodeSource's nodejs contains npm, and Debian's npm can not stand beside it.
deb_has() {
    dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed ||
        dpkg-query -W -f '${db:Status-Status} ${Provides},\n' | grep -qE "^installed (.*, )?${1//+/\\+}( \([^)]*\))?,"
}
rpm_has() { rpm -q --whatprovides "$1" >/dev/null 2>&1; }

# missing HAS COLUMN: prints the packages to install, on one line.
missing() {
    local debian fedora choice name names=()
    while read -r debian fedora; do
        choice=${!2-}
        [ -n "$choice" ] && [ "$choice" != - ] || continue
        for name in ${choice//|/ }; do
            "$1" "$name" && continue 2
        done
        names+=("${choice%%|*}")
    done <<<"$packages"
    echo "${names[*]-}"
}

# In a new container, package lists may be missing or old: apt-get update fetches them.
if command -v apt-get >/dev/null; then
    names=$(missing deb_has debian)
    steps=('apt-get update' "env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $names")
elif command -v dnf >/dev/null; then
    names=$(missing rpm_has fedora)
    steps=("dnf install -y $names")
else
    has_nothing() { false; }
    echo "setup.sh: no apt-get and no dnf here; install by hand (Debian's names): $(missing has_nothing debian)" >&2
    exit 1
fi

if [ -z "$names" ]; then
    echo 'setup.sh: nothing is missing'
    exit
fi
echo "setup.sh: missing: $names"

as_root=
[ "$(id -u)" = 0 ] || ! command -v sudo >/dev/null || as_root='sudo '
command=$as_root${steps[0]}
[ ${#steps[@]} = 1 ] || command="$command && $as_root${steps[1]}"

if [ -n "$dry_run" ]; then
    echo "would run: $command"
    exit
fi
if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    echo "setup.sh: only root may install; run as root: $command" >&2
    exit 1
fi
for step in "${steps[@]}"; do
    echo "$as_root$step"
    # Unquoted: a command and its words.
    $as_root$step || { echo "setup.sh: this failed: $as_root$step" >&2; exit 1; }
done

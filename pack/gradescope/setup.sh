#!/bin/bash
# SPDX-License-Identifier: MIT
# Gradescope runs this once, as root, when it builds the autograder's image: it installs what grading needs, and tries it.
# AUTOGRADER names another folder than /autograder, for trials.
set -u
source=${AUTOGRADER:-/autograder}/source

missing=
for program in gcc jq; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
if [ -n "$missing" ]; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing || exit 1
fi

# Only root reads the salt: the students' programs run as another user.
chmod 600 "$source/salt" && chmod -R go-w "$source/kit" && chmod 755 "$source/run_autograder" \
    "$source/kit/build/commlab" "$source/kit/build/labcc" || exit 1
"$source/kit/build/commlab" nets >/dev/null ||
    { echo 'setup.sh: the prebuilt program does not run in this image: choose Ubuntu 22.04 or newer in the autograder settings' >&2; exit 1; }
echo "setup.sh: commlab grades $(cat "$source/homework")"

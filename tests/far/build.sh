#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh FOLDER: make the backend far (far.c) as FOLDER/far.so, for CLAB_BACKENDS=FOLDER. From the top of the kit.
mkdir -p "$1" && exec ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -I. -fPIC -shared \
    -fvisibility=hidden -o "$1/far.so" tests/far/far.c

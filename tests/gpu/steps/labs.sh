# SPDX-License-Identifier: MIT
# Steps of gpu-check: the labs whose lesson is about GPUs.

# lab FOLDER ARGS...: before and after, once each; they check their results themselves.
lab() {
    local folder=$1 version n results=()
    [ -n "$fake" ] || results=(CLAB_RESULTS="$log/$step")
    shift
    needs_plugin
    needs_gpus 1
    n=$(gpus_up_to 2)
    for version in before after; do
        [ -x "$build/labs/$folder/$version" ] || not_run "there is no $build/labs/$folder/$version"
    done
    for version in before after; do
        echo "== $version"
        # Of fakes no results are kept.
        env -u CLAB_RESULTS "${results[@]/%/-$version.csv}" "$build/labs/$folder/$version" -n "$n" --backend nccl \
            "$@" ||
            fail "$version: $(reason)"
    done
    say "before and after on $(in_words "$n"), results as they should be"
}
step_lab-01() { lab 01-reinit-comm 65536 1 $(full 4 2); }
step_lab-05() { lab 05-fragmentation 8388608 $(full 24 8); }

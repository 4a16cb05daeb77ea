#!/bin/bash
# SPDX-License-Identifier: MIT
# What setup.sh does on machines with other package systems, rights and packages than this one. Their programs are
# doubles that write down how they were called; setup.sh sees no others but grep and env. Usage: test_setup.sh.

. tests/cases.sh

# machine UID PROGRAM...: one with these package programs, whose user is UID; $lacking are its missing packages.
machine() {
    local uid=$1 program
    shift
    rm -rf "$scratch/bin" && mkdir "$scratch/bin" && : >"$scratch/calls"
    ln -s "$(command -v grep)" "$(command -v env)" "$scratch/bin"
    double id "echo $uid"
    for program; do
        double "$program" "echo \"$program \$*\" >>'$scratch/calls'"
    done
    double dpkg-query "[[ ' $lacking ' == *\" \${!#} \"* ]] || echo installed"
    double rpm "[[ ' $lacking ' != *\" \${!#} \"* ]]"
}
double() {
    printf '#!/bin/bash\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

# setup STATUS ARGS...: what it prints is left in `said`, how it called the doubles in `calls`.
setup() {
    local expected=$1 status
    shift
    said=$(PATH=$scratch/bin /bin/bash ./setup.sh "$@" 2>&1)
    status=$?
    calls=$(cat "$scratch/calls")
    why="status $status: $said
calls: $calls"
    [ $status = "$expected" ]
}
said() { grep -qF -- "$1" <<<"$said"; }

asks_the_network_for_nothing_if_all_is_there() {
    lacking='' machine 0 apt-get
    setup 0 && said 'nothing is missing' && [ -z "$calls" ]
}
installs_what_apt_lacks() {
    lacking='libinih-dev make' machine 0 apt-get
    setup 0 && [ "$calls" = 'apt-get update
apt-get install -y --no-install-recommends make libinih-dev' ]
}
takes_any_gnuplot() {
    lacking='gnuplot-nox gnuplot-x11' machine 0 apt-get
    setup 0 && [ -z "$calls" ]
}
takes_npm_of_another_package() {
    lacking='npm' machine 0 apt-get
    double dpkg-query "case \${!#} in npm) exit 1 ;; *Provides*) echo 'installed nodejs-dev, npm (= 9.2), other,' ;; *) echo installed ;; esac"
    setup 0 --slides && [ -z "$calls" ]
}
installs_npm_if_only_a_removed_package_had_it() {
    lacking='npm' machine 0 apt-get
    double dpkg-query "case \${!#} in npm) exit 1 ;; *Provides*) echo 'config-files npm,'; echo 'installed npm-more, a-npm,' ;; *) echo installed ;; esac"
    setup 0 --slides && [[ $calls == *' npm' ]]
}
installs_the_first_gnuplot() {
    lacking='gnuplot-nox gnuplot-x11 gnuplot-qt' machine 0 apt-get
    setup 0 && [[ $calls == *' gnuplot-nox' ]]
}
installs_what_dnf_lacks() {
    lacking='inih-devel libtsan' machine 0 dnf
    setup 0 && [ "$calls" = 'dnf install -y inih-devel libtsan' ]
}
only_says_so_when_dry() {
    lacking='make' machine 0 apt-get
    setup 0 --dry-run && [ -z "$calls" ] &&
        said 'apt-get update && env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends make'
}
says_the_command_without_rights() {
    lacking='make' machine 1000 dnf
    setup 1 && [ -z "$calls" ] && said 'run as root: dnf install -y make'
}
uses_sudo_that_asks_nothing() {
    lacking='make' machine 1000 dnf sudo
    setup 0 && [ "$calls" = 'sudo -n true
sudo dnf install -y make' ]
}
leaves_sudo_that_asks() {
    lacking='make' machine 1000 dnf
    double sudo 'exit 1'
    setup 1 && [ -z "$calls" ] && said 'sudo dnf install -y make'
}
names_packages_elsewhere() {
    lacking='' machine 0
    setup 1 && said 'no apt-get and no dnf' &&
        said 'libjansson-dev libinih-dev libexpat1-dev libsodium-dev libseccomp-dev libcmocka-dev libfabric-dev gnuplot-nox'
}
stops_when_installing_fails() {
    lacking='make' machine 0
    double apt-get '[ $1 = update ]'
    setup 1 && said 'this failed: env DEBIAN_FRONTEND=noninteractive apt-get install'
}
installs_what_slides_need_only_if_asked() {
    lacking='pandoc npm chromium google-chrome-stable' machine 0 apt-get
    setup 0 && [ -z "$calls" ] && setup 0 --slides --dry-run && [ -z "$calls" ] && said 'pandoc chromium npm' &&
        setup 0 --slides && [[ $calls == *'--no-install-recommends pandoc chromium npm' ]]
}
refuses_unknown_options() {
    lacking='make' machine 0 apt-get
    setup 2 --force && said 'usage:' && [ -z "$calls" ] && setup 2 --dry-run twice
}

check_each asks_the_network_for_nothing_if_all_is_there installs_what_apt_lacks takes_any_gnuplot \
    installs_the_first_gnuplot takes_npm_of_another_package installs_npm_if_only_a_removed_package_had_it \
    installs_what_dnf_lacks only_says_so_when_dry says_the_command_without_rights \
    uses_sudo_that_asks_nothing leaves_sudo_that_asks names_packages_elsewhere stops_when_installing_fails \
    installs_what_slides_need_only_if_asked refuses_unknown_options
exit $failed

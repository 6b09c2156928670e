# shellcheck shell=bash
# Shared by the scripts in tools/: the cache of built tools, messages, progress. Only for sourcing.
# boot_media/tools.py has the same rule.
umask go-w # of others, nobody writes into the cache, whichever umask this was started with
home=~ # without $HOME, as below a service of systemd, that of the user
export CACHE="${XDG_CACHE_HOME:-$home/.cache}/okd-baremetal"

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*" && exit 1; }

# Run a command with its output in a log: a line after 2 s and then each 10 s, the log's last 20 lines when it fails.
# USAGE: with_progress LABEL COMMAND [ARGUMENT...]
with_progress() {
    local label=$1 log pid start=$SECONDS next=$((SECONDS + 2)) rc=0
    log=$(mktemp) && shift
    "$@" >"$log" 2>&1 &
    pid=$!
    # End the child with the script; otherwise a build would continue unseen.
    trap 'kill "$pid" 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        ((SECONDS < next)) || { say "$label: $((SECONDS - start)) s  $(tail -n 1 "$log" | cut -c 1-80)" && next=$((next + 10)); }
        sleep 0.2
    done
    wait "$pid" || rc=$?
    trap - EXIT INT TERM
    ((rc == 0)) || tail -n 20 "$log" >&2
    ((rc != 0 || SECONDS - start < 3)) || say "$label: done in $((SECONDS - start)) s"
    rm -f "$log"
    return "$rc"
}

# Lock NAME for the rest of the script, so that two runs never build the same thing at once. USAGE: lock NAME
lock() {
    mkdir -p "$CACHE"
    exec 9>"$CACHE/$1.lock"
    flock --nonblock 9 || { say "another run builds $1; waiting for it" && flock 9; }
}

# Exit unless VERSION of PROGRAM, empty if it is missing, is OLDEST or newer. USAGE: need PROGRAM VERSION OLDEST FOR FIX
need() {
    printf '%s\n' "$3" "${2:-0}" | sort --check=quiet --version-sort ||
        die "$1 is ${2:-missing}, wanted $3 or newer to build $4. Fix: $5"
}

# Print the path of a crate's program in $CACHE; build it if it is missing. With the crate's profile for development the
# build takes less than half of the time, and the programs take about as long as before (bench/history.md).
# USAGE: from_crate NAME VERSION [OPTION...]       options of `cargo install`
from_crate() {
    local name=$1 version=$2 root="$CACHE/$1-$2" && shift 2
    lock "$name"
    if [[ ! -x $root/bin/$name ]]; then
        need cargo "$(cargo --version 2>/dev/null | cut -d ' ' -f 2)" 1.88 "$name $version" "rustup; Debian 12: apt-get install cargo-web"
        # By default it would build in $TMPDIR, out of which a hardened machine runs no program, and a build script is one.
        with_progress "$name $version from crates" env CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_STRIP=true \
            CARGO_TARGET_DIR="$root.build" \
            cargo install "$name" --version "$version" --locked --profile dev --root "$root" "$@" ||
            die "cargo install failed, see above"
        rm -rf "$root.build"
    fi
    echo "$root/bin/$name"
}

# This script connects this host to Sluice. It
#
#   1. looks whether the host has what the agent needs, and stops if not, before anything is done;
#   2. asks the server above for the host's own keys, the agent and its configuration;
#   3. writes them below /etc/sluice-enforcer, /usr/local/lib/sluice-enforcer and /usr/local/bin,
#      with units of systemd where there is systemd, and starts the agent.
#
# It asks nothing, changes no setting of the kernel, and may be run again: a host that has joined
# keeps its keys and configuration and gets the server's version of the agent. Everything comes
# from this server but Telegraf, which comes from the host's own package sources if the line was
# made for it and it is missing.
#
# Set before `sh`, if needed:
#   SLUICE_HOST        the name of this host                 what uname -n says
#   SLUICE_CA_FILE     certificate authority of the server   those of the system
#   SLUICE_TELEGRAF    Telegraf's program                    telegraf on PATH
#   SLUICE_INTERFACES  uplinks that policies may shape       those with a device behind them
#   SLUICE_DISKS       disks that policies may control       those with a device behind them
#   SLUICE_INTERVAL    seconds between samples, 1 to 60      10
#   SLUICE_PREFIX      a folder to write below, instead of /

say() { printf 'sluice: %s\n' "$*"; }
stop() { printf 'sluice: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Nothing runs before the last line: a script that was cut off on its way does nothing.
main() {
    set -eu
    umask 077
    root=${SLUICE_PREFIX:-}
    etc=$root/etc/sluice-enforcer
    state=$root/var/lib/sluice-enforcer
    library=$root/usr/local/lib/sluice-enforcer
    program=$root/usr/local/bin/sluice-enforcer
    units=$root/etc/systemd/system
    name=${SLUICE_HOST:-$(name_of_agent)}
    name=${name:-${SLUICE_NAME:-$(uname -n)}}
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT

    check_host
    choose_how_it_runs
    choose_collector
    ask_server
    write_agent
    write_configuration
    if [ "$collects" = telegraf ]; then write_telegraf; fi
    start
}

# What an agent that is here already is called; nothing where there is none.
name_of_agent() { sed -n 's/^host = "\(.*\)"$/\1/p' "$etc/agent.toml" 2>/dev/null || true; }

check_host() {
    [ "$(uname -s)" = Linux ] || stop "the agent runs on Linux only"
    if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
        stop "run this as root: curl -fsSL ... | sudo sh"
    fi
    interval=${SLUICE_INTERVAL:-10}
    interval=${interval%s}
    case $interval in
        [1-9] | [1-5][0-9] | 60) ;;
        *) stop "SLUICE_INTERVAL=$SLUICE_INTERVAL is not 1 to 60 seconds; nothing was changed" ;;
    esac
    for needed in curl tar gzip sed mktemp; do
        has "$needed" || stop "$needed is missing here; install it and run the line again"
    done
    python=
    for one in python3 python3.14 python3.13 python3.12 python3.11; do
        if has "$one" && "$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            python=$(command -v "$one")
            break
        fi
    done
    [ -n "$python" ] || stop "the agent needs Python 3.11 or later, which is not here;" \
        "install the package python3.11 and run the line again. Nothing was changed."
    if [ -n "${SLUICE_CA_FILE:-}" ] && [ ! -r "$SLUICE_CA_FILE" ]; then
        stop "SLUICE_CA_FILE=$SLUICE_CA_FILE cannot be read"
    fi
}

choose_how_it_runs() {
    runs=$SLUICE_RUNS
    if [ "$runs" = foreground ]; then return; fi
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then return; fi
    runs=foreground
    say "no systemd for ${root:-/}, so the agent runs in the foreground and ends with this terminal"
}

# Sets `collects`, and why where it is not what the line was made for.
choose_collector() {
    collects=$SLUICE_COLLECTS why_collects=
    if [ "$collects" = reader ]; then return; fi
    if grep -q '^\[reader\]' "$etc/agent.toml" 2>/dev/null; then
        # Two collectors for one host would do the work twice.
        collects=reader why_collects="its agent was configured to read the samples, and stays so"
        return
    fi
    telegraf=${SLUICE_TELEGRAF:-telegraf}
    has "$telegraf" || get_telegraf
    if has "$telegraf"; then
        telegraf=$(command -v "$telegraf")
        return
    fi
    collects=reader
    why_collects="Telegraf is not here, and the host's package sources do not have it"
    say "$why_collects; the agent reads the samples itself"
}

get_telegraf() {
    say "Telegraf is missing; asking this host's own package sources for it"
    if has apt-get; then DEBIAN_FRONTEND=noninteractive apt-get -q -y install telegraf
    elif has dnf; then dnf -q -y install telegraf
    elif has zypper; then zypper --quiet --non-interactive install telegraf
    elif has apk; then apk add --quiet telegraf
    fi >"$work/packages.log" 2>&1 || tail -n 1 "$work/packages.log"
}

with_server() {
    if [ -n "${SLUICE_CA_FILE:-}" ]; then set -- --cacert "$SLUICE_CA_FILE" "$@"; fi
    curl -sS --connect-timeout 15 --max-time 120 "$@"
}

ask_server() {
    set -- -o "$work/answer" -w '%{http_code}'
    for field in \
        "host=$name" "clock=$(date +%s)" "runs=$runs" "collects=$collects" \
        "why_collects=$why_collects" "system=$(system_name)" "kernel=$(uname -r)" \
        "cgroups=$(cgroup_version)" "interfaces=$(interfaces)" "disks=$(disks)" \
        "subtrees=$(subtrees)" "interval=$interval" "state_dir=${root:+$state}" "ca_file=${SLUICE_CA_FILE:+yes}"
    do
        set -- "$@" --data-urlencode "$field"
    done
    if [ -f "$etc/token" ]; then
        # In a file, because everybody sees the words of a command.
        printf 'Authorization: Token %s\n' "$(cat "$etc/token")" >"$work/header"
        set -- "$@" -H "@$work/header"
    fi
    say "asking $SLUICE_URL to let $name join"
    status=$(with_server "$@" "$SLUICE_URL/join/$SLUICE_JOIN") ||
        stop "$SLUICE_URL did not answer; nothing was changed"
    if [ "$status" != 200 ]; then
        stop "not connected: $(head -c 1000 "$work/answer")"
    fi
    mkdir "$work/new"
    tar -xzf "$work/answer" -C "$work/new"
}

system_name() { (. /etc/os-release && printf '%s' "$PRETTY_NAME") 2>/dev/null || uname -s; }

cgroup_version() {
    if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo v2
    elif [ -d /sys/fs/cgroup ]; then echo v1
    else echo none
    fi
}

# What has a device behind it is hardware; the rest is made of that, such as a bond.
interfaces() {
    if [ -n "${SLUICE_INTERFACES:-}" ]; then printf '%s' "$SLUICE_INTERFACES"; return; fi
    for one in /sys/class/net/*; do
        if [ -e "$one/device" ]; then printf '%s ' "${one##*/}"; fi
    done
}

disks() {
    if [ -n "${SLUICE_DISKS:-}" ]; then printf '%s' "$SLUICE_DISKS"; return; fi
    for one in /sys/block/*; do
        case ${one##*/} in loop* | ram* | zram* | sr* | fd*) continue ;; esac
        if [ -e "$one/device" ]; then printf '%s ' "${one##*/}"; fi
    done
}

# Where virtual machines, containers and pods are.
subtrees() {
    for one in machine.slice system.slice kubepods.slice qemu.slice lxc docker; do
        if [ -d "/sys/fs/cgroup/$one" ]; then printf '/%s ' "$one"; fi
    done
}

write_agent() {
    version=$(cat "$work/new/version")
    if [ -x /usr/bin/sluice-enforcer ] && [ -z "$root" ]; then
        program=/usr/bin/sluice-enforcer
        say "the package sluice-enforcer is installed, and stays as it is"
        mkdir -p "$library"
    else
        (umask 022 && mkdir -p "$library" "${program%/*}")
        rm -rf "$library/enforcers.new" "$library/enforcers.old"
        cp -R "$work/new/enforcers" "$library/enforcers.new"
        if [ -d "$library/enforcers" ]; then mv "$library/enforcers" "$library/enforcers.old"; fi
        mv "$library/enforcers.new" "$library/enforcers"
        rm -rf "$library/enforcers.old"
        # Its unit lets the agent write nothing here, so it would compile itself at every start.
        "$python" -m compileall -q "$library/enforcers"
        cat >"$program" <<END
#!$python -I
import sys
sys.path.insert(0, "$library")
from enforcers.entry import main
sys.exit(main())
END
        chmod -R go+rX "$library"
        chmod 755 "$program"
        say "wrote the agent, version $version, to $library and $program"
    fi
    sed "s|@ROOT@|$root|g" "$work/new/uninstall" >"$library/uninstall"
}

write_configuration() {
    if [ -d "$work/new/etc" ]; then
        mkdir -p "$etc" "$state"
        if [ -n "${SLUICE_CA_FILE:-}" ]; then cat "$SLUICE_CA_FILE" >"$etc/ca.pem"; fi
        for one in "$work/new/etc/"*; do cat "$one" >"$etc/${one##*/}"; done
        chmod 600 "$etc/"*
        say "wrote the configuration and keys to $etc"
    else
        say "this host has joined already, and keeps its configuration and keys in $etc"
        sed "s|^dry_run = .*|dry_run = $(cat "$work/new/dry_run")|" "$etc/agent.toml" \
            >"$work/agent.toml"
        cat "$work/agent.toml" >"$etc/agent.toml"
    fi
}

write_telegraf() {
    buffer=$root/var/lib/sluice-telegraf
    mkdir -p "$buffer"
    cat "$work/new/telegraf.conf" >"$etc/telegraf.conf"
    cat >"$etc/telegraf.env" <<END
SLUICE_URL=$SLUICE_URL
SLUICE_TOKEN=$(cat "$etc/ingest-token")
SLUICE_HOSTNAME=$name
SLUICE_BUFFER_DIR=$buffer
SLUICE_INTERVAL=${interval}s
END
    if [ -n "${SLUICE_CA_FILE:-}" ]; then
        sed "s|^\( *\)token = .*|&\n\1tls_ca = \"$etc/ca.pem\"|" "$work/new/telegraf.conf" \
            >"$etc/telegraf.conf"
    fi
}

start() {
    say "to remove all of this later: sh $library/uninstall"
    if [ "$runs" = service ]; then start_services; else stay_in_foreground; fi
}

start_services() {
    if [ "$program" != /usr/bin/sluice-enforcer ]; then
        for one in "$work/new/units/"*; do
            sed "s|/usr/bin/sluice-enforcer|$program|" "$one" >"$units/${one##*/}"
            chmod 644 "$units/${one##*/}"
        done
    fi
    if [ "$collects" = telegraf ]; then
        sed "s|@TELEGRAF@|$telegraf|" "$work/new/telegraf.service" \
            >"$units/sluice-telegraf.service"
        chmod 644 "$units/sluice-telegraf.service"
    fi
    systemctl daemon-reload
    if systemctl is-active --quiet sluice-enforcer.service; then
        # The new one takes over; what is in force stays.
        systemctl kill --kill-whom=main --signal=SIGUSR1 sluice-enforcer.service
    fi
    systemctl enable --now sluice-enforcer-dead-man.timer sluice-enforcer.service
    if [ "$collects" = telegraf ]; then
        systemctl enable sluice-telegraf.service
        systemctl restart sluice-telegraf.service
    fi
    say "the agent runs as the service sluice-enforcer; the page in your browser follows it"
}

stay_in_foreground() {
    say "the agent runs here until Ctrl-C; start it again by: $program run --config $etc/agent.toml"
    rm -rf "$work"
    "$program" run --config "$etc/agent.toml" &
    agent=$! collector=
    if [ "$collects" = telegraf ]; then
        SLUICE_TOKEN=$(cat "$etc/ingest-token") SLUICE_URL=$SLUICE_URL SLUICE_HOSTNAME=$name \
            SLUICE_BUFFER_DIR=$buffer SLUICE_INTERVAL=${interval}s \
            "$telegraf" --strict-env-handling --config "$etc/telegraf.conf" &
        collector=$!
    fi
    trap 'kill $agent $collector 2>/dev/null' INT TERM HUP
    # A signal ends a wait; the next one is for the agent to put back what it changed.
    status=0
    while kill -0 "$agent" 2>/dev/null; do
        status=0
        wait "$agent" || status=$?
    done
    if [ -n "$collector" ]; then kill "$collector" 2>/dev/null || true; fi
    wait
    exit "$status"
}

main </dev/null

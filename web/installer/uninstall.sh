#!/bin/sh
# Removes what connecting this host to Sluice wrote. The kernel is put back as it was found first.
# The host's history stays on the server; its tokens are revoked there, under Tokens.
set -u
root=@ROOT@
etc=$root/etc/sluice-enforcer
library=$root/usr/local/lib/sluice-enforcer
program=$root/usr/local/bin/sluice-enforcer
units=$root/etc/systemd/system

if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now sluice-telegraf.service 2>/dev/null
    systemctl disable --now sluice-enforcer-dead-man.timer sluice-enforcer.service
    # While it looks, nobody else may restore.
    systemctl stop sluice-enforcer-dead-man.service
fi
rm -f "$units/sluice-telegraf.service"
if [ -x "$program" ]; then
    if [ -e "$etc/agent.toml" ] && ! "$program" restore --config "$etc/agent.toml"; then
        echo "sluice: not all is as it was found, so nothing was removed; end the agent" \
            "and run this again" >&2
        exit 1
    fi
    rm -f "$program" "$units/sluice-enforcer.service" \
        "$units/sluice-enforcer-dead-man.service" "$units/sluice-enforcer-dead-man.timer"
else
    echo "sluice: the package sluice-enforcer stays; remove it with your package manager"
fi
rm -rf "$etc" "$root/var/lib/sluice-enforcer" "$root/var/lib/sluice-telegraf" "$library"
if [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo "sluice: removed"

#!/bin/sh
# A Docker engine for tests on a machine where none runs. Root, Linux.
#   docker-engine.sh up [--install]   start or reuse one; prints DOCKER_HOST=...; exit 3: no engine can be had
#   docker-engine.sh down             stop the engine that `up` started (never another) and undo its network changes
#   docker-engine.sh status           prints the server version, or exits 3
# State lives in $DOCKER_LANE_DIR (default /tmp/docker-lane; keep it short: socket paths end at 107 bytes).
set -eu
dir=${DOCKER_LANE_DIR:-/tmp/docker-lane}
sock=$dir/docker.sock
pidfile=$dir/dockerd.pid
run=$dir/run
log=$dir/dockerd.log

answers() { [ -n "$1" ] && timeout 3 docker -H "$1" version -f '{{.Server.Version}}' 2>/dev/null; }
# Ours and alive: a zombie (killed, not yet reaped) does not count.
ours() { [ -s "$pidfile" ] && p=$(cat "$pidfile") && grep -q '^Name:.dockerd$' "/proc/$p/status" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$p/status"; }
# A dockerd that was killed hard leaves its containerd behind, which keeps a new one from starting: end it, by its pid, and wait.
end_old() {
  if [ -s "$pidfile" ]; then gone "$(cat "$pidfile")"; fi
  f=$run/containerd/containerd.pid
  if [ -s "$f" ] && cat "/proc/$(cat "$f")/cmdline" 2>/dev/null | tr '\0' ' ' | grep -qF -- "$run/containerd"; then kill "$(cat "$f")" 2>/dev/null || true; gone "$(cat "$f")"; fi
  rm -f "$pidfile" "$sock" "$f"
}
gone() { i=0; while [ -d "/proc/$1" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done; }
found() { for h in "${DOCKER_HOST:-}" "unix://$sock" unix:///var/run/docker.sock; do if answers "$h" >/dev/null; then echo "$h"; return 0; fi; done; return 1; }

undo() {
  for m in $(awk -v d="$dir/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r); do umount "$m" 2>/dev/null || umount -l "$m" || true; done
  for l in $(ls /sys/class/net | grep -E '^(docker0|br-[0-9a-f]{12})$'); do ip link del "$l" 2>/dev/null || true; done
  for t in iptables ip6tables; do
    command -v $t >/dev/null && $t-save 2>/dev/null | grep -q DOCKER &&
      $t-save | grep -vE 'DOCKER|docker0|br-[0-9a-f]{12}' | sed 's/^:FORWARD DROP/:FORWARD ACCEPT/' | $t-restore || true
  done
  [ ! -s "$dir/ip_forward" ] || cat "$dir/ip_forward" > /proc/sys/net/ipv4/ip_forward
  rm -f "$dir/ip_forward"
}

case ${1:-} in
up)
  if h=$(found); then echo "DOCKER_HOST=$h"; exit 0; fi
  [ "$(id -u)" = 0 ] || { echo 'no engine: not root' >&2; exit 3; }
  if ! command -v dockerd >/dev/null; then
    [ "${2:-}" = --install ] || { echo 'no engine: dockerd is not installed' >&2; exit 3; }
    { apt-get -o DPkg::Lock::Timeout=300 update && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends docker.io iptables iproute2; } >&2 || { echo 'no engine: apt-get failed' >&2; exit 3; }
  fi
  mkdir -p "$dir" "$run"
  ours || end_old
  [ -s "$dir/ip_forward" ] || cat /proc/sys/net/ipv4/ip_forward > "$dir/ip_forward"
  # --ip: ports are published on loopback only, unless a container says otherwise.
  setsid dockerd --host "unix://$sock" --data-root "$dir/data" --exec-root "$run" --pidfile "$pidfile" --ip 127.0.0.1 ${DOCKER_LANE_ARGS:-} > "$log" 2>&1 < /dev/null &
  p=$!
  i=0
  until answers "unix://$sock" >/dev/null; do
    i=$((i + 1))
    if [ $i -gt 300 ] || ! kill -0 $p 2>/dev/null; then tail -5 "$log" >&2; echo 'no engine: dockerd did not start' >&2; kill $p 2>/dev/null || true; exit 3; fi
    sleep 0.1
  done
  echo "DOCKER_HOST=unix://$sock" ;;
down)
  # After a hard kill, containers may still run: a fresh engine takes them over and ends them.
  if ! ours && grep -qF " $dir/" /proc/mounts; then DOCKER_HOST='' "$0" up > /dev/null || exit 1; fi
  if ours; then
    p=$(cat "$pidfile")
    export DOCKER_HOST="unix://$sock"
    c=$(docker ps -aq 2>/dev/null) && [ -z "$c" ] || docker rm -fv $c >/dev/null 2>&1 || true
    docker network prune -f >/dev/null 2>&1 || true
    kill "$p"
    i=0; while [ -d "/proc/$p" ] && [ $i -lt 300 ]; do i=$((i + 1)); sleep 0.1; done
    [ ! -d "/proc/$p" ] || { echo "dockerd $p did not stop" >&2; exit 1; }
    undo
  fi
  rm -f "$sock" "$pidfile" ;;
status)
  h=$(found) && answers "$h" || exit 3 ;;
*)
  sed -n 2,7p "$0" >&2; exit 2 ;;
esac

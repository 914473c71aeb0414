#!/bin/bash
# Against a cluster that runs (compose.cluster.yaml, COOKIES_CAPACITY=1000000 in .env): restarts every replica, one after the other,
# then replaces every one (deploy/roll.sh), under load. Fails when one request failed or one acknowledged record is missing, or when
# roll.sh replaces a replica although the capacity has been forgotten.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DOCKER=${DOCKER:-docker}
url=${URL:-http://127.0.0.1:3000}
compose() { $DOCKER compose -f compose.cluster.yaml "$@"; }
token=$(NODE_ENV=production JWT_SECRET_FILE=secrets/jwt_secret node dist/src/cli/main.js token --sub load --expires 1h)
under_load() {
  local name=$1; shift
  node test/compose/load.js "$url" "$token" 16 & local load=$!
  trap "kill $load 2> /dev/null || true" EXIT
  sleep 2
  "$@" > /tmp/rolling.$$.log 2>&1 || { cat /tmp/rolling.$$.log; exit 1; }
  rm -f /tmp/rolling.$$.log
  sleep 2
  kill -TERM $load
  echo "$name:"; wait $load
}
restart_each() {
  for replica in $(compose ps -q service); do
    $DOCKER restart --time 30 "$replica"
    until [ "$($DOCKER inspect -f '{{.State.Health.Status}}' "$replica")" = healthy ]; do sleep 0.5; done
    sleep 3
  done
}
under_load 'restarted one after the other' restart_each
under_load 'replaced one after the other' ./deploy/roll.sh
# The load has stored more than one record.
replicas=$(compose ps -q service | sort)
kept=$(mktemp)
cp .env "$kept"
echo COOKIES_CAPACITY=1 >> .env
trap 'cp "$kept" .env' EXIT
if ./deploy/roll.sh > /tmp/rolling.$$.log 2>&1; then
  echo 'roll.sh went on with a capacity below what is stored'; exit 1
fi
grep -q COOKIES_CAPACITY /tmp/rolling.$$.log || { cat /tmp/rolling.$$.log; exit 1; }
rm -f /tmp/rolling.$$.log
[ "$(compose ps -q service | sort)" = "$replicas" ] || { echo 'roll.sh replaced a replica all the same'; exit 1; }
echo 'rejected with a capacity below what is stored'

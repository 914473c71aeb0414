#!/bin/bash
# Against a cluster that runs (compose.cluster.yaml, COOKIES_CAPACITY=1000000 in .env): restarts every replica, one after the other,
# then replaces every one (deploy/roll.sh), under load. Fails when one request failed or one acknowledged record is missing, or when
# roll.sh keeps a killed replica or one that hangs, fails after an interrupt, or leaves other replicas after a capacity below what is stored, a setting with which none is healthy, or a missing image.
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
# A killed replica is replaced as well: it is not started again with its old image.
before=$(compose ps -aq service)
$DOCKER kill "$(echo "$before" | head -n 1)" > /dev/null
./deploy/roll.sh > /dev/null 2>&1
after=$(compose ps -q service)
[ "$(echo "$after" | wc -l)" = "$(echo "$before" | wc -l)" ] || { echo 'roll.sh lost a replica'; exit 1; }
if echo "$after" | grep -qF "$before"; then echo 'roll.sh kept a killed replica'; exit 1; fi
# So is one that hangs and is not healthy.
sick=$(compose ps -q service | head -n 1)
$DOCKER exec "$sick" sh -c 'kill -STOP $(cat /proc/1/task/1/children)'
until [ "$($DOCKER inspect -f '{{.State.Health.Status}}' "$sick")" = unhealthy ]; do sleep 1; done
./deploy/roll.sh > /dev/null 2>&1
if compose ps -q service | grep -qxF "$sick"; then echo 'roll.sh kept a replica that hangs'; exit 1; fi
# The engine completes an interrupted stop, and the next run replaces the other replicas.
before=$(compose ps -q service)
./deploy/roll.sh > /dev/null 2>&1 & roll=$!
until pgrep -P $roll -f ' stop ' > /dev/null; do
  kill -0 $roll || { echo 'roll.sh stopped no replica'; exit 1; }
  sleep 0.1
done
kill $roll; sleep 2
./deploy/roll.sh > /dev/null 2>&1 || { echo 'roll.sh failed after an interrupt'; exit 1; }
if compose ps -q service | grep -qF "$before"; then echo 'roll.sh kept a replica after an interrupt'; exit 1; fi
# The load has stored more than one record. With the second setting a new replica starts and never becomes healthy.
replicas=$(compose ps -aq service | sort)
kept=$(mktemp)
cp .env "$kept"
trap 'cp "$kept" .env' EXIT
for wrong in COOKIES_CAPACITY=1 MANAGEMENT_HOST=127.0.0.2 VERSION=0.0.0-unbuilt; do
  { cat "$kept"; echo $wrong; } > .env
  if ./deploy/roll.sh > /tmp/rolling.$$.log 2>&1; then
    echo "roll.sh went on with $wrong"; exit 1
  fi
  grep -qE 'COOKIES_CAPACITY|is not healthy|correct VERSION' /tmp/rolling.$$.log || { cat /tmp/rolling.$$.log; exit 1; }
  rm -f /tmp/rolling.$$.log
  [ "$(compose ps -aq service | sort)" = "$replicas" ] || { echo "roll.sh with $wrong left other replicas"; exit 1; }
  echo "rejected with $wrong"
done

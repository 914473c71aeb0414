#!/bin/sh
# Replaces the replicas of the cluster one by one, with the current image and settings of the compose file.
# An old replica stops only when a new one is healthy, so their number never decreases.
set -eu
cd "$(dirname "$0")/.."
compose() { ${DOCKER:-docker} compose -f compose.cluster.yaml "$@"; }
if [ -z "$(compose ps -q service)" ]; then
  echo 'No replica runs. Start the cluster: docker compose -f compose.cluster.yaml up --wait' >&2
  exit 1
fi
count=$(compose ps -aq service | wc -l)
# The new replicas: those that were not there before.
new() { compose ps -aq service | grep -vxF "$before"; }
# Removes new replicas that do not become healthy, because they would make every later run fail.
remove_new() {
  for replica in $(new); do
    ${DOCKER:-docker} logs --tail 20 "$replica" >&2
    ${DOCKER:-docker} rm -f "$replica" > /dev/null
  done
  echo 'The roll stopped, because a new replica is not healthy (see above).' >&2
  exit 1
}
# Waits for the new replicas alone: an old one may be sick, which is a reason to replace it.
await_new() {
  while :; do
    # One that crashes starts again and again.
    case $(${DOCKER:-docker} inspect -f '{{.State.Health.Status}} {{.RestartCount}}' $(new)) in
      *unhealthy* | *' '[1-9]* | '') return 1 ;;
      *starting*) sleep 0.5 ;;
      *) return ;;
    esac
  done
}
# `compose run` would build a missing image from this folder, although an earlier version was asked for.
for image in $(compose config --images service); do
  ${DOCKER:-docker} image inspect "$image" > /dev/null 2>&1 || ${DOCKER:-docker} pull "$image" || {
    echo "There is no image $image: build it, or correct VERSION." >&2
    exit 1
  }
done
# Runs the migrations of the new image once. They must suit the old replicas, which still run (docs/operating.md). It
# fails for a capacity below the number of records, because the new replicas would reject every POST.
compose run --rm --no-deps migrate cli migrate --check-capacity
# A stopped replica would start with its old image, and look like the new one.
compose rm -f service > /dev/null
# After that, because an interrupted roll may have left a replica that stops just now.
old=$(compose ps -q service)
for replica in $old; do
  before=$(compose ps -aq service)
  compose up -d --no-build --no-deps --no-recreate --scale service=$((count + 1)) service && await_new || remove_new
  # The balancer asks the name server every second and the new replica every half.
  sleep 3
  # Within stop_grace_period of the compose file, which its container has.
  ${DOCKER:-docker} stop "$replica" > /dev/null
  ${DOCKER:-docker} rm "$replica" > /dev/null
done

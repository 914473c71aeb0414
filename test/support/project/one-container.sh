#!/usr/bin/env bash
# Stands for `docker` with compose.yaml on a machine without Docker: the service and the commands in its container are processes of
# this machine. The folder in which it is called has .env and secrets, as beside compose.yaml. PROJECT is the built project.
set -euo pipefail
shift
tls=
while [ "$1" = -f ]; do
  [ "$2" != compose.tls.yaml ] || tls=true
  shift 2
done
command=$1
shift
here=$PWD
set -a
[ ! -f .env ] || . ./.env
set +a
export NODE_ENV=production JWT_SECRET_FILE=$here/secrets/jwt_secret DATABASE_URL=sqlite:$here/data/cookies.sqlite
if [ -n "$tls" ]; then export TLS_CERT_FILE=$here/secrets/tls_certificate TLS_KEY_FILE=$here/secrets/tls_key; fi

stop() {
  [ -f service.pid ] || return 0
  kill "$(cat service.pid)" || { cat service.log >&2; exit 1; }
  while kill -0 "$(cat service.pid)" 2> /dev/null; do sleep 0.05; done
  rm service.pid
}

case $command in
  stop) stop ;;
  up)
    stop
    mkdir -p data
    node "$PROJECT/dist/src/main.js" > service.log 2>&1 &
    echo $! > service.pid
    until curl -sf "http://127.0.0.1:$MANAGEMENT_PORT/health/ready" > /dev/null; do
      kill -0 "$(cat service.pid)" || { cat service.log >&2; exit 1; }
      sleep 0.1
    done
    ;;
  exec | run)
    while [[ $1 == -* ]]; do
      if [ "$1" = -e ]; then
        export "$2"
        shift
      fi
      shift
    done
    shift
    # Where the image has the program.
    cd "$PROJECT"
    exec "$@"
    ;;
  *)
    echo "one-container.sh knows no docker compose $command" >&2
    exit 2
    ;;
esac

#!/bin/sh
# Makes the secrets that the compose files mount, each once; what is there stays as it is.
# The folder is closed to others, the files in it are not: containers read them under a user of their own.
set -eu
cd "$(dirname "$0")/.."
mkdir -p -m 700 secrets
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
for name in jwt_secret postgres_password grafana_password; do
  [ -s "secrets/$name" ] || random > "secrets/$name"
done
[ -s secrets/database_url ] ||
  printf 'postgres://cookies:%s@postgres:5432/cookies?sslmode=disable' "$(cat secrets/postgres_password)" > secrets/database_url
chmod 644 secrets/*

#!/bin/sh
# Makes the secrets that the compose files mount, each once; what is there stays as it is.
# The folder is what keeps other users of this machine out: it is closed to all but its owner. Compose mounts the files
# themselves, past the folder, and containers read them under users of their own (10001, 999, 472), so these stay readable.
set -eu
umask 077
cd "$(dirname "$0")/.."
mkdir -p secrets
# One that was made before, by other means, may be open.
chmod 700 secrets
case "$(ls -ld secrets)" in
  drwx------[!+]*) ;;
  *)
    echo "The folder secrets cannot be closed to others here: use a file system with modes, and no access list (ACL)." >&2
    exit 1
    ;;
esac
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
# Written aside, so that nobody ever takes a part for the whole.
keep() {
  cat > "secrets/.$1"
  [ -s "secrets/.$1" ]
  chmod 644 "secrets/.$1"
  mv "secrets/.$1" "secrets/$1"
}
for name in jwt_secret postgres_password grafana_password; do
  [ -s "secrets/$name" ] || random | keep "$name"
done
[ -s secrets/database_url ] ||
  printf 'postgres://cookies:%s@postgres:5432/cookies?sslmode=disable' "$(cat secrets/postgres_password)" | keep database_url

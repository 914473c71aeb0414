#!/bin/sh
# Makes the secrets that the compose files mount. Existing secrets stay as they are.
# Only the owner may enter the folder, which protects the secrets on this machine. Compose mounts the files without the
# folder, and containers read them as other users (10001, 999, 472), so the files are readable.
set -eu
umask 077
cd "$(dirname "$0")/.."
mkdir -p secrets
# An existing folder may be open to others.
chmod 700 secrets
case "$(ls -ld secrets)" in
  drwx------[!+]*) ;;
  *)
    echo "The folder secrets cannot be closed to others here: use a file system with modes, and no access list (ACL)." >&2
    exit 1
    ;;
esac
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
# Renames a complete file, so that no reader sees a part of a secret.
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

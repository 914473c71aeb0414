#!/bin/sh
# The command line in the image: docker compose exec service cli <command>
exec node /app/dist/src/cli/main.js "$@"

# The current LTS. From Node 22 on nothing has to be compiled. To pin them, add a digest; see docs/operating.md.
ARG NODE_IMAGE=node:24-trixie
ARG DEBIAN_IMAGE=debian:trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# `.npmrc` keeps npm from running install scripts.
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY migrations migrations
COPY src src
RUN npx nest build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# SQLite comes compiled in better-sqlite3, whose checksum the lock file holds; the other one is for Node 20.
RUN npm ci --omit=dev && npm uninstall --no-save --omit=dev better-sqlite3-12
# Removes files that no program reads at run time: C sources, binaries for other platforms, builds for browsers and
# bundlers, types, maps and manuals. Licences stay, also those in a manual.
RUN cd node_modules \
    && rm -rf better-sqlite3/deps better-sqlite3/src \
    && find better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
    && node -e "new (require('better-sqlite3'))(':memory:').close()" \
    && rm -rf typeorm/browser rxjs/src rxjs/dist/bundles rxjs/dist/esm rxjs/dist/esm5 rxjs/dist/types \
        swagger-ui-dist/swagger-ui-es-bundle*.js typescript @types .bin .package-lock.json \
    && find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \
        -o -name '*.tsbuildinfo' \) -delete \
    && grep -rLZi --include='*.md' --exclude='[Ll][Ii][Cc][Ee][Nn]*' 'permission is hereby granted' . | xargs -0 rm \
    && find . -type d \( -name test -o -name tests -o -name benchmarks -o -name .github \) -prune -exec rm -rf {} +
COPY scripts/sbom.js scripts/
RUN node scripts/sbom.js > sbom.cdx.json

# Debian with only the node program: the service does not need npm, corepack and the headers of the node image.
FROM ${DEBIAN_IMAGE}
ARG VERSION=1.0.0
ARG REVISION=unknown
ARG SOURCE
LABEL org.opencontainers.image.title="Cookie Storage Service" \
    org.opencontainers.image.description="A REST service that stores cookie records" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.source="${SOURCE}"
COPY --from=dependencies /usr/local/bin/node /usr/local/bin/node
COPY --chmod=755 deploy/cli.sh /usr/local/bin/cli
# A named volume gets the owner of these folders. It is a number, because orchestrators cannot look up names.
RUN mkdir -m 700 /data /backups && chown 10001:10001 /data /backups
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
RUN mkdir -m 700 dist/compile-cache && chown 10001:10001 dist/compile-cache
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MANAGEMENT_PORT=3001 DATABASE_URL=sqlite:/data/cookies.sqlite
# SQLite sorts the entries of a new index in a temporary file, which may be larger than /tmp.
ENV SQLITE_TMPDIR=/data
# glibc would raise these by itself after the first large responses, and keep their memory; see
# docs/adr/0046-debian-image-with-node-only.md.
ENV MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_ARENA_MAX=2
USER 10001:10001
# Serves once, so that what V8 compiles for a start is in the image; see docs/adr/0046-debian-image-with-node-only.md.
RUN DATABASE_URL=sqlite:/tmp/cookies.sqlite JWT_SECRET=$(node -p 'crypto.randomUUID()') timeout 60 sh -c ' \
        node dist/src/main.js & \
        until node -e "fetch(\`http://127.0.0.1:3001/health/ready\`).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"; do sleep 0.1; done; \
        kill $! && wait $!' \
    && cli token --help && rm /tmp/cookies.sqlite*
VOLUME /data
EXPOSE 3000 3001
# The service handles SIGTERM once its code is loaded. Before that, `init: true` of compose lets it end the process.
STOPSIGNAL SIGTERM
# The variables of a proxy (NODE_USE_ENV_PROXY) are for outgoing connections, not for this one.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["env", "no_proxy=*", "node", "-e", "fetch(`http://127.0.0.1:${process.env.MANAGEMENT_PORT}/health/ready`).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# No entry point, so that `docker run IMAGE` serves and `docker run IMAGE cli ...` is the command line.
CMD ["node", "dist/src/main.js"]

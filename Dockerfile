# The newest Node on which better-sqlite3 12 is safe (docs/decisions.md); under long-term support until April 2027.
ARG NODE=22
ARG DEBIAN=trixie

FROM node:${NODE}-${DEBIAN} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Nothing that the compiler needs has an install script.
RUN npm ci --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ormconfig.ts ./
COPY migrations migrations
COPY src src
# Without source maps: nothing reads them at run time.
RUN npx nest build && find dist \( -name '*.map' -o -name '.tsbuildinfo*' \) -delete

FROM node:${NODE}-${DEBIAN} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# better-sqlite3 is compiled here: a prebuilt binary would come from a host that the lock file holds no checksum for.
RUN npm_config_build_from_source=true npm ci --omit=dev
# What no program reads at run time: C sources and objects, builds for browsers and bundlers, types, maps, manuals.
RUN cd node_modules \
    && mv better-sqlite3/build/Release/better_sqlite3.node /tmp \
    && rm -rf better-sqlite3/build better-sqlite3/deps better-sqlite3/src \
    && mkdir -p better-sqlite3/build/Release && mv /tmp/better_sqlite3.node better-sqlite3/build/Release/ \
    && strip --strip-unneeded better-sqlite3/build/Release/better_sqlite3.node \
    && rm -rf typeorm/browser rxjs/src rxjs/dist/bundles rxjs/dist/esm rxjs/dist/esm5 rxjs/dist/types \
        swagger-ui-dist/swagger-ui-es-bundle*.js typescript @types .bin .package-lock.json \
    && find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -iname '*.md' \
        -o -name '*.tsbuildinfo' \) -delete \
    && find . -type d \( -name test -o -name tests -o -name benchmarks -o -name .github \) -prune -exec rm -rf {} +

FROM node:${NODE}-${DEBIAN}-slim AS node

# Debian with the node program alone: npm, corepack and the headers of the node image are of no use to the service.
FROM debian:${DEBIAN}-slim
ARG VERSION=1.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Cookie Storage Service" \
    org.opencontainers.image.description="A REST service that stores cookie records" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --chmod=755 deploy/cli.sh /usr/local/bin/cli
# A named volume takes its owner from this folder; a number, because orchestrators cannot look names up.
RUN mkdir -m 700 /data && chown 10001:10001 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MANAGEMENT_PORT=3001 DATABASE_URL=sqlite:/data/cookies.sqlite
USER 10001:10001
VOLUME /data
EXPOSE 3000 3001
# Node handles SIGTERM itself once it serves; compose's `init: true` passes it on before that, too.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MANAGEMENT_PORT}/health/ready`).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# No entry point, so that `docker run IMAGE` serves and `docker run IMAGE cli ...` is the command line.
CMD ["node", "dist/src/main.js"]

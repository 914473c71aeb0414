import { SERVICE_TITLE } from '../config/service-name.js';

/**
 * The page of Swagger UI, without inline scripts and styles, which its Content-Security-Policy forbids.
 * @param base path of its files, relative to the page, because a proxy may add a prefix
 */
export const docsPage = (base: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${SERVICE_TITLE}</title>
    <link rel="icon" type="image/png" href="${base}favicon-32x32.png" sizes="32x32" />
    <link rel="stylesheet" href="${base}index.css" />
    <link rel="stylesheet" href="${base}swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${base}swagger-ui-bundle.js"></script>
    <script src="${base}swagger-initializer.js"></script>
  </body>
</html>
`;

/**
 * The script that starts Swagger UI. The token is not stored (persistAuthorization), the query cannot select another
 * document (queryConfigEnabled), and the document is not sent to a validator (validatorUrl).
 */
export const DOCS_INITIALIZER = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  validatorUrl: null,
});
`;

/** Allows scripts, styles and requests of this origin only, and no frame around the page. */
export const DOCS_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet of Swagger UI contains its icons as data.
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

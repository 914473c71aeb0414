import { SERVICE_TITLE } from '../config/service-name.js';

/**
 * The page of Swagger UI. Nothing in it is inline, so that its Content-Security-Policy can forbid all that is.
 * @param base where its files are, relative to the page: a proxy may publish it under any prefix
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
 * Starts Swagger UI. The token that a reader enters stays in the memory of the page (persistAuthorization), the document
 * is the one of this service whatever the page's query says (queryConfigEnabled), and nothing is sent elsewhere to be
 * validated (validatorUrl).
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

/** Content-Security-Policy: scripts, styles and requests of this origin only, and no frames. */
export const DOCS_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet of Swagger UI contains its icons as data URLs.
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/**
 * The name of the service: realm of its tokens, database name and application name of connections. One resource has the
 * same name by chance.
 */
export const SERVICE_NAME = 'cookies';

/** Title of the document and of its page. */
export const SERVICE_TITLE = 'Cookie Storage Service';

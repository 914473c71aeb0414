/** The name of the service: realm of its tokens, database and application name. A resource happens to have it, too. */
export const SERVICE_NAME = 'cookies';

/** Title of the document and of its page. */
export const SERVICE_TITLE = 'Cookie Storage Service';

/** The name of the service: realm of its tokens, name of its database and application. A resource has the same name. */
export const SERVICE_NAME = 'cookies';

/** Title of the document and of its page. */
export const SERVICE_TITLE = 'Cookie Storage Service';

/**
 * What the service calls itself where others see it: the realm of its tokens, its database and the connections to it. Not the name
 * of a resource, though one has the same.
 */
export const SERVICE_NAME = 'cookies';

/** For readers: the title of the document and of its page. */
export const SERVICE_TITLE = 'Cookie Storage Service';

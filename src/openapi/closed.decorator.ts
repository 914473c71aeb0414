import { ApiExtension } from '@nestjs/swagger';

/** Marks a class of responses that the document closes, until `openApiDocument` has done so. */
export const CLOSED = 'x-closed';

/**
 * Says of a class of responses that it never gets further properties. Clients may reject such a property, so a class
 * without this decorator can grow. Request bodies need none: they are closed already.
 */
export const ApiClosed = (): ClassDecorator => ApiExtension(CLOSED, true);

import { ApiExtension } from '@nestjs/swagger';

/** Extension that marks a closed class in the document, until `completeDocument` replaces it. */
export const CLOSED = 'x-closed';

/** Documents that a response class never gets new properties, so that clients may reject unknown ones. */
export const ApiClosed = (): ClassDecorator => ApiExtension(CLOSED, true);

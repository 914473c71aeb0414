/** The mark of an enum in a list parameter, with the name of its schema, until `completeDocument` replaces it. */
export const ENUM_NAME = 'x-enum-name';

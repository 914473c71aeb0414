/** A resource's plural for the reader: `gift cards` of `gift-cards`. */
export function readableName(resource: string): string {
  return resource.replaceAll(/[-_]/g, ' ');
}

/** What a resource is called, in the singular and the plural; its URL, its texts and its error codes follow from it. */
export class ResourceName {
  /**
   * @param singular in lower case, such as `order` or `gift-card`; words are joined by hyphens
   * @param plural as in its URL, its scopes, its table and its `storage` row
   */
  constructor(
    readonly singular: string,
    readonly plural = `${singular}s`,
  ) {}

  /** For the reader: `gift card`. */
  get text(): string {
    return this.singular.replaceAll('-', ' ');
  }

  /** For the reader: `gift cards`. */
  get pluralText(): string {
    return readableName(this.plural);
  }

  /** How many, for the reader: `1 gift card`, `2 gift cards`. */
  counted(count: number): string {
    return `${count} ${count === 1 ? this.text : this.pluralText}`;
  }

  /** With its article: `a jar`, `an order`. */
  get indefinite(): string {
    return `${/^[aeiou]/.test(this.singular) ? 'an' : 'a'} ${this.text}`;
  }

  /** As types and operations have it: `GiftCard`. */
  get typeName(): string {
    return this.singular.split('-').map(capitalized).join('');
  }

  /** The same in the plural: `GiftCards`. */
  get pluralTypeName(): string {
    return this.plural.split(/[-_]/).map(capitalized).join('');
  }

  /** The stable code of a 404 for one of its records. */
  get notFoundCode(): string {
    return `${this.singular.replaceAll('-', '_').toUpperCase()}_NOT_FOUND`;
  }

  /** The path of a record. */
  pathOf(id: number): string {
    return `/${this.plural}/${id}`;
  }
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** A resource's plural for the reader: `gift cards` of `gift-cards`. */
export function readableName(plural: string): string {
  return plural.replaceAll(/[-_]/g, ' ');
}

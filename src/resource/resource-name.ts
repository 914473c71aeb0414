/** The singular and plural name of a resource. URL, messages and error codes derive from it. */
export class ResourceName {
  /**
   * @param singular in lower case, such as `order` or `gift-card`; words are joined by hyphens
   * @param plural as in its URL, its scopes, its table and its `storage` row
   */
  constructor(
    readonly singular: string,
    readonly plural = `${singular}s`,
  ) {}

  /** Singular in messages: `gift card`. */
  get text(): string {
    return this.singular.replaceAll('-', ' ');
  }

  /** Plural in messages: `gift cards`. */
  get pluralText(): string {
    return readableName(this.plural);
  }

  /** A number of records in messages: `1 gift card`, `2 gift cards`. */
  counted(count: number): string {
    return `${count} ${count === 1 ? this.text : this.pluralText}`;
  }

  /** With its article: `a jar`, `an order`. */
  get indefinite(): string {
    return `${/^[aeiou]/.test(this.singular) ? 'an' : 'a'} ${this.text}`;
  }

  /** Singular in names of types and operations: `GiftCard`. */
  get typeName(): string {
    return this.singular.split('-').map(capitalized).join('');
  }

  /** Plural in names of types and operations: `GiftCards`. */
  get pluralTypeName(): string {
    return this.plural.split(/[-_]/).map(capitalized).join('');
  }

  /** `errorCode` of its 404. */
  get notFoundCode(): string {
    return `${this.singular.replaceAll('-', '_').toUpperCase()}_NOT_FOUND`;
  }

  /** The path of a record. */
  pathOf(id: number): string {
    return `/${this.plural}/${id}`;
  }
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The plural name in messages: `gift cards` for `gift-cards`. */
export function readableName(plural: string): string {
  return plural.replaceAll(/[-_]/g, ' ');
}

/** A media type with its parameters (RFC 9110 section 8.3.1), names in lower case. */
export interface MediaType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}$`);
const PARAMETER = new RegExp(`^(${TOKEN})=(?:(${TOKEN})|"([^"\\\\]*)")$`);

/** The media type that a `Content-Type` names; `undefined` when it is malformed. Empty parameters are allowed. */
export function parseMediaType(text: string): MediaType | undefined {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  if (!TYPE.test(type)) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    if (part === '') continue;
    const [, name, token, quoted] = PARAMETER.exec(part) ?? [];
    if (name === undefined) return undefined;
    parameters.set(name.toLowerCase(), token ?? quoted ?? '');
  }
  return { type: type.toLowerCase(), parameters };
}

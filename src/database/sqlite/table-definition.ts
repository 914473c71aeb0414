import { type Table, TableCheck, type TableForeignKey } from 'typeorm';

/** Text in SQL that may contain any word or sign. */
const QUOTED = /'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--.*|\/\*[^]*?\*\//g;

const TOKENS = /[(),]|\bCOLLATE\s+(?<collation>\w+)|\bAUTOINCREMENT\b|\bDEFERRABLE\s+(?<deferrable>INITIALLY\s+\w+)/gi;

const CHECK_NAME = /\bCONSTRAINT\s+(?:["`[]([^"`\]]+)["`\]]|(\w+))\s*CHECK\s*$/i;

/** The CHECK of a column that TypeORM reads as the values of an enum. */
const ENUM = /^\s*"+\s+IN\s*\([^()]*\)\s*$/i;

/** The SQL of the same length with signs for each character of quoted text. */
const withoutQuoted = (sql: string): string => sql.replaceAll(QUOTED, (text) => '"'.repeat(text.length));

/** Columns and condition of an index, unless TypeORM has read all of them: it ignores DESC, COLLATE and expressions. */
export function unknownColumns(sql: string, known: string): string | undefined {
  const columns = sql.slice(withoutQuoted(sql).indexOf('('));
  const comparable = (text: string) => text.replaceAll(/["\s]/g, '').toLowerCase();
  return comparable(withColumns(known, columns)) === comparable(known) ? undefined : columns;
}

/** A statement of TypeORM that makes an index, with other columns and another condition. */
export const withColumns = (query: string, columns: string): string =>
  query.slice(0, query.indexOf('" (') + 2) + columns;

/**
 * Adds to a table what TypeORM reads from its SQL only as TypeORM writes it, or never: CHECKs, collations, DEFERRABLE,
 * AUTOINCREMENT, WITHOUT ROWID and generated columns. Otherwise a rebuild would lose them without an error.
 */
export function completeTable(table: Table, sql: string, nameOf: (expression: string) => string): void {
  const plain = withoutQuoted(sql);
  table.withoutRowid = /\bWITHOUT\s+ROWID\b/i.test(plain);
  table.checks = [];
  const open: number[] = [];
  let position = 0;
  let start = 0;
  for (const { 0: token, index, groups } of plain.matchAll(TOKENS)) {
    const column = table.columns[position];
    if (token === '(') open.push(index);
    const end = token === ')' ? open.pop()! : index;
    if (open.length !== 1) continue;
    const definition = sql.slice(start, end);
    if (token === ')') {
      const expression = sql.slice(end + 1, index);
      if (/\bAS\s*$/i.test(definition) && column?.generatedType !== undefined) column.asExpression = expression;
      if (!/\bCHECK\s*$/i.test(definition)) continue;
      const [, quoted, name = quoted] = CHECK_NAME.exec(definition) ?? [];
      const isEnum = column?.enum !== undefined && name === undefined && ENUM.test(plain.slice(end + 1, index));
      if (!isEnum) table.checks.push(new TableCheck({ name: name ?? nameOf(expression), expression }));
    } else if (groups!['deferrable'] !== undefined) {
      const isOfColumn = ({ columnNames }: TableForeignKey) => columnNames[0] === column?.name;
      const isNamed = ({ name }: TableForeignKey) => definition.includes(`CONSTRAINT "${name}" `);
      const key = table.foreignKeys.find(column === undefined ? isNamed : isOfColumn);
      if (key !== undefined) key.deferrable = groups!['deferrable'];
    } else if (token === ',' || token === '(') {
      if (token === ',') position++;
      start = index + 1;
    } else if (column !== undefined) {
      if (groups!['collation'] !== undefined) column.collation = groups!['collation'];
      else Object.assign(column, { isGenerated: true, generationStrategy: 'increment' });
    }
  }
}

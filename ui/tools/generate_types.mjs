/* Writes api/types.ts from docs/openapi.json: one interface per schema, so that a change of the API
 * that the GUI does not follow is an error of the type check. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ui = join(dirname(fileURLToPath(import.meta.url)), '..');
const input = process.argv[2] ?? join(ui, '..', 'docs', 'openapi.json');
const output = process.argv[3] ?? join(ui, 'api', 'types.ts');

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((t) => simpleType(t, schema)).join(' | ');
}

function simpleType(type, schema) {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${schema.items ? typeOf(schema.items) : 'unknown'})[]`;
    case 'object':
      if (!schema.additionalProperties) return 'Record<string, unknown>';
      return `Record<string, ${typeOf(schema.additionalProperties)}>`;
    default:
      return type ?? 'unknown'; // string, boolean, null
  }
}

const api = JSON.parse(readFileSync(input, 'utf8'));
const lines = ['/* Made from docs/openapi.json by tools/generate_types.mjs. */', ''];
for (const [name, schema] of Object.entries(api.components.schemas)) {
  const required = new Set(schema.required ?? []);
  lines.push(`export interface ${name} {`);
  for (const [field, type] of Object.entries(schema.properties ?? {}))
    lines.push(`  ${field}${required.has(field) ? '' : '?'}: ${typeOf(type)};`);
  lines.push('}', '');
}
writeFileSync(output, lines.join('\n'));

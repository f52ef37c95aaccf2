/* serve/schema.h - the types of the answers, for the OpenAPI document.
 *
 * A type is a text with its fields, "name:type name?:type ...":
 *	u64 int num str bool any	the types of JSON
 *	Name				another type of the table
 *	[T] {T}				array of T; object with values of type T, under any name
 *	T~				T or null
 *	name?				the field may be absent
 * The end-to-end test checks every answer against its type.
 */
#ifndef SERVE_SCHEMA_H
#define SERVE_SCHEMA_H

#include "util/json_write.h"

struct schema {
	const char *name;
	const char *fields;
};

const struct schema *schema_table(size_t *n);

/* Writes a type expression as a JSON schema, under name (NULL in arrays). */
void schema_write_type(struct json *j, const char *name, const char *type, size_t len);

/* Writes the object schema of a list of fields. */
void schema_write_fields(struct json *j, const char *name, const char *fields);

#endif

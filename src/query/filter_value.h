/* query/filter_value.h - the texts of filter values: times, intervals, sizes, shares.
 *
 * Grammars: filter.h. Each takes the whole text, with spaces anywhere between its parts, and gives
 * false for anything else, for nothing and for what does not fit; *ret is then untouched.
 */
#ifndef QUERY_FILTER_VALUE_H
#define QUERY_FILTER_VALUE_H

#include "query/filter.h"

bool filter_value_count(const char *text, uint64_t *ret);
bool filter_value_size(const char *text, uint64_t *ret_bytes);
bool filter_value_address(const char *text, uint64_t *ret);
bool filter_value_interval(const char *text, uint64_t *ret_ns);
bool filter_value_share(const char *text, uint64_t *ret_ppm); /* N% in millionths */
bool filter_value_time(const char *text, bool is_upper, struct filter_time *ret);

#endif

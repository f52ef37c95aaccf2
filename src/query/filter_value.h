/* query/filter_value.h - parses the texts of filter values: times, intervals, sizes, shares.
 *
 * docs/REST.md has the grammars. Each function takes the whole text; spaces may stand anywhere
 * between the parts. Each function returns false for any other text, for the empty text and for a
 * number that does not fit. *ret then keeps its value.
 */
#ifndef QUERY_FILTER_VALUE_H
#define QUERY_FILTER_VALUE_H

#include "base/compiler.h"

/* A moment: nanoseconds since 1970, nanoseconds since the start, or a share of the run.
 *
 * As text:
 *	50%		a share of the time from the start to the end of the recording
 *	1600000000	UNIX time in seconds, fractions allowed; 1e11 and more are milliseconds (the
 *			2021 API used seconds, the 2023 API milliseconds; both work)
 *	+90, +1m30s, 1.5s, 250ms	time since the start: a plus sign or a unit marks it
 * A UNIX time as an upper bound means the end of its last digit: to=1600000000 includes all of
 * that second. A moment before the start lies before every allocation.
 */
enum filter_time_kind {
	FILTER_TIME_NONE,
	FILTER_TIME_UNIX,
	FILTER_TIME_RELATIVE,
	FILTER_TIME_PERCENT
};
struct filter_time {
	enum filter_time_kind kind;
	uint64_t ns; /* UNIX, RELATIVE; for an upper bound the last nanosecond of the unit given */
	double percent;
};

#define FILTER_PPM_PER_PERCENT 10000u

bool filter_value_count(const char *text, uint64_t *ret);
bool filter_value_size(const char *text, uint64_t *ret_bytes);
bool filter_value_address(const char *text, uint64_t *ret);
bool filter_value_interval(const char *text, uint64_t *ret_ns);
bool filter_value_share(const char *text, uint64_t *ret_ppm); /* N% in millionths */
bool filter_value_time(const char *text, bool is_upper, struct filter_time *ret);

#endif

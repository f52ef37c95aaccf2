/* util/human.c - see human.h. */
#include "util/human.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "util/utf8.h"

char *human_count(uint64_t n, char buf[HUMAN_BYTES])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *p = buf;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*p++ = ' ';
		*p++ = digits[i];
	}
	*p = 0;
	return buf;
}

/* Three significant digits; all digits of the whole part from 100 on. */
static void put_scaled(char *buf, double value, const char *unit)
{
	int n_decimals = value < 10 ? 2 : value < 100 ? 1 : 0;

	snprintf(buf, HUMAN_BYTES, "%.*f %s", n_decimals, value, unit);
}

char *human_rough(uint64_t n, char buf[HUMAN_BYTES])
{
	static const char *const unit[] = {"k", "M", "G", "T", "P", "E"};
	double value = (double)n / 1000;
	size_t i = 0;

	if (n < 100000)
		return human_count(n, buf);
	while (value >= 1000 && i + 1 < ARRAY_LEN(unit)) {
		value /= 1000;
		i++;
	}
	put_scaled(buf, value, unit[i]);
	return buf;
}

char *human_size(uint64_t n_bytes, char buf[HUMAN_BYTES])
{
	static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)n_bytes / (double)KIB;
	size_t i = 0;

	if (n_bytes < KIB) {
		snprintf(buf, HUMAN_BYTES, "%" PRIu64 " B", n_bytes);
		return buf;
	}
	while (value >= 1024 && i + 1 < ARRAY_LEN(unit)) {
		value /= 1024;
		i++;
	}
	put_scaled(buf, value, unit[i]);
	return buf;
}

char *human_duration(uint64_t ns, char buf[HUMAN_BYTES])
{
	if (ns < NS_PER_US)
		snprintf(buf, HUMAN_BYTES, "%" PRIu64 " ns", ns);
	else if (ns < NS_PER_MS)
		put_scaled(buf, (double)ns / (double)NS_PER_US, "us");
	else if (ns < NS_PER_S)
		put_scaled(buf, (double)ns / (double)NS_PER_MS, "ms");
	else if (ns < 100 * NS_PER_S)
		put_scaled(buf, (double)ns / (double)NS_PER_S, "s");
	else
		snprintf(buf, HUMAN_BYTES, "%" PRIu64 "h %02um %02us",
			 (uint64_t)(ns / NS_PER_S / 3600), (unsigned)(ns / NS_PER_S / 60 % 60),
			 (unsigned)(ns / NS_PER_S % 60));
	return buf;
}

char *human_share(uint64_t part, uint64_t whole, char buf[HUMAN_BYTES])
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0.0;

	if (part == 0 || whole == 0)
		snprintf(buf, HUMAN_BYTES, "0 %%");
	else if (part == whole)
		snprintf(buf, HUMAN_BYTES, "100 %%");
	else if (percent < 0.1)
		snprintf(buf, HUMAN_BYTES, "<0.1 %%");
	else if (percent > 99.9 && part < whole)
		snprintf(buf, HUMAN_BYTES, ">99.9 %%");
	else
		snprintf(buf, HUMAN_BYTES, "%.1f %%", percent);
	return buf;
}

char *human_time(uint64_t realtime_ns, char buf[HUMAN_BYTES])
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm tm;
	size_t n;

	if (!gmtime_r(&seconds, &tm)) {
		snprintf(buf, HUMAN_BYTES, "unknown");
		return buf;
	}
	n = strftime(buf, HUMAN_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, HUMAN_BYTES - n, ".%09uZ", (unsigned)(realtime_ns % NS_PER_S));
	return buf;
}

void human_print_text(FILE *out, const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length(p + i, len - i);

		if (n == 0 || utf8_is_control(p + i, n)) {
			fprintf(out, "\\x%02x", p[i]);
			n = 1;
		} else {
			fwrite(p + i, 1, n, out);
		}
		i += n;
	}
}

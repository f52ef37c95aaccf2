/* util/rss.h - how much memory this process uses at the moment. */
#ifndef UTIL_RSS_H
#define UTIL_RSS_H

#include "base/compiler.h"

/* Resident bytes, shared ones included; 0 when /proc is not readable. Costs a microsecond. */
uint64_t rss_bytes(void);
uint64_t rss_own_bytes(void); /* without those of files: what the system cannot simply drop */

#endif

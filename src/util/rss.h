/* util/rss.h - how much memory this process has at the moment. */
#ifndef UTIL_RSS_H
#define UTIL_RSS_H

#include "base/compiler.h"

/* Resident bytes, shared ones included; 0 when the system does not tell. Costs a microsecond. */
uint64_t rss_bytes(void);

#endif

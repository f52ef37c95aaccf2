/* export/gzip_out.h - a stdio stream that compresses what is written to it. */
#ifndef EXPORT_GZIP_OUT_H
#define EXPORT_GZIP_OUT_H

#include <stdio.h>

#include "util/err.h"

/* Opens a stream for writing. The compressed bytes go to out, which is borrowed until
 * gzip_out_close(). -ERR_MEMORY. */
int gzip_out_open(FILE *out, FILE **ret, struct err *err);

/* Ends the gzip file and frees the stream. -ERR_IO: some bytes could not be written. */
int gzip_out_close(FILE *gzip, FILE *out, struct err *err);

#endif

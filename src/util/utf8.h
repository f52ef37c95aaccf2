/* util/utf8.h - recognising UTF-8. */
#ifndef UTIL_UTF8_H
#define UTIL_UTF8_H

#include "base/compiler.h"

/* The length in bytes of the character at p; 0: the bytes are no valid character (cut short,
 * overlong, a surrogate, beyond U+10FFFF). left: bytes from p to the end, at least 1. */
unsigned utf8_length(const uint8_t *p, size_t left);

/* Is the character at p a control character, which could steer a terminal? n is its
 * utf8_length(). */
bool utf8_is_control(const uint8_t *p, unsigned n);

#endif

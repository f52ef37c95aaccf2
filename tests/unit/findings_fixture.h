/* findings_fixture.h - a made-up recording and what stands out in it, for tests of report/findings.h.
 *
 * One at a time: begin(), what the test adds to synth, ask(), looks at found, end(). A failed step fails
 * the test.
 */
#ifndef FINDINGS_FIXTURE_H
#define FINDINGS_FIXTURE_H

#include "base/units.h"
#include "report/findings.h"
#include "report_synth.h"

#define RUN_NS (1000 * NS_PER_S)
#define STACK(s, ...) synth_stack((s), (const char *[]){__VA_ARGS__, NULL})

extern struct synth synth;
extern struct report report;
extern struct findings found;
extern struct filter filter; /* of the report: set conditions between begin() and ask() */

void begin(void);
void ask(size_t n_points);
void end(void);

/* The nth finding of a kind, or NULL. */
const struct finding *find(enum finding_kind kind, size_t nth);

/* What the cost is under the finding's conditions alone. */
uint64_t value_by_conditions(const struct finding *f);

/* A base that is there all the time, so that shares of the peak are not all of it. */
void add_base(uint64_t n_bytes);

/* n blocks of a size, evenly between two moments, never freed. */
void keep_evenly(uint32_t stack, uint64_t n, uint64_t size, uint64_t from, uint64_t to);

#endif

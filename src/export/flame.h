/* export/flame.h - the flame graph: an <svg> that stands alone or inside of a page.
 *
 * It has the picture as it is at first, for viewers without scripts, and the whole tree as text,
 * from which the script draws what is looked at.
 */
#ifndef EXPORT_FLAME_H
#define EXPORT_FLAME_H

#include "export/export.h"

struct flame {
	unsigned id; /* different for each graph of a page */
	enum export_cost cost;
	bool is_alone; /* with XML declaration and the script; else flame_script comes before it */
};

/* Function mpFlame(DATA); to stand in a <script> before the graphs of a page. */
extern const char flame_script[];
extern const char flame_style[]; /* CSS, likewise */

int flame_write(struct query *q, const struct export_options *o, const struct flame *f, FILE *out,
		struct err *err);

#endif

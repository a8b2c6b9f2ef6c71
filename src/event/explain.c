/* SPDX-License-Identifier: MIT */
/* see explain.h */
#include "event/explain.h"

#include "base/error.h"

int coati_explain_open(const struct explain_case *c, const struct event_calls *calls,
		       struct coati_error *err)
{
	if (c->code == -EMFILE)
		return coati_fail(err, c->code, "open %s: %m; raise the limit with ulimit -n",
				  c->label);
	if (c->label[0])
		return coati_fail(err, c->code, "open %s: %m; see coati doctor", c->label);
	return coati_fail(err, c->code, "open event of type %u: %m; see coati doctor",
			  c->attr->type);
}

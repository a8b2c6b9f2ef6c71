/* SPDX-License-Identifier: MIT */
/* coati agent --relay: nothing is sampled here; what agents send is merged into few inserts. */
#include "fleet/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/agent/hangup.h"
#include "cli/agent/session.h"
#include "cli/command.h"
#include "cli/record/signals.h"
#include "cli/talk.h"

#define ROUND_MS 1000

const char *coati_agent_relay_check(const struct agent_args *a)
{
	if (!a->relay)
		return NULL;
	if (!a->clickhouse)
		return "--relay needs --clickhouse URL, where it inserts";
	if (a->store || a->print || a->otlp || a->push || a->metrics || a->when.len || a->slow.len)
		return "--relay samples nothing: it takes --clickhouse, --secrets and --memory; "
		       "its /metrics are at the same address";
	return NULL;
}

/* What is wrong is said when it changes. */
static void note_trouble(struct relay *r, char last[COATI_ERROR_TEXT])
{
	char now[COATI_ERROR_TEXT];

	coati_relay_trouble(r, now, sizeof(now));
	if (!strcmp(now, last))
		return;
	coati_note("%s", *now ? now : "the database takes inserts again");
	memcpy(last, now, sizeof(now));
}

static int serve(struct relay *r, struct coati_error *err)
{
	char last[COATI_ERROR_TEXT] = "";
	int ret = 0;

	while ((ret == 0 || ret == -EINTR) && !coati_record_stops() && !coati_agent_hangup_came()) {
		ret = coati_relay_round(r, ROUND_MS, err);
		note_trouble(r, last);
	}
	return ret == -EINTR ? 0 : ret;
}

static void note_start(const struct agent_args *a, const struct relay *r)
{
	if (coati_relay_port(r))
		coati_note("relaying from port %u to %s", coati_relay_port(r), a->clickhouse);
	else
		coati_note("relaying from %s to %s", a->relay, a->clickhouse);
}

int coati_agent_relay_run(const struct agent_args *a, bool *ret_reload)
{
	struct relay_opts o = {
		.listen = a->relay, .url = a->clickhouse, .secrets = a->secrets, .memory = a->memory
	};
	struct coati_error err = { 0 };
	struct relay *r = NULL;
	struct relay_stats st;
	int ret;

	coati_record_signals_catch();
	coati_agent_hangup_catch();
	ret = coati_relay_new(&o, &r, &err);
	if (ret == 0) {
		note_start(a, r);
		ret = serve(r, &err);
		coati_relay_stats(r, &st);
		coati_note("%llu windows of %llu requests in %llu inserts, %llu failed",
			   (unsigned long long)st.parcels, (unsigned long long)st.requests,
			   (unsigned long long)st.shipments, (unsigned long long)st.errors);
		coati_relay_free(r);
	}
	if (ret < 0)
		coati_say("%s", err.text);
	*ret_reload = coati_agent_hangup_came() && !coati_record_stops();
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}

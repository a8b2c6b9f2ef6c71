/* SPDX-License-Identifier: MIT */
/* The kinds of live events by name, with their arguments: what a reader knows, and what a writer tells in its schema. */
#include "record/live-decode.h"

/* Letters behind the v of a count ('*'): the rest of the event is read by a function of its own. */
const struct live_kind_info coati_live_kinds[LIVE_KINDS] = {
	[LIVE_NONE] = { "none", "", "" },
	[LIVE_REGION_BEGIN] = { "region_begin", "t", "site" },
	[LIVE_REGION_END] = { "region_end", "", "" },
	[LIVE_RANGE] = { "range", "tv", "site length" },
	[LIVE_TASK_BEGIN] = { "task_begin", "tvv", "site id parent" },
	[LIVE_TASK_END] = { "task_end", "v", "id" },
	[LIVE_TASK_ENTER] = { "task_enter", "v", "id" },
	[LIVE_LOG] = { "log", "ts", "site text" },
	[LIVE_COUNTER] = { "counter", "tz", "site value" },
	[LIVE_GAUGE] = { "gauge", "td", "site value" },
	[LIVE_FLOW] = { "flow", "tvv", "site id phase" },
	[LIVE_INSTANT] = { "instant", "tf", "site fields" },
	[LIVE_RESOURCE_NEW] = { "resource_new", "vvvs", "type id state name" },
	[LIVE_RESOURCE_SET] = { "resource_set", "vvvvs", "type id from to reason" },
	[LIVE_RESOURCE_END] = { "resource_end", "vv", "type id" },
	[LIVE_THREAD_NAME] = { "thread_name", "s", "name" },
	[LIVE_PROCESS_NAME] = { "process_name", "s", "name" },
	[LIVE_SAMPLE] = { "sample", "kv", "stack weight" },
	[LIVE_LABELS] = { "labels", "b", "set" },
	[LIVE_STACKED] = { "stacked", "k", "stack" },
	[LIVE_OPEN_REGION] = { "open_region", "vtvv", "tid site depth age" },
	[LIVE_OPEN_TASK] = { "open_task", "tvvv", "site id parent age" },
	[LIVE_OPEN_ENTER] = { "open_enter", "vv", "tid id" },
	[LIVE_OPEN_RESOURCE] = { "open_resource", "vvvs", "type id state name" },
	[LIVE_LOST] = { "lost", "vvvvv", "tid slot events first last" },
	[LIVE_STRING] = { "string", "vvb", "id full text" },
	[LIVE_STACK] = { "stack", "v*", "id addresses" },
	[LIVE_SITE] = { "site", "vvvsssss", "id kind line name category file function fields" },
	[LIVE_TYPE] = { "type", "vs*", "id name states" },
	[LIVE_PROCESS] = { "process", "vvvbss", "pid uid start boot comm exe" },
	[LIVE_CLOCK] = { "clock", "vvvvvv", "source mult shift error realtime period" },
	[LIVE_MORE] = { "more", "", "" },
};

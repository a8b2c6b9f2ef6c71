// SPDX-License-Identifier: MIT
// What a thing of the timeline is, in words: { title, brief, more, begin, end, thread, rows }.
import { h } from "./dom.js";
import { duration, instant, plain, percent } from "./amount.js";
import { breakdown } from "./overview.js";
import { lowerBound } from "./timeline.js";

const FRAMES = 6;

// The innermost frames of a call path.
export function stackList(model, node) {
	const out = [];
	for (; node > 0 && out.length < 64; node = model.ndParent[node])
		out.push(plain(model.functionName(model.nodeFn[node]), 80));
	return out;
}

function stackRow(model, title, node) {
	if (!node) return null;
	const frames = stackList(model, node - 1);
	return h(
		"div",
		{ class: "stack-row" },
		h("span", { class: "dim" }, `${title} `),
		frames.slice(0, FRAMES).join(" ← "),
		frames.length > FRAMES ? ` ← ${frames.length - FRAMES} more` : "",
	);
}

const when = (begin, end) => `${duration(end - begin)} at ${instant(begin, 1e2)}`;

function state(app, tracks, i) {
	const { model } = app,
		thread = tracks.threadOfState[i],
		begin = model.stateBegin[i],
		end = model.stateEnd(i),
		name = model.stateName(model.stateKind[i]);
	const wake = wakeOf(model, model.stateWake[i]),
		rows = [stackRow(model, "Left the CPU in", model.stateNode[i])];
	if (wake >= 0) {
		const who = model.waker[wake]
			? plain(model.threadName(model.waker[wake] - 1))
			: "an interrupt";
		rows.push(
			h(
				"div",
				{},
				h("span", { class: "dim" }, "Woken by "),
				who,
				h(
					"span",
					{ class: "dim" },
					` after ${duration(model.wakeBlocked[wake])} in ${model.stateName(model.wakeState[wake])}`,
				),
			),
			stackRow(model, "Waker in", model.wakeNode[wake]),
		);
	}
	const cpu = model.stateCpu[i] ? ` on CPU ${model.stateCpu[i] - 1}` : "";
	return {
		title: `${name}${cpu}`,
		brief: when(begin, end),
		more: plain(model.threadName(thread)),
		begin,
		end,
		thread,
		rows: rows.filter(Boolean),
		wake,
	};
}

// Wakes that were left out of a page have no place in it.
function wakeOf(model, number) {
	if (!number) return -1;
	const i = lowerBound(model.wakeNumber.length, number - 1, k => model.wakeNumber[k]);
	return model.wakeNumber[i] === number - 1 ? i : -1;
}

// The time breakdown of a task, as coati trace --task has it.
export function taskParts(model, i) {
	const parts = model.meta.states.map(() => 0);
	for (let k = model.partFirst[i]; k < model.partFirst[i + 1]; k++)
		parts[model.part[k]] = model.partNs[k];
	return parts;
}

function task(app, i) {
	const { model } = app,
		begin = model.taskBegin[i],
		end = begin + model.taskLength[i],
		type = model.meta.types[model.taskType[i]];
	const slower =
		type && type.p50
			? `${(model.taskLength[i] / type.p50).toFixed(1)} times the median`
			: "";
	const threads = new Set();
	for (let k = model.spanFirst[i]; k < model.spanFirst[i + 1]; k++)
		threads.add(model.spanThread[k]);
	return {
		title: `${plain(model.typeName(model.taskType[i]), 60)} ${model.taskId(i)}`,
		brief: when(begin, end),
		more: slower,
		begin,
		end,
		rows: [
			h("div", { class: "task-parts" }, breakdown(model, taskParts(model, i))),
			h(
				"div",
				{ class: "dim" },
				[
					slower,
					`worked on by ${[...threads].map(t => plain(model.threadName(t), 40)).join(", ") || "no thread"}`,
				]
					.filter(Boolean)
					.join(" · "),
			),
		],
		actions: [
			h(
				"button",
				{
					onclick: () =>
						app.set({
							view: "flame",
							mode: model.hasMode("off") ? "both" : "on",
							task: i,
							zoom: "",
						}),
				},
				"Flame graph of this task",
			),
		],
	};
}

function sample(app, i) {
	const { model } = app,
		node = model.sNode[i],
		begin = model.sTime[i],
		thread = model.ptThread[model.sThread[i]];
	return {
		title: plain(model.functionName(model.nodeFn[node]) ?? "sample"),
		brief: `sample at ${instant(begin, 1e2)}`,
		more: plain(model.threadName(thread)),
		begin,
		end: begin + 1,
		thread,
		rows: [stackRow(model, "Stack", node + 1)],
	};
}

function region(app, i) {
	const { model } = app,
		begin = model.regionBegin[i],
		end = begin + model.regionLength[i],
		thread = model.regionThread[i],
		of = model.regionTask[i];
	const index = of
		? lowerBound(model.taskNumber.length, of - 1, k => model.taskNumber[k])
		: -1;
	const owner = index >= 0 && model.taskNumber[index] === of - 1 ? index : -1;
	return {
		title: plain(model.texts[model.regionName[i]]),
		brief: when(begin, end),
		more: plain(model.threadName(thread)),
		begin,
		end,
		thread,
		actions:
			owner >= 0
				? [
						h(
							"button",
							{ onclick: () => app.set({ task: owner }) },
							`Select ${plain(model.typeName(model.taskType[owner]), 40)} ${model.taskId(owner)}`,
						),
					]
				: [],
	};
}

export function describe(app, tracks, { kind, id }) {
	const { model } = app;
	switch (kind) {
		case "state":
		case "run": {
			const d = state(app, tracks, id);
			return kind === "run"
				? { ...d, title: plain(model.threadName(d.thread)) }
				: d;
		}
		case "task":
			return task(app, id);
		case "span": {
			const owner = tracks.taskOfSpan[id],
				begin = model.spanBegin[id],
				d = task(app, owner);
			return {
				...d,
				more: `${when(begin, begin + model.spanLength[id])} of it on this thread (${percent(model.spanLength[id], model.taskLength[owner])})`,
				begin,
				end: begin + model.spanLength[id],
				thread: model.spanThread[id],
			};
		}
		case "sample":
			return sample(app, id);
		case "region":
			return region(app, id);
		case "resource": {
			const begin = model.stBegin[id],
				end = begin + model.stLength[id],
				thing = model.things.resources[model.stResource[id]];
			return {
				title: plain(model.texts[model.stName[id]]),
				brief: when(begin, end),
				more: plain(`${thing.type} ${thing.name}`),
				begin,
				end,
			};
		}
		default: {
			const logs = model.logTime.length,
				isLog = id < logs,
				time = tracks.markTime(id);
			const thread = isLog ? model.logThread[id] : model.markThread[id - logs];
			return {
				title: plain(
					model.texts[
						isLog
							? model.logText[id]
							: model.markName[id - logs]
					],
					300,
				),
				brief: `${isLog ? "log" : "mark"} at ${instant(time, 1e2)}`,
				more: plain(model.threadName(thread)),
				begin: time,
				end: time + 1,
				thread,
			};
		}
	}
}

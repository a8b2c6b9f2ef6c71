// SPDX-License-Identifier: MIT
// Findings: a sentence, the numbers behind it, and the view that shows them. They are computed by
// coati; here they become links.
import { h } from "./dom.js";
import { plain } from "./amount.js";

const TITLES = {
	"run-queue": "CPUs are saturated",
	"lock-convoy": "Threads queue for a lock",
	"busy-polling": "A thread polls without waiting",
	"fault-storm": "Page faults take CPU time",
	"hot-function": "One function dominates",
	"long-tail": "Slow tasks are far from typical",
};

// What to show as evidence: a part of the page's state.
export function evidence(model, f) {
	const out = {
		view: f.view ?? "flame",
		zoom: "",
		sandwich: false,
		fn: "",
		search: "",
		from: null,
		to: null,
		thread: "",
		task: null,
		type: "",
		mode: "on",
	};
	if (f.function) {
		out.fn = `${f.function}@@${f.image ?? ""}`;
		out.sandwich = f.view !== "table";
		out.order = "heavy";
	}
	if (f.off_cpu) out.mode = "off";
	if (f.thread) out.thread = f.thread;
	if (f.from !== undefined) {
		out.seeFrom = f.from;
		out.seeTo = f.to;
	}
	if (f.task !== undefined) {
		for (let i = 0; i < model.tasks; i++)
			if (model.taskNumber[i] === f.task) out.task = i;
	}
	return out;
}

export function findingCard(app, f) {
	return h(
		"li",
		{ class: "finding", "data-kind": f.kind },
		h(
			"button",
			{ class: "finding-go", onclick: () => app.set(evidence(app.model, f)) },
			h("strong", {}, TITLES[f.kind] ?? plain(f.kind, 60)),
			h("span", {}, plain(f.text, 600)),
			h("span", { class: "go" }, "Show the evidence →"),
		),
	);
}

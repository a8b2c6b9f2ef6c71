// SPDX-License-Identifier: MIT
// The state of the page in its address, so that a link shows what somebody saw. What is as usual
// is left out; what makes no sense is ignored.

const WORDS = {
	view: ["overview", "flame", "timeline", "table", "source"],
	mode: ["on", "off", "both"],
	order: ["heavy", "time"],
	shape: ["icicle", "flame"],
	color: ["kind", "image", "diff"],
	by: [
		"function",
		"line",
		"image",
		"thread",
		"process",
		"label",
		"type",
		"task",
		"log",
		"event",
	],
};
const NUMBERS = ["from", "to", "task", "cpu", "event", "seeFrom", "seeTo"];
const TEXTS = [
	"thread",
	"process",
	"type",
	"label",
	"key",
	"search",
	"fn",
	"focus",
	"hide",
	"zoom",
	"sort",
];
const FLAGS = ["invert", "fold", "sandwich", "up"];

export function usualState(mode = "on") {
	return {
		view: "overview",
		mode,
		order: "heavy",
		shape: "icicle",
		color: "kind",
		by: "function",
		from: null,
		to: null,
		task: null,
		cpu: null,
		event: null,
		seeFrom: null,
		seeTo: null,
		thread: "",
		process: "",
		type: "",
		label: "",
		key: "",
		search: "",
		fn: "",
		focus: "",
		hide: "",
		zoom: "",
		sort: "",
		invert: false,
		fold: false,
		sandwich: false,
		up: false,
	};
}

export function writeLink(state, usual = usualState()) {
	const out = new URLSearchParams();
	for (const key of Object.keys(usual))
		if (state[key] !== usual[key] && state[key] !== null && state[key] !== undefined)
			out.set(
				key,
				state[key] === true
					? "1"
					: state[key] === false
						? "0"
						: String(state[key]),
			);
	return out.toString();
}

export function readLink(text, usual = usualState()) {
	const state = { ...usual };
	for (const [key, value] of new URLSearchParams(text.replace(/^#/, ""))) {
		if (Object.hasOwn(WORDS, key)) {
			if (WORDS[key].includes(value)) state[key] = value;
		} else if (NUMBERS.includes(key)) {
			const n = Number(value);
			if (value !== "" && Number.isFinite(n) && n >= 0) state[key] = n;
		} else if (TEXTS.includes(key)) {
			state[key] = value.slice(0, 8192);
		} else if (FLAGS.includes(key)) {
			state[key] = value === "1";
		}
	}
	if (state.from !== null && state.to !== null && state.to < state.from)
		state.from = state.to = null;
	return state;
}

// SPDX-License-Identifier: MIT
// Small controls that toolbars are made of.
import { h } from "./dom.js";

// One of several: [[value, text], ...].
export function segmented(name, choices, value, fn) {
	return h(
		"div",
		{ class: "segmented", role: "group", "aria-label": name },
		...choices.map(([v, text]) =>
			h(
				"button",
				{ "aria-pressed": String(v === value), onclick: () => fn(v) },
				text,
			),
		),
	);
}

export function toggle(text, on, fn, hint = "") {
	return h(
		"button",
		{
			class: "toggle",
			"aria-pressed": String(on),
			title: hint,
			onclick: () => fn(!on),
		},
		text,
	);
}

// A bar whose parts add up: [[share, color, text], ...].
export function stackedBar(parts, label) {
	return h(
		"span",
		{ class: "stack", role: "img", "aria-label": label },
		...parts.map(([share, color, text]) =>
			h("i", {
				title: text,
				style: { width: `${(100 * share).toFixed(2)}%`, background: color },
			}),
		),
	);
}

// For those who do not see a picture: the same numbers as a table.
export function asTable(app) {
	return h(
		"button",
		{ class: "visually-hidden as-table", onclick: () => app.set({ view: "table" }) },
		"Show these numbers as a table",
	);
}

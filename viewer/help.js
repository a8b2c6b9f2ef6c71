// SPDX-License-Identifier: MIT
// The sheet of keys.
import { h } from "./dom.js";

const KEYS = [
	[
		"Everywhere",
		[
			["1 – 5", "overview, flame graph, timeline, table, source"],
			["/", "search"],
			["m", "on CPU, off CPU, both"],
			["t", "light or dark"],
			["y", "copy this view as text"],
			["x", "clear the selection"],
			["Esc", "back: zoom, selection, search"],
			["?", "this sheet"],
		],
	],
	[
		"Flame graph",
		[
			["← → ↑ ↓", "move between frames"],
			["Enter", "zoom in and choose"],
			["f", "focus on the chosen function"],
			["h", "hide it"],
			["b", "its callers and callees"],
			["o", "its source"],
			["i", "inverted"],
			["r", "fold recursion"],
			["l", "left heavy or time order"],
			["v", "icicle or flame"],
			["c", "color by kind or image"],
		],
	],
	[
		"Timeline",
		[
			["w s, + −", "zoom in, zoom out"],
			["a d, ← →", "earlier, later"],
			["j k, ↑ ↓", "next or previous track"],
			["n p", "next or previous thing on the track"],
			["Enter", "choose it"],
			["z", "zoom to the selection"],
			["e", "select what is in view"],
			["0", "show all"],
			["drag", "select a time range; with Shift: move"],
		],
	],
];

export class Help {
	constructor() {
		this.dialog = h(
			"dialog",
			{ class: "help", "aria-label": "Keys" },
			h(
				"form",
				{ method: "dialog" },
				h("h2", {}, "Keys"),
				h("button", { "aria-label": "Close", class: "close" }, "×"),
			),
			h(
				"div",
				{ class: "help-columns" },
				...KEYS.map(([title, list]) =>
					h(
						"section",
						{},
						h("h3", {}, title),
						h(
							"dl",
							{},
							...list.flatMap(([k, text]) => [
								h("dt", {}, h("kbd", {}, k)),
								h("dd", {}, text),
							]),
						),
					),
				),
			),
		);
		document.body.append(this.dialog);
	}

	toggle() {
		if (this.dialog.open) this.dialog.close();
		else this.dialog.showModal();
	}
}

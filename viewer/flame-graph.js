// SPDX-License-Identifier: MIT
// What the boxes of a flame graph are: functions of a tree, or of one thread in order of time.
import { h } from "./dom.js";
import { layout, timeLayout } from "./flame.js";
import { kindColor, nameColor, hash, isDark } from "./color.js";
import { amount, percent, plain, duration } from "./amount.js";
import { FRAME } from "./model.js";

const KINDS = [
	[FRAME.INLINE, "inlined"],
	[FRAME.KERNEL, "kernel"],
	[FRAME.TRUNCATED, "stack truncated here"],
	[FRAME.OFF_CPU, "off CPU"],
	[FRAME.NO_SYMBOL, "no symbol"],
];

export function kindWords(flags) {
	return KINDS.filter(([bit]) => flags & bit)
		.map(([, word]) => word)
		.join(", ");
}

// What all graphs of functions have in common.
class FunctionGraph {
	constructor(app, picked) {
		this.app = app;
		this.model = app.model;
		this.picked = picked;
		this.dark = isDark();
	}

	label(i) {
		const f = this.fn(i);
		return f < 0 ? "all" : plain(this.model.functionName(f));
	}

	color(i) {
		const f = this.fn(i);
		if (f < 0) return this.dark ? "hsl(35 8% 30%)" : "hsl(35 20% 90%)";
		if (this.app.state.color === "image")
			return nameColor(this.model.imageName(f), this.dark);
		return kindColor(this.marks(i), hash(this.model.functionName(f)), this.dark);
	}

	isMatch(i) {
		const f = this.fn(i);
		return f >= 0 && this.app.matches[f] === 1;
	}

	numbers(i) {
		const { unit, total } = this.picked;
		return `total ${amount(this.total(i), unit)} (${percent(this.total(i), total)}), self ${amount(this.self(i), unit)} (${percent(this.self(i), total)})`;
	}

	text(i) {
		const f = this.fn(i),
			kind = kindWords(this.marks(i));
		return `${this.label(i)}${f < 0 ? "" : `, ${plain(this.model.imageName(f))}`}${kind ? `, ${kind}` : ""}, ${this.numbers(i)}`;
	}

	tip(i) {
		const f = this.fn(i),
			kind = kindWords(this.marks(i));
		return [
			h("div", { class: "tip-name" }, this.label(i)),
			h(
				"div",
				{ class: "dim" },
				[f < 0 ? "" : plain(this.model.imageName(f)), kind]
					.filter(Boolean)
					.join(" · "),
			),
			h("div", { class: "num" }, this.numbers(i)),
		];
	}
}

export class TreeGraph extends FunctionGraph {
	constructor(app, picked, tree, top, isWhole = true) {
		super(app, picked);
		this.tree = tree;
		this.top = top;
		this.isWhole = isWhole;
	}

	boxes(least) {
		this.b = layout(this.tree, this.top, least, this.isWhole);
		return this.b;
	}

	fn(i) {
		return this.tree.fn[this.b.node[i]];
	}

	marks(i) {
		return this.tree.flags[this.b.node[i]];
	}

	total(i) {
		return this.tree.total[this.b.node[i]];
	}

	self(i) {
		return this.tree.self[this.b.node[i]];
	}
}

export class TimeGraph extends FunctionGraph {
	constructor(app, picked, samples, from, to) {
		super(app, picked);
		this.samples = samples;
		this.from = from;
		this.to = to;
	}

	boxes(least) {
		this.b = timeLayout(this.model, this.samples, this.from, this.to, least);
		return this.b;
	}

	fn(i) {
		return this.model.nodeFn[this.b.node[i]];
	}

	marks(i) {
		return this.model.frFlags[this.model.ndFrame[this.b.node[i]]];
	}

	total(i) {
		return this.b.w[i] * (this.to - this.from);
	}

	self() {
		return 0;
	}

	numbers(i) {
		const begin = this.from + this.b.x[i] * (this.to - this.from);
		return `${duration(this.total(i))} from ${(begin / 1e9).toFixed(6)} s on`;
	}
}

// SPDX-License-Identifier: MIT
// The page of coati diff --html: both directions as flame graphs, and the functions with verdicts.
import { h, replace, Tip } from "./dom.js";
import { Diff, VERDICTS } from "./diff.js";
import { FlameCanvas } from "./flame-canvas.js";
import { layout } from "./flame.js";
import { diffColor, isDark } from "./color.js";
import { parseSearch } from "./search.js";
import { percent, points, plain } from "./amount.js";

const ROWS = 100;

class DiffGraph {
	constructor(page, side) {
		this.page = page;
		this.diff = page.diff;
		this.side = side;
		this.tree = page.diff.sides[side];
		this.dark = isDark();
	}

	boxes(least) {
		this.b = layout(this.tree, this.page.top[this.side], least);
		return this.b;
	}

	label(i) {
		const fn = this.tree.fn[this.b.node[i]];
		return fn < 0 ? "all" : plain(this.diff.names[fn]);
	}

	color(i) {
		const n = this.b.node[i];
		return diffColor(
			this.diff.change(this.side, n),
			this.diff.isCertain(this.side, n),
			this.dark,
		);
	}

	marks() {
		return 0;
	}

	isAlone(i) {
		return !this.tree.otherTotal[this.b.node[i]] && this.b.node[i] > 0;
	}

	isMatch(i) {
		const fn = this.tree.fn[this.b.node[i]];
		return fn >= 0 && !!this.page.search && this.page.search.test(this.diff.names[fn]);
	}

	words(i) {
		const n = this.b.node[i],
			here = this.tree,
			there = this.diff.sides[1 - this.side],
			after = here.side === "after";
		const mine = percent(here.total[n], here.whole),
			other = percent(here.otherTotal[n], there.whole);
		if (!here.otherTotal[n] && n) return `${mine}, only ${here.side}`;
		return `before ${after ? other : mine}, after ${after ? mine : other}: ${points(this.diff.change(this.side, n))} percentage points here`;
	}

	text(i) {
		return `${this.label(i)}, ${this.words(i)}`;
	}

	tip(i) {
		const n = this.b.node[i],
			f = this.diff.data.functions[this.tree.row[n]];
		return [
			h("div", { class: "tip-name" }, this.label(i)),
			h(
				"div",
				{ class: "dim" },
				plain(this.diff.images[this.tree.image[n]] ?? ""),
			),
			h("div", { class: "num" }, this.words(i)),
			...(f && n
				? ["self", "total"].map((what, k) =>
						h(
							"div",
							{ class: "num dim" },
							`function, ${what}: ${verdictText(f[k])}`,
						),
					)
				: []),
		];
	}
}

export function verdictText([before, after, low, high, verdict]) {
	const interval = low === null ? "" : ` (${points(low)} to ${points(high)})`;
	return `${percent(before, 1)} → ${percent(after, 1)}, ${points(after - before)}${interval}: ${VERDICTS[verdict]}`;
}

export class DiffPage {
	constructor(store) {
		this.diff = new Diff(store.json("diff"));
		this.tip = new Tip();
		this.top = [0, 0];
		const { data } = this.diff,
			main = document.getElementById("main");
		document.title = `${plain(data.title, 80)} – coati`;
		this.box = h("input", {
			type: "search",
			class: "search",
			placeholder: "Search, or /regular expression/",
			"aria-label": "Search",
		});
		this.found = h("span", { class: "found", role: "status" });
		this.box.oninput = () => this.find();
		replace(
			document.getElementById("top"),
			h(
				"div",
				{ class: "brand" },
				h("span", { class: "mark" }),
				h("b", {}, "coati"),
				h("span", { class: "title" }, "comparison"),
			),
			h("div", { class: "search-box" }, this.box, this.found),
		);
		document.getElementById("bar").hidden = true;
		this.canvases = this.diff.sides.map(
			(s, i) =>
				new FlameCanvas(this, {
					label: `Flame graph of the recording ${s.side}`,
					onPick: (k, g) => this.zoom(i, g.b.node[k]),
					most: 420,
				}),
		);
		this.reset = h(
			"button",
			{ onclick: () => this.zoom(0, 0), disabled: true },
			"Reset zoom",
		);
		replace(
			main,
			h(
				"section",
				{ class: "card diff-head" },
				h("strong", {}, plain(data.title, 400)),
				h(
					"p",
					{ class: "dim lines" },
					plain(
						data.quality.trim().replace(/\s*\n\s*/g, " · "),
						2000,
					),
				),
			),
			h("div", { class: "tools" }, legend(), this.reset),
			...this.diff.sides.flatMap((s, i) => [
				h("h3", { class: "sandwich-title" }, plain(s.title)),
				this.canvases[i].root,
			]),
			this.table(),
		);
		this.draw();
		window.addEventListener("resize", () => this.draw());
		window.addEventListener("keydown", e => {
			if (e.key === "Escape") this.zoom(0, 0);
			if (e.key === "/" && e.target !== this.box) {
				e.preventDefault();
				this.box.focus();
			}
		});
	}

	draw() {
		this.canvases.forEach((c, i) => c.show(new DiffGraph(this, i)));
		this.reset.disabled = !this.top[0] && !this.top[1];
	}

	zoom(side, node) {
		this.top[side] = node;
		this.top[1 - side] = this.diff.partner(side, node);
		this.draw();
	}

	find() {
		this.search = parseSearch(this.box.value);
		this.found.textContent = this.search?.error ?? "";
		this.draw();
	}

	say(text) {
		document.getElementById("live").textContent = text;
	}

	table() {
		const rows = this.diff.rows().slice(0, ROWS);
		const cell = v => h("td", { class: "num" }, verdictText(v));
		return h(
			"section",
			{ class: "diff-table" },
			h("h2", {}, "Functions"),
			h(
				"table",
				{ class: "rows" },
				h(
					"thead",
					{},
					h(
						"tr",
						{},
						h("th", { scope: "col" }, "Function"),
						h("th", { scope: "col", class: "num" }, "Self"),
						h("th", { scope: "col", class: "num" }, "Total"),
					),
				),
				h(
					"tbody",
					{},
					...rows.map(r =>
						h(
							"tr",
							{},
							h(
								"td",
								{
									class: "name",
									title: plain(r.name),
								},
								plain(r.name, 160),
							),
							cell(r.self),
							cell(r.total),
						),
					),
				),
			),
		);
	}
}

function legend() {
	const dark = isDark(),
		mark = (color, text, extra = "") =>
			h(
				"span",
				{ class: "legend" },
				h("i", { class: extra, style: { background: color } }),
				text,
			);
	return h(
		"div",
		{ class: "legends" },
		mark(diffColor(0.05, true, dark), "more than before"),
		mark(diffColor(-0.05, true, dark), "less"),
		mark(diffColor(0, false, dark), "not distinguishable from noise"),
		mark(diffColor(0, false, dark), "hatched: only on this side", "hatched"),
	);
}

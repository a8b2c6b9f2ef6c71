// SPDX-License-Identifier: MIT
// The flame graph: one tree, a thread in order of time, or the callers and callees of one function.
import { h, replace, copyText } from "./dom.js";
import { FlameCanvas } from "./flame-canvas.js";
import { TreeGraph, TimeGraph, kindWords } from "./flame-graph.js";
import { kindColor, isDark } from "./color.js";
import { treeDown, treeUp, pathOf, followPath, functionSums } from "./tree.js";
import { eachSample } from "./select.js";
import { matchedWeight } from "./search.js";
import { amount, percent, plain, duration } from "./amount.js";
import { FRAME } from "./model.js";
import { asTable, segmented, toggle } from "./control.js";

export class FlameView {
	constructor(app, root) {
		this.app = app;
		this.tools = h("div", {
			class: "tools",
			role: "toolbar",
			"aria-label": "Flame graph",
		});
		this.body = h("div", { class: "flame-body" });
		this.detail = h("div", { class: "detail", "aria-live": "off" });
		replace(root, this.tools, asTable(app), this.body, this.detail);
		this.update();
	}

	hidden() {
		const { model, state } = this.app,
			names = state.hide ? state.hide.split("\n") : [];
		if (!names.length) return null;
		const out = new Uint8Array(model.functions);
		for (const key of names)
			if (model.findFunction(key) >= 0) out[model.findFunction(key)] = 1;
		return out;
	}

	options() {
		const { model, state } = this.app;
		return {
			hide: this.hidden(),
			focus: state.focus ? model.findFunction(state.focus) : -1,
			fold: state.fold,
		};
	}

	update() {
		const { app } = this,
			{ model, state } = app;
		this.picked = model.selected(app.state);
		this.drawTools();
		this.chosen = state.fn ? model.findFunction(state.fn) : -1;
		if (!this.picked.total)
			replace(
				this.body,
				h(
					"p",
					{ class: "empty" },
					"No samples in this selection. ",
					h(
						"button",
						{ onclick: () => app.clear() },
						"Clear the selection",
					),
				),
			);
		else if (state.sandwich && this.chosen >= 0) this.showSandwich();
		else if (state.order === "time") this.showTime();
		else this.showTree();
		this.drawDetail();
	}

	drawTools() {
		const { app } = this,
			{ state } = app;
		const key = JSON.stringify([
			state.order,
			state.shape,
			state.color,
			state.invert,
			state.fold,
			state.sandwich,
			state.focus,
			state.hide,
			state.zoom,
		]);
		if (key === this.toolsKey) return;
		this.toolsKey = key;
		const chip = (text, patch) =>
			h(
				"button",
				{ class: "chip", onclick: () => app.set(patch) },
				text,
				h("span", { class: "x", "aria-hidden": "true" }, "×"),
			);
		replace(
			this.tools,
			segmented(
				"Order",
				[
					["heavy", "Left heavy"],
					["time", "Time order"],
				],
				state.order,
				v => app.set({ order: v, sandwich: false, zoom: "" }),
			),
			segmented(
				"Shape",
				[
					["icicle", "Icicle"],
					["flame", "Flame"],
				],
				state.shape,
				v => app.set({ shape: v }),
			),
			segmented(
				"Color",
				[
					["kind", "Kind"],
					["image", "Image"],
				],
				state.color,
				v => app.set({ color: v }),
			),
			toggle(
				"Inverted",
				state.invert,
				v => app.set({ invert: v, zoom: "", order: "heavy" }),
				"Innermost frames first",
			),
			toggle(
				"Fold recursion",
				state.fold,
				v => app.set({ fold: v, zoom: "" }),
				"What calls itself is one frame",
			),
			state.sandwich ? chip("Sandwich", { sandwich: false }) : null,
			state.focus
				? chip(`Focus ${plain(state.focus.split("@@")[0], 40)}`, {
						focus: "",
						zoom: "",
					})
				: null,
			...(state.hide
				? state.hide.split("\n").map(k =>
						chip(`Hidden ${plain(k.split("@@")[0], 40)}`, {
							hide: state.hide
								.split("\n")
								.filter(x => x !== k)
								.join("\n"),
							zoom: "",
						}),
					)
				: []),
			state.zoom
				? h(
						"button",
						{ onclick: () => app.set({ zoom: "" }) },
						"Reset zoom",
					)
				: null,
		);
	}

	canvas(name, options) {
		const c = new FlameCanvas(this.app, {
			onPick: (i, g) => this.pick(i, g),
			onHover: (i, g) => this.hover(i, g),
			...options,
			label: name,
		});
		return c;
	}

	showTree() {
		const { app } = this,
			{ state, model } = app;
		this.tree = (state.invert ? treeUp : treeDown)(
			model,
			this.picked.self,
			this.options(),
		);
		const top = followPath(
			this.tree,
			state.zoom ? state.zoom.split(".").map(x => parseInt(x, 36)) : [],
		);
		this.zoomed = top;
		if (
			!this.main ||
			this.main.grows !== (state.shape === "flame" ? "up" : "down") ||
			!this.body.contains(this.main.root)
		) {
			this.main = this.canvas(
				"Flame graph. Arrow keys move between frames, Enter zooms. The table view has the same numbers.",
				{ grows: state.shape === "flame" ? "up" : "down" },
			);
			replace(this.body, this.main.root);
		}
		this.main.show(new TreeGraph(app, this.picked, this.tree, top));
		app.showFound(
			app.search
				? `${percent(matchedWeight(this.tree, app.matches), this.picked.total)} of the weight matches`
				: "",
		);
	}

	// One thread: the chosen one, or the one with the most weight.
	showTime() {
		const { app } = this,
			{ model, state } = app,
			sums = new Map();
		eachSample(model, state, (i, w) => {
			const t = model.ptThread[model.sThread[i]];
			sums.set(t, (sums.get(t) ?? 0) + w);
		});
		const order = [...sums].sort((a, b) => b[1] - a[1]).map(([t]) => t);
		const chosen = order.includes(this.timeThread) ? this.timeThread : order[0];
		const samples = [],
			sel = { ...state, thread: model.threadKey(chosen), process: "" };
		eachSample(model, sel, i => {
			const isOff = model.events[model.sEvent[i]].off_cpu,
				unit = model.events[model.sEvent[i]].unit;
			samples.push([
				model.sNode[i],
				model.sTime[i],
				isOff || unit === "ns"
					? model.sWeight[i]
					: model.length / Math.max(1, model.samples),
			]);
		});
		const from = state.from ?? samples[0][1],
			last = samples[samples.length - 1],
			to = Math.max(from + 1, state.to ?? last[1] + last[2]);
		const pick = h(
			"select",
			{
				"aria-label": "Thread",
				onchange: e => {
					this.timeThread = Number(e.target.value);
					this.update();
				},
			},
			...order.map(t =>
				h(
					"option",
					{ value: t, selected: t === chosen },
					`${plain(model.threadName(t), 60)} (${percent(sums.get(t), this.picked.total)})`,
				),
			),
		);
		this.main = this.canvas("Samples of one thread in order of time", {
			grows: state.shape === "flame" ? "up" : "down",
		});
		replace(
			this.body,
			h(
				"div",
				{ class: "tools" },
				h("label", {}, "Thread ", pick),
				h(
					"span",
					{ class: "dim num" },
					`${duration(to - from)} from ${(from / 1e9).toFixed(3)} s on`,
				),
			),
			this.main.root,
		);
		this.main.show(new TimeGraph(app, this.picked, samples, from, to));
		app.showFound("");
	}

	showSandwich() {
		const { app } = this,
			{ model } = app,
			fn = this.chosen,
			o = { hide: this.hidden(), fold: app.state.fold, root: fn };
		const callers = (this.callers = treeUp(model, this.picked.self, o)),
			callees = (this.callees = treeDown(model, this.picked.self, o));
		const room = Math.max(160, (window.innerHeight - 420) / 2);
		const above = this.canvas("Callers, the nearest at the bottom", {
			grows: "up",
			most: room,
		});
		const below = this.canvas("Callees", { grows: "down", most: room });
		const sums = functionSums(model, this.picked.self),
			name = plain(model.functionName(fn));
		this.main = below;
		replace(
			this.body,
			h("h3", { class: "sandwich-title" }, "Callers"),
			above.root,
			h(
				"div",
				{ class: "sandwich-fn" },
				h("strong", {}, name),
				h("span", { class: "dim" }, ` ${plain(model.imageName(fn))} `),
				h(
					"span",
					{ class: "num" },
					`self ${percent(sums.self[fn], this.picked.total)} · total ${percent(sums.total[fn], this.picked.total)}`,
				),
			),
			h("h3", { class: "sandwich-title" }, "Callees"),
			below.root,
		);
		above.show(
			new TreeGraph(
				app,
				this.picked,
				callers,
				callers.kid.length ? callers.kid[0] : 0,
				false,
			),
		);
		below.show(
			new TreeGraph(
				app,
				this.picked,
				callees,
				callees.kid.length ? callees.kid[0] : 0,
				false,
			),
		);
		app.showFound("");
	}

	pick(i, graph) {
		const { app } = this,
			f = graph.fn(i),
			node = graph.tree ? graph.b.node[i] : 0;
		const fn = f < 0 ? "" : app.model.functionKey(f);
		if (!graph.tree || app.state.sandwich) app.set({ fn });
		else
			app.set({
				fn,
				zoom: pathOf(graph.tree, node)
					.map(x => x.toString(36))
					.join("."),
			});
	}

	hover(i, graph) {
		this.last = graph.text(i);
	}

	drawDetail() {
		const { app } = this,
			{ model } = app,
			f = this.chosen;
		if (f < 0) {
			replace(
				this.detail,
				h(
					"span",
					{ class: "dim" },
					"Click a frame to zoom in and choose its function. ",
					h("kbd", {}, "?"),
					" shows the keys.",
				),
				legend(app),
			);
			return;
		}
		const sums = functionSums(model, this.picked.self),
			{ unit, total } = this.picked,
			key = model.functionKey(f);
		const act = (text, patch, hint) =>
			h("button", { onclick: () => app.set(patch), title: hint }, text);
		replace(
			this.detail,
			h(
				"div",
				{ class: "detail-name" },
				h("strong", {}, plain(model.functionName(f))),
				" ",
				h(
					"span",
					{ class: "dim" },
					plain(model.imageName(f)),
					kindWords(model.fnFlags[f])
						? ` · ${kindWords(model.fnFlags[f])}`
						: "",
				),
			),
			h(
				"div",
				{ class: "num" },
				`self ${amount(sums.self[f], unit)} (${percent(sums.self[f], total)}) · total ${amount(sums.total[f], unit)} (${percent(sums.total[f], total)})`,
			),
			h(
				"div",
				{ class: "tools" },
				act(
					"Focus",
					{ focus: key, zoom: "", sandwich: false },
					"Only stacks with this function (f)",
				),
				act(
					"Hide",
					{
						hide: [
							...(app.state.hide
								? app.state.hide.split("\n")
								: []),
							key,
						].join("\n"),
						zoom: "",
						fn: "",
					},
					"Leave its frames out (h)",
				),
				act(
					"Callers and callees",
					{ sandwich: true, order: "heavy" },
					"Sandwich (b)",
				),
				act("Source", { view: "source" }, "Its lines with their costs (o)"),
				act(
					"In the table",
					{
						view: "table",
						by: "function",
						search: model.functionName(f),
					},
					"Show its row",
				),
				h(
					"button",
					{ onclick: () => copyText(model.functionName(f)) },
					"Copy name",
				),
			),
		);
	}

	key(e) {
		const { app } = this,
			{ state } = app,
			key = state.fn;
		if (e.key === "Escape") {
			if (state.zoom) app.set({ zoom: "" });
			else if (state.sandwich) app.set({ sandwich: false });
			else if (state.fn) app.set({ fn: "" });
			else return false;
			return true;
		}
		const patch = {
			i: { invert: !state.invert, zoom: "", order: "heavy" },
			r: { fold: !state.fold, zoom: "" },
			c: { color: state.color === "kind" ? "image" : "kind" },
			v: { shape: state.shape === "flame" ? "icicle" : "flame" },
			l: {
				order: state.order === "time" ? "heavy" : "time",
				sandwich: false,
				zoom: "",
			},
		}[e.key];
		if (patch) app.set(patch);
		else if (key && e.key === "f") app.set({ focus: key, zoom: "", sandwich: false });
		else if (key && e.key === "h")
			app.set({
				hide: [...(state.hide ? state.hide.split("\n") : []), key].join(
					"\n",
				),
				zoom: "",
				fn: "",
			});
		else if (key && e.key === "b")
			app.set({ sandwich: !state.sandwich, order: "heavy" });
		else if (key && e.key === "o") app.set({ view: "source" });
		else return false;
		return true;
	}

	resize() {
		this.update();
	}

	focus() {
		this.main?.canvas.focus();
	}

	asText() {
		const { model } = this.app,
			t = this.tree;
		if (!t) return "";
		const lines = [];
		const add = (n, depth) => {
			if (t.total[n] < this.picked.total * 0.005) return;
			lines.push(
				`${percent(t.total[n], this.picked.total).padStart(8)}  ${"  ".repeat(depth)}${n ? model.functionName(t.fn[n]) : "all"}`,
			);
			for (let k = t.firstKid[n]; k < t.firstKid[n + 1]; k++)
				add(t.kid[k], depth + 1);
		};
		add(this.zoomed ?? 0, 0);
		return lines.join("\n") + "\n";
	}
}

function legend(app) {
	const dark = isDark();
	if (app.state.color === "image") return null;
	const mark = (flags, text) =>
		h(
			"span",
			{ class: "legend" },
			h("i", { style: { background: kindColor(flags, 3, dark) } }),
			text,
		);
	return h(
		"div",
		{ class: "legends" },
		mark(0, "user"),
		mark(FRAME.KERNEL, "kernel"),
		mark(FRAME.NO_SYMBOL, "no symbol"),
		mark(FRAME.TRUNCATED, "truncated"),
		mark(FRAME.OFF_CPU, "off CPU"),
		h("span", { class: "legend" }, h("i", { class: "dashes" }), "inlined"),
	);
}

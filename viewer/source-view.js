// SPDX-License-Identifier: MIT
// The source of one function with the cost of each line; instructions where coati view serves.
import { h, replace } from "./dom.js";
import { functionLines, shownLines } from "./source.js";
import { functionSums } from "./tree.js";
import { amount, percent, plain } from "./amount.js";
import { isServed, ask } from "./server.js";

export class SourceView {
	constructor(app, root) {
		this.app = app;
		this.texts = app.sourceTexts ??= new Map();
		this.root = root;
		this.update();
	}

	update() {
		const { app } = this,
			{ model, state } = app;
		this.picked = model.selected(state);
		const sums = functionSums(model, this.picked.self);
		let fn = state.fn ? model.findFunction(state.fn) : -1;
		if (fn < 0)
			fn = [...sums.self.keys()].reduce(
				(a, b) => (sums.self[b] > sums.self[a] ? b : a),
				0,
			);
		this.fn = fn;
		app.showFound("");
		if (!this.picked.total) {
			replace(
				this.root,
				h("p", { class: "empty" }, "No samples in this selection."),
			);
			return;
		}
		this.files = functionLines(model, this.picked.self, fn);
		this.body = h("div", { class: "source-files" });
		replace(this.root, this.head(sums), this.body);
		this.drawFiles();
	}

	head(sums) {
		const { app } = this,
			{ model } = app,
			{ unit, total } = this.picked,
			f = this.fn;
		const order = [...sums.self.keys()]
			.filter(k => sums.self[k])
			.sort((a, b) => sums.self[b] - sums.self[a])
			.slice(0, 60);
		if (!order.includes(f)) order.unshift(f);
		const pick = h(
			"select",
			{
				"aria-label": "Function",
				onchange: e =>
					app.set({ fn: model.functionKey(Number(e.target.value)) }),
			},
			...order.map(k =>
				h(
					"option",
					{ value: k, selected: k === f },
					`${percent(sums.self[k], total)}  ${plain(model.functionName(k), 70)}`,
				),
			),
		);
		return h(
			"div",
			{ class: "tools" },
			pick,
			h("span", { class: "dim" }, plain(model.imageName(f), 60)),
			h(
				"span",
				{ class: "num" },
				`self ${amount(sums.self[f], unit)} (${percent(sums.self[f], total)}) · total ${amount(sums.total[f], unit)} (${percent(sums.total[f], total)})`,
			),
			h(
				"button",
				{
					onclick: () =>
						app.set({
							view: "flame",
							sandwich: true,
							order: "heavy",
							fn: model.functionKey(f),
						}),
				},
				"Callers and callees",
			),
			isServed()
				? h("button", { onclick: () => this.showAssembly() }, "Assembly")
				: null,
		);
	}

	drawFiles() {
		replace(this.body, ...this.files.map(file => this.file(file)));
		if (!this.files.length)
			replace(
				this.body,
				h(
					"p",
					{ class: "empty" },
					"No frames of this function in the selection.",
				),
			);
	}

	lines(file) {
		const text = this.app.model.sources[file.text] ?? this.texts.get(file.text);
		return typeof text === "string" ? text.split("\n") : null;
	}

	file(file) {
		const lines = this.lines(file),
			{ model } = this.app;
		if (!file.file)
			return h(
				"section",
				{ class: "card" },
				h(
					"p",
					{ class: "dim" },
					"No line information: the binary has no debug information here. ",
					isServed()
						? "The assembly has the cost of each instruction."
						: "coati view shows the assembly.",
				),
			);
		if (!lines && isServed()) this.load(file);
		const numbers = lines
			? shownLines(file.lines, lines.length)
			: [...file.lines.keys()].sort((a, b) => a - b);
		const why = this.texts.get(file.text)?.error;
		return h(
			"section",
			{ class: "card source" },
			h("h2", {}, plain(file.file, 300)),
			lines
				? null
				: h(
						"p",
						{ class: "dim" },
						why
							? plain(why)
							: isServed()
								? "Loading…"
								: "The text of this file is not in the page: coati report --html FILE --sources puts it in, coati view shows it.",
					),
			h(
				"table",
				{ class: "code" },
				h(
					"caption",
					{ class: "visually-hidden" },
					`Lines of ${plain(model.functionName(this.fn), 100)}`,
				),
				h(
					"thead",
					{},
					h(
						"tr",
						{},
						...["Self", "Total", "Line", "Source"].map(t =>
							h("th", { scope: "col" }, t),
						),
					),
				),
				h("tbody", {}, ...numbers.map(n => this.line(file, lines, n))),
			),
		);
	}

	line(file, lines, n) {
		if (!n) return h("tr", { class: "gap" }, h("td", { colspan: "4" }, "⋯"));
		const cost = file.lines.get(n),
			{ total } = this.picked,
			share = cost ? cost.total / total : 0;
		return h(
			"tr",
			{
				class: cost ? "hot" : "",
				style: { "--heat": Math.min(1, Math.sqrt(share)).toFixed(3) },
			},
			h("td", { class: "num" }, cost?.self ? percent(cost.self, total) : ""),
			h("td", { class: "num" }, cost ? percent(cost.total, total) : ""),
			h("td", { class: "num dim" }, String(n)),
			h(
				"td",
				{ class: "text" },
				lines
					? plain(lines[n - 1]?.replace(/\t/g, "        ") ?? "", 400)
					: "",
			),
		);
	}

	async load(file) {
		if (this.texts.has(file.text)) return;
		this.texts.set(file.text, { error: "" });
		try {
			this.texts.set(file.text, await ask(`source?file=${file.text}`));
		} catch (error) {
			this.texts.set(file.text, { error: error.message });
		}
		if (this.app.shown === "source") this.drawFiles();
	}

	async showAssembly() {
		const box = h("pre", { class: "assembly" }, "Loading…");
		this.body.prepend(h("section", { class: "card" }, h("h2", {}, "Assembly"), box));
		try {
			box.textContent = plain(await ask(`assembly?fn=${this.fn}`), 1e7).replace(
				/\u25af/g,
				"\n",
			);
		} catch (error) {
			box.textContent = error.message;
		}
	}

	focus() {
		this.root.querySelector("select")?.focus();
	}

	asText() {
		return (
			this.files
				.map(f =>
					[
						f.file,
						...[...f.lines]
							.sort((a, b) => a[0] - b[0])
							.map(
								([n, c]) =>
									`${percent(c.self, this.picked.total)}\t${percent(c.total, this.picked.total)}\t${n}\t${this.lines(f)?.[n - 1] ?? ""}`,
							),
					].join("\n"),
				)
				.join("\n\n") + "\n"
		);
	}
}

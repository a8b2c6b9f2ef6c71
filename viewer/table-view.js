// SPDX-License-Identifier: MIT
// Tables: sortable, filtered by the search, with the callers and callees of the chosen function.
import { h, replace } from "./dom.js";
import { TABLES, tableRows, tableColumns, sortRows, labelKeys } from "./table.js";
import { segmented } from "./control.js";
import { amount, percent, count, duration, plain, instant } from "./amount.js";
import { treeDown, treeUp } from "./tree.js";
import { kindWords } from "./flame-graph.js";

const STEP = 200;

export class TableView {
	constructor(app, root) {
		this.app = app;
		this.shown = STEP;
		this.tools = h("div", { class: "tools" });
		this.body = h("div", { class: "table-body" });
		this.side = h("aside", { class: "side", "aria-label": "Chosen function" });
		replace(root, this.tools, h("div", { class: "table-split" }, this.body, this.side));
		this.update();
	}

	kinds() {
		const { model } = this.app;
		return Object.entries(TABLES).filter(([by]) =>
			by === "label"
				? labelKeys(model).length
				: by === "type"
					? model.meta.types.length
					: by === "task"
						? model.tasks
						: by === "log"
							? model.store.count("lg.time")
							: by === "event"
								? model.eventUsed.filter(Boolean)
										.length > 1
								: true,
		);
	}

	update() {
		const { app } = this,
			{ state, model } = app;
		const keys = labelKeys(model);
		replace(
			this.tools,
			segmented("Rows", this.kinds(), state.by, by => {
				this.shown = STEP;
				app.set({ by, sort: "" });
			}),
			state.by === "label" && keys.length > 1
				? h(
						"select",
						{
							"aria-label": "Label",
							onchange: e =>
								app.set({ key: e.target.value }),
						},
						...keys.map(k =>
							h(
								"option",
								{
									value: k,
									selected:
										k ===
										(state.key ||
											keys[0]),
								},
								plain(k, 60),
							),
						),
					)
				: null,
		);
		this.columns = tableColumns(state.by);
		const sort = this.columns.some(([k]) => k === state.sort)
			? state.sort
			: state.by === "log"
				? "begin"
				: this.columns[0][0];
		const up = state.sort ? state.up : state.by === "log";
		this.picked = model.selected(state);
		const all = tableRows(model, state, state.by, state.key);
		this.rows = sortRows(
			app.search
				? all.filter(
						r =>
							app.search.test(r.name) ||
							app.search.test(r.where ?? ""),
					)
				: all,
			sort,
			up,
		);
		app.showFound(
			app.search
				? `${count(this.rows.length)} of ${count(all.length)} rows match`
				: "",
		);
		this.draw(sort, up);
		this.drawSide();
	}

	draw(sort, up) {
		const { app } = this;
		const head = h(
			"tr",
			{},
			...this.columns.map(([key, text, kind]) =>
				h(
					"th",
					{
						scope: "col",
						class: kind,
						"aria-sort":
							key === sort
								? up
									? "ascending"
									: "descending"
								: "none",
					},
					h(
						"button",
						{
							onclick: () =>
								app.set({
									sort: key,
									up:
										key === sort
											? !up
											: kind ===
													"name" ||
												kind ===
													"text",
								}),
						},
						text,
						h(
							"span",
							{ class: "arrow", "aria-hidden": "true" },
							key === sort ? (up ? "▲" : "▼") : "",
						),
					),
				),
			),
		);
		const rows = this.rows.slice(0, this.shown).map(r => this.row(r));
		replace(
			this.body,
			h(
				"table",
				{ class: "rows" },
				h("caption", { class: "visually-hidden" }, TABLES[app.state.by]),
				h("thead", {}, head),
				h("tbody", {}, ...rows),
			),
			this.rows.length > this.shown
				? h(
						"button",
						{
							class: "more",
							onclick: () => {
								this.shown += STEP * 5;
								this.draw(sort, up);
							},
						},
						`Show more (${count(this.rows.length - this.shown)} rows)`,
					)
				: null,
			this.rows.length ? null : h("p", { class: "empty" }, "No rows."),
		);
	}

	row(r) {
		const { app } = this,
			chosen =
				r.fn !== undefined &&
				app.state.by === "function" &&
				app.model.functionKey(r.fn) === app.state.fn;
		return h(
			"tr",
			{ class: chosen ? "chosen" : "" },
			...this.columns.map(([key, , kind]) => this.cell(r, key, kind)),
		);
	}

	cell(r, key, kind) {
		const { unit, total } = this.picked,
			v = r[key];
		if (kind === "weight")
			return h(
				"td",
				{ class: "weight num" },
				h("span", {
					class: "bar",
					style: { "--share": total ? v / total : 0 },
				}),
				h("span", { class: "value" }, amount(v, unit)),
				h("span", { class: "share" }, percent(v, total)),
			);
		if (kind === "count") return h("td", { class: "num" }, count(v));
		if (kind === "time") return h("td", { class: "num" }, duration(v));
		if (kind === "at") return h("td", { class: "num" }, instant(v, 1e3));
		if (kind === "name")
			return h(
				"td",
				{ class: "name" },
				h(
					"button",
					{
						class: "link",
						title: plain(v),
						onclick: () => this.open(r),
					},
					plain(v, 160),
				),
				r.flags ? h("span", { class: "kind" }, kindWords(r.flags)) : null,
			);
		return h("td", { class: "where dim", title: plain(v ?? "") }, plain(v ?? "", 60));
	}

	// What a row leads to.
	open(r) {
		const { app } = this,
			{ model } = app;
		if (r.task !== undefined)
			app.set({ task: r.task, view: "timeline", seeFrom: null, seeTo: null });
		else if (r.type) app.set({ type: r.type, by: "task", sort: "took", up: false });
		else if (r.label) app.set({ label: r.label });
		else if (r.thread) app.set({ thread: r.thread });
		else if (r.process) app.set({ process: r.process });
		else if (r.event !== undefined) app.set({ event: r.event });
		else if (app.state.by === "log")
			app.set({
				view: "timeline",
				seeFrom: Math.max(0, r.begin - 1e6),
				seeTo: r.begin + 1e6,
			});
		else if (app.state.by === "line")
			app.set({ fn: model.functionKey(r.fn), view: "source" });
		else if (r.fn !== undefined) app.set({ fn: model.functionKey(r.fn) });
		else if (app.state.by === "image") app.set({ search: r.name, by: "function" });
	}

	drawSide() {
		const { app } = this,
			{ model, state } = app,
			fn =
				state.fn && state.by === "function"
					? model.findFunction(state.fn)
					: -1;
		this.side.hidden = fn < 0;
		if (fn < 0) return;
		const list = tree => {
			const from = tree.kid.length ? tree.kid[0] : 0,
				out = [];
			for (
				let k = tree.firstKid[from];
				k < tree.firstKid[from + 1] && out.length < 12;
				k++
			) {
				const n = tree.kid[k];
				out.push(
					h(
						"li",
						{},
						h(
							"span",
							{ class: "num share" },
							percent(tree.total[n], this.picked.total),
						),
						h(
							"button",
							{
								class: "link",
								onclick: () =>
									app.set({
										fn: model.functionKey(
											tree.fn[n],
										),
									}),
							},
							plain(model.functionName(tree.fn[n]), 80),
						),
					),
				);
			}
			return out.length
				? h("ul", { class: "plain" }, ...out)
				: h("p", { class: "dim" }, "None.");
		};
		replace(
			this.side,
			h("h3", {}, plain(model.functionName(fn), 120)),
			h("p", { class: "dim" }, plain(model.imageName(fn))),
			h(
				"div",
				{ class: "tools" },
				h(
					"button",
					{
						onclick: () =>
							app.set({
								view: "flame",
								sandwich: true,
								order: "heavy",
							}),
					},
					"Callers and callees",
				),
				h(
					"button",
					{ onclick: () => app.set({ view: "source" }) },
					"Source",
				),
				h(
					"button",
					{
						onclick: () => app.set({ fn: "" }),
						"aria-label": "Close",
					},
					"×",
				),
			),
			h("h4", {}, "Callers"),
			list(treeUp(model, this.picked.self, { root: fn })),
			h("h4", {}, "Callees"),
			list(treeDown(model, this.picked.self, { root: fn })),
		);
	}

	key(e) {
		if (e.key === "Escape" && this.app.state.fn) {
			this.app.set({ fn: "" });
			return true;
		}
		return false;
	}

	focus() {
		this.body.querySelector("tbody button")?.focus();
	}

	asText() {
		const text = (r, key, kind) =>
			kind === "weight"
				? amount(r[key], this.picked.unit)
				: kind === "time"
					? duration(r[key])
					: kind === "at"
						? instant(r[key])
						: String(r[key] ?? "");
		return (
			[
				this.columns.map(c => c[1]).join("\t"),
				...this.rows.map(r =>
					this.columns
						.map(([k, , kind]) => text(r, k, kind))
						.join("\t"),
				),
			].join("\n") + "\n"
		);
	}
}

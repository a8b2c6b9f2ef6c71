// SPDX-License-Identifier: MIT
// The first thing that a person sees: what was recorded, how good it is, and where to look.
import { h, replace, paint } from "./dom.js";
import { functionSums } from "./tree.js";
import { cpuLoad } from "./load.js";
import { amount, percent, duration, count, plain, instant } from "./amount.js";
import { stateColor, ink, isDark } from "./color.js";
import { stackedBar } from "./control.js";
import { findingCard } from "./findings.js";

const TOP = 10;

export class OverviewView {
	constructor(app, root) {
		this.app = app;
		this.root = h("div", { class: "overview" });
		replace(root, this.root);
		this.update();
	}

	update() {
		const { app } = this,
			{ model } = app;
		this.picked = model.selected(app.state);
		replace(
			this.root,
			h(
				"div",
				{ class: "columns" },
				h("div", {}, this.facts(), this.types()),
				this.findings(),
			),
			this.load(),
			this.top(),
		);
		this.drawLoad();
		app.showFound("");
	}

	facts() {
		const { meta } = this.app.model,
			q = meta.quality,
			r = meta.recorded;
		const lost = q.lost + (meta.timeline?.live_lost ?? 0),
			poor = lost > 0 || q.throttled > 0;
		const rows = [
			["Command", plain(r.command.replace(/^.*? -- /, ""))],
			[
				"Machine",
				[r.hostname, r.arch, r.os_release && `Linux ${r.os_release}`]
					.filter(Boolean)
					.map(t => plain(t))
					.join(" · "),
			],
			[
				"When",
				r.wall_ns
					? new Date(Number(BigInt(r.wall_ns) / 1000000n))
							.toISOString()
							.replace("T", " ")
							.slice(0, 19) + " UTC"
					: "",
			],
			["Length", duration(meta.length)],
			[
				"Samples",
				`${count(q.samples)} of ${
					meta.events
						.filter(e => e.shown && !e.off_cpu)
						.map(e => plain(e.name, 40))
						.join(", ") || "no event"
				}` +
					(q.off_cpu_intervals
						? `, ${count(q.off_cpu_intervals)} times off a CPU`
						: ""),
			],
			[
				"Timeline",
				meta.timeline
					? [
							`${count(meta.timeline.switch_count)} context switches`,
							meta.timeline.wakeups
								? `${count(meta.timeline.wakeups)} wakeups`
								: "",
							meta.timeline.live
								? `${count(meta.timeline.live_events)} live events`
								: "",
							meta.timeline.clock_error
								? `clock error ±${duration(meta.timeline.clock_error)}`
								: "",
						]
							.filter(Boolean)
							.join(", ")
					: "",
			],
			[
				"Cost",
				q.recorder_cpu_ns
					? `recording took ${duration(q.recorder_cpu_ns)} of CPU time`
					: "",
			],
		].filter(([, v]) => v);
		return h(
			"section",
			{ class: "card facts" },
			h(
				"p",
				{ class: "quality", "data-poor": poor ? "1" : "0" },
				h("i", { class: "dot", "aria-hidden": "true" }),
				h(
					"span",
					{},
					h(
						"strong",
						{},
						poor ? "Some data is missing: " : "Data quality: ",
					),
					q.line,
				),
			),
			h("dl", {}, ...rows.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])),
			meta.notes.length
				? h(
						"details",
						{},
						h(
							"summary",
							{},
							`${meta.notes.length} ${meta.notes.length === 1 ? "note" : "notes"} about this recording`,
						),
						h(
							"ul",
							{},
							...meta.notes.map(n =>
								h("li", {}, plain(n)),
							),
						),
					)
				: null,
		);
	}

	findings() {
		const list = this.app.model.meta.findings ?? [];
		return h(
			"section",
			{ class: "card findings", "aria-label": "Findings" },
			h("h2", {}, "Findings"),
			list.length
				? h(
						"ol",
						{ class: "plain" },
						...list.map(f => findingCard(this.app, f)),
					)
				: h(
						"p",
						{ class: "dim" },
						"Nothing stands out: no run-queue saturation, lock convoy, busy polling, fault storm, dominant function or long tail.",
					),
		);
	}

	load() {
		const { model, state } = this.app;
		this.loadCanvas = h("canvas", {
			class: "load",
			role: "img",
			"aria-label": "CPUs in use over time",
		});
		this.loadFrom = 0;
		this.loadCanvas.onpointerdown = e => this.drag(e);
		const label = model.meta.timeline?.switches
			? "CPUs in use"
			: "CPUs in use, by samples";
		return h(
			"section",
			{ class: "card" },
			h(
				"h2",
				{},
				label,
				h("span", { class: "hint" }, "drag to select a time range"),
			),
			this.loadCanvas,
			h(
				"div",
				{ class: "axis num dim" },
				h("span", {}, "0"),
				h(
					"span",
					{},
					state.from !== null
						? `selected ${instant(state.from, 1e6)} to ${instant(state.to, 1e6)}`
						: "",
				),
				h("span", {}, duration(model.length)),
			),
		);
	}

	drawLoad() {
		const { model, state } = this.app,
			width = Math.max(200, this.loadCanvas.parentElement.clientWidth - 32),
			height = 84;
		const bins = model.once(`load ${Math.round(width / 3)}`, () =>
			cpuLoad(model, 0, model.length, Math.round(width / 3)),
		);
		paint(this.loadCanvas, width, height, c => {
			if (!bins) {
				c.fillStyle = ink("--dim");
				c.fillText("This recording has no time on CPUs.", 8, 40);
				return;
			}
			const most = Math.max(1, Math.ceil(Math.max(...bins) - 0.05)),
				step = width / bins.length,
				y = v => height - 2 - (v / most) * (height - 12);
			c.strokeStyle = ink("--line");
			c.fillStyle = ink("--dim");
			c.font = "10px system-ui, sans-serif";
			for (let k = 1; k <= most; k += Math.ceil(most / 4)) {
				c.beginPath();
				c.moveTo(0, y(k) + 0.5);
				c.lineTo(width, y(k) + 0.5);
				c.stroke();
			}
			c.beginPath();
			c.moveTo(0, height);
			bins.forEach((v, i) => {
				c.lineTo(i * step, y(v));
				c.lineTo((i + 1) * step, y(v));
			});
			c.lineTo(width, height);
			c.fillStyle = stateColor("running", isDark());
			c.globalAlpha = 0.75;
			c.fill();
			c.globalAlpha = 1;
			c.fillStyle = ink("--dim");
			c.fillText(`${most} CPU${most > 1 ? "s" : ""}`, 4, y(most) + 11);
			const sel =
				this.dragged ??
				(state.from !== null
					? [state.from, state.to ?? model.length]
					: null);
			if (sel) {
				const a = (sel[0] / model.length) * width,
					b = (sel[1] / model.length) * width;
				c.fillStyle = ink("--bg");
				c.globalAlpha = 0.65;
				c.fillRect(0, 0, a, height);
				c.fillRect(b, 0, width - b, height);
				c.globalAlpha = 1;
				c.fillStyle = ink("--accent");
				c.fillRect(a - 1, 0, 2, height);
				c.fillRect(b - 1, 0, 2, height);
			}
		});
	}

	drag(e) {
		const { app } = this,
			rect = this.loadCanvas.getBoundingClientRect(),
			{ length } = app.model;
		const at = ev =>
				Math.max(0, Math.min(1, (ev.clientX - rect.left) / rect.width)) *
				length,
			start = at(e);
		this.loadCanvas.setPointerCapture(e.pointerId);
		this.loadCanvas.onpointermove = ev => {
			this.dragged = [Math.min(start, at(ev)), Math.max(start, at(ev))];
			this.drawLoad();
		};
		this.loadCanvas.onpointerup = ev => {
			this.loadCanvas.onpointermove = this.loadCanvas.onpointerup = null;
			this.dragged = null;
			const from = Math.min(start, at(ev)),
				to = Math.max(start, at(ev));
			if (to - from > length / 500)
				app.set({ from: Math.round(from), to: Math.round(to) });
			else app.set({ from: null, to: null });
		};
	}

	top() {
		const { app } = this,
			{ model } = app,
			sums = functionSums(model, this.picked.self),
			{ unit, total } = this.picked;
		const order = [...sums.self.keys()]
			.filter(f => sums.self[f])
			.sort((a, b) => sums.self[b] - sums.self[a])
			.slice(0, TOP);
		const what = app.state.mode === "off" ? "waiting" : "CPU time";
		return h(
			"section",
			{ class: "card" },
			h(
				"h2",
				{},
				unit === "ns" ? `Top functions by own ${what}` : "Top functions",
				h("span", { class: "hint" }, `${amount(total, unit)} in all`),
			),
			order.length
				? h(
						"table",
						{ class: "rows top" },
						h(
							"caption",
							{ class: "visually-hidden" },
							"Top functions",
						),
						h(
							"thead",
							{ class: "visually-hidden" },
							h(
								"tr",
								{},
								h("th", { scope: "col" }, "Self"),
								h(
									"th",
									{ scope: "col" },
									"Function",
								),
								h("th", { scope: "col" }, "Image"),
							),
						),
						h(
							"tbody",
							{},
							...order.map(f =>
								h(
									"tr",
									{},
									h(
										"td",
										{
											class: "weight num",
										},
										h("span", {
											class: "bar",
											style: {
												"--share":
													sums
														.self[
														f
													] /
													sums
														.self[
														order[0]
													],
											},
										}),
										h(
											"span",
											{
												class: "value",
											},
											amount(
												sums
													.self[
													f
												],
												unit,
											),
										),
										h(
											"span",
											{
												class: "share",
											},
											percent(
												sums
													.self[
													f
												],
												total,
											),
										),
									),
									h(
										"td",
										{ class: "name" },
										h(
											"button",
											{
												class: "link",
												title: plain(
													model.functionName(
														f,
													),
												),
												onclick: () =>
													app.set(
														{
															view: "flame",
															sandwich: true,
															order: "heavy",
															fn: model.functionKey(
																f,
															),
														},
													),
											},
											plain(
												model.functionName(
													f,
												),
												120,
											),
										),
									),
									h(
										"td",
										{
											class: "where dim",
										},
										plain(
											model.imageName(
												f,
											),
											60,
										),
									),
								),
							),
						),
					)
				: h("p", { class: "dim" }, "No samples in this selection."),
		);
	}

	types() {
		const { app } = this,
			{ meta } = app.model,
			types = meta.types.filter(t => !t.region && t.count);
		if (!types.length) return null;
		return h(
			"section",
			{ class: "card" },
			h(
				"h2",
				{},
				"Task types",
				h(
					"span",
					{ class: "hint" },
					"latency percentiles and where their time goes",
				),
			),
			h(
				"table",
				{ class: "rows types" },
				h(
					"thead",
					{},
					h(
						"tr",
						{},
						...[
							"Type",
							"Count",
							"p50",
							"p90",
							"p99",
							"Max",
						].map((t, i) =>
							h(
								"th",
								{
									scope: "col",
									class: i ? "num" : "",
								},
								t,
							),
						),
						h(
							"th",
							{ scope: "col", class: "wide" },
							"Time breakdown",
						),
					),
				),
				h(
					"tbody",
					{},
					...types.map(t =>
						h(
							"tr",
							{},
							h(
								"td",
								{ class: "name" },
								h(
									"button",
									{
										class: "link",
										onclick: () =>
											app.set({
												view: "table",
												by: "task",
												type: t.name,
												sort: "took",
												up: false,
											}),
									},
									plain(t.name, 80),
								),
							),
							h("td", { class: "num" }, count(t.count)),
							...["p50", "p90", "p99", "max"].map(k =>
								h(
									"td",
									{ class: "num" },
									duration(t[k]),
								),
							),
							h(
								"td",
								{ class: "wide" },
								breakdown(app.model, t.parts),
							),
						),
					),
				),
			),
		);
	}

	resize() {
		this.update();
	}

	focus() {
		this.root.querySelector("button")?.focus();
	}

	asText() {
		return this.root.innerText + "\n";
	}
}

// Parts of time as a bar, the largest first.
export function breakdown(model, parts) {
	const sum = parts.reduce((a, b) => a + b, 0),
		dark = isDark();
	const list = parts
		.map((ns, i) => [ns, model.meta.states[i]])
		.filter(([ns]) => ns)
		.sort((a, b) => b[0] - a[0]);
	const text = list
		.slice(0, 4)
		.map(([ns, name]) => `${label(name)} ${percent(ns, sum)}`)
		.join(", ");
	return h(
		"span",
		{ class: "breakdown" },
		stackedBar(
			list.map(([ns, name]) => [
				ns / sum,
				stateColor(name, dark),
				`${label(name)} ${duration(ns)} (${percent(ns, sum)})`,
			]),
			text,
		),
		h("span", { class: "dim small" }, text),
	);
}

// As the commands call them; only the queue has another word in their output.
export function label(name) {
	return name === "nobody" ? "queued" : name;
}

// SPDX-License-Identifier: MIT
// The timeline: zoom, pan, select a time range, choose a thing and see what it is.
import { h, replace, paint } from "./dom.js";
import { Tracks } from "./tracks.js";
import { asTable } from "./control.js";
import { Painter, RULER } from "./timeline-draw.js";
import { clampWindow, zoomWindow } from "./timeline.js";
import { describe } from "./timeline-detail.js";
import { duration, instant } from "./amount.js";
import { stateColor, isDark } from "./color.js";

export class TimelineView {
	constructor(app, root) {
		this.app = app;
		this.model = app.model;
		this.tracks = app.tracks ??= new Tracks(app.model);
		this.labelWidth = window.innerWidth < 560 ? 92 : 190;
		this.painter = new Painter(this.tracks, this.labelWidth);
		this.canvas = h("canvas", {
			class: "timeline-canvas",
			tabindex: "0",
			role: "img",
			"aria-label":
				"Timeline. Keys: w and s zoom, a and d move, j and k choose a track, n and p go through its things, Enter chooses.",
		});
		this.spacer = h("div", { class: "timeline-spacer" }, this.canvas);
		this.scroll = h("div", { class: "timeline-scroll" }, this.spacer);
		this.detail = h("div", { class: "detail" });
		const act = (text, hint, fn) =>
			h("button", { title: hint, "aria-label": hint, onclick: fn }, text);
		this.tools = h(
			"div",
			{ class: "tools", role: "toolbar", "aria-label": "Timeline" },
			act("+", "Zoom in (w)", () => this.zoom(0.5)),
			act("−", "Zoom out (s)", () => this.zoom(2)),
			act("Show all", "Show all (0)", () => this.see(0, this.model.length)),
			act("Zoom to selection", "Zoom to the selection (z)", () =>
				this.zoomToSelection(),
			),
			legend(),
		);
		replace(root, this.tools, asTable(app), this.scroll, this.detail);
		[this.from, this.to] = [0, this.model.length];
		this.pointers = new Map();
		this.listen();
		this.update();
	}

	update() {
		const { state } = this.app;
		if (state.seeFrom !== null && state.seeTo !== null && state.seeTo > state.seeFrom)
			[this.from, this.to] = clampWindow(
				state.seeFrom,
				state.seeTo,
				this.model.length,
			);
		else if (
			state.task !== null &&
			state.task < this.model.tasks &&
			this.shownTask !== state.task
		)
			this.showTask(state.task);
		else if (state.seeFrom === null) [this.from, this.to] = [0, this.model.length];
		this.shownTask = state.task;
		if (state.task === null && this.chosen?.kind === "task") this.chosen = null;
		if (state.task !== null && state.task < this.model.tasks)
			this.chosen ??= { kind: "task", id: state.task };
		this.list = this.tracks.list();
		this.fit();
		this.drawDetail();
		this.app.showFound("");
	}

	showTask(i) {
		const { taskBegin, taskLength } = this.model,
			pad = Math.max(1000, taskLength[i] * 0.15);
		[this.from, this.to] = clampWindow(
			taskBegin[i] - pad,
			taskBegin[i] + taskLength[i] + pad,
			this.model.length,
		);
		this.chosen = { kind: "task", id: i };
	}

	fit() {
		const last = this.list[this.list.length - 1],
			full = last.y + last.height + RULER + 8;
		const top = this.scroll.getBoundingClientRect().top + window.scrollY;
		this.width = Math.max(240, this.scroll.clientWidth);
		this.height = Math.max(220, Math.min(full, window.innerHeight - top - 116));
		this.scroll.style.setProperty("height", `${this.height}px`);
		this.spacer.style.setProperty("height", `${full}px`);
		this.draw();
	}

	scene() {
		return {
			list: this.list,
			from: this.from,
			to: this.to,
			top: this.scroll.scrollTop,
			width: this.width,
			height: this.height,
			sel: this.app.state,
			chosen: this.chosen,
			hoverTrack: this.hoverTrack,
			focusTrack: this.list[this.focusRow],
			drag: this.drag,
			cursor: this.cursor,
		};
	}

	draw() {
		const begin = performance.now();
		paint(this.canvas, this.width, this.height, c =>
			this.painter.draw(c, this.scene()),
		);
		this.lastFrame = performance.now() - begin;
	}

	soon() {
		if (this.waiting) return;
		this.waiting = requestAnimationFrame(() => {
			this.waiting = 0;
			this.draw();
		});
	}

	see(from, to) {
		[this.from, this.to] = clampWindow(from, to, this.model.length);
		this.soon();
		clearTimeout(this.saving);
		const all = this.from <= 0 && this.to >= this.model.length;
		this.saving = setTimeout(
			() =>
				this.app.shown === "timeline" &&
				this.app.remember({
					seeFrom: all ? null : Math.round(this.from),
					seeTo: all ? null : Math.round(this.to),
				}),
			250,
		);
	}

	zoom(factor, center = (this.from + this.to) / 2) {
		this.see(...zoomWindow(this.from, this.to, center, factor, this.model.length));
	}

	pan(share) {
		const by = (this.to - this.from) * share;
		this.see(this.from + by, this.to + by);
	}

	zoomToSelection() {
		const { state } = this.app;
		if (state.from !== null || state.to !== null)
			this.see(state.from ?? 0, state.to ?? this.model.length);
		else if (this.chosen) {
			const d = describe(this.app, this.tracks, this.chosen),
				pad = Math.max(100, (d.end - d.begin) * 0.1);
			this.see(d.begin - pad, d.end + pad);
		}
	}

	time(e) {
		return (
			this.from +
			((e.clientX - this.canvas.getBoundingClientRect().left - this.labelWidth) /
				(this.width - this.labelWidth)) *
				(this.to - this.from)
		);
	}

	trackAt(e) {
		const y =
			e.clientY -
			this.canvas.getBoundingClientRect().top -
			RULER +
			this.scroll.scrollTop;
		return this.list.find(t => y >= t.y && y < t.y + t.height + 3) ?? null;
	}

	// The thing under a point: { kind, id }.
	thingAt(e) {
		const track = this.trackAt(e),
			time = this.time(e),
			near = ((this.to - this.from) / this.width) * 4;
		const y =
			e.clientY -
			this.canvas.getBoundingClientRect().top -
			RULER +
			this.scroll.scrollTop -
			(track?.y ?? 0);
		const lane = track?.lanes?.find(l => y >= l.top && y <= l.top + l.height + 1);
		if (!lane || time < this.from) return null;
		const id = lane.lane.at(time, near);
		return id < 0 ? null : { kind: lane.kind, id };
	}

	listen() {
		const c = this.canvas;
		this.scroll.onscroll = () => this.draw();
		c.onpointerdown = e => this.down(e);
		c.onpointermove = e => this.move(e);
		c.onpointerup = c.onpointercancel = e => this.up(e);
		c.onpointerleave = () => {
			this.app.tip.hide();
			this.cursor = this.hoverTrack = null;
			this.soon();
		};
		c.addEventListener("wheel", e => this.wheel(e), { passive: false });
	}

	wheel(e) {
		if (e.ctrlKey || e.metaKey) {
			e.preventDefault();
			this.zoom(
				Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.012),
				this.time(e),
			);
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			e.preventDefault();
			this.pan(((e.deltaX || e.deltaY) / this.width) * 1.2);
		}
	}

	down(e) {
		this.pointers.set(e.pointerId, e);
		this.canvas.setPointerCapture(e.pointerId);
		this.start = {
			time: this.time(e),
			x: e.clientX,
			y: e.clientY,
			from: this.from,
			to: this.to,
			top: this.scroll.scrollTop,
			label:
				e.clientX - this.canvas.getBoundingClientRect().left <
				this.labelWidth,
		};
		if (this.pointers.size === 2)
			this.pinch = {
				gap: this.gap(),
				from: this.from,
				to: this.to,
				center: this.time(e),
			};
	}

	gap() {
		const [a, b] = [...this.pointers.values()];
		return Math.max(20, Math.abs(a.clientX - b.clientX));
	}

	move(e) {
		if (this.pointers.has(e.pointerId)) {
			this.pointers.set(e.pointerId, e);
			this.dragTo(e);
		} else {
			this.hover(e);
		}
	}

	dragTo(e) {
		if (this.pinch) {
			this.see(
				...zoomWindow(
					this.pinch.from,
					this.pinch.to,
					this.pinch.center,
					this.pinch.gap / this.gap(),
					this.model.length,
				),
			);
			return;
		}
		if (this.start.label || (Math.abs(e.clientX - this.start.x) < 4 && !this.moved))
			return;
		this.moved = true;
		this.app.tip.hide();
		if (e.shiftKey || e.pointerType === "touch") {
			const by =
				((this.start.x - e.clientX) / (this.width - this.labelWidth)) *
				(this.start.to - this.start.from);
			this.see(this.start.from + by, this.start.to + by);
			this.scroll.scrollTop = this.start.top + this.start.y - e.clientY;
		} else {
			const now = Math.max(0, Math.min(this.model.length, this.time(e)));
			this.drag = [
				Math.min(this.start.time, now),
				Math.max(this.start.time, now),
			];
			this.app.showFound(duration(this.drag[1] - this.drag[0]));
			this.soon();
		}
	}

	up(e) {
		this.pointers.delete(e.pointerId);
		if (this.pinch) {
			if (!this.pointers.size) this.pinch = null;
			return;
		}
		const drag = this.drag,
			moved = this.moved;
		this.drag = null;
		this.moved = false;
		if (drag)
			this.app.set({
				from: Math.max(0, Math.round(drag[0])),
				to: Math.round(drag[1]),
			});
		else if (!moved && this.start) this.click(e);
	}

	click(e) {
		const track = this.trackAt(e);
		if (track?.kind === "head") this.fold(track);
		else if (this.start.label && track) this.chooseTrack(track);
		else this.choose(this.thingAt(e));
	}

	fold(track) {
		if (this.tracks.closed.has(track.id)) this.tracks.closed.delete(track.id);
		else this.tracks.closed.add(track.id);
		this.update();
	}

	// A thread, CPU or task type as the selection; once more takes it back.
	chooseTrack(track) {
		const { state } = this.app;
		if (track.kind === "thread") {
			const key = this.model.threadKey(track.thread),
				keys = state.thread ? state.thread.split(",") : [];
			this.app.set({
				thread: (keys.includes(key)
					? keys.filter(k => k !== key)
					: [...keys, key]
				).join(","),
			});
		} else if (track.kind === "cpu") {
			this.app.set({ cpu: state.cpu === track.cpu ? null : track.cpu });
		} else if (track.kind === "tasks") {
			const name = this.model.typeName(track.type);
			this.app.set({ type: state.type === name ? "" : name });
		}
	}

	choose(thing) {
		this.chosen = thing;
		if (thing) this.chosen.wake = describe(this.app, this.tracks, thing).wake;
		const task =
			thing?.kind === "task"
				? thing.id
				: thing?.kind === "span"
					? this.tracks.taskOfSpan[thing.id]
					: null;
		if (task !== null) {
			this.shownTask = task;
			this.app.set({
				task,
				seeFrom: Math.round(this.from),
				seeTo: Math.round(this.to),
			});
		}
		this.soon();
		this.drawDetail();
	}

	hover(e) {
		const thing = this.thingAt(e);
		this.cursor = this.time(e) > this.from ? this.time(e) : null;
		this.hoverTrack = this.trackAt(e);
		this.soon();
		if (!thing) {
			this.app.tip.hide();
			return;
		}
		const d = describe(this.app, this.tracks, thing);
		this.app.tip.show(
			e.clientX,
			e.clientY,
			h("div", { class: "tip-name" }, d.title),
			h("div", { class: "num" }, d.brief),
			d.more ? h("div", { class: "dim" }, d.more) : null,
		);
	}

	drawDetail() {
		const { app } = this,
			{ state } = app;
		if (this.chosen) {
			const d = describe(app, this.tracks, this.chosen);
			replace(
				this.detail,
				h(
					"div",
					{ class: "detail-name" },
					h("strong", {}, d.title),
					" ",
					h("span", { class: "dim num" }, d.brief),
				),
				...(d.rows ?? []),
				h(
					"div",
					{ class: "tools" },
					h(
						"button",
						{
							onclick: () =>
								app.set({
									from: Math.floor(d.begin),
									to: Math.ceil(d.end),
								}),
						},
						"Select its time",
					),
					d.thread !== undefined
						? h(
								"button",
								{
									onclick: () =>
										app.set({
											thread: this.model.threadKey(
												d.thread,
											),
										}),
								},
								"Select its thread",
							)
						: null,
					...(d.actions ?? []),
					h(
						"button",
						{ class: "quiet", onclick: () => this.leave() },
						"Close",
					),
				),
			);
		} else {
			const range =
				state.from !== null
					? `Selected: ${instant(state.from, 1e3)} to ${instant(state.to ?? this.model.length, 1e3)}; the other views show this part. `
					: "";
			replace(
				this.detail,
				h(
					"span",
					{ class: "dim" },
					range,
					"Drag to select a time range, Ctrl and wheel zooms, click a thing for what it is, a name on the left to select it. ",
				),
				h("kbd", {}, "?"),
				h("span", { class: "dim" }, " shows the keys."),
			);
		}
	}

	leave() {
		this.chosen = null;
		if (this.app.state.task !== null)
			this.app.set({
				task: null,
				seeFrom: Math.round(this.from),
				seeTo: Math.round(this.to),
			});
		this.soon();
		this.drawDetail();
	}

	// Along the tracks, and along the things of one.
	step(rows) {
		const n = this.list.length;
		this.focusRow = Math.max(0, Math.min(n - 1, (this.focusRow ?? -1) + rows));
		const track = this.list[this.focusRow],
			top = this.scroll.scrollTop;
		if (track.y < top) this.scroll.scrollTop = track.y;
		else if (track.y + track.height + RULER > top + this.height)
			this.scroll.scrollTop = track.y + track.height + RULER - this.height;
		this.app.say(track.label);
		this.soon();
	}

	along(back) {
		const track = this.list[this.focusRow ?? -1],
			lanes = track?.lanes;
		if (!lanes?.length) return;
		const lane = lanes.find(l => l.kind === this.chosen?.kind) ?? lanes[0];
		const now =
			this.chosen && lane.kind === this.chosen.kind
				? describe(this.app, this.tracks, this.chosen).begin
				: back
					? this.to
					: this.from - 1;
		const id = lane.lane.next(now, back);
		if (id < 0) return;
		this.chosen = { kind: lane.kind, id };
		const d = describe(this.app, this.tracks, this.chosen);
		this.chosen.wake = d.wake;
		if (d.begin < this.from || d.begin > this.to)
			this.see(
				d.begin - (this.to - this.from) / 2,
				d.begin + (this.to - this.from) / 2,
			);
		this.app.say(`${d.title}, ${d.brief}`);
		this.soon();
		this.drawDetail();
	}

	key(e) {
		const actions = {
			w: () => this.zoom(0.6),
			"+": () => this.zoom(0.6),
			"=": () => this.zoom(0.6),
			s: () => this.zoom(1.7),
			"-": () => this.zoom(1.7),
			a: () => this.pan(-0.2),
			d: () => this.pan(0.2),
			ArrowLeft: () => this.pan(-0.2),
			ArrowRight: () => this.pan(0.2),
			j: () => this.step(1),
			k: () => this.step(-1),
			ArrowDown: () => this.step(1),
			ArrowUp: () => this.step(-1),
			n: () => this.along(false),
			p: () => this.along(true),
			z: () => this.zoomToSelection(),
			0: () => this.see(0, this.model.length),
			e: () =>
				this.app.set({
					from: Math.floor(this.from),
					to: Math.ceil(this.to),
				}),
			Enter: () => this.enter(),
		};
		if (e.key === "Escape" && this.chosen) this.leave();
		else if (e.key === "Enter" && e.target.closest?.("button, a")) return false;
		else if (actions[e.key]) actions[e.key]();
		else return false;
		return true;
	}

	enter() {
		const track = this.list[this.focusRow ?? -1];
		if (this.chosen && this.chosen.kind !== "task") this.choose(this.chosen);
		else if (track?.kind === "head") this.fold(track);
		else if (track) this.chooseTrack(track);
	}

	resize() {
		this.fit();
	}

	focus() {
		this.canvas.focus();
	}

	close() {
		clearTimeout(this.saving);
		cancelAnimationFrame(this.waiting);
	}

	asText() {
		const { model } = this,
			lines = [];
		for (let t = 0; t < model.threads; t++) {
			const parts =
				model.meta.thread_parts[t]
					?.map((ns, i) => [ns, model.meta.states[i]])
					.filter(([ns]) => ns)
					.sort((a, b) => b[0] - a[0]) ?? [];
			if (parts.length)
				lines.push(
					`${model.threadName(t)}\t${parts.map(([ns, name]) => `${name} ${duration(ns)}`).join(", ")}`,
				);
		}
		return lines.join("\n") + "\n";
	}
}

function legend() {
	const dark = isDark(),
		mark = name =>
			h(
				"span",
				{ class: "legend" },
				h("i", { style: { background: stateColor(name, dark) } }),
				name,
			);
	return h(
		"div",
		{ class: "legends" },
		...["running", "runnable", "preempted", "futex", "read", "sleep", "io"].map(mark),
	);
}

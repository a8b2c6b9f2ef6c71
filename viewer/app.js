// SPDX-License-Identifier: MIT
// The page: state in the address, one view at a time, keys, and what all views share.
import { h, replace, save, Tip, copyText } from "./dom.js";
import { readStore } from "./store.js";
import { Model } from "./model.js";
import { usualState, readLink, writeLink } from "./link.js";
import { parseSearch, matchFunctions } from "./search.js";
import { isNarrow } from "./select.js";
import { OverviewView } from "./overview.js";
import { FlameView } from "./flame-view.js";
import { TableView } from "./table-view.js";
import { SourceView } from "./source-view.js";
import { FORMATS, exportAs } from "./export.js";
import { isServed } from "./server.js";
import { TimelineView } from "./timeline-view.js";
import { DiffPage } from "./diff-view.js";
import { Help } from "./help.js";
import { segmented } from "./control.js";
import { plain, duration, instant } from "./amount.js";
import { isDark } from "./color.js";

const VIEWS = {
	overview: ["Overview", OverviewView],
	flame: ["Flame graph", FlameView],
	timeline: ["Timeline", TimelineView],
	table: ["Table", TableView],
	source: ["Source", SourceView],
};

class App {
	constructor(model) {
		this.model = model;
		const only = ["on", "off"].filter(m => model.hasMode(m));
		const mode = only.length === 1 ? only[0] : model.meta.mode;
		this.usual = usualState(mode);
		this.state = readLink(location.hash, this.usual);
		this.tip = new Tip();
		this.help = new Help();
		this.main = document.getElementById("main");
		document.title = `${plain(model.meta.title, 80)} – coati`;
		this.drawTop();
		window.addEventListener("hashchange", () => this.follow());
		window.addEventListener("popstate", () => this.follow());
		window.addEventListener("keydown", e => this.key(e));
		window.addEventListener("resize", () => this.later(() => this.view.resize?.()));
		window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
			this.render(),
		);
		this.render();
	}

	// Change the state: a new entry of the history, unless it is a small step of the same thing.
	set(patch, { quiet = false } = {}) {
		const before = writeLink(this.state, this.usual);
		this.state = { ...this.state, ...patch };
		const link = writeLink(this.state, this.usual);
		if (link === before) return;
		const url = `${location.pathname}${location.search}#${link}`;
		if (quiet) history.replaceState(null, "", url);
		else history.pushState(null, "", url);
		this.render();
	}

	// What need not be drawn again, and is no step of the history.
	remember(patch) {
		this.state = { ...this.state, ...patch };
		const link = writeLink(this.state, this.usual);
		history.replaceState(null, "", `${location.pathname}${location.search}#${link}`);
		this.drawTabs();
	}

	clear() {
		this.set({
			from: null,
			to: null,
			thread: "",
			process: "",
			label: "",
			type: "",
			task: null,
			cpu: null,
			event: null,
		});
	}

	follow() {
		const state = readLink(location.hash, this.usual);
		if (writeLink(state, this.usual) === writeLink(this.state, this.usual)) return;
		this.state = state;
		this.render();
	}

	render() {
		this.tip.hide();
		if (!VIEWS[this.state.view]) this.state.view = "overview";
		if (this.searchFor !== this.state.search) {
			this.searchFor = this.state.search;
			this.search = parseSearch(this.state.search);
			this.matches = matchFunctions(this.model, this.search);
			if (this.searchBox.value !== this.state.search)
				this.searchBox.value = this.state.search;
		}
		this.drawTabs();
		this.drawBar();
		if (this.shown === this.state.view) {
			this.view.update();
		} else {
			this.shown = this.state.view;
			this.view?.close?.();
			this.main.className = `view-${this.shown}`;
			this.view = new VIEWS[this.shown][1](this, this.main);
		}
		if (this.search?.error) this.showFound(this.search.error);
	}

	drawTop() {
		const { meta } = this.model;
		this.tabs = h("nav", { class: "tabs", "aria-label": "Views" });
		this.searchBox = h("input", {
			type: "search",
			class: "search",
			placeholder: "Search, or /regular expression/",
			"aria-label": "Search",
			autocomplete: "off",
			spellcheck: "false",
		});
		this.searchBox.oninput = () =>
			this.set({ search: this.searchBox.value }, { quiet: true });
		this.searchBox.onkeydown = e => {
			if (e.key === "Escape") {
				this.set({ search: "" }, { quiet: true });
				this.searchBox.blur();
			} else if (e.key === "Enter") {
				this.view.focus?.();
			}
		};
		this.found = h("span", { class: "found", role: "status" });
		replace(
			document.getElementById("top"),
			h(
				"div",
				{ class: "brand" },
				h("span", { class: "mark", "aria-hidden": "true" }),
				h("b", {}, "coati"),
				h(
					"span",
					{ class: "title", title: plain(meta.title) },
					plain(meta.title.split("/").pop(), 60),
				),
				h("span", { class: "dim num" }, duration(meta.length)),
			),
			this.tabs,
			h("div", { class: "search-box" }, this.searchBox, this.found),
			h(
				"div",
				{ class: "buttons" },
				this.exports(),
				h(
					"button",
					{
						title: "Copy this view as text (y)",
						onclick: () => this.copy(),
					},
					"Copy",
				),
				h(
					"button",
					{
						title: "Light or dark (t)",
						"aria-label": "Light or dark",
						onclick: () => this.theme(),
					},
					"◐",
				),
				h(
					"button",
					{
						title: "Keys (?)",
						"aria-label": "Help",
						onclick: () => this.help.toggle(),
					},
					"?",
				),
			),
		);
	}

	drawTabs() {
		replace(
			this.tabs,
			...Object.entries(VIEWS).map(([view, [text]]) =>
				h(
					"a",
					{
						href:
							"#" +
							writeLink(
								{ ...this.state, view },
								this.usual,
							),
						"aria-current":
							view === this.state.view ? "page" : null,
						onclick: e => {
							e.preventDefault();
							this.set({ view });
						},
					},
					text,
				),
			),
		);
	}

	drawBar() {
		const { model, state } = this,
			chips = [];
		const chip = (text, patch) =>
			chips.push(
				h(
					"button",
					{
						class: "chip",
						title: "Remove",
						onclick: () => this.set(patch),
					},
					text,
					h("span", { class: "x", "aria-hidden": "true" }, "×"),
				),
			);
		if (state.from !== null || state.to !== null)
			chip(
				`${instant(state.from ?? 0, 1e5)} – ${instant(state.to ?? model.length, 1e5)} (${duration((state.to ?? model.length) - (state.from ?? 0))})`,
				{ from: null, to: null },
			);
		if (state.process) chip(`process ${plain(state.process, 40)}`, { process: "" });
		for (const key of state.thread ? state.thread.split(",") : []) {
			const t = model.findThread(key);
			chip(t < 0 ? `thread ${plain(key, 40)}` : plain(model.threadName(t), 40), {
				thread: state.thread
					.split(",")
					.filter(k => k !== key)
					.join(","),
			});
		}
		if (state.task !== null && state.task < model.tasks)
			chip(
				`${plain(model.typeName(model.taskType[state.task]), 40)} ${model.taskId(state.task)}`,
				{ task: null },
			);
		if (state.type) chip(`task type ${plain(state.type, 40)}`, { type: "" });
		if (state.label) chip(plain(state.label, 60), { label: "" });
		if (state.cpu !== null) chip(`CPU ${state.cpu}`, { cpu: null });
		if (state.event !== null && model.events[state.event])
			chip(`event ${plain(model.events[state.event].name, 40)}`, { event: null });
		const modes =
			model.hasMode("on") && model.hasMode("off")
				? segmented(
						"Time",
						[
							["on", "On CPU"],
							["off", "Off CPU"],
							["both", "Both"],
						],
						state.mode,
						mode => this.set({ mode }),
					)
				: null;
		const bar = document.getElementById("bar");
		replace(
			bar,
			modes,
			...chips,
			isNarrow(state)
				? h(
						"button",
						{ class: "quiet", onclick: () => this.clear() },
						"Clear all",
					)
				: null,
		);
		bar.hidden = !bar.childElementCount;
	}

	showFound(text) {
		this.found.textContent = text;
	}

	say(text) {
		document.getElementById("live").textContent = text;
	}

	// Files for other tools: by coati where it serves the page, else made here of the selection.
	exports() {
		const name = plain(
			this.model.meta.title
				.split("/")
				.pop()
				.replace(/\.data$/, ""),
			60,
		);
		const button = ([format, [text, suffix]]) =>
			h("button", { onclick: () => this.download(format, name + suffix) }, text);
		return h(
			"details",
			{ class: "menu" },
			h("summary", { role: "button", title: "Save for other tools" }, "Export"),
			h("div", { class: "menu-list" }, ...Object.entries(FORMATS).map(button)),
		);
	}

	async download(format, name) {
		document.querySelector(".menu").open = false;
		if (isServed()) location.assign(`export?format=${format}`);
		else
			save(
				name,
				"application/octet-stream",
				await exportAs(this.model, this.state, format),
			);
		this.showFound(`Saved ${name}`);
	}

	later(fn) {
		cancelAnimationFrame(this.waiting);
		this.waiting = requestAnimationFrame(fn);
	}

	theme() {
		document.documentElement.dataset.theme = isDark() ? "light" : "dark";
		this.render();
		this.view.resize?.();
	}

	copy() {
		copyText(this.view.asText?.() ?? "").then(() => this.say("Copied"));
		this.showFound("Copied as text");
	}

	nextMode() {
		const all = ["on", "off", "both"];
		if (this.model.hasMode("on") && this.model.hasMode("off"))
			this.set({ mode: all[(all.indexOf(this.state.mode) + 1) % 3] });
	}

	key(e) {
		if (
			e.ctrlKey ||
			e.metaKey ||
			e.altKey ||
			e.target.closest?.("input, select, textarea, dialog[open]")
		)
			return;
		if (this.view.key?.(e)) {
			e.preventDefault();
			return;
		}
		const views = Object.keys(VIEWS),
			number = Number(e.key) - 1;
		const actions = {
			"/": () => this.searchBox.focus(),
			"?": () => this.help.toggle(),
			m: () => this.nextMode(),
			t: () => this.theme(),
			y: () => this.copy(),
			x: () => this.clear(),
			Escape: () => this.set(this.state.search ? { search: "" } : {}),
		};
		if (number >= 0 && number < views.length) this.set({ view: views[number] });
		else if (actions[e.key]) actions[e.key]();
		else return;
		e.preventDefault();
	}
}

async function start() {
	const data = document.getElementById("data");
	try {
		const store = await readStore(data.textContent, data.dataset.coding);
		data.remove();
		window.coati = store.has("diff") ? new DiffPage(store) : new App(new Model(store));
		performance.mark("coati-first-picture");
	} catch (error) {
		replace(
			document.getElementById("main"),
			h(
				"p",
				{ class: "loading" },
				`This page cannot be shown: ${error.message}. It needs Firefox 113, Chrome 111, Safari 16.4 or newer.`,
			),
		);
		throw error;
	}
}

start();

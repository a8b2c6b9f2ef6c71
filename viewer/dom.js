// SPDX-License-Identifier: MIT
// Elements of the page. Texts are always text: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

// h("button", { class: "x", onclick: f, disabled: true }, "text", element, ...)
export function h(tag, props = {}, ...children) {
	const e = document.createElement(tag);
	fill(e, props, children);
	return e;
}

export function svg(tag, props = {}, ...children) {
	const e = document.createElementNS(SVG, tag);
	fill(e, props, children);
	return e;
}

function fill(e, props, children) {
	for (const [key, value] of Object.entries(props)) {
		if (value === null || value === undefined || value === false) continue;
		if (key.startsWith("on")) e[key] = value;
		else if (key === "style")
			for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
		else e.setAttribute(key, value === true ? "" : value);
	}
	for (const c of children.flat())
		if (c !== null && c !== undefined && c !== false) e.append(c);
}

export function replace(e, ...children) {
	e.replaceChildren(
		...children.flat().filter(c => c !== null && c !== undefined && c !== false),
	);
	return e;
}

// A canvas as sharp as the screen; draw(context, width, height) in CSS pixels.
export function paint(canvas, width, height, draw) {
	const scale = window.devicePixelRatio || 1;
	const w = Math.max(1, Math.round(width * scale)),
		hh = Math.max(1, Math.round(height * scale));
	if (canvas.width !== w || canvas.height !== hh) {
		canvas.width = w;
		canvas.height = hh;
		canvas.style.setProperty("width", `${width}px`);
		canvas.style.setProperty("height", `${height}px`);
	}
	const c = canvas.getContext("2d");
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, width, height);
	draw(c, width, height);
}

export function copyText(text) {
	if (navigator.clipboard?.writeText && window.isSecureContext)
		return navigator.clipboard.writeText(text).catch(() => copyOld(text));
	return Promise.resolve(copyOld(text));
}

// Pages from file:// have no clipboard in some browsers.
function copyOld(text) {
	const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true" });
	area.value = text;
	document.body.append(area);
	area.select();
	document.execCommand("copy");
	area.remove();
}

export function save(name, type, bytes) {
	const url = URL.createObjectURL(new Blob([bytes], { type }));
	const a = h("a", { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// A small floating box beside the pointer.
export class Tip {
	constructor() {
		this.box = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
		document.body.append(this.box);
	}

	show(x, y, ...content) {
		replace(this.box, ...content);
		this.box.hidden = false;
		const w = this.box.offsetWidth,
			hh = this.box.offsetHeight;
		const left = Math.max(4, Math.min(x + 14, window.innerWidth - w - 8));
		const top = y + 18 + hh > window.innerHeight ? Math.max(4, y - hh - 10) : y + 18;
		this.box.style.setProperty("left", `${left}px`);
		this.box.style.setProperty("top", `${top}px`);
	}

	hide() {
		this.box.hidden = true;
	}
}

// SPDX-License-Identifier: MIT
// The data of a page: bytes in, columns of numbers and texts out. docs/formats/page.md describes
// the bytes; src/page/columns.c writes them. Columns are decoded when they are first asked for.

const MAGIC = "coatipg1";
const TEXT = new TextDecoder();

// One number after the other, seven bits a byte. Numbers up to 2^53 are exact.
export function decodeNumbers(bytes, count, isDelta, out) {
	let at = 0,
		last = 0;
	for (let i = 0; i < count; i++) {
		let b = bytes[at++],
			v = b & 127;
		if (b > 127) {
			b = bytes[at++];
			v |= (b & 127) << 7;
			if (b > 127) {
				b = bytes[at++];
				v |= (b & 127) << 14;
				let scale = 2097152;
				while (b > 127) {
					b = bytes[at++];
					v += (b & 127) * scale;
					scale *= 128;
				}
			}
		}
		if (isDelta) {
			last += v % 2 ? -(v + 1) / 2 : v / 2;
			v = last;
		}
		out[i] = v;
	}
	if (at !== bytes.length) throw new Error("a column of the page is damaged");
	return out;
}

// Numbers that come several times in a row: each is doubled, and odd where its count follows.
// Numbers up to 2^52 are exact.
export function decodeRuns(bytes, count, out) {
	let at = 0,
		i = 0;
	const next = () => {
		let v = 0,
			scale = 1,
			b;
		do {
			b = bytes[at++];
			v += (b & 127) * scale;
			scale *= 128;
		} while (b > 127);
		return v;
	};
	while (i < count && at < bytes.length) {
		const v = next(),
			end = i + (v % 2 ? next() : 1);
		out.fill(Math.floor(v / 2), i, end);
		i = end;
	}
	if (i !== count || at !== bytes.length)
		throw new Error("a column of the page is damaged");
	return out;
}

function decode(s, out) {
	return s.kind === "runs"
		? decodeRuns(s.bytes, s.count, out)
		: decodeNumbers(s.bytes, s.count, s.kind === "delta", out);
}

// Columns start at any byte: what a typed array needs to be aligned is copied.
function decodeReals(bytes, count) {
	const copy = bytes.slice(0, count * 8),
		view = new DataView(copy.buffer),
		out = new Float64Array(count);
	for (let i = 0; i < count; i++) out[i] = view.getFloat64(i * 8, true);
	return out;
}

export class Store {
	constructor(bytes) {
		if (TEXT.decode(bytes.subarray(0, 8)) !== MAGIC)
			throw new Error("the page has no data of coati in it");
		const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
		const index = JSON.parse(TEXT.decode(bytes.subarray(12, 12 + size)));
		let at = 12 + size;
		this.sections = new Map();
		this.cache = new Map();
		for (const s of index.sections) {
			this.sections.set(s.name, { ...s, bytes: bytes.subarray(at, at + s.size) });
			at += s.size;
		}
		if (at !== bytes.length) throw new Error("the page is cut: its data end early");
	}

	has(name) {
		return this.sections.has(name);
	}

	count(name) {
		return this.sections.get(name)?.count ?? 0;
	}

	json(name) {
		return this.once(
			name,
			s => JSON.parse(TEXT.decode(s.bytes)),
			() => null,
		);
	}

	// Numbers that may be large: times, weights.
	times(name) {
		return this.once(
			name,
			s =>
				s.kind === "real"
					? decodeReals(s.bytes, s.count)
					: decode(s, new Float64Array(s.count)),
			() => new Float64Array(0),
		);
	}

	// Numbers of things.
	ids(name) {
		return this.once(
			name,
			s => decode(s, new Uint32Array(s.count)),
			() => new Uint32Array(0),
		);
	}

	once(name, decode, none) {
		if (!this.cache.has(name)) {
			const s = this.sections.get(name);
			this.cache.set(name, s ? decode(s) : none());
		}
		return this.cache.get(name);
	}

	get meta() {
		return this.json("meta");
	}

	get texts() {
		return this.json("texts") ?? [""];
	}

	// Where the numbers of thread, task ... i begin: one more than there are.
	offsets(name) {
		const key = "offsets " + name;
		if (!this.cache.has(key)) {
			const counts = this.ids(name),
				out = new Uint32Array(counts.length + 1);
			for (let i = 0; i < counts.length; i++) out[i + 1] = out[i] + counts[i];
			this.cache.set(key, out);
		}
		return this.cache.get(key);
	}
}

export function decodeBase64(text) {
	const binary = atob(text),
		out = new Uint8Array(binary.length);
	for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
	return out;
}

export async function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The data as they lie in the page: base64, and compressed unless there was no zlib.
export async function readStore(text, coding) {
	const bytes = decodeBase64(text.trim());
	return new Store(coding === "gzip" ? await inflate(bytes) : bytes);
}

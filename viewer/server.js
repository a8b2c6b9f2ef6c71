// SPDX-License-Identifier: MIT
// What only coati view can answer: source files, assembly, exports. A page that is a file asks
// nobody.

export function isServed() {
	const policy = document.querySelector("meta[http-equiv]")?.content ?? "";
	return location.protocol.startsWith("http") && policy.includes("connect-src 'self'");
}

export async function ask(path) {
	const answer = await fetch(path, { credentials: "omit", cache: "no-store" });
	const text = await answer.text();
	if (!answer.ok)
		throw new Error(
			text.trim().slice(0, 400) || `the server answered ${answer.status}`,
		);
	return text;
}

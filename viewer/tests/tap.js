// SPDX-License-Identifier: MIT
// A test is a sentence with one claim; results are TAP. node viewer/tests/run.js
import assert from "node:assert/strict";

const tests = [];

export function test(name, fn) {
	tests.push([name, fn]);
}

export const equal = assert.deepEqual;
export const ok = assert.ok;
export const throws = assert.throws;

export async function runTests() {
	let number = 0,
		failed = 0;
	for (const [name, fn] of tests) {
		number++;
		try {
			await fn();
			console.log(`ok ${number} - ${name}`);
		} catch (error) {
			failed++;
			console.log(`not ok ${number} - ${name}`);
			console.log(String(error.stack ?? error).replace(/^/gm, "# "));
		}
	}
	console.log(`1..${number}`);
	process.exitCode = failed ? 1 : 0;
}

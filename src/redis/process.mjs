/** Runs one program to its end. Node built-ins only, because ensure.mjs runs before `npm ci`. */
import { spawn } from "node:child_process";

/**
 * Never rejects: a program that cannot be started has code 127, one that was stopped (time-out, signal) has code -1.
 * `output` is stdout and stderr as they came.
 */
export function run(file, args, { env, cwd, timeoutMs }) {
  return new Promise((resolve) => {
    let stdout = "";
    let output = "";
    const child = spawn(file, args, { env, cwd, timeout: timeoutMs, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("error", (error) => resolve({ code: 127, stdout, output: output + error.message }));
    child.on("close", (code) => resolve({ code: code ?? -1, stdout, output }));
  });
}

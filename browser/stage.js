// What the tests share: the browser, the command, and data to look at.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/// A folder that goes away with the tests.
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "cmrm-browser-"));
  folders.push(path);
  return path;
}
const folders = [];
process.on("exit", () => folders.forEach((path) => rmSync(path, { recursive: true, force: true })));

/// Runs `cmrm` in a folder and gives its standard output.
export function cmrm(where, ...words) {
  return execFileSync(process.env.CMRM, [...words, "--quiet"], { cwd: where, encoding: "utf8", maxBuffer: 1 << 28 });
}

/// A browser with a profile of its own that never goes to the network.
export async function open(options = {}) {
  const profile = folder();
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    headless: true,
    acceptDownloads: true,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
    viewport: { width: 1000, height: 900 },
    ...options,
  });
  return context;
}

/// A page that notes what it should not do: errors, dialogs, and requests to anywhere but `own`.
export async function watched(context, own) {
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push("console: " + message.text()); });
  page.on("pageerror", (error) => faults.push("error: " + error.message));
  page.on("dialog", (dialog) => { faults.push("dialog: " + dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("data:") && !url.startsWith("blob:") && !url.startsWith(own)) faults.push("request: " + url);
  });
  return { page, faults };
}

/// What axe finds against the rules of WCAG 2.1, A and AA.
export async function accessibility(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  return found.violations.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.target + " " + node.failureSummary).join("; ")}`);
}

const servers = new Set();

/// Ends what a failed test left running.
export function stopAll() {
  for (const server of servers) server.kill("SIGKILL");
}

/// Starts `cmrm review`; `kill` ends it as a power cut would.
export async function review(where, ...words) {
  const server = spawn(process.env.CMRM, ["review", ...words, "--quiet"], { cwd: where, stdio: ["ignore", "pipe", "inherit"] });
  servers.add(server);
  const address = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (data) => { text += data; if (text.includes("\n")) resolve(text.trim()); });
    server.on("exit", (code) => reject(new Error(`cmrm review ended with ${code}`)));
  });
  server.removeAllListeners("exit");
  const kill = () => new Promise((resolve) => { server.on("exit", resolve); server.kill("SIGKILL"); servers.delete(server); });
  return { address, kill };
}

/// A table whose names, values and labels try to be HTML.
export const HOSTILE = {
  labels: ['<script>alert("label")</script>', `"><img src=x onerror="alert('other')">`],
  column: `<b onclick='alert(1)'>width</b>`,
  value: "</td><script>alert('value')</script>",
  text: "A longer text, as people write it, with <b>tags</b>, <script>alert('text')</script>, \"quotes\" & 'more', so long that it is no name.",
};

export function writeHostile(path) {
  const quote = (text) => '"' + text.replaceAll('"', '""') + '"';
  const lines = [[HOSTILE.column, "height", "note", "words", "kind"].map(quote).join(",")];
  for (let i = 0; i < 240; i++) {
    const truth = Number(i % 9 > 4);
    const given = i % 8 === 3 ? 1 - truth : truth;
    lines.push([i % 9, (i * 7) % 11, quote(i % 2 ? HOSTILE.value : "plain 'quotes' & \"more\""), quote(HOSTILE.text + " " + (i % 9)), quote(HOSTILE.labels[given])].join(","));
  }
  writeFileSync(path, lines.join("\n") + "\n");
}

// The review page: by keyboard, through a reload and a killed server, to a file that `cmrm clean` takes.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HOSTILE, accessibility, cmrm, folder, open, review, stopAll, watched, writeHostile } from "./stage.js";

const where = folder();
let context;

before(async () => {
  cmrm(where, "noise", "digits", "--kind", "symmetric:0.3", "--out", "noisy.csv");
  cmrm(where, "fit", "noisy.csv", "--label", "label", "--no-base", "--out", "run");
  cmrm(where, "fit", "digits", "--noise", "symmetric:0.3", "--no-base", "--out", "pictures");
  writeHostile(join(where, "hostile.csv"));
  cmrm(where, "fit", "hostile.csv", "--label", "kind", "--epochs", "60", "--no-base", "--out", "hostile");
  context = await open();
});
after(async () => { stopAll(); await context.close(); });

const count = async (page) => Number((await page.textContent("#count")).split(" ")[0]);
const ready = (page) => page.waitForSelector("#card[data-ready=yes]");

/// Presses keys and waits until so many rows are decided.
async function decide(page, keys, expected) {
  for (const key of keys) await page.keyboard.press(key);
  await page.waitForFunction((wanted) => document.getElementById("count").textContent.startsWith(wanted + " of"), expected);
}

test("twenty rows by keyboard; a reload and a killed server lose nothing; clean takes the file", async () => {
  let server = await review(where, "run");
  let { page, faults } = await watched(context, server.address);
  await page.goto(server.address);
  await ready(page);

  await decide(page, ["k", "r", "r", "d", "u"], 5);
  // Another label: the list has the focus, Enter takes what is chosen.
  await page.keyboard.press("o");
  await page.waitForSelector("#other[open]");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await decide(page, [], 6);
  // Undo takes the last one back and shows its row again.
  const [, taken] = (await page.textContent("#said")).match(/^Row (\d+) relabelled to \d\.$/);
  await decide(page, ["z"], 5);
  assert.equal(await page.getAttribute("#card", "data-row"), taken);
  await decide(page, ["k"], 6);
  // The arrows go back and forth and decide nothing.
  await page.keyboard.press("ArrowLeft");
  assert.match(await page.textContent("#state"), /kept|dropped|unsure|relabelled/);
  await page.keyboard.press("ArrowRight");
  await decide(page, ["r", "r", "r", "r"], 10);

  await page.reload();
  await ready(page);
  assert.equal(await count(page), 10);
  await decide(page, ["r", "d", "r", "u", "r", "k", "r", "r", "r", "r"], 20);
  assert.deepEqual(faults, []);

  await server.kill();
  await page.keyboard.press("k");
  await page.waitForSelector("#trouble:not([hidden])");
  assert.match(await page.textContent("#trouble"), /does not respond/);
  assert.equal(await count(page), 20);
  await page.close();

  server = await review(where, "run");
  ({ page, faults } = await watched(context, server.address));
  await page.goto(server.address);
  await ready(page);
  assert.equal(await count(page), 20);
  // One pair of labels at a time.
  const options = await page.$$eval("#filter option", (all) => all.map((option) => option.textContent));
  const [, number] = options[1].match(/\((\d+)\)$/);
  await page.selectOption("#filter", { index: 1 });
  await ready(page);
  assert.match(await page.textContent("#which"), new RegExp(` of ${number} `));
  assert.ok(options[1].startsWith(await page.textContent("#given") + " → " + await page.textContent("#suggested")));

  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
  const file = join(where, "decisions.csv");
  await download.saveAs(file);
  const [header, ...lines] = readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(","));
  assert.deepEqual(header, ["row", "action", "label", "given_label", "fingerprint"]);
  assert.ok(lines.every((line) => line[3] && line[4].length === 16));
  const of = (action) => lines.filter((line) => line[1] === action).length;
  assert.deepEqual([of("keep"), of("relabel"), of("drop"), lines.length], [3, 13, 2, 18]);
  cmrm(where, "review", "run", "--export", "again.csv");
  assert.equal(readFileSync(join(where, "again.csv"), "utf8"), readFileSync(file, "utf8"));
  const clean = JSON.parse(cmrm(where, "clean", "noisy.csv", "decisions.csv", "--label", "label", "--out", "clean.csv", "--json"));
  assert.deepEqual([clean.relabelled, clean.dropped], [13, 2]);
  assert.deepEqual(faults, []);
  await page.close();
  await server.kill();
});

test("undo takes back what this window decided, also after a reload", async () => {
  const server = await review(where, "pictures");
  const decided = async () => (await (await fetch(server.address + "list")).json()).decisions.map((decision) => [decision.row, decision.action]);
  const window = async () => {
    const { page, faults } = await watched(context, server.address);
    await page.goto(server.address);
    await ready(page);
    return { page, faults, row: Number(await page.getAttribute("#card", "data-row")) };
  };
  const one = await window();
  await decide(one.page, ["k"], 1);
  const other = await window();
  await decide(other.page, ["d"], 2);
  assert.notEqual(one.row, other.row);
  // The other window was the last to decide; this one takes its own back.
  await decide(one.page, ["z"], 0);
  assert.deepEqual(await decided(), [[other.row, "drop"]]);
  await one.page.keyboard.press("z");
  await one.page.waitForFunction(() => document.getElementById("said").textContent.startsWith("Nothing left to undo"));
  assert.deepEqual(await decided(), [[other.row, "drop"]]);
  await other.page.reload();
  await ready(other.page);
  await decide(other.page, ["z"], 0);
  assert.deepEqual(await decided(), []);
  assert.deepEqual([...one.faults, ...other.faults], []);
  await one.page.close();
  await other.page.close();
  await server.kill();
});

test("a file leads to the page, and a frame of it shows nothing", async () => {
  const server = await review(where, "pictures");
  const file = join(where, "entrance.html");
  writeFileSync(file, `<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${server.address}">`);
  const page = await context.newPage();
  await page.goto("file://" + file);
  await page.waitForURL(server.address);
  await ready(page);
  writeFileSync(file, `<!DOCTYPE html><meta charset="utf-8"><iframe src="${server.address}"></iframe>`);
  const [refused] = await Promise.all([page.waitForResponse(server.address), page.goto("file://" + file)]);
  assert.equal(refused.status(), 403);
  await page.close();
  await server.kill();
});

test("no secret, another origin, another path: refused", async () => {
  const server = await review(where, "pictures");
  const address = new URL(server.address);
  const status = (path, headers = {}, method = "GET", body = "") => new Promise((resolve, reject) => {
    const sent = request({ host: address.hostname, port: address.port, path, method, headers: { ...headers, "Content-Length": body.length } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject);
    sent.end(body);
  });
  const json = { "Content-Type": "application/json" };
  assert.equal(await status(address.pathname + "list"), 200);
  assert.equal(await status("/"), 403);
  assert.equal(await status("/list"), 403);
  assert.equal(await status("/" + "0".repeat(32) + "/list"), 403);
  assert.equal(await status(address.pathname + "etc/passwd"), 404);
  assert.equal(await status(address.pathname + "../../etc/passwd"), 404);
  assert.equal(await status(address.pathname + "list", { Host: "rebound.example" }), 403);
  assert.equal(await status(address.pathname + "list", { Origin: "http://other.example" }), 403);
  assert.equal(await status(address.pathname + "undo", { ...json, Origin: "http://other.example" }, "POST", "{}"), 403);

  // A page of another origin that has learned the address can still do nothing through the browser.
  const { items } = await (await fetch(server.address + "list")).json();
  const stranger = createServer((_, answer) => { answer.setHeader("Content-Type", "text/html"); answer.end("<!DOCTYPE html><title>x</title>"); });
  await new Promise((resolve) => stranger.listen(0, "127.0.0.1", resolve));
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${stranger.address().port}/`);
  const outcomes = await page.evaluate(async ([target, row]) => {
    const body = JSON.stringify({ row, action: "drop" });
    const tried = [];
    for (const options of [{}, { method: "POST", body }, { method: "POST", body, mode: "no-cors" }, { method: "POST", body, headers: { "Content-Type": "application/json" } }]) {
      tried.push(await fetch(target + (options.method ? "decide" : "list"), options).then((answer) => answer.type, () => "refused"));
    }
    const script = document.createElement("script");
    script.src = target + "review.js";
    tried.push(await new Promise((resolve) => { script.onload = () => resolve("loaded"); script.onerror = () => resolve("refused"); document.head.append(script); }));
    return tried;
  }, [server.address, items[0].row]);
  assert.deepEqual(outcomes.filter((outcome) => outcome !== "refused" && outcome !== "opaque"), []);
  assert.equal(outcomes.at(-1), "refused");
  assert.deepEqual((await (await fetch(server.address + "list")).json()).decisions, []);
  await page.close();
  stranger.close();
  await server.kill();
});

test("labels, names and values with HTML in them are text", async () => {
  const server = await review(where, "hostile");
  const { page, faults } = await watched(context, server.address);
  await page.goto(server.address);
  await ready(page);
  const text = await page.evaluate(() => document.body.innerText);
  for (const expected of [...HOSTILE.labels, HOSTILE.column]) assert.ok(text.includes(expected), expected);
  assert.ok(await page.$$eval("td", (cells, value) => cells.some((cell) => cell.textContent === value), HOSTILE.value));
  // A column of sentences is shown as text: the row's own, and that of six trusted rows.
  assert.ok((await page.textContent("blockquote.this")).startsWith(HOSTILE.text));
  assert.equal(await page.$$eval("blockquote", (all) => all.length), 7);
  assert.deepEqual(await accessibility(page), []);
  assert.equal(await page.$$eval("script", (all) => all.length), 1);
  assert.equal(await page.$$eval("[onclick], [onerror]", (all) => all.length), 0);
  // Through to the file and back into the data.
  await decide(page, ["r", "r", "r"], 3);
  cmrm(where, "review", "hostile", "--export", "hostile-decisions.csv");
  const clean = JSON.parse(cmrm(where, "clean", "hostile.csv", "hostile-decisions.csv", "--label", "kind", "--out", "hostile-clean.csv", "--json"));
  assert.equal(clean.relabelled, 3);
  assert.deepEqual(faults, []);
  await page.close();
  await server.kill();
});

test("it can be used by everyone: axe in both themes, and Tab reaches every control", async () => {
  const server = await review(where, "pictures");
  for (const [run, colorScheme] of [["pictures", "light"], ["pictures", "dark"]]) {
    const { page, faults } = await watched(context, server.address);
    await page.emulateMedia({ colorScheme });
    await page.goto(server.address);
    await ready(page);
    assert.deepEqual(await accessibility(page), [], run + " " + colorScheme);
    await page.keyboard.press("o");
    await page.waitForSelector("#other[open]");
    assert.deepEqual(await accessibility(page), [], "dialog " + colorScheme);
    await page.keyboard.press("Escape");
    assert.ok(await page.$$eval("img", (all) => all.length === 7 && all.every((image) => image.alt.length > 5)));
    const reached = new Set();
    for (let presses = 0; presses < 14; presses++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.dataset.action || document.activeElement.id));
    }
    for (const control of ["filter", "export", "keep", "relabel", "other", "drop", "unsure", "undo", "back", "next"]) assert.ok(reached.has(control), control);
    assert.deepEqual(faults, []);
    await page.close();
  }
  const table = await review(where, "run");
  const { page } = await watched(context, table.address);
  await page.goto(table.address);
  await ready(page);
  assert.deepEqual(await accessibility(page), []);
  await page.close();
  await table.kill();
  await server.kill();
});

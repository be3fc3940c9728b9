// The report of a run, opened as a file without any connection.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { HOSTILE, accessibility, cmrm, folder, open, watched, writeHostile } from "./stage.js";

const FIGURES = ["difference", "risk-coverage", "sets", "confusion", "margins", "density", "losses", "validation", "filtered", "threshold", "confidence", "sensitivity"];
const where = folder();
const address = (name) => pathToFileURL(join(where, name)).href;
let context;

before(async () => {
  cmrm(where, "fit", "digits", "--noise", "symmetric:0.4", "--sensitivity", "--out", "digits");
  writeHostile(join(where, "hostile.csv"));
  cmrm(where, "fit", "hostile.csv", "--label", "kind", "--epochs", "60", "--out", "hostile");
  context = await open();
  await context.setOffline(true);
});
after(() => context.close());

test("it opens with every figure, no error and no request", async () => {
  const { page, faults } = await watched(context, address("digits/report.html"));
  await page.goto(address("digits/report.html"));
  const drawn = await page.$$eval("figure[id^=figure-]", (figures) => figures.map((figure) => {
    const box = figure.querySelector("svg").getBoundingClientRect();
    const marks = [...figure.querySelectorAll("path, circle, text")];
    // What is drawn lies within the drawing.
    const inside = marks.every((mark) => {
      const own = mark.getBoundingClientRect();
      return own.left >= box.left - 2 && own.right <= box.right + 2 && own.top >= box.top - 2 && own.bottom <= box.bottom + 2;
    });
    return { id: figure.id.slice(7), area: box.width * box.height, marks: marks.length, inside, caption: figure.querySelector("figcaption").textContent.length };
  }));
  assert.deepEqual(drawn.map((figure) => figure.id).sort(), [...FIGURES].sort());
  for (const figure of drawn) {
    assert.ok(figure.area > 10000 && figure.marks > 5 && figure.caption > 20, JSON.stringify(figure));
    assert.ok(figure.inside, figure.id + " draws outside its frame");
  }
  assert.match(await page.textContent(".verdict"), /The envelope (helped|hurt|is)|No difference/);
  assert.ok(await page.$$eval(".card img", (images) => images.length >= 300 && images.every((image) => image.complete && image.naturalWidth === 8)));
  assert.deepEqual(faults, []);
  await page.close();
});

test("light, dark, phone and print", async () => {
  const { page, faults } = await watched(context, address("digits/report.html"));
  await page.goto(address("digits/report.html"));
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const ink = () => page.evaluate(() => getComputedStyle(document.querySelector(".f-text")).fill);
  await page.emulateMedia({ colorScheme: "light" });
  const light = [await paper(), await ink()];
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = [await paper(), await ink()];
  assert.notEqual(light[0], dark[0]);
  assert.notEqual(light[1], dark[1]);
  // By the button, by keyboard, over what the system says.
  await page.focus("#theme");
  await page.keyboard.press("Enter");
  assert.deepEqual([await paper(), await ink()], light);
  await page.keyboard.press("Enter");
  assert.deepEqual([await paper(), await ink()], dark);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);

  await page.setViewportSize({ width: 360, height: 740 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360), "the page is wider than a phone");
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("nav")).display), "none");
  assert.equal(await paper(), "rgb(255, 255, 255)");
  assert.ok((await page.pdf({ format: "A4" })).length > 50000);
  assert.deepEqual(faults, []);
  await page.close();
});

test("it can be read by everyone: axe, words for every picture, by keyboard alone", async () => {
  for (const [name, colorScheme] of [["digits", "light"], ["digits", "dark"], ["hostile", "light"]]) {
    const { page } = await watched(context, "file:");
    await page.emulateMedia({ colorScheme });
    await page.goto(address(name + "/report.html"));
    assert.deepEqual(await accessibility(page), [], name + " " + colorScheme);
    assert.ok(await page.$$eval("svg[role=img]", (all) => all.every((svg) => svg.querySelector("title").textContent.length > 10 && svg.querySelector("desc").textContent.length > 20)));
    assert.ok(await page.$$eval("img", (all) => all.every((image) => image.alt.length > 5)));
    await page.close();
  }
  const { page, faults } = await watched(context, "file:");
  await page.goto(address("digits/report.html"));
  // Tab goes from the top to the first rows; each is decided with the arrow keys.
  const decided = [];
  for (let presses = 0; presses < 80 && decided.length < 3; presses++) {
    await page.keyboard.press("Tab");
    const row = await page.evaluate(() => (document.activeElement.tagName === "SELECT" ? document.activeElement.closest(".card").dataset.row : null));
    if (row === null) continue;
    for (let down = 0; down <= decided.length; down++) await page.keyboard.press("ArrowDown");
    decided.push(row);
  }
  assert.equal(await page.textContent("#decided"), "3 of 50 decided");
  await page.focus("#download");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  const file = join(where, "decisions.csv");
  await download.saveAs(file);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  assert.equal(lines[0], "row,action,label,given_label,fingerprint");
  assert.deepEqual(lines.slice(1).map((line) => line.split(",").slice(0, 2).join(",")), [`${decided[0]},keep`, `${decided[1]},relabel`, `${decided[2]},drop`]);
  // The labels shown were made wrong by --noise, and the data set does not have them: only who insists gets them applied.
  const clean = ["clean", "digits", "decisions.csv", "--out", "cleaned.csv", "--json"];
  assert.throws(() => cmrm(where, ...clean), (error) => error.status === 2 && error.stdout.includes("--force"));
  assert.equal(JSON.parse(cmrm(where, ...clean, "--force")).dropped, 1);
  // Labels that a spreadsheet would compute are marked, as by `cmrm review`.
  const cells = await page.evaluate(() => ["=1+1", "-1", "+0.5e3", "+", "'=x", "'x", "@a", "plain", "-1+1"].map((label) => cell(label)));
  assert.deepEqual(cells, ["'=1+1", "-1", "+0.5e3", "'+", "''=x", "'x", "'@a", "plain", "'-1+1"]);
  assert.deepEqual(faults, []);
  await page.close();
});

test("names and values with HTML in them are text", async () => {
  const { page, faults } = await watched(context, address("hostile/report.html"));
  await page.goto(address("hostile/report.html"));
  for (const details of await page.$$("details")) await details.evaluate((node) => { node.open = true; });
  const text = await page.evaluate(() => document.body.innerText);
  for (const expected of [...HOSTILE.labels, HOSTILE.column, HOSTILE.value]) assert.ok(text.includes(expected), expected);
  assert.ok(await page.$$eval("select option", (all) => all.some((option) => option.textContent.includes("<script>"))));
  assert.equal(await page.$$eval("script", (all) => all.length), 1);
  assert.equal(await page.$$eval("[onclick], [onerror]", (all) => all.length), 0);
  await page.waitForTimeout(200);
  assert.deepEqual(faults, []);
  await page.close();
});

test("fifty thousand rows: under 3 MB, made and shown in under 2 s", async () => {
  let text = "a,b,c,d,e,f,kind\n";
  let state = 1;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < 50000; i++) {
    const cells = Array.from({ length: 6 }, () => random().toFixed(4));
    const right = Math.floor(4 * (Number(cells[0]) + Number(cells[1])) / 2);
    text += cells.join(",") + ",k" + (random() < 0.2 ? Math.floor(4 * random()) : right) + "\n";
  }
  writeFileSync(join(where, "large.csv"), text);
  cmrm(where, "fit", "large.csv", "--label", "kind", "--model", "linear", "--epochs", "3", "--out", "large");
  const started = performance.now();
  cmrm(where, "report", "large", "--html", "large.html");
  const made = performance.now() - started;
  const { page, faults } = await watched(context, address("large.html"));
  await page.goto(address("large.html"));
  const shown = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
  const size = statSync(join(where, "large.html")).size;
  console.log(`50,000 rows: ${(size / 1e6).toFixed(2)} MB, written in ${made.toFixed(0)} ms, shown in ${shown.toFixed(0)} ms`);
  assert.ok(size < 3e6 && made < 2000 && shown < 2000);
  assert.equal(await page.$$eval(".card", (all) => all.length), 50);
  assert.deepEqual(faults, []);
  await page.close();
});

"use strict";
// Everything that comes from the data is put into the page as text, never as HTML.
const at = (id) => document.getElementById(id);
const element = (name, text, kind) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};
const minus = (number) => number.toFixed(3).replace("-", "−");

let items = [];
let classes = [];
const decisions = new Map();
let shown = []; // places in items that the filter lets through
let here = 0; // place in shown
let busy = false;

// Which page this is, so that undo takes back what was decided here and nowhere else. A reload keeps it; another window,
// even a copy of this one, has another.
const reviewer = (() => {
  const fresh = crypto.randomUUID();
  try {
    const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
    const name = (reloaded && sessionStorage.getItem("reviewer")) || fresh;
    sessionStorage.setItem("reviewer", name);
    return name;
  } catch {
    return fresh; // a browser that lets pages store nothing
  }
})();

async function ask(path, body) {
  const headers = { "Content-Type": "application/json", "Reviewer": reviewer };
  const options = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

function trouble(error) {
  const gone = error instanceof TypeError;
  at("trouble").textContent = gone
    ? "The server does not respond. All confirmed decisions are saved. Start cmrm review again and open the address it prints."
    : "Not saved: " + error.message;
  at("trouble").hidden = false;
}

const words = (decision) => !decision ? "undecided"
  : decision.action === "relabel" ? "relabelled to " + decision.label
  : { keep: "kept", drop: "dropped", unsure: "unsure" }[decision.action];

function count() {
  const done = items.filter((item) => decisions.has(item.row)).length;
  at("bar").max = Math.max(items.length, 1);
  at("bar").value = done;
  at("count").textContent = done + " of " + items.length + " decided";
}

function fillFilter() {
  const pairs = new Map();
  for (const item of items) {
    const key = JSON.stringify([item.given, item.suggested]);
    pairs.set(key, (pairs.get(key) || 0) + 1);
  }
  const filter = at("filter");
  filter.append(new Option("all pairs (" + items.length + ")", ""));
  for (const [key, number] of [...pairs].sort((a, b) => b[1] - a[1])) {
    const [given, suggested] = JSON.parse(key);
    filter.append(new Option(given + " → " + suggested + " (" + number + ")", key));
  }
}

function applyFilter() {
  const wanted = at("filter").value;
  shown = [...items.keys()].filter((place) => !wanted || wanted === JSON.stringify([items[place].given, items[place].suggested]));
  here = Math.max(shown.findIndex((place) => !decisions.has(items[place].row)), 0);
}

// The next undecided row behind this one, or the first one before it; this one if all are decided.
function nextUndecided() {
  for (let step = 1; step <= shown.length; step++) {
    const place = (here + step) % shown.length;
    if (!decisions.has(items[shown[place]].row)) return place;
  }
  return here;
}

function picture(content, caption, alt, kind) {
  const figure = element("figure", undefined, kind);
  const image = element("img");
  image.src = content.picture;
  image.alt = alt;
  figure.append(image, element("figcaption", caption));
  return figure;
}

function pictures(card) {
  const all = element("div", undefined, "pictures");
  all.append(picture(card.content, "row " + card.row, "Row " + card.row + ", labelled " + card.given, "this"));
  const groups = element("div", undefined, "groups");
  for (const label of [card.given, card.suggested]) {
    const near = card.neighbours.filter((neighbour) => neighbour.label === label);
    if (!near.length) continue;
    const group = element("div", undefined, "group");
    const heading = element("h3", "trusted, labelled ");
    heading.append(element("b", label));
    const line = element("div");
    for (const neighbour of near) {
      line.append(picture(neighbour.content, "row " + neighbour.row, "Trusted row " + neighbour.row + ", labelled " + label));
    }
    group.append(heading, line);
    groups.append(group);
  }
  all.append(groups);
  return all;
}

// Columns of sentences are read as text: this row first, the trusted ones below it.
const LONG = 80;
const isText = (card, place) => [card, ...card.neighbours].some((row) => (row.content.cells[place] || ["", ""])[1].length > LONG);

function texts(card, places) {
  const all = element("div", undefined, "texts");
  for (const place of places) {
    all.append(element("h3", card.content.cells[place][0]));
    all.append(element("blockquote", card.content.cells[place][1], "this"));
    for (const neighbour of card.neighbours) {
      const quote = element("blockquote");
      quote.append(element("b", neighbour.label), element("small", " trusted " + neighbour.row), element("p", (neighbour.content.cells[place] || ["", ""])[1]));
      all.append(quote);
    }
  }
  return all;
}

function values(card) {
  const places = [...card.content.cells.keys()];
  const long = places.filter((place) => isText(card, place));
  const short = places.filter((place) => !long.includes(place));
  const parts = [];
  if (long.length) parts.push(texts(card, long));
  if (short.length || card.content.more) parts.push(table(card, short));
  return parts;
}

function table(card, places) {
  const scroll = element("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", "Values of the row and of trusted rows like it");
  const made = element("table");
  const head = element("tr");
  head.append(element("th", "column"));
  const title = (text, small, kind) => {
    const cell = element("th", text, kind);
    cell.scope = "col";
    cell.append(element("small", small));
    head.append(cell);
  };
  title(card.given, "this row", "this");
  for (const neighbour of card.neighbours) title(neighbour.label, "trusted " + neighbour.row);
  const top = element("thead");
  top.append(head);
  const body = element("tbody");
  places.forEach((place) => {
    const [name, value] = card.content.cells[place];
    const line = element("tr");
    const first = element("th", name);
    first.scope = "row";
    line.append(first, element("td", value, "this"));
    for (const neighbour of card.neighbours) line.append(element("td", (neighbour.content.cells[place] || ["", ""])[1]));
    body.append(line);
  });
  made.append(top, body);
  scroll.append(made);
  if (card.content.more) scroll.append(element("p", "and " + card.content.more + " more columns"));
  return scroll;
}

async function show() {
  count();
  const nothing = shown.length === 0;
  at("empty").hidden = !nothing;
  at("card").hidden = at("actions").hidden = nothing;
  if (nothing) return;
  const item = items[shown[here]];
  const decision = decisions.get(item.row);
  at("which").textContent = "Row " + item.row + " · " + (here + 1) + " of " + shown.length + " · margin " + minus(item.margin);
  at("given").textContent = at("keep-name").textContent = item.given;
  at("suggested").textContent = at("relabel-name").textContent = item.suggested;
  at("state").textContent = words(decision);
  at("state").className = decision ? "state decided" : "state";
  at("row").replaceChildren();
  at("card").dataset.row = item.row;
  delete at("card").dataset.ready;
  const card = await ask("card/" + item.row);
  // Another row may have been asked for meanwhile.
  if (!shown.length || items[shown[here]].row !== card.row) return;
  at("row").replaceChildren(...(card.content.picture ? [pictures(card)] : values(card)));
  at("card").dataset.ready = "yes";
}

async function decide(action, label) {
  const item = items[shown[here]];
  const decision = label === undefined ? { row: item.row, action } : { row: item.row, action, label };
  const { kept } = await ask("decide", decision);
  decisions.set(kept.row, kept);
  at("said").textContent = "Row " + kept.row + " " + words(kept) + ".";
  here = nextUndecided();
  await show();
}

async function undo() {
  const { row, decision } = await ask("undo", {});
  if (row === null) {
    at("said").textContent = "Nothing left to undo in this window. To change another decision, go to its row and decide again.";
    return;
  }
  if (decision) decisions.set(row, decision); else decisions.delete(row);
  at("said").textContent = "Undone: row " + row + " is now " + words(decision) + ".";
  if (!shown.some((place) => items[place].row === row)) {
    at("filter").value = "";
    applyFilter();
  }
  here = shown.findIndex((place) => items[place].row === row);
  await show();
}

function chooseOther() {
  const item = items[shown[here]];
  const list = at("other-label");
  list.replaceChildren(...classes.filter((name) => name !== item.given).map((name) => new Option(name, name)));
  list.value = item.suggested;
  at("other").returnValue = "";
  at("other").showModal();
  list.focus();
}

const steps = {
  keep: () => decide("keep"),
  relabel: () => decide("relabel", items[shown[here]].suggested),
  drop: () => decide("drop"),
  unsure: () => decide("unsure"),
  other: async () => chooseOther(),
  undo,
  back: () => { here = (here + shown.length - 1) % shown.length; return show(); },
  next: () => { here = (here + 1) % shown.length; return show(); },
};
const keys = { k: "keep", r: "relabel", o: "other", d: "drop", u: "unsure", z: "undo", ArrowLeft: "back", ArrowRight: "next" };

// One step after the other: a key pressed while a decision is on its way is not lost, it waits.
const waiting = [];
async function go(name) {
  waiting.push(name);
  if (busy) return;
  busy = true;
  while (waiting.length) {
    const next = waiting.shift();
    if (!shown.length && next !== "undo") continue;
    try {
      await steps[next]();
      at("trouble").hidden = true;
    } catch (error) {
      waiting.length = 0;
      trouble(error);
    }
  }
  busy = false;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || at("other").open) return;
  if (event.target instanceof HTMLSelectElement) return;
  const step = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!step) return;
  event.preventDefault();
  // A key that is held down turns pages, but decides once.
  if (event.repeat && step !== "back" && step !== "next") return;
  go(step);
});
for (const button of document.querySelectorAll("button[data-action]")) button.addEventListener("click", () => go(button.dataset.action));
at("filter").addEventListener("change", () => { applyFilter(); show().catch(trouble); at("filter").blur(); });
at("other").addEventListener("close", () => {
  const label = at("other-label").value;
  if (at("other").returnValue !== "take" || !label) return;
  steps.chosen = () => decide("relabel", label);
  go("chosen");
});
at("other-label").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); at("other").close("take"); }
});

(async () => {
  const list = await ask("list");
  ({ items, classes } = list);
  for (const decision of list.decisions) decisions.set(decision.row, decision);
  at("title").textContent = list.title;
  document.title = "Review " + list.title + " · cmrm";
  fillFilter();
  applyFilter();
  await show();
})().catch(trouble);

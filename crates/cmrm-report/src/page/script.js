"use strict";
// Light, dark, or as the system has it.
const themes = ["", "light", "dark"];
const button = document.getElementById("theme");
const remember = (theme) => { try { localStorage.setItem("cmrm-theme", theme); } catch { /* a page from a mail has no storage */ } };
const recall = () => { try { return localStorage.getItem("cmrm-theme") || ""; } catch { return ""; } };
function show(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  button.textContent = "Theme: " + (theme || "system");
}
button.addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "") + 1) % themes.length];
  remember(next);
  show(next);
});
button.hidden = false;
show(themes.includes(recall()) ? recall() : "");

// Decisions on the listed rows, to download as the file that `cmrm clean` takes.
const classes = [...document.querySelectorAll("#classes li")].map((item) => item.textContent);
const cards = [...document.querySelectorAll(".card")];
const count = document.getElementById("decided");
const download = document.getElementById("download");
for (const card of cards) {
  const others = document.createElement("optgroup");
  others.label = "Relabel to another";
  for (const name of classes) {
    if (name === card.dataset.given || name === card.dataset.suggested) continue;
    const option = new Option(name);
    option.value = "relabel:" + name;
    others.append(option);
  }
  const select = card.querySelector("select");
  if (others.children.length) select.append(others);
  select.disabled = false;
  select.addEventListener("change", tell);
}
const decided = () => cards.map((card) => [card, card.querySelector("select").value]).filter(([, value]) => value);
function tell() {
  const number = decided().length;
  count.textContent = number + " of " + cards.length + " decided";
  download.disabled = number === 0;
}
// As cmrm review writes it: text that a spreadsheet would take for a formula gets a ' in front, which cmrm clean removes.
const isFormula = (text) => /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^'*[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
const cell = (text) => {
  const marked = isFormula(text) ? "'" + text : text;
  return /[",\r\n]/.test(marked) || marked.trim() !== marked ? '"' + marked.replaceAll('"', '""') + '"' : marked;
};
// Beside each decision is what it was made on, so that `cmrm clean` can tell whether a table is the one that was meant.
function csv() {
  const basis = ["given_label"];
  if (cards.some((card) => "id" in card.dataset)) basis.push("id");
  const fingerprint = download.dataset.fingerprint;
  if (fingerprint) basis.push("fingerprint");
  const lines = decided().map(([card, value]) => {
    const label = value.startsWith("relabel:") ? value.slice("relabel:".length) : "";
    const of = { given_label: card.dataset.given, id: card.dataset.id || "", fingerprint };
    return [card.dataset.row, label ? "relabel" : value, label, ...basis.map((name) => of[name])].map(cell).join(",");
  });
  return [["row", "action", "label", ...basis].join(","), ...lines, ""].join("\n");
}
if (download) {
  download.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = "decisions.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  tell();
}

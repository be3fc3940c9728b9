// Pictures of the report and of the review page for docs/, from runs that anyone can make again.
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";
import { cmrm, folder, open, review } from "./stage.js";

const docs = fileURLToPath(new URL("../docs/images/", import.meta.url));
const where = folder();
cmrm(where, "fit", "digits", "--noise", "symmetric:0.4", "--sensitivity", "--out", "run");
cmrm(where, "noise", "breast-cancer", "--kind", "symmetric:0.15", "--out", "tumours.csv");
cmrm(where, "fit", "tumours.csv", "--label", "label", "--out", "tumours");

async function shoot(name, address, { width, height, colorScheme = "light", prepare, clip }) {
  const context = await open({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  await page.goto(address);
  if (prepare) await prepare(page);
  await page.screenshot({ path: join(docs, name), clip });
  await context.close();
}
const report = pathToFileURL(join(where, "run/report.html")).href;
const at = (id) => async (page) => { await page.evaluate((to) => document.getElementById(to).scrollIntoView(), id); await page.addStyleTag({ content: ".bar{display:none}" }).catch(() => {}); };
await shoot("report-verdict.png", report, { width: 960, height: 1180 });
await shoot("report-labels.png", report, { width: 960, height: 1180, prepare: at("labels") });
await shoot("report-margins.png", report, { width: 960, height: 1100, prepare: at("margins") });
await shoot("report-training.png", report, { width: 960, height: 1180, colorScheme: "dark", prepare: at("training") });
await shoot("report-confidence.png", report, { width: 960, height: 1060, prepare: at("confidence") });
await shoot("report-phone.png", report, { width: 390, height: 844 });

for (const [run, name, colorScheme] of [["run", "review-image.png", "light"], ["tumours", "review-table.png", "dark"]]) {
  const server = await review(where, run);
  await shoot(name, server.address, {
    width: 960, height: 760, colorScheme,
    prepare: async (page) => {
      await page.waitForSelector("#card[data-ready=yes]");
      for (const key of ["r", "r", "k"]) await page.keyboard.press(key);
      await page.waitForFunction(() => document.getElementById("count").textContent.startsWith("3 of"));
      await page.waitForSelector("#card[data-ready=yes]");
    },
  });
  await server.kill();
}

/* The table, as the paper's, with each row's interval drawn beside it. */

function scoreTable() {
  let side = "with_dup";
  const frame = element("div", "sheet");
  const draw = () => frame.replaceChildren(drawTable(side));
  draw();
  const sides = [["with_dup", "with DUP"], ["without_dup", "without DUP"], ...decoderOptions().slice(1)];
  section("table", "Table", "The table", [
    `Test scores ± bootstrap standard error over ${whole(results.examples)} examples, decoded greedily unless you choose another way. `,
    "Differences are paired by example; p by approximate randomisation. The bar is the 95% interval of ",
    `${scoreName(MAIN)}, the dashed line ${results.baselines[0]}.`],
  element("div", "controls", choice("decoding", sides, side, (value) => { side = value; draw(); })), frame);
}

function drawTable(side) {
  const of = (row) => sideOf(row, side).scores;
  const best = SIGN * Math.max(...results.rows.map((row) => SIGN * of(row)[MAIN].value));
  const scores = [MAIN, ...results.scores.filter((score) => score !== MAIN)];
  const heads = ["", ...scores.map(scoreName), "95% interval", ...results.baselines.map((label) => `over ${label}`), "DUP adds"];
  const rows = results.rows.map((row) => element("tr", of(row)[MAIN].value === best ? "best" : "",
    cell("", "method", named(row)),
    ...scores.map((score) => cell(scoreName(score), score === MAIN ? "main" : "other", ...withError(score, of(row)[score]))),
    cell("", "interval", interval(row, side)),
    ...results.baselines.map((label) => difference(sideOf(row, side).against, MAIN, label)),
    cell("DUP adds", "other", gained(MAIN, row.with_dup.scores[MAIN].value - row.without_dup.scores[MAIN].value))));
  return sheet("scores", heads, rows, startsGroup);
}

/* The main score by every decoder; only where there are several. */
function decoderTable() {
  if (results.decoders.length < 2) return;
  const [first] = results.baselines;
  const over = (against) => { const { className, childNodes } = difference(against, MAIN, first); return element("span", className, ...childNodes); };
  const both = (side) => [bold(shown(MAIN, side.scores[MAIN].value)), " ", over(side.against)];
  const heads = ["", ...decoderOptions().map(([, text]) => text), "best in validation", `over ${first}’s best`];
  const rows = results.rows.map((row) => {
    const best = row.decoded[row.best.decoder];
    return element("tr", "",
      cell("", "method", named(row)),
      ...results.decoders.map((name) => cell(decoderName(name), "", ...both(row.decoded[name]))),
      cell("best", "", `${best.decoding} `, bold(shown(MAIN, best.scores[MAIN].value))),
      difference(row.best.against, MAIN, first));
  });
  section("decoders", "Decoders", "By every decoder",
    `${scoreName(MAIN)} on the test, and its difference to ${first} by the same decoder. Last, each row and ${first} by the decoder that validation ` +
    "likes best for it: a gain that a better decoder gives the baseline, too, is no gain.",
    element("div", "sheet", sheet("scores", heads, rows, startsGroup)));
}

/* SPG's rows are set apart as in the paper, and so are those that are not its. */
function startsGroup(place) {
  const kind = (row) => `${row.extension} ${row.p_drop !== null}`;
  return place > 0 && kind(results.rows[place]) !== kind(results.rows[place - 1]);
}

function sheet(className, heads, rows, starts) {
  rows.forEach((row, place) => row.classList.toggle("starts", starts(place)));
  return element("table", className, element("thead", "", element("tr", "", ...heads.map((head) => element("th", head === "95% interval" ? "interval" : "", head)))),
    element("tbody", "", ...rows));
}

function cell(name, className, ...content) {
  const made = element("td", className, ...content);
  if (name) made.dataset.name = name;
  return made;
}

const withError = (score, found) => [bold(shown(score, found.value)), element("span", "error", ` ±${shown(score, found.standard_error)}`)];

function difference(against, score, label) {
  const found = against[label]?.[score];
  if (!found) return cell("", "difference none", "");
  const sure = found.p_randomisation < 0.05 ? (signOf(score) * found.value > 0 ? " up" : " down") : "";
  return cell(`over ${label}`, `difference${sure}`, bold(gained(score, found.value)), element("span", "error", ` ${pValue(found.p_randomisation)}`));
}

/* The scale of the intervals; rows that trained nothing would flatten all others, and lie beyond it. */
function scaleOf(side) {
  const all = results.rows.map((row) => sideOf(row, side).scores[MAIN]).sort((one, other) => SIGN * (other.value - one.value));
  const usual = 4 * Math.max(SIGN * (all[0].value - all[all.length >> 1].value), all[0].high - all[0].low);
  const worst = (score) => (SIGN > 0 ? score.low : score.high);
  return padded(all.filter((score) => SIGN * (all[0].value - worst(score)) <= usual).flatMap((score) => [score.low, score.high]), 0.04);
}

function interval(row, side) {
  const [low, high] = scaleOf(side);
  const place = (value) => `${((value - low) / (high - low) * 100).toFixed(2)}%`;
  const score = sideOf(row, side).scores[MAIN], base = sideOf(rowOf(results.baselines[0]), side).scores[MAIN].value;
  const beyond = SIGN > 0 ? score.low < low : score.high > high;
  const drawn = beyond ? [element("i", "beyond", SIGN > 0 ? "◂" : "▸")] : [element("i", "range"), element("i", "point")];
  const made = element("div", "bar-of", element("i", "base"), ...drawn);
  made.style.setProperty("--base", place(base));
  made.style.setProperty("--low", place(score.low));
  made.style.setProperty("--wide", `${((score.high - score.low) / (high - low) * 100).toFixed(2)}%`);
  made.style.setProperty("--value", place(score.value));
  made.style.setProperty("--colour", looks.get(row.label).colour);
  made.title = `${row.label}: ${shown(MAIN, score.low)} to ${shown(MAIN, score.high)}`;
  return made;
}

/* How each row was trained. */
function trainingTable() {
  const heads = ["", "seeds", `spread of ${scoreName(MAIN)}`, "best in validation", "at step", "steps", "minutes", "examples/s"];
  const total = (row, field) => meanOf(row.runs.map((run) => run[field] + (run.before?.[field] ?? 0)));
  const more = (row) => (row.runs.some((run) => !run.before) ? " + ?" : "");
  const mean = (row, field) => meanOf(row.runs.map((run) => run[field]));
  const rows = results.rows.map((row) => {
    const by = row.runs[0].chosen_by, spread = row.with_dup.scores[MAIN].spread;
    return element("tr", "",
      cell("", "method", named(row)),
      cell("seeds", "", row.runs.map((run) => run.seed).join(", ")),
      cell("spread", "", spread === null ? "–" : shown(MAIN, spread)),
      cell("validation", "", `${scoreName(by)} ${shown(by, mean(row, "best_score"))}`),
      cell("at step", "", whole(mean(row, "best_step"))),
      cell("steps", "", whole(total(row, "steps")) + more(row)),
      cell("minutes", "", plain(total(row, "seconds") / 60, 1) + more(row)),
      cell("examples/s", "", whole(mean(row, "examples_per_second"))));
  });
  const about = "The checkpoint with the best validation score is the one that is tested. Numbers are means over seeds; time is that of " +
    "the machine it ran on, validations included. Steps and minutes include those of the run that a row started from (“?”: that run is gone).";
  section("training", "Training", "How each was trained", about, element("div", "sheet", sheet("trainings", heads, rows, startsGroup)));
}

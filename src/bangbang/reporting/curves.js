/* Learning curves, and the scores over p_drop. */

function learningCurves() {
  const state = { score: MAIN, x: "step", split: "validation", hidden: new Set() };
  const chart = new Chart("Score in training", (chart) => drawCurves(chart, state));
  const redraw = () => chart.redraw();
  const axes = [["step", "by steps"], ["minutes", "by time"]], splits = [["validation", "validation"], ["test", "test"]];
  section("curves", "Curves", "Learning curves",
    `Validation scores in training. ${manySeeds() ? "Lines are means over seeds, bands go from the lowest seed to the highest. " : ""}` +
    "Steps and minutes include those of the run that a row started from. On the test there is one score of each row, ± its standard error, where its training " +
    "ended. Hide a row by its name, and the scale follows.",
    element("div", "controls", choice("split", splits, state.split, (value) => { state.split = value; redraw(); }), choice("horizontal axis", axes, state.x, (value) => { state.x = value; redraw(); }),
      scoreChoice((value) => { state.score = value; redraw(); })),
    element("div", "card", chart.frame, legend(results.rows.map((row) => row.label), state.hidden, redraw)));
}

const manySeeds = () => results.rows.some((row) => row.runs.length > 1);

/* What was trained before a run began, as far as it is known. */
const stepsBefore = (run) => run.before?.steps ?? 0;
const secondsBefore = (run) => run.before?.seconds ?? 0;

/* A row's curve: at every step that all its seeds have, the mean, the lowest and the highest. */
function curve(row, score) {
  const start = meanOf(row.runs.map(stepsBefore)), wait = meanOf(row.runs.map(secondsBefore));
  const [first, ...others] = row.runs.map((run) => new Map(run.validations.map((point) => [point.step, point])));
  return [...first.keys()].filter((step) => others.every((run) => run.has(step))).map((step) => {
    const points = [first, ...others].map((run) => run.get(step)), values = points.map((point) => point.scores[score]);
    const minutes = (wait + meanOf(points.map((point) => point.seconds))) / 60;
    return { step: start + step, minutes, value: meanOf(values), low: Math.min(...values), high: Math.max(...values), seeds: values.length };
  });
}

/* A row's test score, where its training ended. */
function testPoint(row, score) {
  const { value, standard_error: error } = row.with_dup.scores[score];
  const step = meanOf(row.runs.map((run) => stepsBefore(run) + run.steps));
  const minutes = meanOf(row.runs.map((run) => secondsBefore(run) + run.seconds)) / 60;
  return [{ step, minutes, value, low: value - error, high: value + error, seeds: row.runs.length }];
}

/* Where stages begin, with their names by place; the first stage of a run is no mark. */
function stageStarts(rows, x) {
  const found = new Map();
  for (const row of rows) {
    for (const [number, { step, label }] of row.runs[0].stages.entries()) {
      const reached = row.runs.filter((run) => run.stages.length > number);
      const steps = stepsBefore(row.runs[0]) + step, seconds = meanOf(reached.map((run) => secondsBefore(run) + run.stages[number].seconds));
      const place = x === "step" ? steps : seconds / 60;
      if (step > 0) found.set(place, (found.get(place) ?? new Set()).add(label));
    }
  }
  return [...found].map(([place, labels]) => [place, [...labels].join(", ")]);
}

function drawCurves(chart, state) {
  const lines = results.rows.filter((row) => !state.hidden.has(row.label))
    .map((row) => [row, (state.split === "test" ? testPoint : curve)(row, state.score)]).filter(([, points]) => points.length);
  const all = lines.flatMap(([, points]) => points);
  const roomy = chart.width >= 700, names = Math.max(...lines.map(([row]) => shortened(row.label).length)) * 7.5 + 24;
  chart.axes(
    { domain: [0, Math.max(...all.map((point) => point[state.x]))], label: state.x === "step" ? "training steps" : "minutes of training" },
    padded(all.flatMap((point) => [point.low, point.high])),
    roomy ? names : 14);
  for (const [place, name] of stageStarts(lines.map(([row]) => row), state.x)) chart.rule(place, name);
  for (const [row, points] of lines) {
    const colour = looks.get(row.label).colour;
    if (state.split === "test") {
      const [{ value, high, [state.x]: place }] = points;
      for (const part of errorBar(chart, place, value, high - value)) chart.svg.append(svg("path", { d: part, class: "error-bar", style: `stroke: ${colour}` }));
    } else if (row.runs.length > 1) {
      const outline = [...points.map((point) => [point[state.x], point.high]), ...points.toReversed().map((point) => [point[state.x], point.low])];
      chart.path(outline, { class: "band", style: `fill: ${colour}` });
    }
    chart.path(points.map((point) => [point[state.x], point.value]), { class: `line${row.extension ? " own" : ""}`, style: `stroke: ${colour}` });
  }
  for (const [row, points] of lines) {
    for (const point of points) chart.mark(row.label, point[state.x], point.value, () => curveNote(row, point, state.score));
  }
  if (roomy) chart.endNames(lines.map(([row, points]) => [row.label, points.at(-1).value]));
}

function curveNote(row, point, score) {
  const seeds = point.seeds > 1 ? ` · ${shown(score, point.low)} to ${shown(score, point.high)} over ${point.seeds} seeds` : "";
  return [bold(`${row.label}: ${shown(score, point.value)}`), element("span", "", `step ${whole(point.step)} · ${plain(point.minutes, 1)} min${seeds}`)];
}

/* Only where there is something to sweep over. */
function sweep() {
  const all = results.rows.filter((row) => row.p_drop !== null).sort((one, other) => one.p_drop - other.p_drop);
  const shares = (rows) => new Set(rows.map((row) => row.p_drop)).size;
  const paper = all.filter((row) => !row.extension), swept = shares(paper) < 2 ? all : paper;
  if (shares(swept) < 2) return;
  const state = { score: MAIN };
  const chart = new Chart("Test score over p_drop", (chart) => drawSweep(chart, swept, all.filter((row) => !swept.includes(row)), state.score));
  section("sweep", "p_drop", "How much to leave to the model",
    "Test scores with DUP over p_drop, the share of tokens that SPG leaves to the model; bars are one standard error" +
    `${manySeeds() ? ", dots single seeds" : ""}. The lines are the baselines, with theirs.`,
    element("div", "controls", scoreChoice((value) => { state.score = value; chart.redraw(); })), element("div", "card", chart.frame));
}

function drawSweep(chart, rows, others, score) {
  const found = (row) => row.with_dup.scores[score];
  const bases = results.baselines.map(rowOf).filter((row) => row.p_drop === null);
  const spans = [...rows, ...bases, ...others].flatMap((row) => [found(row).value - found(row).standard_error, found(row).value + found(row).standard_error,
    ...row.runs.map((run) => run.scores[score])]);
  const shares = [...rows, ...others].map((row) => row.p_drop);
  const domain = [Math.max(0, Math.min(...shares) - 0.1), Math.min(1, Math.max(...shares) + 0.1)];
  chart.axes({ domain, label: "p_drop", at: [...new Set(shares)].map((share) => [share, String(share)]) }, padded(spans), chart.width >= 560 ? 84 : 16);
  for (const row of bases) drawBase(chart, row, found(row), domain);
  chart.path(rows.map((row) => [row.p_drop, found(row).value]), { class: "line thin", style: "stroke: var(--soft)" });
  for (const row of [...rows, ...others]) {
    const { value, standard_error: error } = found(row), colour = looks.get(row.label).colour;
    for (const part of errorBar(chart, row.p_drop, value, error)) chart.svg.append(svg("path", { d: part, class: "error-bar", style: `stroke: ${colour}` }));
    for (const run of row.runs.length > 1 ? row.runs : []) {
      chart.svg.append(svg("circle", { cx: chart.x(row.p_drop) + 15, cy: chart.y(run.scores[score]), r: 2.6, class: "seed", style: `fill: ${colour}` }));
    }
    chart.mark(row.label, row.p_drop, value, () => [bold(`${row.label}: ${shown(score, value)} ±${shown(score, error)}`),
      element("span", "", `test ${scoreName(score)}${row.runs.length > 1 ? `, mean of ${row.runs.length} seeds` : ""}`)]);
  }
  if (chart.width >= 560) chart.endNames(bases.map((row) => [row.label, found(row).value]));
}

function errorBar(chart, x, value, error) {
  const [at, high, low] = [chart.x(x), chart.y(value + error), chart.y(value - error)];
  return [`M${at} ${low} V${high}`, `M${at - 6} ${low} h12`, `M${at - 6} ${high} h12`];
}

function drawBase(chart, row, score, [low, high]) {
  const colour = looks.get(row.label).colour, { value, standard_error: error } = score;
  chart.path([[low, value - error], [high, value - error], [high, value + error], [low, value + error]], { class: "band", style: `fill: ${colour}` });
  chart.path([[low, value], [high, value]], { class: "line dashed", style: `stroke: ${colour}` });
  if (chart.width < 560) chart.svg.append(svg("text", { class: "end", x: chart.right, y: chart.y(value) - 6, "text-anchor": "end", style: `fill: ${colour}` }, row.label));
}

"use strict";
const record = JSON.parse(document.getElementById("record").textContent);
const at = (id) => document.getElementById(id);
const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
const plain = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const chance = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value > 0 ? "< 0.001" : "0");

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

const pIs = (value) => (chance(value).startsWith("<") ? `p ${chance(value)}` : `p = ${chance(value)}`);
const bold = (text, className) => element("b", className, text);

function describe(rows) {
  for (const [name, className, ...content] of rows) {
    at("texts").append(element("dt", "", name), element("dd", className, ...content));
  }
}

/* One target, token by token. */

const narrow = matchMedia("(max-width: 820px)"); // as in the style sheet: the track then runs downwards

function showTrace(target, settings) {
  at("title").textContent = "Who chose each word?";
  const finite = settings.reward_weight !== "inf";
  at("lead").append(
    "A target that bang-bang SPG trains on, drawn for one example. ", bold(finite ? "Reward and model" : "The reward", "reward"),
    " chose the words on the upper band, ", bold(finite ? "the model alone" : "the model", "model"),
    ` those on the lower one: each token is left to it with probability ${settings.p_drop}. Only the upper words are in the loss.`);
  describe([
    ["source", "source", record.source || "(empty)"],
    ["reference y", "", record.reference, record.references > 1 ? ` (the first of ${record.references} that the reward sees)` : ""],
    ["target z", "", ...target.steps.flatMap((step) => [element("span", step.chosen_by, step.token), " "])],
    ["the model alone", "", record.output || "(nothing)"],
  ]);
  showFigures(target);
  drawTrack(target.steps, target.reference_reward);
  at("trace").hidden = false;
  select(firstOfInterest(target.steps));
  new ResizeObserver(drawWave).observe(at("track"));
  narrow.addEventListener("change", place);
}

function showFigures(target) {
  const inLoss = target.steps.filter((step) => step.in_loss).length;
  const tied = target.steps.filter((step) => step.tied).length;
  const figures = [
    [plain(target.reward, 3), "reward R(z | y)"],
    [`${inLoss} of ${target.steps.length}`, "tokens in the loss"],
    [String(tied), tied === 1 ? "tie, settled by the model" : "ties, settled by the model"],
    [plain(target.log_p, 1), "log p(z | x)"],
    [plain(target.loss, 2), `loss, weighted by ${plain(target.loss_weight, 3)}`],
  ];
  at("figures").append(...figures.map(([value, name]) => element("div", "", bold(value), element("span", "", name))));
}

/* The first place where the reward's word is not the reference's, as in the paper's figure; else the first word. */
function firstOfInterest(steps) {
  return Math.max(0, steps.findIndex((step) => step.in_loss && step.token !== step.reference));
}

function drawTrack(steps, most) {
  const weight = record.settings.reward_weight === "inf" ? "W" : `W = ${record.settings.reward_weight}`;
  const name = (className, ...lines) => element("div", `cell name ${className}`, ...lines);
  const track = at("track");
  track.append(
    name("y", "reference"),
    name("high", bold("reward"), `w = ${weight}`),
    name("low", bold("model"), "w = 0"),
    name("fav", "model’s\nlikeliest"),
    name("sum", "R so far"));
  steps.forEach((step, t) => {
    const last = t === steps.length - 1 ? " last" : "";
    const [high, low] = ["high", "low"].map((lane) => element("div", `cell ${lane}${last}`));
    (step.in_loss ? high : low).append(pill(step, t), element("span", "p", `p ${chance(step.probability)}`));
    const total = element("i", "");
    total.style.setProperty("--share", `${most > 0 ? 100 * Math.max(0, Math.min(1, step.reward / most)) : 0}%`);
    track.append(
      element("div", `cell y${step.reference === step.token ? " same" : ""}`, step.reference ?? ""),
      high,
      low,
      element("div", `cell fav${step.favourite === step.token ? " same" : ""}`, step.favourite),
      element("div", "cell sum", total, plain(step.reward)));
  });
  track.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const pills = [...track.querySelectorAll(".pill")];
    const next = pills[pills.indexOf(document.activeElement) + move];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

function pill(step, t) {
  const made = element("button", `pill ${step.in_loss ? "loss" : "free"}`, step.token);
  made.type = "button";
  if (step.tied) made.append(element("span", "tied", `=${step.best_count}`));
  for (const happening of ["mouseenter", "focus", "click"]) made.addEventListener(happening, () => select(t));
  return made;
}

/* The switching line from token to token: its colour is the band's that it runs in. */
function drawWave() {
  const track = at("track");
  track.querySelector(".wave")?.remove();
  const frame = track.getBoundingClientRect();
  const across = !narrow.matches;
  const points = [...track.querySelectorAll(".pill")].map((each) => {
    const cell = each.parentElement.getBoundingClientRect();
    const [x, y] = [cell.left - frame.left, cell.top - frame.top];
    return across ? [x, x + cell.width / 2, y + cell.height / 2] : [y, y + cell.height / 2, x + cell.width / 2];
  });
  const levels = [".cell.high", ".cell.low"].map((lane) => {
    const box = track.querySelector(lane).getBoundingClientRect();
    return across ? box.top + box.height / 2 - frame.top : box.left + box.width / 2 - frame.left;
  });
  const put = (along, level) => (across ? `${along} ${level}` : `${level} ${along}`);
  const line = points.map(([edge, along, level], t) => {
    if (t === 0) return `M ${put(along, level)}`;
    const from = points[t - 1][2];
    if (from === level) return `L ${put(along, level)}`;
    const r = Math.min(10, along - edge), way = Math.sign(level - from) * r;
    return `L ${put(edge - r, from)} Q ${put(edge, from)} ${put(edge, from + way)} L ${put(edge, level - way)} ` +
      `Q ${put(edge, level)} ${put(edge + r, level)} L ${put(along, level)}`;
  }).join(" ");
  const [x2, y2] = across ? [0, 1] : [1, 0];
  const svg = `<svg class="wave" aria-hidden="true"><defs><linearGradient id="switch" gradientUnits="userSpaceOnUse" ` +
    `x1="${x2 * levels[0]}" y1="${y2 * levels[0]}" x2="${x2 * levels[1]}" y2="${y2 * levels[1]}">` +
    `<stop offset="0.1" stop-color="var(--reward-bar)"/><stop offset="0.9" stop-color="var(--model-bar)"/></linearGradient></defs>` +
    `<path d="${line}" fill="none" stroke="url(#switch)" stroke-width="2.5" stroke-linecap="round"/></svg>`;
  track.insertAdjacentHTML("beforeend", svg); // numbers and our own names only
}

function select(t) {
  const step = record.target.steps[t];
  at("track").querySelectorAll(".pill").forEach((each, place) => each.setAttribute("aria-pressed", String(place === t)));
  const text = element("div", "", element("h2", "", element("small", "", `token ${t + 1} of ${record.target.steps.length}`), step.token),
    ...(step.in_loss ? sayReward(step) : sayModel(step)));
  at("step").replaceChildren(text, candidateTable(step));
  place();
}

/* Beside a track that runs downwards there is no room: the step opens under its token, which stays where it was. */
function place() {
  const chosen = at("track").querySelector('.pill[aria-pressed="true"]');
  const before = chosen.getBoundingClientRect().top;
  if (narrow.matches) {
    let last = chosen.parentElement;
    while (!last.classList.contains("sum")) last = last.nextElementSibling;
    last.after(at("step"));
  } else at("trace").append(at("step"));
  scrollBy(0, chosen.getBoundingClientRect().top - before);
  drawWave();
}

function sayReward(step) {
  const finite = record.settings.reward_weight !== "inf";
  const who = element("p", "say", bold(finite ? "Reward and model" : "The reward", "reward"), " chose: ");
  if (finite) who.append(`Δr = ${signed(step.delta_r)} on top of ${pIs(step.probability)}.`);
  else if (step.tied) who.append(`${step.best_count} tokens add the most, Δr = ${signed(step.delta_r)}. Among these the model chose.`);
  else who.append(`no other token adds as much, Δr = ${signed(step.delta_r)}.`);
  const loss = element("p", "say", "It is in the loss, weighted by ",
    record.settings.weight_by_reward ? `R(z | y) = ${plain(record.target.loss_weight, 3)}` : "1",
    `: training raises its probability, ${chance(step.probability)} now.`);
  const said = [who, loss];
  if (step.reference !== step.token) {
    const there = step.reference === null ? "The reference has ended by now" : `The reference has “${step.reference}” here`;
    const asGood = step.candidates.some((each) => each.best && each.token === step.reference);
    said.push(element("p", "say faint", `${there}; ${asGood ? "that would be as good" : "after the tokens before it, another is worth more"}.`));
  }
  return said;
}

function sayModel(step) {
  const best = step.candidates.filter((each) => each.best);
  const who = element("p", "say", bold("The model", "model"), ` chose, with ${pIs(step.probability)}: `,
    step.rank === 1 ? "its likeliest token." : `its choice number ${step.rank.toLocaleString("en")}.`);
  const wish = element("p", "say");
  if (best.some((each) => each.chosen)) wish.append("The reward would have agreed.");
  else if (best.length) {
    const others = step.best_count > 1 ? ` or ${step.best_count - 1} more` : "";
    wish.append("The reward would have taken ", bold(best[0].token, "reward"), `${others}, Δr = ${signed(best[0].delta_r)}.`);
  }
  return [who, wish, element("p", "say faint", "Not in the loss: where the model itself chose, the expected gradient is zero. " +
    "The token is here so that those after it are learned in the model’s own company.")];
}

/* Bars of Δr share one scale over all steps; penalties far below it are cut off and fade out. */
function candidateTable(step) {
  const gains = record.target.steps.flatMap((each) => each.candidates.map((one) => one.delta_r));
  const unit = Math.max(...gains) > 0 ? Math.max(...gains) : Math.max(...gains.map(Math.abs), 1e-9);
  const column = (name, more, className) => element("th", className, name, element("span", "roomy", more));
  const head = element("tr", "", column("token", ""), column("Δr", ", what it adds", "measure"), column("p", ", by the model", "measure"));
  const finite = record.settings.reward_weight !== "inf";
  const chanceShown = step.in_loss && (finite || step.tied);
  if (chanceShown) head.append(column("q̃", ", drawn", "chance"));
  const rows = step.candidates.map((each) => {
    const name = element("td", "", each.token);
    if (each.token === step.reference) name.append(element("span", "tag", "reference"));
    if (each.best && !each.chosen) name.append(element("span", "tag", "best"));
    const shaping = Object.entries(each.parts).slice(1).filter(([, value]) => value !== 0);
    for (const [part, value] of shaping) name.append(element("span", "tag", `${part.toUpperCase()} ${plain(value, 0)}`));
    const row = element("tr", each.chosen ? "chosen" : "", name, ...measured(each.delta_r, each.probability, unit));
    if (chanceShown) row.append(element("td", "chance", chance(each.proposal)));
    return row;
  });
  const others = element("tr", "others", element("td", "", "any other token"),
    ...measured(step.others_delta_r, step.others_probability, unit));
  if (chanceShown) others.append(element("td", ""));
  return element("table", "", element("thead", "", head), element("tbody", "", ...rows, others));
}

function measured(deltaR, probability, unit) {
  const gain = element("div", "bar r"), share = element("div", "bar p-bar");
  const length = Math.min(Math.abs(deltaR) / unit * 70, deltaR < 0 ? 30 : 70);
  const cut = deltaR < 0 && -deltaR / unit * 70 > 30 ? " cut" : "";
  const first = element("span", deltaR < 0 ? `minus${cut}` : "");
  first.style.left = `${deltaR < 0 ? 30 - length : 30}%`;
  first.style.width = `${length}%`;
  const second = element("span", "");
  second.style.width = `${100 * probability}%`;
  gain.append(first);
  share.append(second);
  return [[gain, signed(deltaR)], [share, chance(probability)]].map(([bar, value]) =>
    element("td", "measure", element("div", "", bar, element("span", "value", value))));
}

/* Many targets of each method. */

const SHOWN = 5;

function showTargets(methods) {
  at("title").textContent = "What would each method train on?";
  at("lead").append(
    `${methods[0].samples} targets z for one example, by each method. Up: what the reward likes, with the reference y on top. ` +
    "Right: what the model itself would write. A larger mark was drawn more often. SPG’s targets should lie between the reference and the model.");
  describe([
    ["source", "source", record.source || "(empty)"],
    ["reference y", "", record.reference, record.references > 1 ? ` (the first of ${record.references} that the reward sees)` : ""],
    ["the model alone", "", record.output || "(nothing)"],
  ]);
  for (const method of methods) {
    at("methods").append(methodCard(method));
    for (const group of at("plot").querySelectorAll(`.points.${method.name}`)) {
      const marks = group.querySelector("use") ? group.querySelectorAll("use") : group.querySelectorAll(":scope > path");
      marks.forEach((mark, place) => {
        for (const happening of ["mouseenter", "click"]) mark.addEventListener(happening, () => showTip(mark, method, method.targets[place]));
        mark.addEventListener("mouseleave", () => { at("tip").hidden = true; });
      });
    }
  }
  at("targets").hidden = false;
}

function methodCard(method) {
  const list = element("ol", "", ...method.targets.slice(0, SHOWN).map((each) =>
    element("li", "", each.text || "(nothing)", element("span", "", each.times > 1 ? `${each.times} ×` : ""))));
  const card = element("section", `method ${method.name}`,
    element("h2", "", method.method, element("small", "", method.about)),
    element("p", "", `mean R ${plain(method.reward, 3)} · mean log p ${plain(method.log_p, 1)} · ` +
      `${method.distinct} different`), list);
  card.style.setProperty("--colour", `var(--${method.name})`);
  card.addEventListener("mouseenter", () => light(method.name));
  card.addEventListener("mouseleave", () => light(null));
  return card;
}

function light(name) {
  const plot = at("plot");
  plot.toggleAttribute("data-only", name !== null);
  for (const group of plot.querySelectorAll(".points")) group.classList.toggle("lit", name !== null && group.classList.contains(name));
}

function showTip(mark, method, target) {
  const tip = at("tip"), frame = at("plot").getBoundingClientRect(), box = mark.getBoundingClientRect();
  const often = target.times > 1 ? `, ${target.times} × of ${method.samples}` : "";
  tip.replaceChildren(bold(target.text || "(nothing)"),
    element("span", "", `${method.method}${often} · R ${plain(target.reward, 3)} · log p ${plain(target.log_p, 1)}`));
  tip.hidden = false;
  const left = Math.min(Math.max(8, box.left + box.width / 2 - frame.left - tip.offsetWidth / 2), frame.width - tip.offsetWidth - 8);
  const above = box.top - frame.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 0 ? above : box.bottom - frame.top + 8}px`;
}

at("eyebrow").textContent = `bangbang explain · ${record.run} · ${record.checkpoint}`;
if (record.target) showTrace(record.target, record.settings);
else showTargets(record.methods);
at("footer").append(
  element("p", "", `Reward: ${record.reward.join(" + ")}; R(z | y) is the first of these. Seed ${record.seed}: another --seed draws another target.`),
  element("p", "", "After Ding & Soricut, “Cold-Start Reinforcement Learning with Softmax Policy Gradient”, NeurIPS 2017."));

/* One target, token by token. */

const narrow = matchMedia("(max-width: 820px)"); // as in the style sheet: the track then runs downwards

class TraceView {
  constructor(explained) {
    this.settings = explained.settings;
    this.target = explained.target;
    this.steps = explained.target.steps;
    this.finite = this.settings.reward_weight !== "inf";
    this.track = element("div", "track");
    this.track.setAttribute("role", "group");
    this.track.setAttribute("aria-label", "The target, token by token");
    this.step = element("article", "step");
    this.step.setAttribute("aria-live", "polite");
    this.root = element("section", "trace", this.numbers(), element("div", "track-frame", this.track), this.step);
    this.drawTrack(this.target.reference_reward);
  }

  static lead(settings) {
    const finite = settings.reward_weight !== "inf";
    return [
      "A target that bang-bang SPG trains on, drawn for one example. ", bold(finite ? "Reward and model" : "The reward", "reward"),
      " chose the words on the upper band, ", bold(finite ? "the model alone" : "the model", "model"),
      ` those on the lower one: each token is left to it with probability ${settings.p_drop}. Only the upper words are in the loss.`];
  }

  static texts(explained) {
    return described([
      ...givenTexts(explained),
      ["target z", "", ...explained.target.steps.flatMap((step) => [element("span", step.chosen_by, step.token), " "])],
      ["the model alone", "", explained.output || "(nothing)"],
    ]);
  }

  /* Once the root is on the page. */
  start() {
    this.select(this.firstOfInterest());
    new ResizeObserver(() => this.drawWave()).observe(this.track);
    narrow.addEventListener("change", () => this.place());
  }

  numbers() {
    const inLoss = this.steps.filter((step) => step.in_loss).length;
    const tied = this.steps.filter((step) => step.tied).length;
    return figures([
      [plain(this.target.reward, 3), "reward R(z | y)"],
      [`${inLoss} of ${this.steps.length}`, "tokens in the loss"],
      [String(tied), tied === 1 ? "tie, settled by the model" : "ties, settled by the model"],
      [plain(this.target.log_p, 1), "log p(z | x)"],
      [plain(this.target.loss, 2), `loss, weighted by ${plain(this.target.loss_weight, 3)}`],
    ]);
  }

  /* The first place where the reward's word is not the reference's, as in the paper's figure; else the first word. */
  firstOfInterest() {
    return Math.max(0, this.steps.findIndex((step) => step.in_loss && step.token !== step.reference));
  }

  drawTrack(most) {
    const weight = this.finite ? `W = ${this.settings.reward_weight}` : "W";
    const name = (className, ...lines) => element("div", `cell name ${className}`, ...lines);
    this.track.append(
      name("y", "reference"),
      name("high", bold("reward"), `w = ${weight}`),
      name("low", bold("model"), "w = 0"),
      name("fav", "model’s\nlikeliest"),
      name("sum", "R so far"));
    this.steps.forEach((step, t) => this.track.append(...this.column(step, t, most)));
    this.track.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const pills = [...this.track.querySelectorAll(".pill")];
      const next = pills[pills.indexOf(document.activeElement) + move];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  }

  column(step, t, most) {
    const last = t === this.steps.length - 1 ? " last" : "";
    const [high, low] = ["high", "low"].map((lane) => element("div", `cell ${lane}${last}`));
    (step.in_loss ? high : low).append(this.pill(step, t), element("span", "p", `p ${chance(step.probability)}`));
    const total = element("i", "");
    total.style.setProperty("--share", `${most > 0 ? 100 * Math.max(0, Math.min(1, step.reward / most)) : 0}%`);
    return [
      element("div", `cell y${step.reference === step.token ? " same" : ""}`, step.reference ?? ""),
      high,
      low,
      element("div", `cell fav${step.favourite === step.token ? " same" : ""}`, step.favourite),
      element("div", "cell sum", total, plain(step.reward))];
  }

  pill(step, t) {
    const made = element("button", `pill ${step.in_loss ? "loss" : "free"}`, step.token);
    made.type = "button";
    if (step.tied) made.append(element("span", "tied", `=${step.best_count}`));
    for (const happening of ["mouseenter", "focus", "click"]) made.addEventListener(happening, () => this.select(t));
    return made;
  }

  /* The switching line from token to token: its colour is the band's that it runs in. */
  drawWave() {
    this.track.querySelector(".wave")?.remove();
    const frame = this.track.getBoundingClientRect();
    const across = !narrow.matches;
    const points = [...this.track.querySelectorAll(".pill")].map((each) => {
      const cell = each.parentElement.getBoundingClientRect();
      const [x, y] = [cell.left - frame.left, cell.top - frame.top];
      return across ? [x, x + cell.width / 2, y + cell.height / 2] : [y, y + cell.height / 2, x + cell.width / 2];
    });
    const levels = [".cell.high", ".cell.low"].map((lane) => {
      const box = this.track.querySelector(lane).getBoundingClientRect();
      return across ? box.top + box.height / 2 - frame.top : box.left + box.width / 2 - frame.left;
    });
    const [x2, y2] = across ? [0, 1] : [1, 0];
    const svg = `<svg class="wave" aria-hidden="true"><defs><linearGradient id="switch" gradientUnits="userSpaceOnUse" ` +
      `x1="${x2 * levels[0]}" y1="${y2 * levels[0]}" x2="${x2 * levels[1]}" y2="${y2 * levels[1]}">` +
      `<stop offset="0.1" stop-color="var(--reward-bar)"/><stop offset="0.9" stop-color="var(--model-bar)"/></linearGradient></defs>` +
      `<path d="${TraceView.line(points, across)}" fill="none" stroke="url(#switch)" stroke-width="2.5" stroke-linecap="round"/></svg>`;
    this.track.insertAdjacentHTML("beforeend", svg); // numbers and our own names only
  }

  static line(points, across) {
    const put = (along, level) => (across ? `${along} ${level}` : `${level} ${along}`);
    return points.map(([edge, along, level], t) => {
      if (t === 0) return `M ${put(along, level)}`;
      const from = points[t - 1][2];
      if (from === level) return `L ${put(along, level)}`;
      const r = Math.min(10, along - edge), way = Math.sign(level - from) * r;
      return `L ${put(edge - r, from)} Q ${put(edge, from)} ${put(edge, from + way)} L ${put(edge, level - way)} ` +
        `Q ${put(edge, level)} ${put(edge + r, level)} L ${put(along, level)}`;
    }).join(" ");
  }

  select(t) {
    const step = this.steps[t];
    this.track.querySelectorAll(".pill").forEach((each, place) => each.setAttribute("aria-pressed", String(place === t)));
    const text = element("div", "", element("h2", "", element("small", "", `token ${t + 1} of ${this.steps.length}`), step.token),
      ...(step.chosen_by === "reference" ? this.sayEnd(step) : step.in_loss ? this.sayReward(step) : this.sayModel(step)));
    this.step.replaceChildren(text, this.candidateTable(step));
    this.place();
  }

  /* Beside a track that runs downwards there is no room: the step opens under its token, which stays where it was. */
  place() {
    const chosen = this.track.querySelector('.pill[aria-pressed="true"]');
    const before = chosen.getBoundingClientRect().top;
    if (narrow.matches) {
      let last = chosen.parentElement;
      while (!last.classList.contains("sum")) last = last.nextElementSibling;
      last.after(this.step);
    } else this.root.append(this.step);
    scrollBy(0, chosen.getBoundingClientRect().top - before);
    this.drawWave();
  }

  sayReward(step) {
    const who = element("p", "say", bold(this.finite ? "Reward and model" : "The reward", "reward"), " chose: ");
    if (this.finite) who.append(`Δr = ${signed(step.delta_r)} on top of ${pIs(step.probability)}.`);
    else if (step.tied) who.append(`${step.best_count} tokens add the most, Δr = ${signed(step.delta_r)}. Among these the model chose.`);
    else who.append(`no other token adds as much, Δr = ${signed(step.delta_r)}.`);
    const said = [who, this.sayLoss(step)];
    if (step.reference !== step.token) {
      const there = step.reference === null ? "The reference has ended by now" : `The reference has “${step.reference}” here`;
      const asGood = step.candidates.some((each) => each.best && each.token === step.reference);
      said.push(element("p", "say faint", `${there}; ${asGood ? "that would be as good" : "after the tokens before it, another is worth more"}.`));
    }
    return said;
  }

  sayLoss(step) {
    return element("p", "say", "It is in the loss, weighted by ",
      this.settings.weight_by_reward ? `R(z | y) = ${plain(this.target.loss_weight, 3)}` : "1",
      `: training raises its probability, ${chance(step.probability)} now.`);
  }

  sayEnd(step) {
    const end = element("p", "say", "The reference ends here, and so does every target that has not ended yet.");
    return [end, step.in_loss ? this.sayLoss(step) : element("p", "say faint", "Not in the loss.")];
  }

  sayModel(step) {
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
  candidateTable(step) {
    const gains = this.steps.flatMap((each) => each.candidates.map((one) => one.delta_r));
    const unit = Math.max(...gains) > 0 ? Math.max(...gains) : Math.max(...gains.map(Math.abs), 1e-9);
    const column = (name, more, className) => element("th", className, name, element("span", "roomy", more));
    const head = element("tr", "", column("token", ""), column("Δr", ", what it adds", "measure"), column("p", ", by the model", "measure"));
    const chanceShown = step.in_loss && (this.finite || step.tied);
    if (chanceShown) head.append(column("q̃", ", drawn", "chance"));
    const rows = step.candidates.map((each) => {
      const row = element("tr", each.chosen ? "chosen" : "", candidateName(each, step), ...measured(each.delta_r, each.probability, unit));
      if (chanceShown) row.append(element("td", "chance", chance(each.proposal)));
      return row;
    });
    const others = element("tr", "others", element("td", "", "any other token"),
      ...measured(step.others_delta_r, step.others_probability, unit));
    if (chanceShown) others.append(element("td", ""));
    return element("table", "candidates", element("thead", "", head), element("tbody", "", ...rows, others));
  }
}

function candidateName(candidate, step) {
  const name = element("td", "", candidate.token);
  if (candidate.token === step.reference) name.append(element("span", "tag", "reference"));
  if (candidate.best && !candidate.chosen) name.append(element("span", "tag", "best"));
  const shaping = Object.entries(candidate.parts).slice(1).filter(([, value]) => value !== 0);
  for (const [part, value] of shaping) name.append(element("span", "tag", `${part.toUpperCase()} ${plain(value, 0)}`));
  return name;
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

/* Examples: what DUP changed, and where methods differ. */

const PAGE = narrow.matches ? 6 : 12, FEW = 4; // cards at once; methods that a card shows without being asked
const bestLabel = () => results.rows.reduce((best, row) => (SIGN * (row.with_dup.scores[MAIN].value - best.with_dup.scores[MAIN].value) > 0 ? row : best)).label;
const baseLabel = () => results.baselines.find((label) => label !== bestLabel()) ?? results.rows.find((row) => row.label !== bestLabel())?.label ?? bestLabel();

function dupExamples() {
  const changed = record.dup.filter((each) => each.changed);
  if (!changed.length) return;
  const most = changed.reduce((one, other) => (other.changed > one.changed ? other : one));
  const first = changed.find((each) => each.label === bestLabel()) ?? most;
  const frame = element("div", "sheet"), say = element("p", "count");
  const draw = (label) => {
    const found = changed.find((each) => each.label === label);
    say.textContent = `DUP changed ${whole(found.changed)} of ${whole(found.outputs)} outputs of ${label}: ${whole(found.better)} scored better, ` +
      `${whole(found.worse)} worse. ${found.examples.length < found.changed ? `${found.examples.length} of them, from best to worst:` : "From best to worst:"}`;
    frame.replaceChildren(sheet("dup", ["Before", "After", "Reference", scoreName(MAIN)], found.examples.map(dupRow), () => false));
  };
  section("dup", "DUP", "Before and after DUP",
    "The test-time reward DUP forbids the same token twice in a row. What it changes is not always for the better: all are shown alike.",
    element("div", "controls", chooser("outputs of", changed.map((each) => [each.label, each.label]), first.label, draw)), say, frame);
  draw(first.label);
}

function dupRow(example) {
  const before = example.before.split(" "), repeats = before.map((word, place) => word === before[place - 1] || word === before[place + 1]);
  const repeated = new Set(before.filter((word, place) => repeats[place]));
  return element("tr", "",
    cell("before", "", ...spaced(before.map((word, place) => (repeats[place] ? element("mark", "twice", word) : word)))),
    cell("after", "", ...spaced(example.after.split(" ").map((word) => (repeated.has(word) ? element("mark", "once", word) : word)))),
    cell("reference", "soft", example.reference),
    cell(scoreName(MAIN), SIGN * example.gain > 0 ? "gain up" : SIGN * example.gain < 0 ? "gain down" : "gain", gained(MAIN, example.gain)));
}

const spaced = (words) => words.flatMap((word) => [word, " "]);

/* Where methods differ most. */
class Browser {
  constructor() {
    this.state = { a: bestLabel(), b: baseLabel(), way: "either", text: "", shown: PAGE };
    this.list = element("div", "examples");
    this.count = element("p", "count");
    this.more = element("button", "more", "Show more");
    this.more.type = "button";
    this.more.addEventListener("click", () => { this.state.shown += PAGE; this.draw(); });
    this.draw();
  }

  set(change) {
    Object.assign(this.state, change, { shown: PAGE });
    this.draw();
  }

  controls() {
    const search = element("input", "");
    search.type = "search";
    search.placeholder = "a word in source, reference or output";
    search.setAttribute("aria-label", "search examples");
    search.addEventListener("input", () => this.set({ text: search.value.trim().toLowerCase() }));
    const ways = [["either", "either way"], ["better", "first better"], ["worse", "first worse"]];
    return element("div", "controls filters",
      chooser("compare", rowOptions(), this.state.a, (a) => this.set({ a })),
      chooser("with", rowOptions(), this.state.b, (b) => this.set({ b })),
      choice("which way", ways, this.state.way, (way) => this.set({ way })), search);
  }

  /* The examples that pass the filters, largest difference first. */
  found() {
    const { a, b, way, text } = this.state, [first, second] = [a, b].map((label) => record.browser.labels.indexOf(label));
    const difference = (example) => example.scores[first] - example.scores[second];
    const passes = (example) => {
      const by = difference(example);
      if (way === "better" ? SIGN * by <= 0 : way === "worse" ? SIGN * by >= 0 : by === 0 && first !== second) return false;
      return !text || [example.source, ...example.references, ...example.outputs].some((each) => each.toLowerCase().includes(text));
    };
    return record.browser.examples.filter(passes).map((example) => [example, difference(example)])
      .sort(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  }

  draw() {
    const found = this.found(), all = record.browser.examples.length;
    const among = all < record.browser.total ? `the ${whole(all)} most telling of ${whole(record.browser.total)} examples` : `all ${whole(all)} examples`;
    this.count.textContent = `${whole(found.length)} of ${among}`;
    this.list.replaceChildren(...found.slice(0, this.state.shown).map(([example, by]) => this.card(example, by)));
    this.more.hidden = found.length <= this.state.shown;
  }

  card(example, by) {
    const known = wordsOf(example.references);
    const order = record.browser.labels.map((label, place) => ({ label, text: example.outputs[place], score: example.scores[place] }))
      .sort((one, other) => SIGN * (other.score - one.score));
    const chosen = ({ label }) => label === this.state.a || label === this.state.b;
    const line = (each) => element("li", chosen(each) ? "chosen" : "", element("span", "named", glyph(each.label), each.label),
      element("span", "said", ...said(each.text, known)), element("span", "score", shown(MAIN, each.score)));
    const few = order.length <= FEW, rest = few ? [] : order.filter((each) => !chosen(each));
    const way = SIGN * by > 0 ? " up" : SIGN * by < 0 ? " down" : "";
    return element("article", "example", element("p", "source", element("small", "", `${example.number}`), example.source || "(empty)"),
      ...example.references.map((text) => element("p", "reference", text)),
      element("ol", "", ...order.filter((each) => few || chosen(each)).map(line)),
      ...(rest.length ? [element("details", "", element("summary", "", `${rest.length} more methods`), element("ol", "", ...rest.map(line)))] : []),
      element("p", `by${way}`, `${this.state.a} − ${this.state.b}: ${gained(MAIN, by)} ${scoreName(MAIN)}`));
  }
}

/* Words that a reference has stand out; marks do not. */
const WORD = /([\p{L}\p{M}\p{N}_]+)/u;
const wordsOf = (texts) => new Set(texts.flatMap((text) => text.toLowerCase().split(WORD).filter((part) => WORD.test(part))));

function said(text, known) {
  if (!text) return [element("i", "", "(nothing)")];
  return text.split(WORD).map((part) => (known.has(part.toLowerCase()) ? bold(part) : part));
}

function exampleBrowser() {
  const browser = new Browser();
  const seeds = manySeeds() ? " Rows of several seeds show their first." : "";
  section("examples", "Examples", "Where methods differ",
    `Test examples with what every method wrote, decoded with DUP, the best first. Words of a reference are bold.${seeds}`,
    browser.controls(), browser.count, browser.list, browser.more);
}

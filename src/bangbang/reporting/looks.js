/* What every part of the report shares: scores as text, a look for each row, sections, choices. */

const results = record.results, MAIN = results.main;
const signOf = (score) => (results.less.includes(score) ? -1 : 1); // what turns a score into one of which more is better
const SIGN = signOf(MAIN);
const decimals = (score) => (score === "cider-d" ? 3 : 2);
const shown = (score, value) => plain(value, decimals(score));
const gained = (score, value) => signed(value, decimals(score));
const scoreName = (score) => record.names[score];
/* At the floor of so many resamples, p may be any smaller one. */
const pValue = (p) => (p <= 1 / (1 + results.resamples) ? `p ${record.least_p}` : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(p < 0.1 ? 3 : 2)}`);
const whole = (value) => Math.round(value).toLocaleString("en");
const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/* Colour and marker tell the family; within one, SPG's colours darken as p_drop rises. There may be many rows that are not the paper's. */
const FAMILIES = { mle: [["triangle"], 3], raml: [["circle"], 3], pg: [["square"], 3], spg: [["diamond"], 4], soft: [["pentagon"], 2], own: [["star", "cross", "wedge"], 10] };
const FAMILY_OF = { mle: "mle", raml: "raml", pg: "pg", bbspg: "spg", spg: "soft" };
const MARKS = {
  triangle: "M0 -5.6 L5.4 4.4 L-5.4 4.4 Z",
  circle: "M0 -4.8 A4.8 4.8 0 1 1 0 4.8 A4.8 4.8 0 1 1 0 -4.8 Z",
  square: "M-4.3 -4.3 H4.3 V4.3 H-4.3 Z",
  diamond: "M0 -6 L5.4 0 L0 6 L-5.4 0 Z",
  pentagon: "M0 -5.5 L5.2 -1.7 L3.2 4.5 L-3.2 4.5 L-5.2 -1.7 Z",
  cross: "M-1.7 -5.6 H1.7 V-1.7 H5.6 V1.7 H1.7 V5.6 H-1.7 V1.7 H-5.6 V-1.7 H-1.7 Z",
  wedge: "M0 5.6 L5.4 -4.4 L-5.4 -4.4 Z",
  star: "M0 -6.2 L1.7 -2 L6 -1.9 L2.7 1 L3.7 5.2 L0 2.8 L-3.7 5.2 L-2.7 1 L-6 -1.9 L-1.7 -2 Z",
};

const familyOf = (row) => (row.extension ? "own" : FAMILY_OF[row.objective]);
const looks = new Map();
for (const [family, [markers, count]] of Object.entries(FAMILIES)) {
  const members = results.rows.filter((row) => familyOf(row) === family).sort((one, other) => (one.p_drop ?? 0) - (other.p_drop ?? 0));
  const first = family === "spg" && members.length < count ? 1 : 0; // few need not begin with the palest
  members.forEach((row, place) => looks.set(row.label, { marker: markers[place % markers.length], colour: `var(--${family}-${(first + place) % count + 1})` }));
}

function svg(tag, attributes = {}, ...content) {
  const made = document.createElementNS(at("drawn").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

function glyph(label) {
  const { marker, colour } = looks.get(label);
  return svg("svg", { class: "glyph", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { d: MARKS[marker], style: `fill: ${colour}` }));
}

function named(row) {
  const name = element("span", "named", glyph(row.label), row.label);
  if (row.extension) name.append(element("small", "own", "not the paper’s"));
  return name;
}

/* What a row wrote by a decoder, or greedily without DUP. */
const sideOf = (row, name) => row.decoded[name] ?? row[name];
/* As all rows decode by it; its own name where they differ. */
function decoderName(name) {
  const told = new Set(results.rows.map((row) => row.decoded[name].decoding));
  return told.size === 1 ? [...told][0] : name;
}
const decoderOptions = () => results.decoders.map((name) => [name, decoderName(name)]);

const rowOf = (label) => results.rows.find((row) => row.label === label);

/* A part of the page, and its short name among the links at the top. */
function section(id, short, title, about, ...content) {
  const made = element("section", "part", element("h2", "", title), element("p", "about", ...[about].flat()), ...content);
  made.id = id;
  at("content").append(made);
  const link = element("a", "", short);
  link.href = `#${id}`;
  at("contents").append(link);
  return made;
}

/* A choice of one among a few; `pick` hears of it. Options are [value, text]. */
function choice(name, options, chosen, pick) {
  const made = element("div", "choice");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", name);
  for (const [value, text] of options) {
    const button = element("button", "", text);
    button.type = "button";
    button.dataset.value = value;
    button.setAttribute("aria-pressed", String(value === chosen));
    button.addEventListener("click", () => {
      for (const other of made.children) other.setAttribute("aria-pressed", String(other === button));
      pick(value);
    });
    made.append(button);
  }
  return made;
}

/* The same for many. */
function chooser(name, options, chosen, pick) {
  const select = element("select", "", ...options.map(([value, text]) => {
    const option = element("option", "", text);
    option.value = value;
    option.selected = value === chosen;
    return option;
  }));
  select.addEventListener("change", () => pick(select.value));
  return element("label", "chooser", element("span", "", name), select);
}

const scoreChoice = (pick) => choice("score", results.scores.map((score) => [score, scoreName(score)]), MAIN, pick);
const rowOptions = () => results.rows.map((row) => [row.label, row.label]);

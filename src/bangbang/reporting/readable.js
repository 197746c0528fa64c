/* What training does not see: another metric, lengths, repeats, cuts, likelihood; and outputs side by side. */

const percent = (share) => `${plain(100 * share, 1)}%`;

function readingTable() {
  const frame = element("div", "sheet"), draw = (side) => frame.replaceChildren(drawReading(side));
  const some = results.rows.some((row) => row.with_dup.reading.log_likelihood !== null);
  const judge = some ? " The last column is the mean log-likelihood of a token under a model of maximum likelihood of another seed." : "";
  const choices = results.decoders.length > 1 ? [element("div", "controls", choice("decoding", decoderOptions(), results.decoders[0], draw))] : [];
  section("reading", "Readable", "What training does not see",
    `A metric can be raised by texts that nobody would write. No reward pays ${scoreName(results.other)}, nor anything else here.${judge}`,
    ...choices, frame, element("p", "count", results.unjudged));
  draw(results.decoders[0]);
}

function drawReading(side) {
  const [first] = results.baselines, other = results.other;
  const heads = ["", scoreName(other), `over ${first}`, "words", "with a word doubled", "with a pair of words twice", "cut at the limit", "log p of a token"];
  const rows = results.rows.map((row) => {
    const { scores, against, words, reading } = sideOf(row, side);
    return element("tr", "",
      cell("", "method", named(row)),
      cell(scoreName(other), "", ...withError(other, scores[other])),
      difference(against, other, first),
      cell("words", "", plain(words, 1)),
      cell("doubled", "", percent(reading.doubled)),
      cell("twice", "", percent(reading.repeating)),
      cell("cut", "", percent(reading.cut)),
      cell("log p", "", reading.log_likelihood === null ? "–" : plain(reading.log_likelihood, 2)));
  });
  return sheet("reading", heads, rows, startsGroup);
}

/* Not chosen by any score: in equal steps over the test split. */
function outputsSideBySide() {
  const card = ({ number, source, references, outputs }) => {
    const known = wordsOf(references);
    const line = ([label, text]) => element("li", "", element("span", "named", glyph(label), label), element("span", "said", ...said(text, known)));
    return element("article", "example", element("p", "source", element("small", "", `${number}`), source || "(empty)"),
      ...references.map((text) => element("p", "reference", text)), element("ol", "", ...Object.entries(outputs).map(line)));
  };
  section("outputs", "Outputs", "Outputs side by side",
    `What every method wrote for ${results.samples.length} examples, in equal steps over the test split, greedily with DUP. Words of a reference are bold.`,
    element("div", "examples", ...results.samples.map(card)));
}

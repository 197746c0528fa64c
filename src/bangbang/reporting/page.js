/* The page of `bangbang report`. */

function answer() {
  const { headline, sentences, figures: numbers } = record.answer;
  const what = results.task === "captions" ? "captions" : "headlines";
  const caveat = results.caveat && ` · ${results.caveat}`;
  at("eyebrow").textContent = `bangbang report · ${results.title} · ${what}, ${results.corpus.name}${caveat}`;
  at("title").textContent = headline.replaceAll("-", "\u2011"); // a score's name stays on one line
  at("answer").append(figures(numbers), ...sentences.map((text) => element("p", "", text)));
}

/* The paper's first two figures. */
function explanations() {
  if (!record.figures) return;
  const { label, targets, trace } = record.figures, run = element("span", "named", glyph(label), label);
  section("targets", "Targets", "What each method trains on", [TargetsView.lead(targets.methods), " The model is that of ", run, "."],
    TargetsView.texts(targets), new TargetsView(targets, at("drawings").content, 3).root);
  const view = new TraceView(trace);
  section("trace", "Trace", "Who chose each word", TraceView.lead(trace.settings), TraceView.texts(trace), view.root);
  view.start();
}

function again() {
  const commands = element("pre", "", results.commands.join("\n"));
  const copy = element("button", "copy", "Copy");
  copy.type = "button";
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(results.commands.join("\n"));
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(commands);
    }
  });
  const runs = results.rows.flatMap((row) => row.runs.map((run) => [row, run]));
  const facts = described([
    ["corpus", "", `${results.corpus.name}, fingerprint ${results.corpus.fingerprint}`],
    ["versions", "", Object.entries(results.versions).map(([name, version]) => `${name} ${version}`).join(", ")],
    ["signature", "", results.signature],
    ...runs.map(([row, run]) => [row.label, "", `${run.folder}, seed ${run.seed}, ${run.checkpoint}`]),
  ]);
  section("again", "Commands", "Get it again", "The commands that made these numbers; results.json beside this page holds all of them.",
    element("div", "commands", commands, copy), facts);
}

answer();
scoreTable();
decoderTable();
learningCurves();
readingTable();
outputsSideBySide();
sweep();
dupExamples();
exampleBrowser();
explanations();
trainingTable();
again();
at("footer").append(
  element("p", "", "Each p-value is of one comparison; the best of many rows is also the luckiest. See docs/report.md for how they are made."),
  element("p", "", "After Ding & Soricut, “Cold-Start Reinforcement Learning with Softmax Policy Gradient”, NeurIPS 2017."));
